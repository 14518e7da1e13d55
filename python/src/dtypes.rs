//! `NumPy` data types and their element types.

use std::ffi::c_int;
use std::sync::Mutex;

use numpy::{PyArrayDescr, PyArrayDescrMethods};
use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple};
use zarr_recast::{ElementType, MetadataError, data_type};

/// The layout of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Elements {
    pub(crate) element_type: ElementType,
    /// Whether their bytes are in the other order than this machine's.
    pub(crate) swapped: bool,
}

/// User-defined data types get larger numbers when they are registered.
const FIRST_USER_DEFINED: c_int = 256;

/// The numbers of user-defined data types that have been seen, at most one for each element type.
static USER_DEFINED: Mutex<Vec<(c_int, ElementType)>> = Mutex::new(Vec::new());

/// The element type and byte order of a data type.
pub(crate) fn elements(descr: &Bound<'_, PyArrayDescr>) -> PyResult<Elements> {
    let number = descr.num();
    let element_type = match (descr.kind(), descr.itemsize()) {
        _ if number >= FIRST_USER_DEFINED => user_defined(descr, number)?,
        (b'i', 1) => ElementType::Int8,
        (b'i', 2) => ElementType::Int16,
        (b'i', 4) => ElementType::Int32,
        (b'i', 8) => ElementType::Int64,
        (b'u', 1) => ElementType::UInt8,
        (b'u', 2) => ElementType::UInt16,
        (b'u', 4) => ElementType::UInt32,
        (b'u', 8) => ElementType::UInt64,
        (b'f', 2) => ElementType::Float16,
        (b'f', 4) => ElementType::Float32,
        (b'f', 8) => ElementType::Float64,
        (b'V', _) => {
            let text = format!(
                "{descr} is not supported, because it is not one number; of a structured array, give a field, as array[\"name\"]"
            );
            return Err(PyTypeError::new_err(text));
        }
        (b'O', _) => {
            return Err(PyTypeError::new_err(
                "an array of Python objects is not supported; give it a type of numbers, as array.astype(\"float32\")",
            ));
        }
        _ => return Err(unsupported(&descr.str()?)),
    };
    let swapped = descr.byteorder() == if cfg!(target_endian = "big") { b'<' } else { b'>' };
    Ok(Elements { element_type, swapped })
}

fn user_defined(descr: &Bound<'_, PyArrayDescr>, number: c_int) -> PyResult<ElementType> {
    let known = |seen: &[(c_int, ElementType)]| {
        seen.iter().find(|(seen, _)| *seen == number).map(|(_, element_type)| *element_type)
    };
    let lock = || USER_DEFINED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(element_type) = known(&lock()) {
        return Ok(element_type);
    }
    let name = descr.typeobj().name()?;
    let element_type = ElementType::from_name(name.to_str()?)
        .filter(|element_type| element_type.size() == descr.itemsize())
        .ok_or_else(|| unsupported(&name))?;
    lock().push((number, element_type));
    Ok(element_type)
}

fn unsupported(name: &Bound<'_, PyString>) -> PyErr {
    let name = name.to_string_lossy();
    PyTypeError::new_err(match data_type::parse(&name) {
        Err(error) => error.problem().to_owned(),
        Ok(_) => format!("an array of {name} that is not NumPy's or ml_dtypes' is not supported"),
    })
}

/// The data type that `NumPy` makes of an object that is no name; `NumPy` reads `None` as no data type, without an error.
pub(crate) fn read_descr<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDescr>> {
    if object.is_none() {
        return Err(PyTypeError::new_err(
            "None is not a data type; give its Zarr or NumPy name, or a dtype",
        ));
    }
    PyArrayDescr::new(object.py(), object)
}

/// Reads a data type given as its Zarr name, a `NumPy` string, a dtype or a scalar type.
pub(crate) fn resolve<'py>(data_type: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDescr>> {
    if let Ok(descr) = data_type.cast::<PyArrayDescr>() {
        return Ok(descr.clone());
    }
    let py = data_type.py();
    let Ok(name) = data_type.cast::<PyString>() else {
        return read_descr(data_type);
    };
    if let Some(element_type) = ElementType::from_name(name.to_str()?) {
        return descr(py, element_type);
    }
    PyArrayDescr::new(py, data_type).map_err(|_| unsupported(name))
}

/// The `NumPy` data type of an element type, in native byte order.
pub(crate) fn descr(
    py: Python<'_>,
    element_type: ElementType,
) -> PyResult<Bound<'_, PyArrayDescr>> {
    static DESCRS: [PyOnceLock<Py<PyArrayDescr>>; ElementType::ALL.len()] =
        [const { PyOnceLock::new() }; ElementType::ALL.len()];
    let make = || {
        let name = element_type.name();
        if is_numpys(element_type) {
            return PyArrayDescr::new(py, name).map(Bound::unbind);
        }
        let module = py.import("ml_dtypes").map_err(|error| {
            let text = format!(
                "{name} arrays need the ml_dtypes package; pip install 'zarr-recast[ml_dtypes]'"
            );
            let missing = PyImportError::new_err(text);
            missing.set_cause(py, Some(error));
            missing
        })?;
        PyArrayDescr::new(py, module.getattr(name)?).map(Bound::unbind)
    };
    let index = ElementType::ALL.iter().position(|other| *other == element_type);
    match index.and_then(|index| DESCRS.get(index)) {
        Some(cell) => cell.get_or_try_init(py, make).map(|descr| descr.bind(py).clone()),
        None => make().map(|descr| descr.into_bound(py)),
    }
}

/// Whether `NumPy` itself has the type.
fn is_numpys(element_type: ElementType) -> bool {
    element_type.bits() >= 8
        && (element_type.is_integer() || element_type.bits() >= 16)
        && element_type != ElementType::BFloat16
}

/// The names of the 27 data types.
pub(crate) fn names(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    PyTuple::new(py, ElementType::ALL.iter().map(|element_type| element_type.name()))
}

/// A data type or a scalar that cannot be read, named as an argument.
pub(crate) fn metadata_error(error: &MetadataError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
