//! One element at a time, plainly right: what every kernel is compared with, and what runs when a
//! kernel has flagged a block.
//!
//! A value is taken apart into sign, integer magnitude and power of two, in which every
//! value of all 26 types is exact; it is rounded once, on that form; then it is put together in the
//! target's format. No conversion of the language or of a library takes part.

use num_traits::Float;

use crate::float_environment::in_default_environment;
use crate::{
    Affine, Cast, CastError, ElementType, FloatFormat, FloatOverflow, Format, OutOfRange, Reason,
    Rounding, Scalar, Specials, Step,
};

/// The value of an element, exactly.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exact {
    /// A NaN: its sign, and its mantissa field moved to the top of 64 bits.
    Nan { negative: bool, payload: u64 },
    /// ±Inf.
    Infinite { negative: bool },
    /// ±magnitude · 2^exponent.
    Finite { negative: bool, magnitude: u64, exponent: i32 },
}

impl Exact {
    /// Takes an element apart.
    pub(crate) fn of(scalar: Scalar) -> Self {
        match scalar.element_type().format() {
            Format::Integer { signed, .. } => {
                let unused = 64 - 8 * scalar.element_type().size() as u32;
                let extended = (scalar.bits() << unused) as i64 >> unused;
                let negative = signed && extended < 0;
                let magnitude = if negative { extended.unsigned_abs() } else { scalar.bits() };
                Self::Finite { negative, magnitude, exponent: 0 }
            }
            Format::Float(format) => Self::of_float(format, scalar.bits()),
        }
    }

    fn of_float(format: FloatFormat, bits: u64) -> Self {
        let mantissa = bits & ((1 << format.mantissa_bits) - 1);
        let field = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
        let negative = format.is_signed() && bits >> (format.bits() - 1) & 1 == 1;
        let top = field == (1 << format.exponent_bits) - 1;
        match format.specials {
            Specials::Ieee if top && mantissa == 0 => return Self::Infinite { negative },
            Specials::Ieee if top => {
                return Self::Nan { negative, payload: mantissa << (64 - format.mantissa_bits) };
            }
            // The only NaN of these formats counts as the positive canonical one.
            Specials::Fnuz | Specials::PowersOfTwo if Some(bits) == format.nan_bits() => {
                return Self::Nan { negative: false, payload: 1 << 63 };
            }
            Specials::PowersOfTwo => {
                return Self::Finite {
                    negative,
                    magnitude: 1,
                    exponent: field as i32 - format.bias,
                };
            }
            _ => {}
        }
        let implicit = u64::from(field != 0) << format.mantissa_bits;
        Self::Finite {
            negative,
            magnitude: implicit | mantissa,
            exponent: (field as i32).max(1) - format.bias - format.mantissa_bits as i32,
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
}

/// Casts one value, without a map: NaN, infinity, rounding, range, in this order.
///
/// # Errors
/// NaN or ±Inf that the target does not have, or a rounded value out of range that `out_of_range`
/// does not allow (`wrap` towards a float type cannot apply, so there it is an error).
///
/// ```
/// use recast_kernels::{reference, ElementType, OutOfRange, Reason, Rounding, Scalar};
/// let cast = |x: f32, mode| reference::cast(x.into(), ElementType::UInt8, Rounding::NearestEven, mode);
/// assert_eq!(cast(255.4, OutOfRange::Error), Ok(255_u8.into()));
/// assert_eq!(cast(255.5, OutOfRange::Error), Err(Reason::OutOfRange));
/// assert_eq!(cast(255.5, OutOfRange::Clamp), Ok(255_u8.into()));
/// assert_eq!(cast(255.5, OutOfRange::Wrap), Ok(0_u8.into()));
/// ```
pub fn cast(
    value: Scalar,
    target: ElementType,
    rounding: Rounding,
    out_of_range: OutOfRange,
) -> Result<Scalar, Reason> {
    if value.element_type() == target {
        return Ok(value);
    }
    match (Exact::of(value), target.format()) {
        (Exact::Nan { negative, payload }, Format::Float(format)) => {
            let bits = format.nan_bits().ok_or(Reason::Nan)?;
            let kept = match format.specials {
                Specials::Ieee => {
                    payload >> (64 - format.mantissa_bits)
                        | u64::from(negative) << (format.bits() - 1)
                }
                _ => 0,
            };
            Ok(Scalar::from_bits(target, bits | kept))
        }
        (Exact::Nan { .. }, Format::Integer { .. }) => Err(Reason::Nan),
        (Exact::Infinite { negative }, _) => {
            Scalar::infinity(target, negative).ok_or(Reason::Infinite)
        }
        (Exact::Finite { negative, magnitude, exponent }, Format::Integer { bits, signed }) => {
            let (magnitude, exponent) =
                round_to_multiple_of(negative, magnitude, exponent, 0, rounding, None);
            let value = to_integer(negative, magnitude, exponent);
            let (min, max) = integer_range(bits, signed);
            let bits = match value {
                Some(value) if (min..=max).contains(&value) => value as u64,
                _ => match out_of_range {
                    OutOfRange::Error => return Err(Reason::OutOfRange),
                    OutOfRange::Clamp => (if negative { min } else { max }) as u64,
                    OutOfRange::Wrap => {
                        let modulo = magnitude.checked_shl(exponent as u32).unwrap_or(0);
                        if negative { modulo.wrapping_neg() } else { modulo }
                    }
                },
            };
            Ok(Scalar::from_bits(target, bits))
        }
        (Exact::Finite { negative, magnitude, exponent }, Format::Float(format)) => {
            match finite_to_float(format, negative, magnitude, exponent, rounding) {
                Some(bits) => Ok(Scalar::from_bits(target, bits)),
                None if out_of_range == OutOfRange::Clamp => {
                    Ok(Scalar::infinity(target, negative).unwrap_or(if negative {
                        Scalar::min(target)
                    } else if is_below_one(magnitude, exponent) {
                        // Only float8_e8m0fnu has a smallest magnitude to fall below.
                        Scalar::min(target)
                    } else {
                        Scalar::max(target)
                    }))
                }
                None => Err(Reason::OutOfRange),
            }
        }
    }
}

/// Whether magnitude · 2^exponent is less than 1.
fn is_below_one(magnitude: u64, exponent: i32) -> bool {
    magnitude == 0 || (64 - magnitude.leading_zeros() as i32) + exponent <= 0
}

/// The range of an integer type.
fn integer_range(bits: u32, signed: bool) -> (i128, i128) {
    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// ±magnitude · 2^exponent, for an exponent of at least 0; `None` from an exponent of 64 on, where
/// it is beyond every integer type.
fn to_integer(negative: bool, magnitude: u64, exponent: i32) -> Option<i128> {
    if magnitude == 0 {
        return Some(0);
    }
    let value = i128::from(magnitude) << exponent.min(63);
    (exponent <= 63).then_some(if negative { -value } else { value })
}

/// Rounds magnitude · 2^exponent to a multiple of 2^unit. `even` says whether the lower neighbour
/// counts as even, where that is not the parity of the quotient. Returns magnitude and exponent.
fn round_to_multiple_of(
    negative: bool,
    magnitude: u64,
    exponent: i32,
    unit: i32,
    rounding: Rounding,
    even: Option<bool>,
) -> (u64, i32) {
    if exponent >= unit {
        return (magnitude, exponent);
    }
    // Past 100 places everything is far below half a unit, so fewer places say the same.
    let places = (unit - exponent).min(100);
    let quotient = (u128::from(magnitude) >> places) as u64;
    let rest = u128::from(magnitude) & ((1 << places) - 1);
    let half = 1_u128 << (places - 1);
    let up = match rounding {
        Rounding::NearestEven => {
            rest > half || rest == half && !even.unwrap_or(quotient.is_multiple_of(2))
        }
        Rounding::NearestAway => rest >= half,
        Rounding::TowardsZero => false,
        Rounding::TowardsPositive => rest != 0 && !negative,
        Rounding::TowardsNegative => rest != 0 && negative,
    };
    (quotient + u64::from(up), unit)
}

/// Rounds a finite value to a float format; `None` if the rounded value is out of its range.
fn finite_to_float(
    format: FloatFormat,
    negative: bool,
    magnitude: u64,
    exponent: i32,
    rounding: Rounding,
) -> Option<u64> {
    let FloatFormat { mantissa_bits, bias, specials, .. } = format;
    if magnitude == 0 {
        return match specials {
            Specials::PowersOfTwo => None,
            Specials::Fnuz => Some(0),
            _ => Some(u64::from(negative) << (format.bits() - 1)),
        };
    }
    if negative && !format.is_signed() {
        return None;
    }
    // The unit in the last place of the value's binade; below the normal range it stays the same.
    let leading = exponent + 63 - magnitude.leading_zeros() as i32;
    let unit = match specials {
        Specials::PowersOfTwo => leading,
        _ => leading.max(format.min_exponent()) - mantissa_bits as i32,
    };
    // Without mantissa bits the last bit of the encoding, whose parity decides a tie, is the
    // exponent's.
    let even = (mantissa_bits == 0).then_some((leading + bias) % 2 == 0);
    let (magnitude, exponent) =
        round_to_multiple_of(negative, magnitude, exponent, unit, rounding, even);
    let magnitude = magnitude << (exponent - unit);

    let leading = unit + 63 - magnitude.leading_zeros() as i32;
    if leading > format.max_exponent() {
        return None;
    }
    let bits = if leading < format.min_exponent() || magnitude == 0 {
        match specials {
            Specials::PowersOfTwo => return None,
            _ => magnitude,
        }
    } else {
        // Rounding up may have carried into the next power of two, whose mantissa is empty.
        let carried = leading - unit - mantissa_bits as i32;
        let fraction = magnitude >> carried & ((1 << mantissa_bits) - 1);
        ((leading + bias) as u64) << mantissa_bits | fraction
    };
    let sign = u64::from(negative && !(bits == 0 && specials == Specials::Fnuz));
    Some(if format.is_signed() { bits | sign << (format.bits() - 1) } else { bits })
}

/// Casts one value as a step of a plan does, with its map.
///
/// # Errors
/// As [`cast`].
pub fn apply_cast(value: Scalar, cast_step: &Cast) -> Result<Scalar, Reason> {
    let entry = cast_step.map.iter().find(|(key, _)| key.equals(value));
    cast_unless_mapped(value, cast_step, entry)
}

/// Casts one value, for which this entry of the map has been found, or none.
pub(crate) fn cast_unless_mapped(
    value: Scalar,
    cast_step: &Cast,
    entry: Option<&(Scalar, Scalar)>,
) -> Result<Scalar, Reason> {
    match entry {
        Some((_, mapped)) => Ok(*mapped),
        None => cast(value, cast_step.target, cast_step.rounding, cast_step.out_of_range),
    }
}

/// `(value − offset) · scale`, each operation rounded to the value's type.
///
/// # Errors
/// [`Reason::Overflow`] if a result does not fit the type.
pub fn scale(value: Scalar, parameters: &Affine) -> Result<Scalar, Reason> {
    let Affine { offset, scale, overflow } = *parameters;
    let value = operate(Operation::Subtract, value, offset, overflow)?;
    operate(Operation::Multiply, value, scale, overflow)
}

/// `value / scale + offset`, each operation rounded to the value's type.
///
/// # Errors
/// [`Reason::Overflow`] if a result does not fit the type, [`Reason::InexactDivision`] if an integer
/// is no multiple of the scale.
pub fn unscale(value: Scalar, parameters: &Affine) -> Result<Scalar, Reason> {
    let Affine { offset, scale, overflow } = *parameters;
    let value = operate(Operation::Divide, value, scale, overflow)?;
    operate(Operation::Add, value, offset, overflow)
}

#[derive(Clone, Copy)]
enum Operation {
    Subtract,
    Multiply,
    Divide,
    Add,
}

/// One operation in the arithmetic of the value's own type; none if there is no operand.
fn operate(
    operation: Operation,
    value: Scalar,
    operand: Option<Scalar>,
    overflow: FloatOverflow,
) -> Result<Scalar, Reason> {
    let Some(operand) = operand else { return Ok(value) };
    let element_type = value.element_type();
    let Format::Float(format) = element_type.format() else {
        return operate_on_integers(operation, value, operand);
    };
    let was_finite = match Exact::of(value) {
        // The operand is finite, so a NaN result is the quiet form of the input (IEEE 754, 6.2.3).
        Exact::Nan { .. } => {
            let quiet = element_type.nan_bits().unwrap_or_default();
            return Ok(Scalar::from_bits(element_type, value.bits() | quiet));
        }
        Exact::Infinite { .. } => false,
        Exact::Finite { .. } => true,
    };
    // One IEEE 754 operation. Types narrower than f32 compute in f32 and round to the type after,
    // which is the correctly rounded result because f32 has more than twice their precision.
    let result = if element_type == ElementType::Float64 {
        let (x, y) = (f64::from_bits(value.bits()), f64::from_bits(operand.bits()));
        Scalar::from(operate_on_floats(operation, x, y))
    } else {
        Scalar::from(operate_on_floats(operation, widened(value), widened(operand)))
    };
    if was_finite && !result.is_finite() {
        // Beyond even the wider type: beyond this one too.
        let negative = result.to_f64() < 0.0;
        return overflowed(element_type, negative, overflow);
    }
    match cast(result, element_type, Rounding::NearestEven, OutOfRange::Error) {
        Ok(result) => Ok(result),
        // A sign, a zero or an underflow that float8_e8m0fnu cannot represent is not an overflow.
        Err(_) if format.specials == Specials::PowersOfTwo => Err(Reason::Overflow),
        Err(_) => overflowed(element_type, result.to_f64() < 0.0, overflow),
    }
}

/// ±Inf where that is asked for and exists, else an error.
fn overflowed(
    element_type: ElementType,
    negative: bool,
    overflow: FloatOverflow,
) -> Result<Scalar, Reason> {
    match overflow {
        FloatOverflow::Strict => Err(Reason::Overflow),
        FloatOverflow::Ieee => Scalar::infinity(element_type, negative).ok_or(Reason::Overflow),
    }
}

/// A value of `float32` or a narrower float type as f32, exactly.
fn widened(value: Scalar) -> f32 {
    match cast(value, ElementType::Float32, Rounding::NearestEven, OutOfRange::Error) {
        Ok(widened) => f32::from_bits(widened.bits() as u32),
        // Unreachable: float32 holds every value of the narrower types.
        Err(_) => f32::NAN,
    }
}

/// One operation of the hardware: the only place here that depends on the floating-point environment.
fn operate_on_floats<F: Float>(operation: Operation, x: F, y: F) -> F {
    in_default_environment((x, y), |(x, y)| match operation {
        Operation::Subtract => x - y,
        Operation::Multiply => x * y,
        Operation::Divide => x / y,
        Operation::Add => x + y,
    })
}

fn operate_on_integers(
    operation: Operation,
    value: Scalar,
    operand: Scalar,
) -> Result<Scalar, Reason> {
    let (x, y) = (integer(value), integer(operand));
    let result = match operation {
        Operation::Subtract => x - y,
        Operation::Add => x + y,
        // Both are below 2^64 in magnitude, so the product may just miss i128.
        Operation::Multiply => x.checked_mul(y).ok_or(Reason::Overflow)?,
        Operation::Divide => match (x.checked_rem(y), x.checked_div(y)) {
            (Some(0), Some(quotient)) => quotient,
            _ => return Err(Reason::InexactDivision),
        },
    };
    let element_type = value.element_type();
    let (min, max) = integer_range(element_type.bits(), element_type.is_signed());
    if (min..=max).contains(&result) {
        Ok(Scalar::from_bits(element_type, result as u64))
    } else {
        Err(Reason::Overflow)
    }
}

/// The value of an element of an integer type.
pub(crate) fn integer(value: Scalar) -> i128 {
    match Exact::of(value) {
        Exact::Finite { negative, magnitude, .. } => {
            if negative {
                -i128::from(magnitude)
            } else {
                i128::from(magnitude)
            }
        }
        _ => 0,
    }
}

/// One step on one value.
///
/// # Errors
/// The reason why the value cannot be converted.
pub fn step(value: Scalar, step: &Step) -> Result<Scalar, Reason> {
    match step {
        Step::Cast(cast) => apply_cast(value, cast),
        Step::Scale(parameters) => scale(value, parameters),
        Step::Unscale(parameters) => unscale(value, parameters),
    }
}

/// All steps on one value, which is the element at `index`.
///
/// # Errors
/// The failing step, the value that reached it, and why it failed.
pub fn run(input: Scalar, steps: &[Step], index: usize) -> Result<Scalar, CastError> {
    run_by(input, steps, index, |value, _, current| step(value, current))
}

/// As [`run`], with the way to do the step at a position on a value.
pub(crate) fn run_by(
    input: Scalar,
    steps: &[Step],
    index: usize,
    step: impl Fn(Scalar, usize, &Step) -> Result<Scalar, Reason>,
) -> Result<Scalar, CastError> {
    steps.iter().enumerate().try_fold(input, |value, (position, current)| {
        step(value, position, current).map_err(|reason| CastError {
            index,
            input,
            value,
            target: match current {
                Step::Cast(cast) => cast.target,
                Step::Scale(_) | Step::Unscale(_) => value.element_type(),
            },
            step: position,
            reason,
        })
    })
}
