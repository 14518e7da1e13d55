//! One element after the other, plainly right: the code that every kernel is compared with, and that runs when a kernel has flagged
//! a block.
//!
//! Casts are integer arithmetic (`exact.rs`). Scale and offset are the operations of the CPU, or of integers
//! that hold every result.

use alloc::vec::Vec;
use num_traits::Float;

use crate::element::{BINARY32, BINARY64};
use crate::exact::{Decode, Encode, Exact, Integer, Policy, integer, with_formats};
use crate::float_environment::in_default_environment;
use crate::key_table::KeyTable;
use crate::{
    Affine, Cast, CastError, ElementType, Entries, FloatFormat, FloatOverflow, Format, OutOfRange,
    Reason, Rounding, Scalar, Step,
};

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
    let policy = Policy::new(rounding, out_of_range);
    one(value, target, |bits| cast_all(bits, value.element_type(), target, policy, None))
}

/// Casts one value as a step of a plan does, with its map.
///
/// # Errors
/// As [`cast`].
pub fn apply_cast(value: Scalar, cast_step: &Cast) -> Result<Scalar, Reason> {
    let Cast { target, rounding, out_of_range, .. } = *cast_step;
    match cast_step.map.iter().find(|(key, _)| key.equals(value)) {
        Some((_, mapped)) => Ok(*mapped),
        None => cast(value, target, rounding, out_of_range),
    }
}

/// `(value − offset) · scale`, each operation rounded to the value's type.
///
/// # Errors
/// [`Reason::Overflow`] if a result does not fit the type.
pub fn scale(value: Scalar, parameters: &Affine) -> Result<Scalar, Reason> {
    affine(value, parameters, true)
}

/// `value / scale + offset`, each operation rounded to the value's type.
///
/// # Errors
/// [`Reason::Overflow`] if a result does not fit the type, [`Reason::InexactDivision`] if an integer
/// is no multiple of the scale.
pub fn unscale(value: Scalar, parameters: &Affine) -> Result<Scalar, Reason> {
    affine(value, parameters, false)
}

fn affine(value: Scalar, parameters: &Affine, encodes: bool) -> Result<Scalar, Reason> {
    let element_type = value.element_type();
    in_default_environment((value, parameters), |(value, parameters)| {
        one(value, element_type, |bits| affine_all(bits, element_type, parameters, encodes))
    })
}

/// One step on one value.
///
/// # Errors
/// The reason why the value cannot be converted.
pub fn step(value: Scalar, step: &Step) -> Result<Scalar, Reason> {
    match step {
        Step::Cast(cast) => apply_cast(value, cast),
        Step::Scale(parameters) => scale(value, parameters),
        Step::InverseScale(parameters) => unscale(value, parameters),
    }
}

/// All steps on one value, which is the element at `index`.
///
/// # Errors
/// The failing step, the value that reached it, and why it failed.
pub fn run(input: Scalar, steps: &[Step], index: usize) -> Result<Scalar, CastError> {
    steps.iter().enumerate().try_fold(input, |value, (position, current)| {
        let element_type = value.element_type();
        let target = current.target(element_type);
        step(value, current).map_err(|reason| CastError {
            index,
            input,
            value,
            target,
            step: position,
            reason,
        })
    })
}

/// The operation of a loop on one element.
fn one(
    value: Scalar,
    target: ElementType,
    all: impl FnOnce(&mut [u64]) -> Done,
) -> Result<Scalar, Reason> {
    let mut bits = [value.bits()];
    match all(&mut bits) {
        Ok(()) => Ok(Scalar::from_bits(target, bits[0])),
        Err(failed) => Err(failed.reason),
    }
}

/// Whether a loop came to the end of its elements.
type Done = Result<(), Failed>;

/// The element at which a loop over elements ended. It is left as it was.
struct Failed {
    index: usize,
    reason: Reason,
}

/// Puts the result of `f` for each element in its place, up to the first element that fails.
#[inline(always)]
fn for_each(elements: &mut [u64], f: impl Fn(u64) -> Result<u64, Reason>) -> Done {
    for (index, element) in elements.iter_mut().enumerate() {
        match f(*element) {
            Ok(result) => *element = result,
            Err(reason) => return Err(Failed { index, reason }),
        }
    }
    Ok(())
}

/// The steps of a plan, for the bits of many elements.
pub(crate) struct Reference {
    source: ElementType,
    /// The steps, with the maps of casts.
    steps: Vec<(Step, Option<Map>)>,
}

impl Reference {
    pub(crate) fn new(source: ElementType, steps: &[Step]) -> Self {
        let map = |step: &Step| match step {
            Step::Cast(cast) if !cast.map.is_empty() => Some(Map::new(&cast.map)),
            Step::Cast(_) | Step::Scale(_) | Step::InverseScale(_) => None,
        };
        Self { source, steps: steps.iter().map(|step| (step.clone(), map(step))).collect() }
    }

    /// Runs the steps over elements, given as their bits; `start` is the index of the first. In the default floating-point
    /// environment.
    ///
    /// # Errors
    /// As [`run`], of the first element that fails; those before it are in `output`.
    pub(crate) fn run(
        &self,
        input: &[u64],
        output: &mut [u64],
        start: usize,
    ) -> Result<(), CastError> {
        output.copy_from_slice(input);
        let mut source = self.source;
        let mut failed = None;
        let mut len = output.len();
        for (position, (step, map)) in self.steps.iter().enumerate() {
            let target = step.target(source);
            let elements = &mut output[..len];
            let done = match step {
                Step::Cast(Cast { rounding, out_of_range, .. }) => {
                    let policy = Policy::new(*rounding, *out_of_range);
                    cast_all(elements, source, target, policy, map.as_ref())
                }
                Step::Scale(parameters) => affine_all(elements, source, parameters, true),
                Step::InverseScale(parameters) => affine_all(elements, source, parameters, false),
            };
            // The steps behind this one may fail earlier elements.
            if let Err(Failed { index, reason }) = done {
                failed = Some(CastError {
                    index: start + index,
                    input: Scalar::from_bits(self.source, input[index]),
                    value: Scalar::from_bits(source, elements[index]),
                    target,
                    step: position,
                    reason,
                });
                len = index;
            }
            source = target;
        }
        failed.map_or(Ok(()), Err)
    }
}

/// The map of a cast, for the keys of elements.
struct Map {
    entries: Entries,
    /// From keys to the numbers of the entries.
    table: KeyTable,
}

impl Map {
    fn new(entries: &Entries) -> Self {
        let table = KeyTable::new(entries.len(), &|place| entries[place].0.key());
        Self { entries: entries.clone(), table }
    }

    fn find(&self, key: u64) -> Option<u64> {
        let index = self.table.find(key).checked_sub(1)?;
        Some(self.entries[index as usize].1.bits())
    }
}

/// Casts elements of type `source`.
fn cast_all(
    elements: &mut [u64],
    source: ElementType,
    target: ElementType,
    policy: Policy,
    map: Option<&Map>,
) -> Done {
    with_formats!(source, target, (decode, encode) => match map {
        // A copy keeps the payload of a NaN.
        None if source == target => Ok(()),
        None => for_each(elements, |bits| encode.encode(decode.decode(bits), policy)),
        Some(map) => for_each(elements, |bits| {
            let value = decode.decode(bits);
            match map.find(value.key(bits)) {
                Some(output) => Ok(output),
                None if source == target => Ok(bits),
                None => encode.encode(value, policy),
            }
        }),
    })
}

/// Scale and offset of elements of type `element_type`.
fn affine_all(
    elements: &mut [u64],
    element_type: ElementType,
    parameters: &Affine,
    encodes: bool,
) -> Done {
    let Affine { offset, scale, overflow } = *parameters;
    let operations = if encodes {
        [offset.map(|x| (Operation::Subtract, x)), scale.map(|x| (Operation::Multiply, x))]
    } else {
        [scale.map(|x| (Operation::Divide, x)), offset.map(|x| (Operation::Add, x))]
    };
    match element_type.format() {
        Format::Integer { bits, signed } => {
            let format = Integer { bits, signed };
            both(elements, operations, integer, |operation, bits, operand| {
                operate_on_integers(operation, format, bits, operand)
            })
        }
        Format::Float(BINARY64) => {
            both(elements, operations, widened::<f64>, |operation, bits, operand| {
                operate_on_floats(operation, BINARY64, bits, operand, overflow)
            })
        }
        Format::Float(format) => {
            both(elements, operations, widened::<f32>, |operation, bits, operand| {
                operate_on_floats(operation, format, bits, operand, overflow)
            })
        }
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Subtract,
    Multiply,
    Divide,
    Add,
}

/// Each operation there is, one after the other, with operands as `typed` makes them.
#[inline(always)]
fn both<T: Copy>(
    elements: &mut [u64],
    operations: [Option<(Operation, Scalar)>; 2],
    typed: impl Fn(Scalar) -> T,
    operate: impl Fn(Operation, u64, T) -> Result<u64, Reason>,
) -> Done {
    let [first, second] = operations.map(|each| each.map(|(operation, x)| (operation, typed(x))));
    for_each(elements, |bits| {
        let bits = first.map_or(Ok(bits), |(operation, x)| operate(operation, bits, x))?;
        second.map_or(Ok(bits), |(operation, x)| operate(operation, bits, x))
    })
}

/// The types of the CPU in which floats are computed.
trait Wide: Float {
    const FORMAT: FloatFormat;
    fn from_element(bits: u64) -> Self;
    fn to_element(self) -> u64;
}

impl Wide for f32 {
    const FORMAT: FloatFormat = BINARY32;
    fn from_element(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    fn to_element(self) -> u64 {
        self.to_bits().into()
    }
}

impl Wide for f64 {
    const FORMAT: FloatFormat = BINARY64;
    fn from_element(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    fn to_element(self) -> u64 {
        self.to_bits()
    }
}

/// To nearest-even; a value out of range fails.
const NEAREST: Policy = Policy::new(Rounding::NearestEven, OutOfRange::Error);

/// A float in a type that has all values of its own.
fn widened<F: Wide>(value: Scalar) -> F {
    F::from_element(F::FORMAT.encode(Exact::of(value), NEAREST).unwrap_or_default())
}

/// One IEEE 754 operation. Types narrower than f32 compute in f32 and round to the type after, which is the correctly
/// rounded result because f32 has more than twice their precision.
#[inline(always)]
fn operate_on_floats<F: Wide>(
    operation: Operation,
    format: FloatFormat,
    bits: u64,
    operand: F,
    overflow: FloatOverflow,
) -> Result<u64, Reason> {
    let x = if format == F::FORMAT {
        F::from_element(bits)
    } else {
        F::from_element(F::FORMAT.encode(format.decode(bits), NEAREST).unwrap_or_default())
    };
    // The operand is finite, so a NaN result is the quiet form of the input (IEEE 754, 6.2.3).
    if x.is_nan() {
        return Ok(bits | format.nan_bits().unwrap_or_default());
    }
    let y = match operation {
        Operation::Subtract => x - operand,
        Operation::Multiply => x * operand,
        Operation::Divide => x / operand,
        Operation::Add => x + operand,
    };
    let result = if x.is_finite() && y.is_infinite() {
        // Beyond even the wider type: beyond this one too.
        None
    } else if format == F::FORMAT {
        Some(y.to_element())
    } else {
        format.encode(F::FORMAT.decode(y.to_element()), NEAREST).ok()
    };
    match (result, overflow) {
        (Some(result), _) => Ok(result),
        (None, FloatOverflow::Infinity) if format.has_infinity() => {
            Ok(format.infinity_bits() | u64::from(y.is_sign_negative()) << (format.bits() - 1))
        }
        // A sign, a zero or an underflow that float8_e8m0fnu cannot represent fails, too.
        (None, _) => Err(Reason::Overflow),
    }
}

#[inline(always)]
fn operate_on_integers(
    operation: Operation,
    format: Integer,
    bits: u64,
    y: i128,
) -> Result<u64, Reason> {
    let x = format.value(bits);
    // Magnitudes have at most 64 bits.
    let signed = |magnitude: u64| {
        let magnitude = i128::from(magnitude);
        if (x < 0) == (y < 0) { magnitude } else { -magnitude }
    };
    let [a, b] = [x, y].map(|x| x.unsigned_abs() as u64);
    let result = match operation {
        Operation::Subtract => x - y,
        Operation::Add => x + y,
        Operation::Multiply => signed(a.checked_mul(b).ok_or(Reason::Overflow)?),
        Operation::Divide if a.is_multiple_of(b) => signed(a / b),
        Operation::Divide => return Err(Reason::InexactDivision),
    };
    if format.value(result as u64) == result {
        Ok(format.in_memory(result as u64))
    } else {
        Err(Reason::Overflow)
    }
}
