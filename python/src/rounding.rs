//! Arrays that stay plain numbers, rounded by `recast-pack`.

use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::arrays::{self, block};
use crate::chain::{read_data_type, read_fill_value};
use crate::errors::{pack_error, read_json, read_options};

/// Bytes that a thread rounds at once.
const PIECE: usize = 1 << 20;

/// Rounds the blocks of an array, each by itself; see `zarr_recast.round_to`.
#[pyclass(frozen, module = "zarr_recast._core")]
pub(crate) struct Rounder {
    inner: recast_pack::Rounder,
    /// As passed to the constructor, for pickling.
    arguments: (Py<PyAny>, Py<PyAny>, String, String),
}

/// A block with rounded elements.
pub(crate) fn rounded<'py>(
    rounder: &recast_pack::Rounder,
    block: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    let element_type = rounder.element_type();
    let from = self::block(block, element_type)?;
    let (out, to) = arrays::zeros(block, element_type.size())?;
    block.py().detach(|| {
        let pieces = from.par_chunks(PIECE).zip(to.par_chunks_mut(PIECE));
        pieces.for_each(|(from, to)| rounder.round(from, to));
    });
    Ok(out)
}

#[pymethods]
impl Rounder {
    #[new]
    fn new(
        data_type: &Bound<'_, PyAny>,
        fill_value: &Bound<'_, PyAny>,
        attributes: String,
        options_json: String,
    ) -> PyResult<Self> {
        let py = data_type.py();
        let fill = read_fill_value(read_data_type(data_type)?, fill_value)?;
        let read: Map<String, Value> = read_json(&attributes)?;
        let inner = recast_pack::Rounder::for_array(fill, &read, &read_options(py, &options_json)?)
            .map_err(|error| pack_error(py, &error))?;
        let (data_type, fill_value) = (data_type.clone().unbind(), fill_value.clone().unbind());
        Ok(Self { inner, arguments: (data_type, fill_value, attributes, options_json) })
    }

    /// Round a block into a new array.
    fn round<'py>(
        &self,
        block: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        rounded(&self.inner, block)
    }

    /// Whether two elements of a block are different numbers.
    fn tells_apart(&self, block: &Bound<'_, PyUntypedArray>) -> PyResult<bool> {
        let elements = self::block(block, self.inner.element_type())?;
        Ok(block.py().detach(|| self.inner.tells_apart(elements)))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let (data_type, fill_value, attributes, options) = &slf.get().arguments;
        let arguments = (data_type.bind(py), fill_value.bind(py), attributes, options);
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?))
    }
}
