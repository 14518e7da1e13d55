//! Errors of runs and of arguments from Python, as Python exceptions.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyTuple, PyType};
use recast_kernels::in_default_environment;
use recast_pack::text::shown;
use recast_pack::{ErrorKind, PackOptions};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use zarr_recast::{CastError, Reason, RunError, Scalar};

/// A value that Python passes as JSON.
pub(crate) fn read_json<T: DeserializeOwned>(json: &str) -> PyResult<T> {
    in_default_environment(json, |json| serde_json::from_str(json))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Options that Python passes as JSON.
pub(crate) fn read_options(py: Python<'_>, json: &str) -> PyResult<PackOptions> {
    let members: Map<String, Value> = read_json(json)?;
    let options = Options::try_from(members).map_err(|text| in_pythons_words(py, &text))?;
    Ok(options.0)
}

/// Options whose errors name the one that is wrong, as a flag.
#[derive(Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(crate) struct Options(pub(crate) PackOptions);

impl TryFrom<Map<String, Value>> for Options {
    type Error = String;

    fn try_from(members: Map<String, Value>) -> Result<Self, String> {
        for (name, value) in &members {
            serde_json::from_value::<PackOptions>(json!({ name: value }))
                .map_err(|error| format!("--{name} is {value}{}", needed(&error.to_string())))?;
        }
        let options = serde_json::from_value(members.into());
        options.map(Self).map_err(|error| error.to_string())
    }
}

/// An error of serde about a value, without Rust's words.
fn needed(error: &str) -> String {
    let after = |start: &str| Some(error.strip_prefix(start)?.split_once(", expected ")?.1);
    match after("unknown variant ").or_else(|| after("invalid type: ")) {
        Some("a boolean") => "; it must be True or False".to_owned(),
        Some(choices) => format!("; it must be {}", choices.replace('`', "\"")),
        None => format!(": {error}"),
    }
}

/// The exception for a run over an array of this shape.
pub(crate) fn run_error(py: Python<'_>, error: &RunError, shape: &[usize]) -> PyErr {
    match error {
        RunError::Element(error) => cast_error(py, error, shape).unwrap_or_else(|failed| failed),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// The exception for an error of `recast-pack`.
pub(crate) fn pack_error(py: Python<'_>, error: &recast_pack::Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Exists => "ExistsError",
        ErrorKind::Options | ErrorKind::Interrupted | ErrorKind::Failed => "ValueError",
    };
    exception(py, &shown(&format!("{error:#}")), class)
}

/// A `ValueError` whose text has Python's parameters instead of flags.
pub(crate) fn in_pythons_words(py: Python<'_>, text: &str) -> PyErr {
    exception(py, text, "ValueError")
}

/// An exception of a class of `zarr_recast._errors` whose text has Python's parameters instead of flags.
fn exception(py: Python<'_>, text: &str, class: &str) -> PyErr {
    static FUNCTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let exception = FUNCTION
        .import(py, "zarr_recast._errors", "pack_error")
        .and_then(|function| function.call1((text, class)));
    exception.map_or_else(|failed| failed, PyErr::from_value)
}

fn cast_error(py: Python<'_>, error: &CastError, shape: &[usize]) -> PyResult<PyErr> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "zarr_recast._errors", "CastError")?;
    let index = PyTuple::new(py, coordinates(error.index, shape))?;
    let text = error.to_string();
    // The text begins with the index in the slice that was run.
    let problem = text.split_once(": ").map_or(text.as_str(), |(_, problem)| problem);
    let CastError { value, target, .. } = error;
    // For operations of scale_offset, zarr-python's words.
    let problem = match error.reason {
        Reason::Overflow => &format!(
            "{target} {value} becomes a value outside the range of dtype {target} ({} to {}); \
             choose another scale or offset, or a wider type",
            Scalar::min(*target),
            Scalar::max(*target)
        ),
        Reason::InexactDivision => &format!(
            "{target} {value} leaves a non-zero remainder when it is divided by the scale, and \
             {target} has no fractions; the data were not written with this scale"
        ),
        _ => problem,
    };
    let reason = match error.reason {
        Reason::Nan => "nan",
        Reason::Infinite => "infinite",
        Reason::OutOfRange => "out-of-range",
        Reason::Overflow => "overflow",
        Reason::InexactDivision => "inexact-division",
        _ => "other",
    };
    let details = [
        ("index", index.clone().into_any()),
        ("value", to_python(py, error.input)?),
        ("source", error.input.element_type().name().into_pyobject(py)?.into_any()),
        ("target", error.target.name().into_pyobject(py)?.into_any()),
        ("reason", reason.into_pyobject(py)?.into_any()),
    ];
    let message = format!("element {}: {problem}", index.repr()?);
    let exception = class.call((message,), Some(&details.into_py_dict(py)?))?;
    Ok(PyErr::from_value(exception))
}

/// The coordinates of an element of a C-ordered array.
fn coordinates(mut index: usize, shape: &[usize]) -> Vec<usize> {
    let mut coordinates: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&length| {
            let coordinate = index % length.max(1);
            index /= length.max(1);
            coordinate
        })
        .collect();
    coordinates.reverse();
    coordinates
}

/// The value as an `int` or a `float`, both of which are exact.
fn to_python(py: Python<'_>, value: Scalar) -> PyResult<Bound<'_, PyAny>> {
    if value.element_type().is_integer() {
        py.get_type::<pyo3::types::PyInt>().call1((value.to_string(),))
    } else {
        Ok(value.to_f64().into_pyobject(py)?.into_any())
    }
}
