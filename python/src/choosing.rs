//! Surveys of `NumPy` arrays, and the codecs that `recast-pack` chooses from them.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rayon::prelude::*;
use recast_pack::{Choice as Chosen, Compared, Error, Survey as Found, choose_checked};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use zarr_recast::ElementType;

use crate::arrays::block;
use crate::chain::{read_data_type, read_fill_value, to_numpy};
use crate::errors::{pack_error, read_json, read_options};
use crate::rounding::rounded;

/// Bytes of an array without chunks that a thread surveys at once.
const SPAN: usize = 16 << 20;
/// Bytes that are encoded, decoded and compared at once; they fit the cache.
const PIECE: usize = 256 << 10;

/// Surveys the blocks of one array, each by itself; see `zarr_recast.encoding_for`.
#[pyclass(frozen, module = "zarr_recast._core")]
pub(crate) struct Surveyor {
    inner: recast_pack::Surveyor,
    element_type: ElementType,
    /// As passed to the constructor, for pickling.
    arguments: (Py<PyAny>, String, String, u64),
}

#[pymethods]
impl Surveyor {
    #[new]
    fn new(
        data_type: &Bound<'_, PyAny>,
        fill_value: &Bound<'_, PyAny>,
        attributes: String,
        options_json: String,
        size: u64,
    ) -> PyResult<Self> {
        let element_type = read_data_type(data_type)?;
        let fill = read_fill_value(element_type, fill_value)?;
        let read: Map<String, Value> = read_json(&attributes)?;
        let py = fill_value.py();
        let options = read_options(py, &options_json)?;
        let surveyor = recast_pack::Surveyor::for_array(fill, &read, &options, size)
            .map_err(|error| pack_error(py, &error))?;
        let arguments = (fill_value.clone().unbind(), attributes, options_json, size);
        Ok(Self { inner: surveyor, element_type, arguments })
    }

    /// The survey of a block. An array without chunks is `whole`; several threads survey it.
    #[pyo3(signature = (block, *, whole=false))]
    fn survey(
        &self,
        py: Python<'_>,
        block: &Bound<'_, PyUntypedArray>,
        whole: bool,
    ) -> PyResult<Survey> {
        let bytes = self::block(block, self.element_type)?;
        let span = if whole { SPAN } else { bytes.len().max(1) };
        let found = py.detach(|| {
            let spans: Result<Vec<_>, _> =
                bytes.par_chunks(span).map(|span| self.inner.survey(span)).collect();
            // In order, so that the result does not depend on the threads.
            spans?.iter().try_fold(self.inner.survey(&[])?, Found::merge)
        });
        found.map(Survey::from).map_err(|error| pack_error(py, &error))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let Self { element_type, arguments: (fill_value, attributes, options, size), .. } =
            slf.get();
        let arguments = (element_type.name(), fill_value.bind(py), attributes, options, *size);
        Ok((slf.get_type().into_any(), arguments.into_pyobject(py)?))
    }
}

/// The survey of some blocks of an array. Surveys add up, in any order and from any process.
#[pyclass(frozen, module = "zarr_recast._core")]
#[derive(Clone)]
pub(crate) struct Survey(Arc<Found>);

impl From<Found> for Survey {
    fn from(found: Found) -> Self {
        Self(Arc::new(found))
    }
}

#[pymethods]
impl Survey {
    #[new]
    fn new(json: &str) -> PyResult<Self> {
        Ok(read_json::<Found>(json)?.into())
    }

    /// The sum of both surveys.
    fn merge(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let merged = Found::clone(&self.0).merge(&other.0);
        merged.map(Self::from).map_err(|error| pack_error(py, &error))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let json = serde_json::to_string(&*slf.get().0)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((slf.get_type().into_any(), (json,)))
    }
}

/// Codecs for an array. Sent to another process, it chooses them again.
#[pyclass(frozen, module = "zarr_recast._core")]
pub(crate) struct Choice {
    chosen: Chosen,
    survey: Survey,
    options: String,
    /// The number of earlier candidates that some element refuted.
    refuted: usize,
    /// The findings of [`Self::check`] in this process.
    compared: Mutex<Compared>,
}

#[pymethods]
impl Choice {
    /// The choice for a survey after this many candidates were refuted.
    #[new]
    fn new(
        py: Python<'_>,
        survey: &Survey,
        options_json: String,
        refuted: usize,
    ) -> PyResult<Self> {
        let asked = read_options(py, &options_json)?;
        let mut left = refuted;
        let chosen = py.detach(|| {
            choose_checked(&survey.0, &asked, |_| match left.checked_sub(1) {
                None => Ok(Compared::default()),
                Some(fewer) => {
                    left = fewer;
                    Err(Chosen::refuted("an element is not right"))
                }
            })
        });
        let chosen = chosen.map_err(|error| pack_error(py, &error))?;
        let compared = Mutex::default();
        Ok(Self { chosen, survey: survey.clone(), options: options_json, refuted, compared })
    }

    /// The codecs as JSON text.
    #[getter]
    fn codecs_json(&self) -> String {
        let codecs: Value = self.chosen.codecs.iter().map(zarr_recast::Codec::to_json).collect();
        codecs.to_string()
    }

    /// Smallest and largest value that the codecs can store.
    #[getter]
    fn storable_range<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let ends = self.chosen.storable_range;
        ends.map(|(least, greatest)| Ok((to_numpy(py, least)?, to_numpy(py, greatest)?)))
            .transpose()
    }

    /// A sentence about the bound, if it is so coarse that it leaves little of the values.
    #[getter]
    fn coarse(&self) -> Option<String> {
        self.chosen.coarse.map(|coarse| coarse.to_string())
    }

    /// A sentence about each end of the valid range beyond which valid values decode.
    #[getter]
    fn beyond_valid(&self) -> Vec<String> {
        self.chosen.beyond_valid.iter().map(ToString::to_string).collect()
    }

    /// The problem with an element of a block, if there is one.
    fn check(&self, py: Python<'_>, block: &Bound<'_, PyUntypedArray>) -> PyResult<Option<String>> {
        let element_type = self.chosen.fill_value.element_type();
        let bytes = self::block(block, element_type)?;
        let found = py.detach(|| {
            bytes.chunks(SPAN).try_fold(Compared::default(), |all, span| {
                let pieces = span.par_chunks(PIECE).map(|piece| self.chosen.check(piece));
                // In order, so that the first wrong element is named.
                let mut pieces = pieces.collect::<Vec<_>>().into_iter();
                pieces.try_fold(all, |all, piece| Ok::<_, Error>(all.merge(piece?)))
            })
        });
        match found {
            Ok(found) => {
                let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
                *compared = mem::take(&mut *compared).merge(found);
                Ok(None)
            }
            Err(error) => Ok(Some(format!("{error:#}"))),
        }
    }

    /// Round a block into a new array, if values are not encoded but rounded.
    fn round<'py>(
        &self,
        block: &Bound<'py, PyUntypedArray>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let none = || PyValueError::new_err("these values are encoded, not rounded");
        rounded(self.chosen.rounder.as_ref().ok_or_else(none)?, block)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Self { survey, options, refuted, .. } = slf.get();
        let arguments = (survey.clone(), options, *refuted).into_pyobject(slf.py())?;
        Ok((slf.get_type().into_any(), arguments))
    }
}

/// Choose codecs from a survey. `check` gets each candidate that the survey does not prove right, and returns the
/// problem with an element, if there is one.
#[pyfunction]
pub(crate) fn choose(
    py: Python<'_>,
    survey: &Survey,
    options_json: String,
    check: &Bound<'_, PyAny>,
) -> PyResult<Choice> {
    let asked = read_options(py, &options_json)?;
    let check = check.clone().unbind();
    let mut refuted = 0;
    let mut failed = None;
    let result = py.detach(|| {
        choose_checked(&survey.0, &asked, |chosen| {
            if chosen.is_proven_for_surveyed || failed.is_some() {
                return Ok(Compared::default());
            }
            let answer = Python::attach(|py| -> PyResult<(Option<String>, Compared)> {
                let choice = Choice {
                    chosen: chosen.clone(),
                    survey: survey.clone(),
                    options: options_json.clone(),
                    refuted,
                    compared: Mutex::default(),
                };
                let choice = Py::new(py, choice)?;
                let wrong = check.bind(py).call1((&choice,))?.extract()?;
                let compared = &choice.get().compared;
                let compared = compared.lock().unwrap_or_else(PoisonError::into_inner).clone();
                Ok((wrong, compared))
            });
            match answer {
                Ok((None, compared)) => Ok(compared),
                Ok((Some(wrong), _)) => {
                    refuted += 1;
                    Err(Chosen::refuted(&wrong))
                }
                Err(error) => {
                    failed = Some(error);
                    Ok(Compared::default())
                }
            }
        })
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let chosen = result.map_err(|error| pack_error(py, &error))?;
    let compared = Mutex::default();
    Ok(Choice { chosen, survey: survey.clone(), options: options_json, refuted, compared })
}

/// Choose codecs for CF's attributes, given as JSON, on integers of a type. Returns recast_pack's `CfCodecs` as JSON.
#[pyfunction]
pub(crate) fn codecs_from_cf(
    py: Python<'_>,
    stored: &Bound<'_, PyAny>,
    attributes: &str,
    decoded: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let attributes: Map<String, Value> = read_json(attributes)?;
    let stored = read_data_type(stored)?;
    let decoded = decoded.map(read_data_type).transpose()?;
    let chosen = py
        .detach(|| recast_pack::codecs_from_cf(stored, &attributes, decoded))
        .map_err(|error| pack_error(py, &error))?;
    Ok(json!(chosen).to_string())
}

/// An array or a group: its path, the names of an array's dimensions, and its attributes.
#[derive(Deserialize)]
pub(crate) struct Node(String, Option<Vec<String>>, Map<String, Value>);

impl Node {
    pub(crate) fn described(&self) -> recast_pack::Described<'_> {
        let Self(path, dimensions, attributes) = self;
        recast_pack::Described {
            path,
            dimensions: dimensions.as_ref().map(|all| all.iter().map(String::as_str).collect()),
            attributes: Some(attributes),
        }
    }
}

/// The paths of coordinates among arrays and groups, which are JSON.
#[pyfunction]
pub(crate) fn coordinates(nodes: &str) -> PyResult<Vec<String>> {
    let nodes: Vec<Node> = read_json(nodes)?;
    let described: Vec<_> = nodes.iter().map(Node::described).collect();
    Ok(recast_pack::coordinates(&described).into_keys().collect())
}
