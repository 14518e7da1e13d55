//! The functions of the module: one array in, one array out.

use pyo3::prelude::*;

use crate::arrays::{self, Memory};
use crate::dtypes::{elements, resolve};
use crate::plans::{self, AffineArguments, Number, Operation, Request};
use numpy::{PyUntypedArray, PyUntypedArrayMethods};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

fn cast_operation(
    rounding_mode: Object<'_, '_>,
    out_of_range_mode: Option<Object<'_, '_>>,
    scalar_map_entries: Option<Object<'_, '_>>,
) -> PyResult<Operation> {
    Ok(Operation::Cast {
        rounding: plans::rounding(rounding_mode)?,
        out_of_range: plans::out_of_range(out_of_range_mode)?,
        map: plans::map(scalar_map_entries)?,
    })
}

fn run_into(
    arr: &Bound<'_, PyUntypedArray>,
    out: &Bound<'_, PyUntypedArray>,
    operation: Operation,
    memory: Memory,
) -> PyResult<()> {
    let source = elements(&arr.dtype())?;
    let target = elements(&out.dtype())?;
    let plan = Request { source, target, operation }.plan()?;
    arrays::run(&plan, arr, out, memory)
}

/// Cast an array to another data type, into a new array.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// target_dtype : str, dtype or type
///     The Zarr or NumPy name of a data type, or a NumPy or ml_dtypes data type.
/// rounding_mode : str
///     ``nearest-even``, ``towards-zero``, ``towards-positive``, ``towards-negative`` or
///     ``nearest-away``.
/// out_of_range_mode : str, optional
///     How a rounded value out of range is treated: ``clamp``, or ``wrap`` for an integer type. Without
///     it, such an element is an error.
/// scalar_map_entries : mapping or iterable of pairs, optional
///     Inputs and their outputs, applied before anything else. The first entry whose input equals an
///     element counts; a NaN equals every NaN.
///
/// Returns
/// -------
/// numpy.ndarray
///     A new array in C order.
///
/// Raises
/// ------
/// CastError
///     An element cannot be cast: the first one in C order.
/// ValueError
///     An argument is invalid.
/// TypeError
///     An argument is of the wrong kind, or a data type is not one of the 27.
#[pyfunction]
#[pyo3(signature = (
    arr, *, target_dtype, rounding_mode, out_of_range_mode=None, scalar_map_entries=None
))]
pub(crate) fn cast_array<'py>(
    arr: Object<'_, 'py>,
    target_dtype: Object<'_, 'py>,
    rounding_mode: Object<'_, 'py>,
    out_of_range_mode: Option<Object<'_, 'py>>,
    scalar_map_entries: Option<Object<'_, 'py>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let operation = cast_operation(rounding_mode, out_of_range_mode, scalar_map_entries)?;
    let arr = arrays::input(arr)?;
    let out = arrays::empty(&arr, &resolve(target_dtype)?)?;
    run_into(&arr, &out, operation, Memory::Fresh)?;
    Ok(out)
}

/// Cast an array to the data type of another array, into that array.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// out : numpy.ndarray
///     An array of the same shape, in any memory layout and byte order. It may overlap ``arr``. Its
///     contents after an error are unspecified.
/// rounding_mode : str
///     ``nearest-even``, ``towards-zero``, ``towards-positive``, ``towards-negative`` or
///     ``nearest-away``.
/// out_of_range_mode : str, optional
///     How a rounded value out of range is treated: ``clamp``, or ``wrap`` for an integer type. Without
///     it, such an element is an error.
/// scalar_map_entries : mapping or iterable of pairs, optional
///     Inputs and their outputs, applied before anything else. The first entry whose input equals an
///     element counts; a NaN equals every NaN.
///
/// Raises
/// ------
/// CastError
///     An element cannot be cast: the first one in C order.
/// ValueError
///     An argument is invalid.
/// TypeError
///     An argument is of the wrong kind, or a data type is not one of the 27.
#[pyfunction]
#[pyo3(signature = (arr, out, *, rounding_mode, out_of_range_mode=None, scalar_map_entries=None))]
pub(crate) fn cast_array_into<'py>(
    arr: Object<'_, 'py>,
    out: Object<'_, 'py>,
    rounding_mode: Object<'_, 'py>,
    out_of_range_mode: Option<Object<'_, 'py>>,
    scalar_map_entries: Option<Object<'_, 'py>>,
) -> PyResult<()> {
    let operation = cast_operation(rounding_mode, out_of_range_mode, scalar_map_entries)?;
    run_into(&arrays::input(arr)?, arrays::output(out)?, operation, Memory::Known)
}

fn affine(
    offset: Option<Object<'_, '_>>,
    scale: Option<Object<'_, '_>>,
    float_overflow: Option<Object<'_, '_>>,
) -> PyResult<AffineArguments> {
    Ok(AffineArguments {
        offset: offset.map(Number::read).transpose()?,
        scale: scale.map(Number::read).transpose()?,
        overflow: float_overflow.map(plans::float_overflow).transpose()?.unwrap_or_default(),
    })
}

/// Subtract an offset and multiply by a scale, into a new array.
///
/// Each operation is rounded once, in the arithmetic of the array's own data type. Without a parameter, its
/// operation is skipped.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// offset : int, float or str, optional
///     Subtracted when given.
/// scale : int, float or str, optional
///     Multiplied by when given; not 0.
/// float_overflow : str, optional
///     ``error``, the default: a finite float that becomes infinite is one. ``infinity``: it becomes
///     infinite.
///
/// Raises
/// ------
/// CastError
///     A result, or an intermediate one, is not a value of the data type.
#[pyfunction]
#[pyo3(signature = (arr, *, offset=None, scale=None, float_overflow=None))]
pub(crate) fn scale_offset_encode<'py>(
    arr: Object<'_, 'py>,
    offset: Option<Object<'_, 'py>>,
    scale: Option<Object<'_, 'py>>,
    float_overflow: Option<Object<'_, 'py>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    run_new(arr, Operation::Scale(affine(offset, scale, float_overflow)?))
}

/// Subtract an offset and multiply by a scale, into an array of the same data type.
///
/// Each operation is rounded once, in the arithmetic of the array's own data type. Without a parameter, its
/// operation is skipped.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// out : numpy.ndarray
///     An array of the same shape and data type, in any memory layout and byte order.
/// offset : int, float or str, optional
///     Subtracted when given.
/// scale : int, float or str, optional
///     Multiplied by when given; not 0.
/// float_overflow : str, optional
///     ``error``, the default: a finite float that becomes infinite is one. ``infinity``: it becomes
///     infinite.
///
/// Raises
/// ------
/// CastError
///     A result, or an intermediate one, is not a value of the data type.
#[pyfunction]
#[pyo3(signature = (arr, out, *, offset=None, scale=None, float_overflow=None))]
pub(crate) fn scale_offset_encode_into<'py>(
    arr: Object<'_, 'py>,
    out: Object<'_, 'py>,
    offset: Option<Object<'_, 'py>>,
    scale: Option<Object<'_, 'py>>,
    float_overflow: Option<Object<'_, 'py>>,
) -> PyResult<()> {
    let operation = Operation::Scale(affine(offset, scale, float_overflow)?);
    run_into(&arrays::input(arr)?, arrays::output(out)?, operation, Memory::Known)
}

/// Divide by a scale and add an offset, into a new array.
///
/// Each operation is rounded once, in the arithmetic of the array's own data type. Without a parameter, its
/// operation is skipped.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// offset : int, float or str, optional
///     Added when given.
/// scale : int, float or str, optional
///     Divided by when given; not 0.
/// float_overflow : str, optional
///     ``error``, the default: a finite float that becomes infinite is one. ``infinity``: it becomes
///     infinite.
///
/// Raises
/// ------
/// CastError
///     A result, or an intermediate one, is not a value of the data type.
#[pyfunction]
#[pyo3(signature = (arr, *, offset=None, scale=None, float_overflow=None))]
pub(crate) fn scale_offset_decode<'py>(
    arr: Object<'_, 'py>,
    offset: Option<Object<'_, 'py>>,
    scale: Option<Object<'_, 'py>>,
    float_overflow: Option<Object<'_, 'py>>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    run_new(arr, Operation::InverseScale(affine(offset, scale, float_overflow)?))
}

/// Divide by a scale and add an offset, into an array of the same data type.
///
/// Each operation is rounded once, in the arithmetic of the array's own data type. Without a parameter, its
/// operation is skipped.
///
/// Parameters
/// ----------
/// arr : array_like
///     The elements, in any memory layout and byte order.
/// out : numpy.ndarray
///     An array of the same shape and data type, in any memory layout and byte order.
/// offset : int, float or str, optional
///     Added when given.
/// scale : int, float or str, optional
///     Divided by when given; not 0.
/// float_overflow : str, optional
///     ``error``, the default: a finite float that becomes infinite is one. ``infinity``: it becomes
///     infinite.
///
/// Raises
/// ------
/// CastError
///     A result, or an intermediate one, is not a value of the data type.
#[pyfunction]
#[pyo3(signature = (arr, out, *, offset=None, scale=None, float_overflow=None))]
pub(crate) fn scale_offset_decode_into<'py>(
    arr: Object<'_, 'py>,
    out: Object<'_, 'py>,
    offset: Option<Object<'_, 'py>>,
    scale: Option<Object<'_, 'py>>,
    float_overflow: Option<Object<'_, 'py>>,
) -> PyResult<()> {
    let operation = Operation::InverseScale(affine(offset, scale, float_overflow)?);
    run_into(&arrays::input(arr)?, arrays::output(out)?, operation, Memory::Known)
}

fn run_new<'py>(
    arr: Object<'_, 'py>,
    operation: Operation,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let arr = arrays::input(arr)?;
    let out = arrays::empty(&arr, &arr.dtype())?;
    run_into(&arr, &out, operation, Memory::Fresh)?;
    Ok(out)
}
