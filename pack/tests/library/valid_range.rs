//! Decoded values stay within the valid range of an array's attributes where the original ones do, without being asked.

use crate::common::{Random, Sample, Trial, element, elements, options, read_by_zarrs, within};
use recast_kernels::{ElementType, Scalar};
use recast_pack::{PackOptions, PackReport};
use serde_json::{Value, json};

/// The number of arrays that are made.
const CASES: usize = 200;

/// What becomes of numbers from 0 to 1, and the ends of the valid range.
type Kind = (fn(f64) -> f64, [f64; 2]);

/// The ends of the valid range that attributes name.
fn ends(attributes: &Value) -> [f64; 2] {
    let end = |name: &str, index: usize| {
        let end = attributes.get(name).or_else(|| attributes.get("valid_range")?.get(index));
        end.and_then(Value::as_f64)
    };
    let least = end("valid_min", 0).unwrap_or(f64::NEG_INFINITY);
    [least, end("valid_max", 1).unwrap_or(f64::INFINITY)]
}

/// An array, and how it is packed.
struct Case {
    values: Vec<f64>,
    element_type: ElementType,
    fill: Value,
    attributes: Value,
    options: PackOptions,
}

impl Case {
    fn numbers(&self, bytes: &[u8]) -> Vec<f64> {
        let elements = bytes.chunks_exact(self.element_type.size());
        elements
            .map(|one| Scalar::from_ne_bytes(self.element_type, one).unwrap().to_f64())
            .collect()
    }

    fn pack(&self, attributes: &Value) -> (PackReport, Vec<f64>, Vec<f64>) {
        let count = self.values.len() as u64;
        let sample = Sample::new(self.element_type.name(), &[count], &[count], self.fill.clone());
        let bytes = elements(&self.values, self.element_type);
        let trial = Trial::of(&sample.with("attributes", attributes.clone()), &bytes);
        let report = trial.pack(self.options.clone()).unwrap();
        (report, self.numbers(&bytes), self.numbers(&read_by_zarrs(&trial.output())))
    }

    /// The report, and the first value that became invalid, with what it became.
    fn invalid(&self) -> (PackReport, Option<(f64, f64)>) {
        let (report, before, after) = self.pack(&self.attributes);
        let ends = ends(&self.attributes);
        let nearest = |end: f64| element(end, self.element_type).to_f64();
        let in_type = ends.map(|end| if end.is_finite() { nearest(end) } else { end });
        let leaves = |[least, greatest]: [f64; 2], x: f64, y: f64| {
            let is_inside = |value| value >= least && value <= greatest;
            is_inside(x) && !is_inside(y)
        };
        let mut pairs = before.iter().copied().zip(after.iter().copied());
        let bad = pairs.find(|&(x, y)| leaves(ends, x, y) || leaves(in_type, x, y));
        (report, bad)
    }
}

/// Numbers from 0 to 1, with many at both ends.
fn cover(count: usize) -> Vec<f64> {
    let value = |i: usize| ((i * 7919 % 1999) as f64 / 1500.0 - 0.1).clamp(0.0, 1.0);
    (0..count).map(value).collect()
}

/// With a bound of 0.03 and 0 among the codes, 17 steps of 0.06 are 1.02.
#[test]
fn cloud_cover_with_few_steps_is_at_most_1() {
    for element_type in [ElementType::Float32, ElementType::Float64] {
        let case = Case {
            values: cover(5000),
            element_type,
            fill: json!(0.0),
            attributes: json!({"valid_max": 1}),
            options: within(0.03),
        };
        let (report, bad) = case.invalid();
        assert_eq!(bad, None, "{element_type}");
        assert!(report.beyond_valid.is_empty());
        // The fill value keeps its code among the others.
        assert_eq!(report.counts.mapped, 0, "{element_type}: {}", report.codecs);
    }
}

/// Of any array, type and bound, valid values stay valid, in a type of the same size and in as many bytes but for a few. Of few arrays,
/// one does not, and the report names it.
#[test]
fn valid_values_stay_valid_or_are_named() {
    let mut random = Random(271_828);
    let kinds: [Kind; 6] = [
        (|x| x, [0.0, 1.0]),
        (|x| 100.0 * x, [0.0, 100.0]),
        // Sea surface temperatures, of which the ends are no float32.
        (|x| 33.7 * x - 1.8, [-1.8, 31.9]),
        (|x| 50.0 * x - 60.0, [-60.0, -10.0]),
        // Multiples of 0.1.
        (|x| (10.0 * (31.3 * x + 270.0)).round() / 10.0, [270.0, 301.3]),
        // Some are invalid before.
        (|x| 3.0 * x - 1.0, [-0.7, 1.3]),
    ];
    let types = [ElementType::Float32, ElementType::Float64, ElementType::Float16];
    let mut named = Vec::new();
    for number in 0..CASES {
        let mut pick = |count: usize| ((random.number() * count as f64) as usize).min(count - 1);
        let (of_cover, [least, greatest]) = kinds[pick(6)];
        let element_type = types[pick(3)];
        let share = [0.11, 0.03, 0.0201, 1.0 / 50.0, 1.0 / 500.0, 1e-4][pick(6)];
        let attributes = [
            json!({"valid_range": [least, greatest]}),
            json!({"valid_max": greatest}),
            json!({"valid_min": least, "_FillValue": -9999.0}),
        ];
        let attributes = attributes[pick(3)].clone();
        let fill = [json!(0.0), json!("NaN"), json!(-9999.0)][pick(3)].clone();
        let target = [None, None, Some("int16"), Some("uint16"), Some("uint8")][pick(5)];
        let compressor = ["zstd:5", "none"][pick(2)];
        let count = 400 + pick(1200);
        let mut cover = || f64::clamp(1.3 * random.number() - 0.15, 0.0, 1.0);
        let mut values: Vec<f64> = (0..count).map(|_| of_cover(cover())).collect();
        values[..2].copy_from_slice(&[of_cover(0.0), of_cover(1.0)]);
        let extent = of_cover(1.0) - of_cover(0.0);
        let is_small = element_type == ElementType::Float16;
        if (is_small && share < 0.01) || (target == Some("uint8") && share < 0.003) {
            continue;
        }
        let mut goal = json!({"max-abs-error": share * extent, "compressor": compressor});
        if let Some(target) = target {
            goal["data-type"] = json!(target);
        }
        let what =
            format!("{number}: {least} {greatest} {element_type} {goal} {fill} {attributes}");
        let others = json!({"_FillValue": attributes.get("_FillValue")});
        let case = Case { values, element_type, fill, attributes, options: options(goal) };
        let (report, bad) = case.invalid();
        if let Some(bad) = bad {
            assert!(!report.beyond_valid.is_empty(), "{what}: {bad:?}");
            named.push(format!("{what}: {bad:?}"));
        }
        let (without, ..) = case.pack(&others);
        assert_eq!(report.data_type.size(), without.data_type.size(), "{what}");
        let [with, without] = [&report, &without].map(|one| one.bytes.stored as f64);
        assert!(with <= 1.03 * without + 20.0, "{what}: {without} to {with} bytes");
    }
    let most = CASES / 50;
    assert!(named.len() <= most, "{} of {CASES}:\n{}", named.len(), named.join("\n"));
}

/// Plain numbers, which have no steps that could be moved: those that rounding would take beyond stay.
#[test]
fn rounded_plain_numbers_stay_valid() {
    let values: Vec<f64> = cover(3000).into_iter().map(|x| 33.7 * x - 1.8).collect();
    for element_type in [ElementType::Float16, ElementType::Float32, ElementType::Float64] {
        for goal in [json!({"max-abs-error": 0.5}), json!({"max-rel-error": 0.01})] {
            let goal = json!({"readers": ["any"], "max-abs-error": goal.get("max-abs-error"),
                "max-rel-error": goal.get("max-rel-error")});
            let case = Case {
                values: values.clone(),
                element_type,
                fill: json!(0.0),
                attributes: json!({"valid_range": [-1.8, 31.9]}),
                options: options(goal),
            };
            let (report, bad) = case.invalid();
            assert_eq!(bad, None, "{element_type}");
            assert!(report.beyond_valid.is_empty() && report.rounded.is_some());
        }
    }
}
