//! The bound that the attribute `recast` records.

use std::fmt;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::metadata::document::{GRID, PROVENANCE};
use crate::options::{AllClose, PackOptions, Requirement};
use crate::scan::lattice::Lattice;

/// Members of the attribute: bounds, and the attributes of earlier packings, the last one first.
pub(crate) const ABSOLUTE: &str = "max_abs_error";
pub(crate) const RELATIVE: &str = "max_rel_error";
pub(crate) const SOURCE: &str = "source";

/// Members of the attribute: what was asked for besides a bound of every element, with what was reached, and who recommends it.
pub(crate) const REQUIREMENTS: &str = "requirements";
pub(crate) const RECOMMENDED_BY: &str = "recommended_by";

/// Members of the attribute: the ends to which elements were clamped before they were packed.
pub(crate) const CLAMPED: [&str; 2] = ["src_min", "src_max"];

/// The bound that an array keeps, as its attribute `recast` records it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RecordedBound {
    /// The bound of the error, and that in proportion to the value.
    #[serde(flatten)]
    pub tolerance: AllClose,
    /// Whether each of them holds, and not their sum alone.
    pub is_each: bool,
    /// The grid on which values must be to keep it.
    pub grid: Option<Lattice>,
}

impl RecordedBound {
    /// The bound that a packing keeps for all elements; none if some of them are clamped first.
    pub(crate) fn new(
        options: &PackOptions,
        tolerance: AllClose,
        grid: Option<Lattice>,
    ) -> Option<Self> {
        let PackOptions { src_min, src_max, max_abs_error, max_rel_error, .. } = options;
        let is_each = max_abs_error.is_some() && max_rel_error.is_some();
        (src_min.is_none() && src_max.is_none()).then_some(Self { tolerance, is_each, grid })
    }

    /// The bound that an array with these attributes keeps against an original with others. If it was packed several
    /// times, the errors add up.
    pub(crate) fn of(
        attributes: &Map<String, Value>,
        original: &Map<String, Value>,
    ) -> Option<Self> {
        let packed = attributes.get(PROVENANCE)?;
        let all = packings(packed);
        let of_original = original.get(PROVENANCE).map(packings).unwrap_or_default();
        let new =
            all.len().checked_sub(of_original.len()).and_then(|new| all.split_at_checked(new));
        let is_same = |earlier: &[&Value]| {
            earlier.iter().zip(&of_original).all(|(one, other)| is_same_packing(one, other))
        };
        let new =
            new.filter(|(_, earlier)| is_same(earlier)).map_or(all.as_slice(), |(new, _)| new);
        Self::of_packings(packed, new)
    }

    /// The bound that an array with these attributes keeps against what it was packed from, whatever came before.
    pub(crate) fn of_last(attributes: &Map<String, Value>) -> Option<Self> {
        let packed = attributes.get(PROVENANCE)?;
        Self::of_packings(packed, &[packed])
    }

    /// The bound of several packings, the last one of which has the grid.
    fn of_packings(last: &Value, packings: &[&Value]) -> Option<Self> {
        let each: Vec<_> = packings.iter().map(|one| bounds(one)).collect::<Option<_>>()?;
        // Where all packings have bounds of one kind, those of the other kind have no part in it.
        let absolute = each.iter().map(|(absolute, _)| *absolute).sum::<Option<f64>>();
        let together = |rtol: f64, next: f64| rtol + next * (1.0 + rtol);
        let relative = each.iter().try_fold(0.0, |rtol, (_, next)| Some(together(rtol, (*next)?)));
        let sum = || {
            let of = |bound: Option<f64>| bound.unwrap_or_default();
            each.iter().fold(AllClose { atol: 0.0, rtol: 0.0 }, |AllClose { atol, rtol }, next| {
                // An error is at most either of two bounds.
                let (next, of_value) = match *next {
                    (Some(absolute), _) => (absolute, 0.0),
                    (None, relative) => (0.0, of(relative)),
                };
                AllClose { atol: atol + next * (1.0 + rtol), rtol: together(rtol, of_value) }
            })
        };
        let tolerance = match (absolute, relative) {
            (None, None) => sum(),
            (atol, rtol) => AllClose { atol: atol.unwrap_or(0.0), rtol: rtol.unwrap_or(0.0) },
        };
        let is_each = absolute.is_some() && relative.is_some();
        let grid = last.get(GRID).and_then(|grid| serde_json::from_value(grid.clone()).ok());
        // Errors of several packings may add up to infinity.
        let is_known = !each.is_empty() && tolerance.atol.is_finite() && tolerance.rtol.is_finite();
        is_known.then_some(Self { tolerance, is_each, grid })
    }
}

/// What the only packing of an array keeps of an original that was not packed, besides the bound of every element.
///
/// # Errors
/// A requirement that is not known here: nothing may pass that it forbids.
pub(crate) fn recorded_requirements(
    attributes: &Map<String, Value>,
    original: &Map<String, Value>,
) -> Result<Vec<Requirement>> {
    let packed = attributes.get(PROVENANCE).filter(|_| !original.contains_key(PROVENANCE));
    let packed = packed.filter(|packed| {
        packed.get(SOURCE).is_none() && CLAMPED.iter().all(|end| packed.get(end).is_none())
    });
    let Some(list) = packed.and_then(|packed| packed.get(REQUIREMENTS)) else {
        return Ok(Vec::new());
    };
    let read = |one: &Value| {
        serde_json::from_value(one.clone()).with_context(|| {
            format!(
                "the attribute recast records the requirement {one}, which is not known here; name what to check, such as \
                 --max-abs-error"
            )
        })
    };
    let list = list.as_array().with_context(|| {
        format!("the attribute recast records the requirements {list}, which are no list")
    })?;
    let all: Vec<Requirement> = list.iter().map(read).collect::<Result<_>>()?;
    Ok(all.into_iter().filter(|one| one.is_more()).collect())
}

/// The attributes of all packings of an array, the last one first. Those of an array that was packed several times are a
/// list in the last one; up to version 0.1.0, each was in the next.
fn packings(last: &Value) -> Vec<&Value> {
    let mut all = Vec::new();
    let mut next = Some(last);
    while let Some(one) = next {
        all.push(one);
        next = match one.get(SOURCE) {
            Some(Value::Array(earlier)) => {
                all.extend(earlier);
                None
            }
            earlier => earlier,
        };
    }
    all
}

/// What an array records of earlier packings, if its original had this attribute.
pub(crate) fn earlier_packings(of_original: &Value) -> Value {
    let mut all: Vec<Value> = packings(of_original).into_iter().cloned().collect();
    for one in all.iter_mut().filter_map(Value::as_object_mut) {
        one.remove(SOURCE);
    }
    all.into()
}

/// Whether two attributes are those of one packing, whatever came before it.
fn is_same_packing(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let is_own = |(name, _): &(&String, &Value)| *name != SOURCE;
            one.iter().filter(is_own).eq(other.iter().filter(is_own))
        }
        (one, other) => one == other,
    }
}

/// The bounds that one packing had for all elements, if it had one. Elements that were clamped first may be off by more.
fn bounds(attribute: &Value) -> Option<(Option<f64>, Option<f64>)> {
    if CLAMPED.iter().any(|end| attribute.get(end).is_some()) {
        return None;
    }
    let bound = |name| {
        let number = attribute.get(name).and_then(Value::as_f64);
        number.filter(|number| number.is_finite() && *number >= 0.0)
    };
    let (absolute, relative) = (bound(ABSOLUTE), bound(RELATIVE));
    absolute.or(relative)?;
    Some((absolute, relative))
}

impl fmt::Display for RecordedBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllClose { atol, rtol } = self.tolerance;
        f.write_str("errors are ")?;
        match (atol > 0.0, rtol > 0.0) {
            (false, false) => f.write_str("0"),
            (true, false) => write!(f, "at most {atol:?}"),
            (false, true) => write!(f, "at most {rtol:?} of each value"),
            (true, true) if self.is_each => {
                write!(f, "at most {atol:?}, and at most {rtol:?} of each value")
            }
            (true, true) => write!(f, "at most {atol:?} and {rtol:?} of each value together"),
        }?;
        let Some(grid) = self.grid else { return Ok(()) };
        let half = grid.step / 2.0;
        write!(f, ", for {grid} only: values between these may be off by up to {half:?}")
    }
}
