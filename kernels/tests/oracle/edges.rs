//! Elements at which casts go wrong, and reproducible random ones.

use recast_kernels::{ElementType, Format, OutOfRange, Rounding};

use super::{canonical, cast};

/// Elements on, beside and halfway between the values of every narrower type, at the ends of its
/// range, and NaNs of many payloads. Types of up to 8 bits: every byte, unused bits set or not.
/// Sorted, without repeats.
pub(crate) fn edges(element_type: ElementType) -> Vec<u64> {
    let width = 8 * element_type.size() as u32;
    if width == 8 {
        return (0..=255).collect();
    }
    let mut elements: Vec<u64> = match element_type.format() {
        Format::Integer { .. } => integer_edges(),
        _ => float_edges(element_type),
    };
    for element in &mut elements {
        *element = canonical(element_type, *element);
    }
    elements.sort_unstable();
    elements.dedup();
    elements
}

/// The integers of 1 to 64 bits that need one bit more than 1 to 64 bits of precision, their
/// neighbours, and all that in the negative.
fn integer_edges() -> Vec<u64> {
    let mut elements = Vec::new();
    for exponent in 0..64_u32 {
        let one = 1_u64 << exponent;
        for precision in 1..=exponent {
            let half = one >> precision;
            for tie in [one + half, one.wrapping_add(3 * half), (one - half) + one] {
                elements.extend([-1, 0, 1].map(|step| tie.wrapping_add_signed(step)));
            }
        }
        elements.extend((-4..=4).map(|step| one.wrapping_add_signed(step)));
    }
    elements.extend((0..300).chain((0..40).map(|bits| u64::MAX >> bits)));
    elements.iter().flat_map(|&element| [element, element.wrapping_neg()]).collect()
}

/// Magnitudes between two values of each precision, their neighbours, integers, NaNs and infinities,
/// with both signs.
fn float_edges(element_type: ElementType) -> Vec<u64> {
    let mut values = vec![0.0, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 1e300, 65519.99];
    let exponents = (-1074..=-1020).chain(-155..=135).chain(1016..=1023);
    for power in exponents.map(|exponent| 2_f64.powi(exponent)) {
        for precision in (1..=12).chain([16, 23, 24, 25, 31, 32, 33, 52]) {
            let half = 0.5_f64.powi(precision);
            values.extend([1.0, 1.0 + half, 1.0 + 3.0 * half, 2.0 - half].map(|x| x * power));
        }
    }
    values.extend((0..1100_u32).map(|x| f64::from(x) / 2.0));
    values.extend([8, 16, 32, 64].into_iter().flat_map(|bits| {
        let power = 2_f64.powi(bits);
        [-1.5, -1.0, -0.5, 0.5, 1.0, 1.5].map(|step| power + step)
    }));
    let bits = 8 * element_type.size() as u32;
    let mut elements: Vec<u64> = values
        .into_iter()
        .flat_map(|value| {
            let nearest = cast(
                ElementType::Float64,
                value.to_bits(),
                element_type,
                Rounding::TowardsZero,
                OutOfRange::Clamp,
            );
            (-1..=1).map(move |step| nearest.map_or(0, |bits| bits.wrapping_add_signed(step)))
        })
        .collect();
    let nan = element_type.nan_bits().unwrap_or(0);
    let infinity = nan & (nan << 1); // the quiet bit is the mantissa's first
    elements.extend((0..bits - 1).map(|bit| infinity | 1 << bit).filter(|_| nan != 0));
    elements.extend([infinity, nan | (nan - infinity - 1), infinity + 0x55, infinity + 3]);
    elements.iter().flat_map(|&element| [element, element | 1 << (bits - 1)]).collect()
}

/// A small generator (`SplitMix64`): the same elements on every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A third any bits, a third a number of few digits, a third an integer of any length with at
    /// most one fractional bit.
    pub(crate) fn element(&mut self, element_type: ElementType) -> u64 {
        let length = self.below(64);
        let number = match self.below(3) {
            0 => return canonical_memory(element_type, self.bits()),
            1 => (self.bits() % 4096) as f64 * 2_f64.powi(length as i32 - 32),
            _ if element_type.is_integer() => {
                let integer = self.bits() >> length;
                let signed =
                    if self.bits().is_multiple_of(2) { integer } else { integer.wrapping_neg() };
                return canonical_memory(element_type, signed);
            }
            _ => (self.bits() >> length) as f64 / 2.0,
        };
        let signed = if self.bits().is_multiple_of(2) { number } else { -number };
        let rounded = cast(
            ElementType::Float64,
            signed.to_bits(),
            element_type,
            Rounding::NearestEven,
            OutOfRange::Clamp,
        );
        rounded.unwrap_or_else(|_| self.bits())
    }

    /// At most three beside a power of two, with either sign: where the ways that kernels take end. Of a float, three integers or
    /// three elements.
    pub(crate) fn near_power(&mut self, element_type: ElementType) -> u64 {
        let power = self.below(element_type.bits().max(8) as usize);
        let step = self.below(7) as i64 - 3;
        let negative = self.below(2) == 1;
        let integer = (1_u64 << power).wrapping_add_signed(step);
        let Format::Float(float) = element_type.format() else {
            let integer = if negative { integer.wrapping_neg() } else { integer };
            return canonical_memory(element_type, integer);
        };
        let bits = if self.below(2) == 0 {
            let (nearest, clamp) = (Rounding::NearestEven, OutOfRange::Clamp);
            cast(ElementType::UInt64, integer, element_type, nearest, clamp).unwrap_or_default()
        } else {
            let exponent = self.below(1 << float.exponent_bits) as u64;
            (exponent << float.mantissa_bits).wrapping_add_signed(step)
        };
        let sign = 1 << (float.bits() - 1);
        canonical_memory(element_type, if negative { bits | sign } else { bits & !sign })
    }
}

/// Bits cut to the memory of an element, the unused ones of a sub-byte type left as they are.
fn canonical_memory(element_type: ElementType, bits: u64) -> u64 {
    bits & (u64::MAX >> (64 - 8 * element_type.size()))
}
