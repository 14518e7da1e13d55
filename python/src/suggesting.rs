//! Suggestions of a bound for arrays that Python reads.

use std::sync::Arc;

use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use recast_pack::{Recommendations, Runtime};
use serde_json::{Map, Value, json};
use zarr_recast::ElementType;
use zarr_recast_cli::suggestion_text_and_html;

use crate::arrays::block;
use crate::chain::{read_data_type, read_fill_value};
use crate::choosing::Node;
use crate::errors::{pack_error, read_json, read_options};
use crate::jobs::{Recommended, until_done};

/// Finds the recommendations for the arrays of a group, by the metadata of the arrays and of their coordinates.
#[pyclass(frozen, module = "zarr_recast._core")]
pub(crate) struct Advisor {
    by: Recommendations,
    nodes: Vec<Node>,
}

#[pymethods]
impl Advisor {
    /// From recommendations and nodes, both as JSON.
    #[new]
    fn new(py: Python<'_>, recommendations: &str, nodes: &str) -> PyResult<Self> {
        let recommended: Recommended = read_json(recommendations)?;
        let by = recommended.read().map_err(|error| pack_error(py, &error))?;
        Ok(Self { by, nodes: read_json(nodes)? })
    }
}

impl Advisor {
    /// A request with the recommendation for the array at a path.
    fn advise(
        &self,
        asked: recast_pack::SuggestFromBlocks,
        path: &str,
    ) -> recast_pack::SuggestFromBlocks {
        let nodes: Vec<_> = self.nodes.iter().map(Node::described).collect();
        let array = nodes.iter().find(|node| node.path == path && node.dimensions.is_some());
        match array {
            Some(array) => asked.recommended(&self.by, array, &nodes),
            None => asked,
        }
    }
}

/// Suggests a bound for an array from some of its blocks; see `zarr_recast.suggest`.
#[pyclass(frozen, module = "zarr_recast._core")]
pub(crate) struct SuggestFromBlocks {
    inner: recast_pack::SuggestFromBlocks,
    element_type: ElementType,
}

#[pymethods]
impl SuggestFromBlocks {
    /// `advisor` comes with the path of the array among its nodes.
    #[new]
    #[allow(clippy::needless_pass_by_value)] // converted from Python tuples
    fn new(
        data_type: &Bound<'_, PyAny>,
        fill_value: &Bound<'_, PyAny>,
        attributes: &str,
        options_json: &str,
        shape: Vec<u64>,
        chunk: Option<Vec<u64>>,
        advisor: Option<(PyRef<'_, Advisor>, String)>,
    ) -> PyResult<Self> {
        let element_type = read_data_type(data_type)?;
        let fill = read_fill_value(element_type, fill_value)?;
        let attributes: Map<String, Value> = read_json(attributes)?;
        let chunk = chunk.as_deref();
        let py = fill_value.py();
        let asked = read_options(py, options_json)?;
        let inner = recast_pack::SuggestFromBlocks::new(&shape, chunk, fill, &attributes, asked)
            .map_err(|error| pack_error(py, &error))?;
        let inner = match advisor {
            Some((advisor, path)) => advisor.advise(inner, &path),
            None => inner,
        };
        Ok(Self { inner, element_type })
    }

    /// The blocks to read: where each begins, and its extents.
    fn blocks(&self) -> Vec<(Vec<u64>, Vec<u64>)> {
        self.inner.blocks().map(|(origin, shape)| (origin.to_vec(), shape.to_vec())).collect()
    }

    /// The report as JSON, as the command's text and as HTML, given the C-ordered elements of each block.
    #[allow(clippy::needless_pass_by_value)] // converted from a Python list
    fn run(
        &self,
        py: Python<'_>,
        name: String,
        blocks: Vec<Bound<'_, PyUntypedArray>>,
    ) -> PyResult<(String, String, String)> {
        let elements = |array| block(array, self.element_type).map(<[u8]>::to_vec);
        let elements = blocks.iter().map(elements).collect::<PyResult<Vec<_>>>()?;
        let inner = self.inner.clone();
        let report = until_done(
            py,
            &Arc::default(),
            || Ok(()),
            move |interrupt| {
                inner.run(&name, elements, &Runtime { interrupt, ..Runtime::default() })
            },
        )?;
        let (text, html) = suggestion_text_and_html(&report)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((json!(report).to_string(), text, html))
    }
}

/// Refuses options, given as JSON, that are invalid for every array.
#[pyfunction]
pub(crate) fn check_options(py: Python<'_>, options_json: &str) -> PyResult<()> {
    read_options(py, options_json)?.check().map_err(|error| pack_error(py, &error))
}

/// The names of the options for all variables that do not hold beside those of one. Both are JSON.
#[pyfunction]
pub(crate) fn displaced(py: Python<'_>, for_all: &str, own: &str) -> PyResult<Vec<String>> {
    let (for_all, own) = (read_options(py, for_all)?, read_options(py, own)?);
    let both = for_all.beside(&own.into()).map_err(|error| pack_error(py, &error))?;
    let (before, both) = (json!(for_all), json!(both));
    let names = before.as_object().into_iter().flat_map(Map::keys);
    let displaced = names.filter(|name| before[*name] != both[*name]);
    Ok(displaced.map(|name| name.replace('-', "_")).collect())
}
