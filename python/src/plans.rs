//! Arguments of a call, and the plans bound for them.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PyString};
use recast_kernels::{Affine, Cast, PlanBuilder, Step};
use zarr_recast::{
    ElementType, FloatOverflow, JsonScalar, MetadataError, OutOfRange, Plan, Rounding, Scalar,
};

use crate::dtypes::{Elements, metadata_error};

/// A number, or a string such as `"NaN"`, in the form given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Integer(i64),
    /// The bits of a float.
    Float(u64),
    /// JSON.
    Text(String),
}

impl Number {
    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(float) = object.cast::<PyFloat>() {
            return Ok(Self::Float(float.value().to_bits()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Self::Text(serde_json::Value::from(text.to_str()?).to_string()));
        }
        if !object.is_instance_of::<PyBool>() {
            if object.is_instance_of::<PyInt>() {
                return Self::integer(object);
            }
            // Scalars of NumPy and of ml_dtypes.
            if object.hasattr("__index__")? {
                return Self::integer(&object.call_method0("__index__")?);
            }
            if object.hasattr("__float__")? {
                return Ok(Self::Float(object.extract::<f64>()?.to_bits()));
            }
        }
        let kind = object.get_type().name()?;
        Err(PyTypeError::new_err(format!(
            "{} is of type {kind}; it must be a number, or a string such as \"NaN\"",
            object.repr()?
        )))
    }

    fn integer(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        match object.extract::<i64>() {
            Ok(integer) => Ok(Self::Integer(integer)),
            Err(_) => Ok(Self::Text(object.str()?.to_str()?.to_owned())),
        }
    }

    /// The JSON text. It is read exactly, so a large float is not its shortest decimal, which may be another
    /// whole number.
    pub(crate) fn json(&self) -> String {
        match self {
            Self::Integer(integer) => integer.to_string(),
            Self::Float(bits) => match f64::from_bits(*bits) {
                float if (2_f64.powi(53)..2_f64.powi(64)).contains(&float.abs()) => {
                    format!("{float:.1}")
                }
                float if float.is_finite() => format!("{float:?}"),
                float if float.is_nan() => r#""NaN""#.to_owned(),
                float if float > 0.0 => r#""Infinity""#.to_owned(),
                _ => r#""-Infinity""#.to_owned(),
            },
            Self::Text(json) => json.clone(),
        }
    }

    fn scalar(&self, element_type: ElementType) -> Result<Scalar, MetadataError> {
        JsonScalar::from_json(&self.json())?.to_scalar(element_type)
    }
}

/// The work of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    Cast { rounding: Rounding, out_of_range: OutOfRange, map: Vec<(Number, Number)> },
    Scale(AffineArguments),
    InverseScale(AffineArguments),
}

/// The arguments of `scale_offset`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AffineArguments {
    pub(crate) offset: Option<Number>,
    pub(crate) scale: Option<Number>,
    pub(crate) overflow: FloatOverflow,
}

impl AffineArguments {
    fn bind(&self, element_type: ElementType) -> Result<Affine, MetadataError> {
        let read = |name, number: &Option<Number>| {
            let scalar = number.as_ref().map(|number| number.scalar(element_type)).transpose();
            scalar.map_err(|error| error.below(name))
        };
        let (offset, scale) = (read("offset", &self.offset)?, read("scale", &self.scale)?);
        Ok(Affine::new(offset, scale).overflow(self.overflow))
    }
}

/// All that a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Request {
    pub(crate) source: Elements,
    pub(crate) target: Elements,
    pub(crate) operation: Operation,
}

/// The number of cached plans; a program uses few, and binding one takes microseconds.
const KEPT: usize = 256;

static PLANS: LazyLock<Mutex<HashMap<Request, Plan>>> = LazyLock::new(Mutex::default);

impl Request {
    /// The plan, bound now or cached by an earlier call.
    pub(crate) fn plan(self) -> PyResult<Plan> {
        let lock = || PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = lock().get(&self) {
            return Ok(plan.clone());
        }
        let plan = self.bind()?;
        let mut plans = lock();
        if plans.len() >= KEPT {
            plans.clear();
        }
        plans.insert(self, plan.clone());
        Ok(plan)
    }

    fn bind(&self) -> PyResult<Plan> {
        let (source, target) = (self.source.element_type, self.target.element_type);
        let step = self.step().map_err(|error| metadata_error(&error))?;
        if !matches!(step, Step::Cast(_)) && source != target {
            return Err(PyTypeError::new_err(format!(
                "scale_offset keeps the data type: {source} cannot go into an array of {target}"
            )));
        }
        with_bytes(Plan::builder(source), self.source, self.target)
            .step(step)
            .build()
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn step(&self) -> Result<Step, MetadataError> {
        let (source, target) = (self.source.element_type, self.target.element_type);
        Ok(match &self.operation {
            Operation::Cast { rounding, out_of_range, map } => {
                let at = |number: &Number, element_type, pair: usize, side: usize| {
                    let place = format!("scalar_map_entries[{pair}][{side}]");
                    number.scalar(element_type).map_err(|error| error.below(&place))
                };
                let map = map
                    .iter()
                    .enumerate()
                    .map(|(pair, (key, value))| {
                        Ok((at(key, source, pair, 0)?, at(value, target, pair, 1)?))
                    })
                    .collect::<Result<Vec<_>, MetadataError>>()?;
                Step::Cast(
                    Cast::new(target).rounding(*rounding).out_of_range(*out_of_range).map(map),
                )
            }
            Operation::Scale(affine) => Step::Scale(affine.bind(source)?),
            Operation::InverseScale(affine) => Step::InverseScale(affine.bind(source)?),
        })
    }
}

/// Adds byte swaps for the byte orders of input and output.
pub(crate) fn with_bytes(builder: PlanBuilder, source: Elements, target: Elements) -> PlanBuilder {
    builder.swap_input_bytes(source.swapped).swap_output_bytes(target.swapped)
}

/// One of the names that an argument may have.
fn named<T: Copy>(
    argument: &str,
    object: &Bound<'_, PyAny>,
    values: &[T],
    name: impl Fn(T) -> Option<&'static str>,
) -> PyResult<T> {
    let names = || values.iter().filter_map(|value| name(*value)).collect::<Vec<_>>().join(", ");
    let Ok(text) = object.cast::<PyString>() else {
        let kind = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "{argument} is of type {kind}; it must be one of {}",
            names()
        )));
    };
    let text = text.to_str()?;
    values.iter().copied().find(|value| name(*value) == Some(text)).ok_or_else(|| {
        PyValueError::new_err(format!("{argument} is {text:?}; it must be one of {}", names()))
    })
}

pub(crate) fn rounding(object: &Bound<'_, PyAny>) -> PyResult<Rounding> {
    named("rounding_mode", object, Rounding::ALL, |rounding| Some(rounding.name()))
}

pub(crate) fn out_of_range(object: Option<&Bound<'_, PyAny>>) -> PyResult<OutOfRange> {
    object.map_or(Ok(OutOfRange::Error), |object| {
        // An error is meant where nothing is given, as in the metadata.
        let name = |mode: OutOfRange| (mode != OutOfRange::Error).then(|| mode.name());
        named("out_of_range_mode", object, OutOfRange::ALL, name)
    })
}

pub(crate) fn float_overflow(object: &Bound<'_, PyAny>) -> PyResult<FloatOverflow> {
    named("float_overflow", object, FloatOverflow::ALL, |overflow| Some(overflow.name()))
}

/// Reads a mapping or any iterable of pairs.
pub(crate) fn map(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(Number, Number)>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    if let Ok(dict) = object.cast::<PyDict>() {
        return dict
            .iter()
            .map(|(key, value)| Ok((Number::read(&key)?, Number::read(&value)?)))
            .collect();
    }
    let pairs = match object.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.try_iter()?,
        Err(_) => object.try_iter()?,
    };
    pairs
        .map(|pair| {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = {
                let mut sides = pair?.try_iter()?.collect::<PyResult<Vec<_>>>()?.into_iter();
                match (sides.next(), sides.next(), sides.next()) {
                    (Some(key), Some(value), None) => (key, value),
                    _ => {
                        return Err(PyValueError::new_err(
                            "scalar_map_entries must hold pairs of input and output",
                        ));
                    }
                }
            };
            Ok((Number::read(&key)?, Number::read(&value)?))
        })
        .collect()
}
