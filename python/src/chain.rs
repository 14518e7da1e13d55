//! Codecs bound to a data type and a fill value.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;

use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use recast_kernels::PlanBuilder;
use zarr_recast::{
    BindOptions, Codec, ElementType, FillCheck, Plan, Scalar, data_type, fill_value,
};

use crate::arrays::{self, Memory};
use crate::dtypes::{Elements, descr, elements, metadata_error, read_descr};
use crate::plans::{self, Number, with_bytes};

/// A sequence of codecs bound to a data type and a fill value.
///
/// Binding refuses invalid metadata; after that only elements can fail. A chain runs its codecs in one pass,
/// works on any part of an array, can be used by several threads at once, and can be pickled.
///
/// Parameters
/// ----------
/// data_type : str, dtype or type
///     The data type of decoded arrays.
/// codecs : str or iterable
///     The ``codecs`` member of array metadata: only ``scale_offset``, ``cast_value`` and their legacy
///     counterparts of numcodecs, as JSON text, dictionaries, or codecs with ``to_dict``.
/// fill_value : scalar or str, optional
///     The array's fill value. Without it, no fill value is checked or encoded.
/// fill_check : str, optional
///     ``create``: a fill value that does not survive the codecs is an error. ``open``: the same, except
///     for a rounding error of ``scale_offset``. ``report-only``: only a fill value that cannot be encoded is an
///     error; ``warnings`` reports other changes.
/// float_overflow : str, optional
///     As in ``scale_offset_encode``.
#[pyclass(frozen, module = "zarr_recast")]
pub(crate) struct Chain {
    bound: zarr_recast::Chain,
    /// As chains are compared.
    list: Vec<Codec>,
    /// As passed to the constructor, for pickling.
    codecs: String,
    fill_value: Option<Py<PyAny>>,
    fill_check: String,
    float_overflow: String,
    encode: Plans,
    decode: Plans,
}

/// The same steps for each byte order of input and output, bound when needed.
#[derive(Default)]
struct Plans([OnceLock<Plan>; 4]);

impl Plans {
    fn get(&self, plan: &Plan, source: Elements, target: Elements) -> PyResult<&Plan> {
        let [native, input, output, both] = &self.0;
        let cell = match (source.swapped, target.swapped) {
            (false, false) => native,
            (true, false) => input,
            (false, true) => output,
            (true, true) => both,
        };
        if let Some(plan) = cell.get() {
            return Ok(plan);
        }
        let builder = with_bytes(Plan::builder(plan.source()), source, target);
        let bound = plan.steps().iter().cloned().fold(builder, PlanBuilder::step).build();
        let bound = bound.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(cell.get_or_init(|| bound))
    }
}

#[pymethods]
impl Chain {
    #[new]
    #[pyo3(signature = (
        data_type, codecs, fill_value=None, *, fill_check="create", float_overflow=None
    ))]
    fn new(
        data_type: &Bound<'_, PyAny>,
        codecs: &Bound<'_, PyAny>,
        fill_value: Option<&Bound<'_, PyAny>>,
        fill_check: &str,
        float_overflow: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let element_type = read_data_type(data_type)?;
        let json = if let Ok(json) = codecs.cast::<PyString>() {
            json.to_str()?.to_owned()
        } else {
            let module = codecs.py().import("zarr_recast._json")?;
            module.getattr("codecs_json")?.call1((codecs,))?.extract()?
        };
        let list = Codec::list_from_json(&json).map_err(|error| metadata_error(&error))?;
        let options =
            BindOptions::default().fill_check(read_fill_check(fill_check)?).float_overflow(
                float_overflow.map(plans::float_overflow).transpose()?.unwrap_or_default(),
            );
        let scalar = fill_value.map(|value| read_fill_value(element_type, value)).transpose()?;
        let bound = zarr_recast::Chain::bind(element_type, scalar, &list, &options)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self {
            bound,
            list,
            codecs: json,
            fill_value: fill_value.map(|value| value.clone().unbind()),
            fill_check: fill_check.to_owned(),
            float_overflow: options.float_overflow.name().to_owned(),
            encode: Plans::default(),
            decode: Plans::default(),
        })
    }

    /// The data type of decoded arrays.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        descr(py, self.bound.decoded_type())
    }

    /// The data type of encoded arrays.
    #[getter]
    fn encoded_dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        descr(py, self.bound.encoded_type())
    }

    /// The Zarr name of the data type of encoded arrays.
    #[getter]
    fn encoded_data_type(&self) -> &'static str {
        self.bound.encoded_type().name()
    }

    /// The fill value, or None if none was bound.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.bound.decoded_fill_value().map(|scalar| to_numpy(py, scalar)).transpose()
    }

    /// The fill value of encoded arrays, or None if none was bound.
    #[getter]
    fn encoded_fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.bound.encoded_fill_value().map(|scalar| to_numpy(py, scalar)).transpose()
    }

    /// The codecs as JSON text.
    #[getter]
    fn codecs_json(&self) -> &str {
        &self.codecs
    }

    /// Warnings for users of the chain, a line each.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.bound.warnings().iter().map(ToString::to_string).collect()
    }

    /// Encode an array into a new one.
    fn encode<'py>(&self, arr: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let arr = arrays::input(arr)?;
        let out = arrays::empty(&arr, &descr(arr.py(), self.bound.encoded_type())?)?;
        run(&self.encode, self.bound.encoder(), &arr, &out, Memory::Fresh)?;
        Ok(out)
    }

    /// Decode an array into a new one.
    fn decode<'py>(&self, arr: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
        let arr = arrays::input(arr)?;
        let out = arrays::empty(&arr, &descr(arr.py(), self.bound.decoded_type())?)?;
        run(&self.decode, self.bound.decoder(), &arr, &out, Memory::Fresh)?;
        Ok(out)
    }

    /// Encode an array into another.
    fn encode_into(&self, arr: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let (arr, out) = (arrays::input(arr)?, arrays::output(out)?);
        run(&self.encode, self.bound.encoder(), &arr, out, Memory::Known)
    }

    /// Decode an array into another.
    fn decode_into(&self, arr: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let (arr, out) = (arrays::input(arr)?, arrays::output(out)?);
        run(&self.decode, self.bound.decoder(), &arr, out, Memory::Known)
    }

    fn __getnewargs_ex__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let fill_value = self.fill_value.as_ref().map(|value| value.bind(py).clone());
        let arguments = (self.bound.decoded_type().name(), self.codecs.as_str(), fill_value);
        let options = PyDict::new(py);
        options.set_item("fill_check", &self.fill_check)?;
        options.set_item("float_overflow", &self.float_overflow)?;
        Ok((arguments.into_pyobject(py)?, options))
    }

    fn __eq__(&self, other: &Self) -> bool {
        let bits = |chain: &Self| chain.bound.decoded_fill_value().map(Scalar::bits);
        self.bound.decoded_type() == other.bound.decoded_type()
            && self.list == other.list
            && bits(self) == bits(other)
            && self.fill_check == other.fill_check
            && self.float_overflow == other.float_overflow
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.bound.decoded_type().name().hash(&mut hasher);
        self.bound.encoded_type().name().hash(&mut hasher);
        (self.list.len(), &self.fill_check, &self.float_overflow).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let fill_value = match &self.fill_value {
            Some(value) => format!(", {}", value.bind(py).repr()?),
            None => String::new(),
        };
        Ok(format!("Chain('{}', '{}'{fill_value})", self.bound.decoded_type(), self.codecs))
    }
}

fn run(
    plans: &Plans,
    plan: &Plan,
    arr: &Bound<'_, PyUntypedArray>,
    out: &Bound<'_, PyUntypedArray>,
    memory: Memory,
) -> PyResult<()> {
    let (source, target) = (elements(&arr.dtype())?, elements(&out.dtype())?);
    for (found, expected, place) in
        [(source, plan.source(), "input"), (target, plan.target(), "output")]
    {
        if found.element_type != expected {
            return Err(PyTypeError::new_err(format!(
                "the {place} is an array of {}; this chain needs {expected}",
                found.element_type
            )));
        }
    }
    arrays::run(plans.get(plan, source, target)?, arr, out, memory)
}

pub(crate) fn read_data_type(object: &Bound<'_, PyAny>) -> PyResult<ElementType> {
    match object.cast::<PyString>() {
        Ok(name) => match data_type::parse(name.to_str()?) {
            Ok(element_type) => Ok(element_type),
            Err(error) => data_type::from_numpy(name.to_str()?)
                .map(|(element_type, _)| element_type)
                .map_err(|_| metadata_error(&error)),
        },
        Err(_) => Ok(elements(&read_descr(object)?)?.element_type),
    }
}

fn read_fill_check(name: &str) -> PyResult<FillCheck> {
    match name {
        "create" => Ok(FillCheck::Create),
        "open" => Ok(FillCheck::Open),
        "report-only" => Ok(FillCheck::ReportOnly),
        _ => Err(PyValueError::new_err(format!(
            "fill_check is {name:?}; it must be one of create, open, report-only"
        ))),
    }
}

/// Reads a scalar of the type bit for bit, anything else by the rules of fill values in JSON.
pub(crate) fn read_fill_value(
    element_type: ElementType,
    value: &Bound<'_, PyAny>,
) -> PyResult<Scalar> {
    if let Ok(dtype) = value.getattr("dtype").and_then(|dtype| Ok(dtype.cast_into()?)) {
        let given = elements(&dtype)?;
        if given.element_type == element_type && !given.swapped {
            let bytes = value.call_method0("tobytes")?.cast_into::<PyBytes>()?;
            if let Some(scalar) = Scalar::from_ne_bytes(element_type, bytes.as_bytes()) {
                return Ok(scalar);
            }
        }
    }
    fill_value::from_json_str(element_type, &Number::read(value)?.json())
        .map_err(|error| metadata_error(&error))
}

/// Read a fill value as a scalar of a data type.
#[pyfunction]
pub(crate) fn scalar_from_json<'py>(
    data_type: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    to_numpy(value.py(), read_fill_value(read_data_type(data_type)?, value)?)
}

/// Write a scalar of a data type as JSON text.
#[pyfunction]
pub(crate) fn scalar_to_json(
    data_type: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<String> {
    Ok(fill_value::to_json(read_fill_value(read_data_type(data_type)?, value)?).to_string())
}

/// Check the metadata of one codec, given as JSON text.
#[pyfunction]
pub(crate) fn check_codec(json: &str) -> PyResult<()> {
    Codec::from_json(json).map(drop).map_err(|error| metadata_error(&error))
}

/// The value as a `NumPy` scalar of its type, bit for bit.
pub(crate) fn to_numpy(py: Python<'_>, scalar: Scalar) -> PyResult<Bound<'_, PyAny>> {
    let bytes = PyBytes::new(py, &scalar.to_ne_bytes());
    let dtype = descr(py, scalar.element_type())?;
    py.import("numpy")?.getattr("frombuffer")?.call1((bytes, dtype))?.get_item(0)
}
