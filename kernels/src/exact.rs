//! Values taken apart, rounded once, and put together, by integer arithmetic.
//!
//! A value is sign, integer magnitude and power of two, in which every value of all 27 types is exact. No conversion of the
//! language or of a library takes part.

use crate::{ElementType, FloatFormat, Format, OutOfRange, Reason, Rounding, Scalar, Specials};

/// The [`Exact::key`] of every NaN. No other float has it: as bits, it is a NaN.
pub(crate) const NAN_KEY: u64 = u64::MAX;

/// The value of an element, exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exact {
    /// A NaN: its sign, and its mantissa field moved to the top of 64 bits.
    Nan { negative: bool, payload: u64 },
    /// ±Inf.
    Infinite { negative: bool },
    /// ±magnitude · 2^exponent. Below an exponent of 0, the magnitude has at most 53 bits.
    Finite { negative: bool, magnitude: u64, exponent: i32 },
}

impl Exact {
    pub(crate) fn of(scalar: Scalar) -> Self {
        match scalar.element_type().format() {
            Format::Integer { bits, signed } => Integer { bits, signed }.decode(scalar.bits()),
            Format::Float(format) => format.decode(scalar.bits()),
        }
    }

    /// Equality by value: any NaN equals any NaN, 0 equals −0.
    pub(crate) fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Nan { .. }, Self::Nan { .. }) => true,
            (Self::Infinite { negative: a }, Self::Infinite { negative: b }) => a == b,
            (Self::Finite { .. }, Self::Finite { .. }) => {
                self.without_trailing_zeros() == other.without_trailing_zeros()
            }
            _ => false,
        }
    }

    /// Sign, odd magnitude and exponent of a finite value, the same for all forms of a value; zero has
    /// no sign.
    fn without_trailing_zeros(self) -> Option<(bool, u64, i32)> {
        match self {
            Self::Finite { magnitude: 0, .. } => Some((false, 0, 0)),
            Self::Finite { negative, magnitude, exponent } => {
                let zeros = magnitude.trailing_zeros();
                Some((negative, magnitude >> zeros, exponent + zeros as i32))
            }
            _ => None,
        }
    }

    /// A key of the element with these bits, common to all elements of its type that are equal by value, and to no others.
    #[inline(always)]
    pub(crate) fn key(self, bits: u64) -> u64 {
        match self {
            Self::Nan { .. } => NAN_KEY,
            // float8_e8m0fnu has no zero; its bits 0 are another value.
            Self::Finite { magnitude: 0, .. } => 0,
            Self::Infinite { .. } | Self::Finite { .. } => bits,
        }
    }
}

/// Takes elements apart.
pub(crate) trait Decode: Copy {
    /// The value of the element with these bits; bits beyond the type's do not count.
    fn decode(self, bits: u64) -> Exact;
}

/// Puts elements together.
pub(crate) trait Encode: Copy {
    /// The bits of the element that a value is rounded to: NaN, infinity, rounding, range, in this order.
    fn encode(self, value: Exact, policy: Policy) -> Result<u64, Reason>;
}

/// How a value comes to a type that has not all values.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    /// The numbers to add to the quarters of a unit of positive and of negative values, before their two last bits are cut.
    increments: [u64; 2],
    /// One more where the number of whole units is odd.
    to_even: bool,
    out_of_range: OutOfRange,
}

impl Policy {
    pub(crate) const fn new(rounding: Rounding, out_of_range: OutOfRange) -> Self {
        let (increments, to_even) = match rounding {
            Rounding::NearestEven => ([1, 1], true),
            Rounding::NearestAway => ([2, 2], false),
            Rounding::TowardsZero => ([0, 0], false),
            Rounding::TowardsPositive => ([3, 0], false),
            Rounding::TowardsNegative => ([0, 3], false),
        };
        Self { increments, to_even, out_of_range }
    }

    #[inline(always)]
    fn increment(self, negative: bool, odd: bool) -> u64 {
        self.increments[usize::from(negative)] + u64::from(self.to_even & odd)
    }
}

/// magnitude · 2^exponent in quarters, which suffice to round it to an integer: a smaller rest sets the last bit.
#[inline(always)]
fn quarters(magnitude: u64, exponent: i32) -> u64 {
    let places = exponent + 2;
    if places >= 0 {
        return magnitude << places;
    }
    // Only a magnitude of at most 53 bits loses more than 61.
    let places = places.unsigned_abs().min(63);
    let kept = magnitude >> places;
    kept | u64::from(kept << places != magnitude)
}

/// An integer format.
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

impl Integer {
    /// Sign and magnitude of the element with these bits.
    #[inline(always)]
    fn parts(self, bits: u64) -> (bool, u64) {
        let unused = 64 - self.bits;
        let extended = (bits << unused) as i64 >> unused;
        if self.signed {
            (extended < 0, extended.unsigned_abs())
        } else {
            (false, bits << unused >> unused)
        }
    }

    /// The value of the element with these bits.
    #[inline(always)]
    pub(crate) fn value(self, bits: u64) -> i128 {
        let (negative, magnitude) = self.parts(bits);
        if negative { -i128::from(magnitude) } else { magnitude.into() }
    }

    /// The low bits as they are kept in memory, where those of less than a byte are extended to one.
    #[inline(always)]
    pub(crate) const fn in_memory(self, bits: u64) -> u64 {
        let unused = 64 - self.bits;
        if self.signed {
            let extended = ((bits << unused) as i64 >> unused) as u64;
            // An element has a byte at least.
            extended & u64::MAX >> if unused < 64 - 8 { unused } else { 64 - 8 }
        } else {
            bits << unused >> unused
        }
    }
}

impl Decode for Integer {
    #[inline(always)]
    fn decode(self, bits: u64) -> Exact {
        let (negative, magnitude) = self.parts(bits);
        Exact::Finite { negative, magnitude, exponent: 0 }
    }
}

impl Encode for Integer {
    #[inline(always)]
    fn encode(self, value: Exact, policy: Policy) -> Result<u64, Reason> {
        let Exact::Finite { negative, magnitude, exponent } = value else {
            return Err(if matches!(value, Exact::Nan { .. }) {
                Reason::Nan
            } else {
                Reason::Infinite
            });
        };
        let (rounded, fits) = if exponent < 0 {
            let quarters = quarters(magnitude, exponent);
            ((quarters + policy.increment(negative, quarters & 4 != 0)) >> 2, true)
        } else {
            let fits = magnitude == 0 || exponent as u32 <= magnitude.leading_zeros();
            (magnitude.checked_shl(exponent as u32).unwrap_or(0), fits)
        };
        let max = u64::MAX >> (64 - self.bits) >> u32::from(self.signed);
        let limit = match (self.signed, negative) {
            (true, true) => max + 1,
            (false, true) => 0,
            (_, false) => max,
        };
        let signed = |magnitude: u64| if negative { magnitude.wrapping_neg() } else { magnitude };
        if fits && rounded <= limit {
            return Ok(self.in_memory(signed(rounded)));
        }
        match policy.out_of_range {
            OutOfRange::Error => Err(Reason::OutOfRange),
            OutOfRange::Clamp => Ok(self.in_memory(signed(limit))),
            OutOfRange::Wrap => Ok(self.in_memory(signed(rounded))),
        }
    }
}

impl Decode for FloatFormat {
    #[inline(always)]
    fn decode(self, bits: u64) -> Exact {
        let mantissa = bits & ((1 << self.mantissa_bits) - 1);
        let field = bits >> self.mantissa_bits & ((1 << self.exponent_bits) - 1);
        let negative = self.is_signed() && bits >> (self.bits() - 1) & 1 == 1;
        let is_top = field == (1 << self.exponent_bits) - 1;
        match self.specials {
            Specials::Ieee if is_top && mantissa == 0 => return Exact::Infinite { negative },
            Specials::Ieee if is_top => {
                return Exact::Nan { negative, payload: mantissa << (64 - self.mantissa_bits) };
            }
            // The only NaN of these formats counts as the positive canonical one.
            Specials::Fnuz if negative && field == 0 && mantissa == 0 => {
                return Exact::Nan { negative: false, payload: 1 << 63 };
            }
            // One of each sign has no payload either.
            Specials::FiniteAndNan if is_top && mantissa + 1 == 1 << self.mantissa_bits => {
                return Exact::Nan { negative, payload: 1 << 63 };
            }
            Specials::PowersOfTwo if is_top => {
                return Exact::Nan { negative: false, payload: 1 << 63 };
            }
            Specials::PowersOfTwo => {
                let exponent = field as i32 - self.bias;
                return Exact::Finite { negative, magnitude: 1, exponent };
            }
            Specials::Ieee | Specials::Fnuz | Specials::FiniteAndNan | Specials::FiniteOnly => {}
        }
        let implicit = u64::from(field != 0) << self.mantissa_bits;
        Exact::Finite {
            negative,
            magnitude: implicit | mantissa,
            exponent: (field as i32).max(1) - self.bias - self.mantissa_bits as i32,
        }
    }
}

impl Encode for FloatFormat {
    #[inline(always)]
    fn encode(self, value: Exact, policy: Policy) -> Result<u64, Reason> {
        let signed = |negative: bool, bits: u64| {
            let is_unsigned_zero = bits == 0 && self.specials == Specials::Fnuz;
            bits | u64::from(negative && !is_unsigned_zero) << (self.bits() - 1)
        };
        let (negative, magnitude, exponent) = match value {
            Exact::Nan { negative, payload } => {
                let nan = self.nan_bits().ok_or(Reason::Nan)?;
                return Ok(match self.specials {
                    Specials::Ieee => signed(negative, nan | payload >> (64 - self.mantissa_bits)),
                    Specials::FiniteAndNan => signed(negative, nan),
                    Specials::FiniteOnly | Specials::Fnuz | Specials::PowersOfTwo => nan,
                });
            }
            Exact::Infinite { negative } => {
                let infinity = self.has_infinity().then(|| signed(negative, self.infinity_bits()));
                return infinity.ok_or(Reason::Infinite);
            }
            Exact::Finite { negative, magnitude, exponent } => (negative, magnitude, exponent),
        };
        let is_power = self.specials == Specials::PowersOfTwo;
        if magnitude == 0 && !is_power {
            return Ok(signed(negative, 0));
        }
        // Whole units in the last place: of the value's binade, or of the least one, where subnormals lie. The implicit bit
        // of the mantissa adds one to the exponent, of which a format without subnormals has one more.
        let leading = exponent + 63 - magnitude.leading_zeros() as i32;
        let binade = if is_power { leading } else { leading.max(self.min_exponent()) };
        let quarters = quarters(magnitude, exponent + self.mantissa_bits as i32 - binade);
        let exponent = i64::from(binade - self.min_exponent()) - i64::from(is_power);
        let cut = (exponent << self.mantissa_bits) + (quarters >> 2) as i64;
        let carry = ((quarters & 3) + policy.increment(negative, cut & 1 == 1)) >> 2;
        let rounded = cut + carry as i64;
        let is_below = is_power && (negative || magnitude == 0 || rounded < 0);
        if !is_below && rounded <= self.max_bits() as i64 {
            return Ok(signed(negative, rounded as u64));
        }
        match policy.out_of_range {
            OutOfRange::Clamp if is_below => Ok(0),
            OutOfRange::Clamp if self.has_infinity() => Ok(signed(negative, self.infinity_bits())),
            OutOfRange::Clamp => Ok(signed(negative, self.max_bits())),
            // A float type cannot wrap.
            OutOfRange::Error | OutOfRange::Wrap => Err(Reason::OutOfRange),
        }
    }
}

/// Evaluates `$body` with `$decode` and `$encode` standing for the formats of two types.
macro_rules! with_formats {
    ($source:expr, $target:expr, ($decode:ident, $encode:ident) => $body:expr) => {{
        use $crate::Format;
        use $crate::exact::Integer;
        match ($source.format(), $target.format()) {
            (Format::Integer { bits, signed }, Format::Float($encode)) => {
                let $decode = Integer { bits, signed };
                $body
            }
            (Format::Float($decode), Format::Float($encode)) => $body,
            (Format::Float($decode), Format::Integer { bits, signed }) => {
                let $encode = Integer { bits, signed };
                $body
            }
            (Format::Integer { bits, signed }, Format::Integer { bits: to, signed: to_signed }) => {
                let ($decode, $encode) =
                    (Integer { bits, signed }, Integer { bits: to, signed: to_signed });
                $body
            }
        }
    }};
}
pub(crate) use with_formats;

/// The value of an element of an integer type; 0 of another.
pub(crate) fn integer(value: Scalar) -> i128 {
    match value.element_type().format() {
        Format::Integer { bits, signed } => Integer { bits, signed }.value(value.bits()),
        Format::Float(_) => 0,
    }
}

/// The least and the greatest value of an integer type.
pub(crate) fn range(element: ElementType) -> [i128; 2] {
    [Scalar::min(element), Scalar::max(element)].map(integer)
}
