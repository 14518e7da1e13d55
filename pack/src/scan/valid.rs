//! The range of valid values that an array's attributes name: readers take values beyond it for missing ones.

use std::fmt;

use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::{Map, Value};

use super::number::{integer, is_less, next_to, order};
use crate::json;
use crate::metadata::cf_names::{
    ADD_OFFSET, SCALE_FACTOR, UNSIGNED, VALID_MAX, VALID_MIN, VALID_RANGE,
};
use crate::metadata::document::values;
use crate::metadata::fill_attribute::number;
use crate::text::measured;

/// The ends of ranges of valid values, in the type of the elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Valid {
    pub(crate) least: Vec<Scalar>,
    pub(crate) greatest: Vec<Scalar>,
}

/// A valid value that decodes to one beyond an end of the valid range.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BeyondValid {
    /// The value: the last of the array, or the end itself.
    #[serde(rename = "original", serialize_with = "json::written")]
    pub value: Scalar,
    /// What it decodes to.
    #[serde(serialize_with = "json::written")]
    pub decoded: Scalar,
    /// The end of the valid range.
    #[serde(serialize_with = "json::written")]
    pub limit: Scalar,
    /// Whether it is the upper one.
    pub is_above: bool,
}

impl fmt::Display for BeyondValid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, decoded, limit, .. } = self;
        let by = measured((decoded.to_f64() - limit.to_f64()).abs());
        write!(f, "{value} decodes to {decoded}, beyond the valid range by {by}")
    }
}

impl Valid {
    /// Reads `valid_min`, `valid_max` and `valid_range`, which have the type of the elements. If CF's attributes pack
    /// integers, a fraction among them is one of the unpacked values, and says nothing of the elements.
    pub(crate) fn in_attributes(
        attributes: &Map<String, Value>,
        element_type: ElementType,
    ) -> Self {
        let [least, greatest] = [VALID_MIN, VALID_MAX].map(|name| values(attributes.get(name)));
        let range = values(attributes.get(VALID_RANGE));
        let (least, greatest) = match (least, greatest, range) {
            ([], [], [least, greatest]) => (Some(least), Some(greatest)),
            ([] | [_], [] | [_], _) => (least.first(), greatest.first()),
            _ => (None, None),
        };
        let has = |names: &[&str]| names.iter().any(|name| attributes.contains_key(*name));
        let is_packed = element_type.is_integer() && has(&[SCALE_FACTOR, ADD_OFFSET]);
        let is_of_values = |end: &&Value| is_packed && end.is_f64();
        let ends = [least, greatest].into_iter().flatten();
        let other_order = element_type.is_integer() && has(&[UNSIGNED]);
        if other_order || ends.into_iter().any(|end| is_of_values(&end)) {
            return Self::default();
        }
        let ends = |end: Option<&Value>, is_greatest| {
            end.map_or(Vec::new(), |end| in_type(end, element_type, is_greatest))
        };
        Self { least: ends(least, false), greatest: ends(greatest, true) }.sorted()
    }

    /// The ends of both.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.least.extend(&other.least);
        self.greatest.extend(&other.greatest);
        *self = std::mem::take(self).sorted();
    }

    fn sorted(mut self) -> Self {
        for ends in [&mut self.least, &mut self.greatest] {
            ends.sort_by(|&a, &b| order(a, b));
            ends.dedup_by(|a, b| a.equals(*b));
        }
        self
    }

    /// All ends, each with whether it is an upper one.
    fn ends(&self) -> impl Iterator<Item = (Scalar, bool)> {
        let least = self.least.iter().map(|&end| (end, false));
        least.chain(self.greatest.iter().map(|&end| (end, true)))
    }

    /// The valid values of a range that decode to values beyond the valid ones, the least and the greatest of them: of each end of
    /// the valid range, the value next to it. Decoding is monotonic, so if that stays valid, all do.
    pub(crate) fn left_by(
        &self,
        (least, greatest): (Scalar, Scalar),
        decoded: impl Fn(Scalar) -> Option<Scalar>,
    ) -> Vec<BeyondValid> {
        let leaves = self.ends().filter_map(|(limit, is_above)| {
            let (near, far) = if is_above { (greatest, least) } else { (least, greatest) };
            if is_beyond(far, limit, is_above) {
                return None;
            }
            let value = if is_beyond(near, limit, is_above) { limit } else { near };
            let decoded = decoded(value)?;
            let beyond = BeyondValid { value, decoded, limit, is_above };
            is_beyond(decoded, limit, is_above).then_some(beyond)
        });
        leaves.collect()
    }

    /// The ends that themselves become values beyond.
    pub(crate) fn ends_left_by(&self, decoded: impl Fn(Scalar) -> Option<Scalar>) -> Self {
        let leaves = |end: &Scalar, is_above| {
            decoded(*end).is_some_and(|decoded| is_beyond(decoded, *end, is_above))
        };
        let mut ends = self.clone();
        ends.least.retain(|end| leaves(end, false));
        ends.greatest.retain(|end| leaves(end, true));
        ends
    }

    /// Whether a value lies inside an end, and its replacement beyond the end.
    pub(crate) fn is_left(&self, value: Scalar, decoded: Scalar) -> bool {
        self.ends().any(|(end, is_above)| {
            is_beyond(decoded, end, is_above) && !is_beyond(value, end, is_above)
        })
    }
}

/// Whether a value lies beyond an end; NaN does not.
fn is_beyond(value: Scalar, end: Scalar, is_above: bool) -> bool {
    if is_above { is_less(end, value) } else { is_less(value, end) }
}

/// An end of a range in a type. Of a number that the type lacks there are two ends: the last value inside, and the nearest,
/// for which readers take the number.
fn in_type(end: &Value, element_type: ElementType, is_greatest: bool) -> Vec<Scalar> {
    let nearest = number(end, element_type).filter(|nearest| nearest.is_finite());
    let Some(nearest) = nearest else { return Vec::new() };
    let written = end.as_f64().filter(|_| integer(nearest).is_none());
    let is_outside = written.is_some_and(|written| {
        let nearest = nearest.to_f64();
        if is_greatest { nearest > written } else { nearest < written }
    });
    let inside = is_outside.then(|| next_to(nearest, !is_greatest)).flatten();
    inside.into_iter().chain([nearest]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[allow(clippy::needless_pass_by_value)] // json!(…) makes a value
    fn read(attributes: Value, element_type: ElementType) -> (Vec<f64>, Vec<f64>) {
        let valid = Valid::in_attributes(attributes.as_object().unwrap(), element_type);
        let numbers = |ends: Vec<Scalar>| ends.into_iter().map(Scalar::to_f64).collect();
        (numbers(valid.least), numbers(valid.greatest))
    }

    #[test]
    fn ends_are_those_of_the_elements() {
        let (float32, int16) = (ElementType::Float32, ElementType::Int16);
        assert_eq!(read(json!({"valid_range": [0, 1.5]}), float32), (vec![0.0], vec![1.5]));
        assert_eq!(read(json!({"valid_min": -2}), float32), (vec![-2.0], vec![]));
        // The float32 next to 0.1 is greater, and those who read 0.1 take it for that.
        let tenth = f64::from(0.1_f32);
        let below = f64::from(0.1_f32.next_down());
        assert_eq!(read(json!({"valid_max": 0.1}), float32), (vec![], vec![below, tenth]));
        assert_eq!(read(json!({"valid_min": 0.1}), float32), (vec![tenth], vec![]));
        // Packed integers have packed ends; others say nothing of the codes.
        let packed = json!({"valid_range": [-100, 200], "scale_factor": 0.5});
        assert_eq!(read(packed, int16), (vec![-100.0], vec![200.0]));
        let of_values = json!({"valid_range": [-50.0, 100.5], "scale_factor": 0.5});
        assert_eq!(read(of_values, int16), (vec![], vec![]));
        for nonsense in [
            json!({"valid_range": [1]}),
            json!({"valid_min": "low", "valid_max": "Infinity"}),
            json!({"valid_min": [1, 2]}),
            json!({"valid_max": 1e300}),
        ] {
            assert_eq!(read(nonsense, float32), (vec![], vec![]));
        }
    }
}
