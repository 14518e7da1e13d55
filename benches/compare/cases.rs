//! The cases that are measured, and their data.

use half::{bf16, f16};
use rand::{RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use recast_kernels::{
    Affine, BuildError, Cast, Element, ElementType, Level, OutOfRange, Plan, PlanBuilder, Rounding,
    Scalar, Step, reference,
};

/// The types that hold almost all data; the others are the minifloats and the sub-byte integers.
pub(crate) const CORE: [ElementType; 12] = [
    ElementType::UInt8,
    ElementType::UInt16,
    ElementType::UInt32,
    ElementType::UInt64,
    ElementType::Int8,
    ElementType::Int16,
    ElementType::Int32,
    ElementType::Int64,
    ElementType::Float16,
    ElementType::BFloat16,
    ElementType::Float32,
    ElementType::Float64,
];

/// The core types that each of the others is cast from and to.
const PARTNERS: [ElementType; 6] = [
    ElementType::UInt8,
    ElementType::Int16,
    ElementType::Float16,
    ElementType::BFloat16,
    ElementType::Float32,
    ElementType::Float64,
];

/// Entries of a long map.
pub(crate) const LONG_MAP: usize = 8;

/// The offset and the scale of the chains: of no short binary form, so that the arithmetic rounds.
pub(crate) const OFFSET: f64 = 1.35;
pub(crate) const SCALE: f64 = 9.7;

/// Whether `scale_offset` stands beside the cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scaling {
    None,
    /// `(x - offset) * scale`, then the cast.
    Encode,
    /// The cast, then `x / scale + offset`.
    Decode,
    /// As [`Scaling::Encode`], of float32 elements in float64.
    EncodeInFloat64,
    /// As [`Scaling::Decode`], in float64 to float32 elements.
    DecodeInFloat64,
}

impl Scaling {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Encode => "encode",
            Self::Decode => "decode",
            Self::EncodeInFloat64 => "encode-in-float64",
            Self::DecodeInFloat64 => "decode-in-float64",
        }
    }
}

/// The groups over which the report takes geometric means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    IntToInt,
    IntToFloat,
    FloatToInt,
    FloatToFloat,
    Float16,
    BFloat16,
    Minifloat,
    SubByte,
    Encode,
    Decode,
    InFloat64,
}

impl Class {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::IntToInt => "int -> int",
            Self::IntToFloat => "int -> f32, f64",
            Self::FloatToInt => "f32, f64 -> int",
            Self::FloatToFloat => "f32, f64 -> f32, f64",
            Self::Float16 => "float16 on a side",
            Self::BFloat16 => "bfloat16 on a side",
            Self::Minifloat => "minifloat on a side",
            Self::SubByte => "sub-byte int on a side",
            Self::Encode => "scale + offset + cast",
            Self::Decode => "cast + unscale",
            Self::InFloat64 => "the same of float32 in float64",
        }
    }
}

/// A conversion to measure.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) source: ElementType,
    pub(crate) target: ElementType,
    pub(crate) rounding: Rounding,
    pub(crate) out_of_range: OutOfRange,
    /// The scalar map: no entry, or so many of [`entries`].
    pub(crate) map: Vec<(Scalar, Scalar)>,
    pub(crate) affine: Scaling,
}

impl Case {
    /// `None` where the combination is not legal, or is the same as another one.
    fn new(
        (source, target): (ElementType, ElementType),
        rounding: Rounding,
        out_of_range: OutOfRange,
        map_entries: usize,
        affine: Scaling,
    ) -> Option<Self> {
        if out_of_range == OutOfRange::Wrap && target.is_float() {
            return None;
        }
        let map = entries(source, target).take(map_entries).collect();
        Some(Self { source, target, rounding, out_of_range, map, affine })
    }

    /// For instance `float32-uint8/nearest-even/clamp/map1/encode`: what `--filter` searches.
    pub(crate) fn name(&self) -> String {
        let Self { source, target, rounding, out_of_range, map, affine } = self;
        let range = out_of_range.name();
        let usual = entries(*source, *target).take(map.len()).eq(map.iter().copied());
        let map = match map.len() {
            0 => String::new(),
            entries if usual => format!("/map{entries}"),
            entries => format!("/map{entries}-to-{}", map[0].1),
        };
        let affine = match affine {
            Scaling::None => String::new(),
            Scaling::Encode
            | Scaling::Decode
            | Scaling::EncodeInFloat64
            | Scaling::DecodeInFloat64 => format!("/{}", affine.name()),
        };
        format!("{source}-{target}/{rounding}/{range}{map}{affine}")
    }

    pub(crate) fn class(&self) -> Class {
        let has = |is: fn(ElementType) -> bool| is(self.source) || is(self.target);
        match self.affine {
            Scaling::Encode => Class::Encode,
            Scaling::Decode => Class::Decode,
            Scaling::EncodeInFloat64 | Scaling::DecodeInFloat64 => Class::InFloat64,
            Scaling::None if has(|t| t.is_float() && t.bits() <= 8) => Class::Minifloat,
            Scaling::None if has(|t| t.bits() < 8) => Class::SubByte,
            Scaling::None if has(|t| t == ElementType::BFloat16) => Class::BFloat16,
            Scaling::None if has(|t| t == ElementType::Float16) => Class::Float16,
            Scaling::None => match (self.source.is_integer(), self.target.is_integer()) {
                (true, true) => Class::IntToInt,
                (true, false) => Class::IntToFloat,
                (false, true) => Class::FloatToInt,
                (false, false) => Class::FloatToFloat,
            },
        }
    }

    /// Whether both types are core types and nothing stands beside the cast: the 144 pairs.
    pub(crate) fn is_core(&self) -> bool {
        self.affine == Scaling::None && CORE.contains(&self.source) && CORE.contains(&self.target)
    }

    /// Whether this is what metadata without options asks for.
    pub(crate) fn is_default(&self) -> bool {
        self.rounding == Rounding::NearestEven
            && self.out_of_range == OutOfRange::Error
            && self.map.is_empty()
    }

    /// Whether the source and the target are these Rust types.
    pub(crate) fn is<S: Element, T: Element>(&self) -> bool {
        self.source == S::TYPE && self.target == T::TYPE
    }

    /// Whether every value of the source is one of the target, so that no option matters.
    pub(crate) fn is_exact(&self) -> bool {
        use recast_kernels::Format::{Float, Integer};
        match (self.source.format(), self.target.format()) {
            (Integer { bits: s, signed: from }, Integer { bits: t, signed: to }) => {
                if from == to {
                    s <= t
                } else {
                    to && s < t
                }
            }
            (Integer { bits, signed }, Float(target)) => {
                bits - u32::from(signed) <= target.mantissa_bits + 1
                    && i64::from(bits) <= i64::from(target.max_exponent())
            }
            (Float(source), Float(target)) => {
                source == target
                    || source.exponent_bits < target.exponent_bits
                        && source.mantissa_bits <= target.mantissa_bits
            }
            _ => false,
        }
    }

    /// The steps of the plan.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let cast = |target, map: Vec<_>| {
            let cast = Cast::new(target).rounding(self.rounding).out_of_range(self.out_of_range);
            Step::Cast(cast.map(map))
        };
        let wide = ElementType::Float64;
        let map = self.map.iter().copied();
        let affine = |element_type| {
            let parameter = |value| Some(constant(value, element_type));
            Affine::new(parameter(OFFSET), parameter(SCALE))
        };
        match self.affine {
            Scaling::None => vec![cast(self.target, map.collect())],
            Scaling::Encode => {
                vec![Step::Scale(affine(self.source)), cast(self.target, map.collect())]
            }
            Scaling::Decode => {
                vec![cast(self.target, map.collect()), Step::InverseScale(affine(self.target))]
            }
            Scaling::EncodeInFloat64 => {
                let map = map.map(|(key, output)| (constant(key.to_f64(), wide), output));
                vec![
                    Step::Cast(Cast::new(wide)),
                    Step::Scale(affine(wide)),
                    cast(self.target, map.collect()),
                ]
            }
            Scaling::DecodeInFloat64 => {
                let map = map.map(|(key, output)| (key, constant(output.to_f64(), wide)));
                vec![
                    cast(wide, map.collect()),
                    Step::InverseScale(affine(wide)),
                    Step::Cast(Cast::new(self.target)),
                ]
            }
        }
    }

    /// The bound plan.
    pub(crate) fn plan(&self, level: Level) -> Result<Plan, BuildError> {
        let builder = Plan::builder(self.source).level(level);
        self.steps().into_iter().fold(builder, PlanBuilder::step).build()
    }

    /// `n` elements on which the case succeeds, as bytes.
    ///
    /// The signs are random where both types have one; the magnitudes are spread evenly over the
    /// powers of two from 1/4 to the smaller one of both types' ranges. In a case with a map every
    /// 61st element is the key.
    pub(crate) fn fill(&self, bytes: &mut [u8]) {
        const PATTERN: usize = 16_384;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0x5EED);
        let size = self.source.size();
        let pattern = bytes.len().min(PATTERN * size);
        let (first, rest) = bytes.split_at_mut(pattern);
        for (index, element) in first.chunks_exact_mut(size).enumerate() {
            let value = match self.map.first() {
                // The keys of an encoding chain are met by the values after the scaling; NaN stays NaN.
                Some((key, _)) if index % 61 == 0 => *key,
                _ => self.element(&mut random),
            };
            assert!(value.write_ne_bytes(element), "an element of the source's size");
        }
        for chunk in rest.chunks_mut(pattern.max(1)) {
            chunk.copy_from_slice(&first[..chunk.len()]);
        }
    }

    /// What the scale and offset in front of the cast make `value`.
    pub(crate) fn before_scaling(&self, value: f64) -> f64 {
        if self.scales_first() { value / SCALE + OFFSET } else { value }
    }

    /// Whether scale and offset stand in front of the cast.
    pub(crate) fn scales_first(&self) -> bool {
        match self.affine {
            Scaling::Encode | Scaling::EncodeInFloat64 => true,
            Scaling::None | Scaling::Decode | Scaling::DecodeInFloat64 => false,
        }
    }

    fn element(&self, random: &mut Xoshiro256PlusPlus) -> Scalar {
        let limit = Scalar::max(self.source).to_f64().min(Scalar::max(self.target).to_f64());
        // An integer of at least 1 stays clear of 0, which float8_e8m0fnu has not.
        let lowest = if self.target == ElementType::Float8E8M0Fnu { 0.0 } else { -2.0 };
        let exponent = random.random_range(lowest..limit.log2().max(0.1));
        // Below the limit by more than any rounding of a float near it, so nothing is out of range.
        let magnitude = (exponent.exp2() * 0.98).max(lowest.exp2());
        let negative = self.source.is_signed() && self.target.is_signed() && random.random();
        let value = if negative { -magnitude } else { magnitude };
        constant(self.before_scaling(value), self.source)
    }
}

/// The value of this type next to `value`, towards zero.
pub(crate) fn constant(value: f64, element_type: ElementType) -> Scalar {
    reference::cast(value.into(), element_type, Rounding::TowardsZero, OutOfRange::Clamp)
        .unwrap_or(Scalar::zero(element_type))
}

/// Keys, each with its output. The first is what data sets mark missing values with: NaN, for which the target's least value
/// stands, or else the largest value, which becomes NaN if the target has it. The others are small integers.
fn entries(source: ElementType, target: ElementType) -> impl Iterator<Item = (Scalar, Scalar)> {
    let others = (1..).map(move |number: u8| {
        (constant(number.into(), source), constant((number + 1).into(), target))
    });
    let least = Scalar::min(target);
    let first = match Scalar::nan(source) {
        Some(nan) => (nan, least),
        None => (Scalar::max(source), Scalar::nan(target).unwrap_or(least)),
    };
    std::iter::once(first).chain(others)
}

/// Every case, those of one pair of types next to each other.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |pair, roundings: &[Rounding], ranges: &[OutOfRange], affine| {
        for &rounding in roundings {
            for &out_of_range in ranges {
                for map_entries in [0, 1] {
                    cases.extend(Case::new(pair, rounding, out_of_range, map_entries, affine));
                }
            }
        }
    };
    let unwrapped = [OutOfRange::Error, OutOfRange::Clamp];
    for source in CORE {
        for target in CORE {
            add((source, target), Rounding::ALL, OutOfRange::ALL, Scaling::None);
        }
    }
    for wide in [ElementType::Float32, ElementType::Float64] {
        for narrow in
            [ElementType::UInt8, ElementType::Int16, ElementType::UInt16, ElementType::Int32]
        {
            add((wide, narrow), Rounding::ALL, OutOfRange::ALL, Scaling::Encode);
            add((narrow, wide), &[Rounding::NearestEven], &unwrapped, Scaling::Decode);
        }
    }
    for small in
        ElementType::ALL.iter().copied().filter(|t| t.bits() < 8 || t.bits() == 8 && t.is_float())
    {
        for partner in PARTNERS {
            add((small, partner), &[Rounding::NearestEven], &unwrapped, Scaling::None);
            add((partner, small), &[Rounding::NearestEven], &unwrapped, Scaling::None);
        }
    }
    // What `recast pack` writes for arrays with NaN and a missing value, and for float32 whose arithmetic is float64.
    for narrow in [ElementType::UInt8, ElementType::Int16, ElementType::Int32] {
        for entries in [0, 1, 2] {
            let mut add = |pair, affine| {
                let (rounding, range) = (Rounding::NearestEven, OutOfRange::Error);
                cases.extend(Case::new(pair, rounding, range, entries, affine));
            };
            for wide in [ElementType::Float32, ElementType::Float64] {
                if entries == 2 {
                    add((wide, narrow), Scaling::Encode);
                    add((narrow, wide), Scaling::Decode);
                }
            }
            add((ElementType::Float32, narrow), Scaling::EncodeInFloat64);
            add((narrow, ElementType::Float32), Scaling::DecodeInFloat64);
        }
    }
    for source in CORE {
        for target in CORE {
            let pair = (source, target);
            let (rounding, range) = (Rounding::NearestEven, OutOfRange::Error);
            cases.extend(Case::new(pair, rounding, range, LONG_MAP, Scaling::None));
        }
    }
    cases
}

/// Cases in which only unusual elements are of interest: scale and offset alone, after a cast that clamps, and maps
/// whose outputs are no casts of any key.
pub(crate) fn for_unusual_elements() -> Vec<Case> {
    use ElementType::{
        BFloat16, Float16, Float32, Float64, Int16, Int32, Int64, UInt8, UInt32, UInt64,
    };
    let mut cases = Vec::new();
    let even = Rounding::NearestEven;
    for float in [Float16, BFloat16, Float32, Float64] {
        for affine in [Scaling::Encode, Scaling::Decode] {
            cases.extend(Case::new((float, float), even, OutOfRange::Error, 0, affine));
        }
    }
    for source in [Float64, Float32, Int32, UInt64, BFloat16, Float16] {
        for target in [Float32, Float16, BFloat16] {
            let pair = (source, target);
            cases.extend(Case::new(pair, even, OutOfRange::Clamp, 0, Scaling::Decode));
        }
    }
    let greatest =
        |target: ElementType, back: u64| Scalar::from_bits(target, target.max_bits() - back);
    let mut with_map = |source, target, rounding, map: Vec<(Scalar, Scalar)>| {
        let case = Case::new((source, target), rounding, OutOfRange::Error, 0, Scaling::None);
        cases.extend(case.map(|case| Case { map, ..case }));
    };
    let back = [(-1_i16, 0), (-2, 1)];
    let map = back.map(|(key, back)| (Scalar::from(key), greatest(UInt32, back)));
    with_map(Int16, UInt32, even, map.into());
    for source in [Float16, BFloat16, Float32, Float64] {
        for target in [UInt8, Int16, Int32, UInt32, Int64, UInt64] {
            for rounding in [even, Rounding::NearestAway, Rounding::TowardsNegative] {
                let nan = Scalar::nan(source).into_iter();
                with_map(
                    source,
                    target,
                    rounding,
                    nan.map(|nan| (nan, greatest(target, 0))).collect(),
                );
            }
        }
    }
    cases
}

/// Gives `$function::<S, T>($case)` for the pair of Rust types that the case is about, out of
/// `[sources] * [targets]`, and `None` for any other.
macro_rules! with_types {
    ($case:expr, $function:ident, [$($source:ty),*], $targets:tt) => {{
        $(with_types!(@row $case, $function, $source, $targets);)*
    }};
    (@row $case:expr, $function:ident, $source:ty, [$($target:ty),*]) => {{
        $(if $case.is::<$source, $target>() {
            return Some($function::<$source, $target>($case));
        })*
    }};
}
pub(crate) use with_types;

/// Rust's names of the types of the matrix, for [`with_types`]'s callers.
pub(crate) type F16 = f16;
pub(crate) type Bf16 = bf16;
