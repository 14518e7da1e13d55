//! What `cast_value` and `scale_offset` mean, worked out a second time for the tests.
//!
//! It shares neither code nor method with `recast_kernels`: values are quadruple-precision floats of
//! `rustc_apfloat` (113 bits, in which every value of the 27 types is exact). The wide floats are
//! rounded by that crate on a format of the target's precision and smallest exponent, but with no
//! largest exponent to speak of; the types of up to 8 bits are rounded by looking for the two
//! neighbours in a sorted table of all their values; arithmetic is that crate's. Of `recast_kernels`
//! only the names are used.
//!
//! Elements are bits in a `u64`, as the element lies in memory.
#![allow(dead_code)] // each test uses a part of it

pub(crate) mod edges;

use std::cmp::Ordering;
use std::sync::LazyLock;

use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, OutOfRange, Reason, Rounding, Step,
};
use rustc_apfloat::ieee::{
    BFloat, BFloatS, Double, DoubleS, Float8E5M2S, Half, HalfS, IeeeFloat, Quad, Semantics, Single,
    SingleS,
};
use rustc_apfloat::{ExpInt, Float, FloatConvert, Round};

/// Casts the element `bits` of type `source` to `target`.
pub(crate) fn cast(
    source: ElementType,
    bits: u64,
    target: ElementType,
    rounding: Rounding,
    out_of_range: OutOfRange,
) -> Result<u64, Reason> {
    let bits = canonical(source, bits);
    if source == target {
        return Ok(bits);
    }
    let [error, clamp, wrap] = cast_all_modes(Value::of(source, bits), target, rounding);
    match out_of_range {
        OutOfRange::Error => error,
        OutOfRange::Clamp => clamp,
        OutOfRange::Wrap => wrap,
        other => unreachable!("the oracle has no {other:?}"),
    }
}

/// Casts with the map of `step`: the first key equal by value to the element decides.
pub(crate) fn cast_value(source: ElementType, bits: u64, step: &Cast) -> Result<u64, Reason> {
    let value = Value::of(source, bits);
    for (key, mapped) in &step.map {
        if value.equals(Value::of(key.element_type(), key.bits())) {
            return Ok(mapped.bits());
        }
    }
    cast(source, bits, step.target, step.rounding, step.out_of_range)
}

/// One step on the element `bits` of type `source`.
pub(crate) fn step(source: ElementType, bits: u64, step: &Step) -> Result<u64, Reason> {
    use Operation::{Add, Divide, Multiply, Subtract};
    let (parameters, operations) = match step {
        Step::Cast(cast) => return cast_value(source, bits, cast),
        Step::Scale(parameters) => {
            (parameters, [(Subtract, parameters.offset), (Multiply, parameters.scale)])
        }
        Step::InverseScale(parameters) => {
            (parameters, [(Divide, parameters.scale), (Add, parameters.offset)])
        }
        other => unreachable!("the oracle has no {other:?}"),
    };
    let Affine { overflow, .. } = *parameters;
    operations.into_iter().try_fold(canonical(source, bits), |bits, (operation, operand)| {
        match operand {
            None => Ok(bits),
            Some(operand) => operate(operation, source, bits, operand.bits(), overflow),
        }
    })
}

/// All steps on the element `bits` of type `source`; a failure comes with the failing step and the
/// element that reached it.
pub(crate) fn run(
    source: ElementType,
    bits: u64,
    steps: &[Step],
) -> Result<u64, (usize, u64, Reason)> {
    let mut current = (source, canonical(source, bits));
    for (index, each) in steps.iter().enumerate() {
        let (element_type, bits) = current;
        let result = step(element_type, bits, each).map_err(|reason| (index, bits, reason))?;
        current = match each {
            Step::Cast(cast) => (cast.target, result),
            _ => (element_type, result),
        };
    }
    Ok(current.1)
}

/// A type as the table of the specification describes it.
#[derive(Clone, Copy)]
enum Kind {
    Integer { bits: u32, signed: bool },
    Small(Small),
    PowerOfTwo,
    Half,
    BFloat,
    Single,
    Double,
}

/// A row of that table for a signed float of up to 8 bits.
#[derive(Clone, Copy)]
struct Small {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    /// The largest finite value; every greater pattern is Inf or NaN.
    max: f64,
    beyond: Beyond,
}

/// What a small float has besides finite values.
#[derive(Clone, Copy, PartialEq)]
enum Beyond {
    Nothing,
    InfinityAndNan,
    /// NaN in the place of the greatest magnitude, with either sign.
    NanForGreatest,
    /// NaN in the place of −0.
    NanForNegativeZero,
}

fn kind(element_type: ElementType) -> Kind {
    use ElementType as E;
    let int = |bits| Kind::Integer { bits, signed: true };
    let uint = |bits| Kind::Integer { bits, signed: false };
    let small = |exponent_bits, mantissa_bits, bias, max, beyond| {
        Kind::Small(Small { exponent_bits, mantissa_bits, bias, max, beyond })
    };
    match element_type {
        E::Int2 => int(2),
        E::Int4 => int(4),
        E::Int8 => int(8),
        E::Int16 => int(16),
        E::Int32 => int(32),
        E::Int64 => int(64),
        E::UInt2 => uint(2),
        E::UInt4 => uint(4),
        E::UInt8 => uint(8),
        E::UInt16 => uint(16),
        E::UInt32 => uint(32),
        E::UInt64 => uint(64),
        E::Float4E2M1Fn => small(2, 1, 1, 6.0, Beyond::Nothing),
        E::Float6E2M3Fn => small(2, 3, 1, 7.5, Beyond::Nothing),
        E::Float6E3M2Fn => small(3, 2, 3, 28.0, Beyond::Nothing),
        E::Float8E3M4 => small(3, 4, 3, 15.5, Beyond::InfinityAndNan),
        E::Float8E4M3 => small(4, 3, 7, 240.0, Beyond::InfinityAndNan),
        E::Float8E4M3B11Fnuz => small(4, 3, 11, 30.0, Beyond::NanForNegativeZero),
        E::Float8E4M3Fn => small(4, 3, 7, 448.0, Beyond::NanForGreatest),
        E::Float8E4M3Fnuz => small(4, 3, 8, 240.0, Beyond::NanForNegativeZero),
        E::Float8E5M2 => small(5, 2, 15, 57344.0, Beyond::InfinityAndNan),
        E::Float8E5M2Fnuz => small(5, 2, 16, 57344.0, Beyond::NanForNegativeZero),
        E::Float8E8M0Fnu => Kind::PowerOfTwo,
        E::BFloat16 => Kind::BFloat,
        E::Float16 => Kind::Half,
        E::Float32 => Kind::Single,
        E::Float64 => Kind::Double,
        other => panic!("the oracle has no row for {other}"),
    }
}

impl Small {
    fn sign_bit(self) -> u64 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The value of a pattern without its sign, by the formula, whatever else the pattern may mean.
    fn formula(self, bits: u64) -> Quad {
        let (field, mantissa) = (bits >> self.mantissa_bits, bits % (1 << self.mantissa_bits));
        let significand = if field == 0 { mantissa } else { (1 << self.mantissa_bits) + mantissa };
        let exponent = i32::try_from(field.max(1)).unwrap() - self.bias;
        power_of_two_times(significand, exponent - self.mantissa_bits.cast_signed())
    }
}

/// The bits with what does not belong to the type cleared, and sub-byte integers sign-extended.
pub(crate) fn canonical(element_type: ElementType, bits: u64) -> u64 {
    match kind(element_type) {
        Kind::Integer { bits: width, signed } => in_memory(i128::from(bits), width, signed),
        Kind::Small(small) => bits & (2 * small.sign_bit() - 1),
        Kind::PowerOfTwo => bits & 0xff,
        Kind::Half | Kind::BFloat => bits & 0xffff,
        Kind::Single => bits & 0xffff_ffff,
        Kind::Double => bits,
    }
}

/// The integer type's element that is congruent to `value` modulo 2^width.
fn in_memory(value: i128, width: u32, signed: bool) -> u64 {
    let modulus = 1_i128 << width;
    let mut element = value.rem_euclid(modulus);
    if signed && element >= modulus / 2 {
        element -= modulus;
    }
    let bytes = i128::from(width.div_ceil(8));
    (element.rem_euclid(1 << (8 * bytes))) as u64
}

/// What an element stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    /// The payload is that of the same NaN in f64.
    Nan {
        negative: bool,
        payload: u64,
    },
    Infinite {
        negative: bool,
    },
    Finite(Quad),
}

const CANONICAL_NAN: Value = Value::Nan { negative: false, payload: 1 << 51 };

impl Value {
    /// Reads an element.
    pub(crate) fn of(element_type: ElementType, bits: u64) -> Self {
        let bits = canonical(element_type, bits);
        match kind(element_type) {
            Kind::Integer { bits: width, signed } => {
                let modulus = 1_i128 << width;
                let value = i128::from(bits) % modulus;
                let negative = signed && value >= modulus / 2;
                Self::Finite(Quad::from_i128(if negative { value - modulus } else { value }).value)
            }
            Kind::Small(small) => {
                let negative = bits >= small.sign_bit();
                let magnitude = bits % small.sign_bit();
                if small.beyond == Beyond::NanForNegativeZero && bits == small.sign_bit() {
                    return CANONICAL_NAN;
                }
                let value = small.formula(magnitude);
                if small.beyond == Beyond::InfinityAndNan && magnitude == small.infinity() {
                    Self::Infinite { negative }
                } else if value > double(small.max) {
                    let payload = match small.beyond {
                        Beyond::InfinityAndNan => {
                            (magnitude - small.infinity()) << (52 - small.mantissa_bits)
                        }
                        Beyond::NanForGreatest => 1 << 51,
                        Beyond::Nothing | Beyond::NanForNegativeZero => {
                            panic!("no pattern beyond the maximum")
                        }
                    };
                    Self::Nan { negative, payload }
                } else {
                    Self::Finite(if negative { -value } else { value })
                }
            }
            Kind::PowerOfTwo if bits == 0xff => CANONICAL_NAN,
            Kind::PowerOfTwo => Self::Finite(power_of_two_times(1, bits as i32 - 127)),
            Kind::Half => Self::of_ieee(Half::from_bits(bits.into())),
            Kind::BFloat => Self::of_ieee(BFloat::from_bits(bits.into())),
            Kind::Single => Self::of_ieee(Single::from_bits(bits.into())),
            Kind::Double => Self::of_ieee(Double::from_bits(bits.into())),
        }
    }

    fn of_ieee<S: Semantics>(value: IeeeFloat<S>) -> Self {
        let negative = value.is_negative();
        if value.is_nan() {
            let payload = value.to_bits() as u64 % (1 << (S::PRECISION - 1));
            Self::Nan { negative, payload: payload << (53 - S::PRECISION) }
        } else if value.is_infinite() {
            Self::Infinite { negative }
        } else {
            Self::Finite(exactly(value))
        }
    }

    /// Equality by value: a NaN equals every NaN, 0 equals −0.
    pub(crate) fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Nan { .. }, Self::Nan { .. }) => true,
            (Self::Infinite { negative: a }, Self::Infinite { negative: b }) => a == b,
            (Self::Finite(a), Self::Finite(b)) => a == b,
            _ => false,
        }
    }
}

fn double(value: f64) -> Quad {
    exactly(Double::from_bits(value.to_bits().into()))
}

fn power_of_two_times(significand: u64, exponent: i32) -> Quad {
    Quad::from_u128(significand.into()).value.scalbn(exponent)
}

/// Converts between formats where nothing is lost.
fn exactly<S: Semantics, T: Semantics>(value: IeeeFloat<S>) -> IeeeFloat<T> {
    let mut loses_info = false;
    let converted = value.convert(&mut loses_info).value;
    assert!(!loses_info, "{value} was to be converted exactly");
    converted
}

/// A rounding, as `rustc_apfloat` names it.
pub(crate) fn direction(rounding: Rounding) -> Round {
    match rounding {
        Rounding::NearestEven => Round::NearestTiesToEven,
        Rounding::TowardsZero => Round::TowardZero,
        Rounding::TowardsPositive => Round::TowardPositive,
        Rounding::TowardsNegative => Round::TowardNegative,
        Rounding::NearestAway => Round::NearestTiesToAway,
        other => unreachable!("the oracle has no {other:?}"),
    }
}

/// Casts a value to another type, with each [`OutOfRange`] in the order of [`OutOfRange::ALL`];
/// `wrap` towards a float type is an error.
pub(crate) fn cast_all_modes(
    value: Value,
    target: ElementType,
    rounding: Rounding,
) -> [Result<u64, Reason>; 3] {
    match (value, kind(target)) {
        (Value::Nan { negative, payload }, kind) => {
            let nan = |exponent_bits: u32, mantissa_bits: u32| {
                let exponent = (1_u64 << exponent_bits) - 1;
                let quiet = payload >> (52 - mantissa_bits) | 1 << (mantissa_bits - 1);
                (u64::from(negative) << exponent_bits | exponent) << mantissa_bits | quiet
            };
            [match kind {
                Kind::Integer { .. } => Err(Reason::Nan),
                Kind::Small(small) => match small.beyond {
                    Beyond::Nothing => Err(Reason::Nan),
                    Beyond::InfinityAndNan => Ok(nan(small.exponent_bits, small.mantissa_bits)),
                    Beyond::NanForGreatest => Ok(if negative { 0xff } else { 0x7f }),
                    Beyond::NanForNegativeZero => Ok(0x80),
                },
                Kind::PowerOfTwo => Ok(0xff),
                Kind::Half => Ok(nan(5, 10)),
                Kind::BFloat => Ok(nan(8, 7)),
                Kind::Single => Ok(nan(8, 23)),
                Kind::Double => Ok(nan(11, 52)),
            }; 3]
        }
        (Value::Infinite { negative }, kind) => {
            [infinity(kind, negative).ok_or(Reason::Infinite); 3]
        }
        (Value::Finite(x), Kind::Integer { bits, signed }) => {
            to_integer(x.round_to_integral(direction(rounding)).value, bits, signed)
        }
        (Value::Finite(x), kind @ (Kind::Small(_) | Kind::PowerOfTwo)) => {
            to_table(x, target, kind, rounding)
        }
        (Value::Finite(x), Kind::Half) => to_ieee::<_, Grid<11, -14>>(x, Half::largest(), rounding),
        (Value::Finite(x), Kind::BFloat) => {
            to_ieee::<_, Grid<8, -126>>(x, BFloat::largest(), rounding)
        }
        (Value::Finite(x), Kind::Single) => {
            to_ieee::<_, Grid<24, -126>>(x, Single::largest(), rounding)
        }
        (Value::Finite(x), Kind::Double) => {
            to_ieee::<_, Grid<53, -1022>>(x, Double::largest(), rounding)
        }
    }
}

fn infinity(kind: Kind, negative: bool) -> Option<u64> {
    let signed = |infinity: u64, sign: u64| infinity | if negative { sign } else { 0 };
    match kind {
        Kind::Small(small) if small.beyond == Beyond::InfinityAndNan => {
            Some(signed(small.infinity(), small.sign_bit()))
        }
        Kind::Integer { .. } | Kind::Small(_) | Kind::PowerOfTwo => None,
        Kind::Half => Some(signed(0x7c00, 0x8000)),
        Kind::BFloat => Some(signed(0x7f80, 0x8000)),
        Kind::Single => Some(signed(0x7f80_0000, 0x8000_0000)),
        Kind::Double => Some(signed(f64::INFINITY.to_bits(), 1 << 63)),
    }
}

/// An integral value in an integer type.
fn to_integer(integral: Quad, width: u32, signed: bool) -> [Result<u64, Reason>; 3] {
    let (min, max) = if signed {
        (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1)
    } else {
        (0, (1_i128 << width) - 1)
    };
    let as_i128 = |x: Quad| x.to_i128_r(128, Round::TowardZero, &mut false).value;
    if integral < Quad::from_i128(min).value || integral > Quad::from_i128(max).value {
        // Beyond 64 bits only floats reach, so f64 holds the value, and its remainder is exact.
        let modulo = if integral.cmp_abs_normal(double(1e30)) == Ordering::Greater {
            let wide = f64::from_bits(exactly::<_, DoubleS>(integral).to_bits() as u64);
            (wide % 18_446_744_073_709_551_616.0) as i128
        } else {
            as_i128(integral)
        };
        let nearest = if integral.is_negative() { min } else { max };
        return [
            Err(Reason::OutOfRange),
            Ok(in_memory(nearest, width, signed)),
            Ok(in_memory(modulo, width, signed)),
        ];
    }
    [Ok(in_memory(as_i128(integral), width, signed)); 3]
}

/// A float format with this precision and this smallest normal exponent, and a largest exponent far
/// beyond what rounding any element can reach.
struct Grid<const PRECISION: usize, const MIN_EXP: ExpInt>;

impl<const PRECISION: usize, const MIN_EXP: ExpInt> Semantics for Grid<PRECISION, MIN_EXP> {
    const BITS: usize = PRECISION + Self::EXP_BITS;
    const EXP_BITS: usize = 15;
    const PRECISION: usize = PRECISION;
    const MIN_EXP: ExpInt = MIN_EXP;
    const MAX_EXP: ExpInt = 16000;
}

fn to_ieee<T: Semantics, G: Semantics>(
    value: Quad,
    largest: IeeeFloat<T>,
    rounding: Rounding,
) -> [Result<u64, Reason>; 3] {
    let rounded: IeeeFloat<G> = value.convert_r(direction(rounding), &mut false).value;
    let rounded: Quad = exactly(rounded);
    if rounded.abs() > exactly(largest) {
        let infinity = IeeeFloat::<T>::INFINITY;
        let infinity = if rounded.is_negative() { -infinity } else { infinity };
        return [Err(Reason::OutOfRange), Ok(infinity.to_bits() as u64), Err(Reason::OutOfRange)];
    }
    [Ok(exactly::<_, T>(rounded).to_bits() as u64); 3]
}

/// The magnitudes of a type of up to 8 bits in ascending order, with the neighbours that it would
/// have if its exponents had no end (for those, `bits` is `None`).
struct Table {
    entries: Vec<Entry>,
    /// Halfway between each entry and the next.
    midpoints: Vec<Quad>,
}

struct Entry {
    magnitude: Quad,
    bits: Option<u64>,
    even: bool,
}

impl Table {
    fn new(kind: Kind) -> Option<Self> {
        let mut entries: Vec<Entry> = match kind {
            Kind::Small(small) => (0..small.sign_bit())
                .map(|bits| Entry {
                    magnitude: small.formula(bits),
                    bits: Some(bits),
                    even: bits % 2 == 0,
                })
                .filter(|entry| entry.magnitude <= double(small.max))
                .collect(),
            Kind::PowerOfTwo => (-1..=254_i32)
                .map(|byte| Entry {
                    magnitude: power_of_two_times(1, byte - 127),
                    bits: u64::try_from(byte).ok(),
                    even: byte % 2 == 0,
                })
                .collect(),
            _ => return None,
        };
        assert!(entries.is_sorted_by(|a, b| a.magnitude < b.magnitude));
        let [.., Entry { magnitude: before, .. }, Entry { magnitude: max, even, .. }] =
            &entries[..]
        else {
            panic!("every type has two values")
        };
        // Within a binade values are evenly spaced, and doubling goes on for powers of two.
        let next = match kind {
            Kind::PowerOfTwo => max.scalbn(1),
            _ => (*max + (*max - *before).value).value,
        };
        let even = !even;
        entries.push(Entry { magnitude: next, bits: None, even });
        let midpoints = entries
            .windows(2)
            .map(|pair| (pair[0].magnitude + pair[1].magnitude).value.scalbn(-1))
            .collect();
        Some(Self { entries, midpoints })
    }

    fn of(element_type: ElementType) -> &'static Self {
        static TABLES: LazyLock<Vec<Option<Table>>> =
            LazyLock::new(|| ElementType::ALL.iter().map(|&each| Table::new(kind(each))).collect());
        TABLES[element_type as usize].as_ref().expect("a type of up to 8 bits")
    }

    /// The entry that a magnitude rounds to; `None` before the first or after the last.
    fn round(&self, magnitude: Quad, away: bool, nearest: Option<Tie>) -> Option<&Entry> {
        let above = self.entries.partition_point(|entry| entry.magnitude <= magnitude);
        let lower = &self.entries[above.checked_sub(1)?];
        if lower.magnitude == magnitude {
            return Some(lower);
        }
        let upper = self.entries.get(above)?;
        let up = match nearest {
            None => away,
            Some(tie) => match magnitude.partial_cmp(&self.midpoints[above - 1])? {
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => match tie {
                    Tie::Away => true,
                    Tie::Even => upper.even,
                },
            },
        };
        Some(if up { upper } else { lower })
    }
}

#[derive(Clone, Copy)]
enum Tie {
    Even,
    Away,
}

/// Rounds to a type of up to 8 bits.
fn to_table(
    value: Quad,
    target: ElementType,
    kind: Kind,
    rounding: Rounding,
) -> [Result<u64, Reason>; 3] {
    let negative = value.is_negative();
    let (away, nearest) = match rounding {
        Rounding::NearestEven => (false, Some(Tie::Even)),
        Rounding::NearestAway => (false, Some(Tie::Away)),
        Rounding::TowardsZero => (false, None),
        Rounding::TowardsPositive => (!negative, None),
        Rounding::TowardsNegative => (negative, None),
        other => unreachable!("the oracle has no {other:?}"),
    };
    let rounded = Table::of(target).round(value.abs(), away, nearest).and_then(|entry| entry.bits);
    let out_of_range = |clamped| [Err(Reason::OutOfRange), Ok(clamped), Err(Reason::OutOfRange)];
    match (kind, rounded) {
        (Kind::Small(small), Some(0)) if small.beyond == Beyond::NanForNegativeZero => [Ok(0); 3],
        (Kind::Small(small), Some(bits)) => {
            [Ok(bits + if negative { small.sign_bit() } else { 0 }); 3]
        }
        (Kind::Small(small), None) => out_of_range(infinity(kind, negative).unwrap_or_else(|| {
            // In the types without infinities the maximum is the last pattern but the sign, or the one before it.
            let last = small.sign_bit() - 1 - u64::from(small.beyond == Beyond::NanForGreatest);
            last + if negative { small.sign_bit() } else { 0 }
        })),
        (_, Some(bits)) if !negative => [Ok(bits); 3],
        _ if negative || value < double(1.0) => out_of_range(0),
        _ => out_of_range(0xfe),
    }
}

/// The operations of `scale_offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    Subtract,
    Multiply,
    Divide,
    Add,
}

impl Operation {
    pub(crate) const ALL: [Self; 4] = [Self::Subtract, Self::Multiply, Self::Divide, Self::Add];

    fn apply<S: Semantics>(self, x: IeeeFloat<S>, y: IeeeFloat<S>) -> IeeeFloat<S> {
        match self {
            Self::Subtract => (x - y).value,
            Self::Multiply => (x * y).value,
            Self::Divide => (x / y).value,
            Self::Add => (x + y).value,
        }
    }
}

/// `x operation y` in the arithmetic of the type, for a finite `y` that is not a zero divisor.
pub(crate) fn operate(
    operation: Operation,
    element_type: ElementType,
    x: u64,
    y: u64,
    overflow: FloatOverflow,
) -> Result<u64, Reason> {
    use ElementType as E;
    match element_type {
        E::Float4E2M1Fn => on_grid::<2, 0>(operation, element_type, x, y),
        E::Float6E2M3Fn => on_grid::<4, 0>(operation, element_type, x, y),
        E::Float6E3M2Fn => on_grid::<3, -2>(operation, element_type, x, y),
        E::Float8E4M3B11Fnuz => on_grid::<4, -10>(operation, element_type, x, y),
        E::Float8E4M3Fn => on_grid::<4, -6>(operation, element_type, x, y),
        E::Float8E4M3Fnuz => on_grid::<4, -7>(operation, element_type, x, y),
        E::Float8E5M2Fnuz => on_grid::<3, -15>(operation, element_type, x, y),
        E::Float8E3M4 => on_ieee::<Float8E3M4S>(operation, x, y, overflow),
        E::Float8E4M3 => on_ieee::<Float8E4M3S>(operation, x, y, overflow),
        E::Float8E5M2 => on_ieee::<Float8E5M2S>(operation, x, y, overflow),
        E::Float16 => on_ieee::<HalfS>(operation, x, y, overflow),
        E::BFloat16 => on_ieee::<BFloatS>(operation, x, y, overflow),
        E::Float32 => on_ieee::<SingleS>(operation, x, y, overflow),
        E::Float64 => on_ieee::<DoubleS>(operation, x, y, overflow),
        E::Float8E8M0Fnu => on_powers_of_two(operation, x, y),
        _ => on_integers(operation, element_type, x, y),
    }
}

/// The IEEE-like formats that `rustc_apfloat` does not name.
pub(crate) struct Float8E3M4S;

impl Semantics for Float8E3M4S {
    const BITS: usize = 8;
    const EXP_BITS: usize = 3;
}

pub(crate) struct Float8E4M3S;

impl Semantics for Float8E4M3S {
    const BITS: usize = 8;
    const EXP_BITS: usize = 4;
}

fn on_ieee<S: Semantics>(
    operation: Operation,
    x: u64,
    y: u64,
    overflow: FloatOverflow,
) -> Result<u64, Reason> {
    let (x, y) = (IeeeFloat::<S>::from_bits(x.into()), IeeeFloat::<S>::from_bits(y.into()));
    let result = operation.apply(x, y);
    if x.is_finite() && !result.is_finite() && overflow == FloatOverflow::Error {
        return Err(Reason::Overflow);
    }
    Ok(result.to_bits() as u64)
}

/// In a type without infinities.
fn on_grid<const PRECISION: usize, const MIN_EXP: ExpInt>(
    operation: Operation,
    element_type: ElementType,
    x: u64,
    y: u64,
) -> Result<u64, Reason> {
    let (Value::Finite(left), Value::Finite(right)) =
        (Value::of(element_type, x), Value::of(element_type, y))
    else {
        return Ok(x); // a NaN, for operands are finite
    };
    let grid = exactly::<_, Grid<PRECISION, MIN_EXP>>;
    let result: Quad = exactly(operation.apply(grid(left), grid(right)));
    // The operation has rounded, so the rounding asked for here does nothing.
    let [result, ..] = cast_all_modes(Value::Finite(result), element_type, Rounding::TowardsZero);
    result.map_err(|_| Reason::Overflow)
}

/// In `float8_e8m0fnu`, on exponents: a sum or a difference of two powers of two is far from the
/// middle between two others, or exactly in it.
fn on_powers_of_two(operation: Operation, x: u64, y: u64) -> Result<u64, Reason> {
    if x == 0xff {
        return Ok(x);
    }
    let (x, y) = (x as i64, y as i64);
    // A tie goes to the even byte.
    let tie = |lower: i64| if lower % 2 == 0 { lower } else { lower + 1 };
    let byte = match operation {
        Operation::Multiply => x + y - 127,
        Operation::Divide => x - y + 127,
        Operation::Add => match (x - y).abs() {
            0 => x + 1,
            1 => tie(x.max(y)),
            _ => x.max(y),
        },
        Operation::Subtract => match x - y {
            i64::MIN..=0 => return Err(Reason::Overflow), // zero or negative
            1 => x - 1,
            2 => tie(x - 1),
            _ => x,
        },
    };
    u64::try_from(byte).ok().filter(|&byte| byte <= 0xfe).ok_or(Reason::Overflow)
}

fn on_integers(
    operation: Operation,
    element_type: ElementType,
    x: u64,
    y: u64,
) -> Result<u64, Reason> {
    let Kind::Integer { bits, signed } = kind(element_type) else { panic!("an integer type") };
    // Sign and magnitude: a magnitude is at most 2^64, so no product is beyond u128.
    let parts = |element: u64| {
        let modulus = 1_u128 << bits;
        let element = u128::from(element) % modulus;
        let negative = signed && element >= modulus / 2;
        (negative, if negative { modulus - element } else { element })
    };
    let ((x_negative, x), (mut y_negative, y)) = (parts(x), parts(y));
    let (negative, magnitude) = match operation {
        Operation::Multiply => (x_negative != y_negative, x * y),
        Operation::Divide => {
            if x % y != 0 {
                return Err(Reason::InexactDivision);
            }
            (x_negative != y_negative, x / y)
        }
        Operation::Add | Operation::Subtract => {
            y_negative ^= operation == Operation::Subtract;
            if x_negative == y_negative {
                (x_negative, x + y)
            } else if x >= y {
                (x_negative, x - y)
            } else {
                (y_negative, y - x)
            }
        }
    };
    let limit = match (signed, negative) {
        (false, false) => (1 << bits) - 1,
        (false, true) => 0,
        (true, false) => (1 << (bits - 1)) - 1,
        (true, true) => 1 << (bits - 1),
    };
    if magnitude > limit {
        return Err(Reason::Overflow);
    }
    let value = magnitude as i128;
    Ok(in_memory(if negative { -value } else { value }, bits, signed))
}
