//! Whatever an array holds and whatever is asked for, an output keeps what it promises, and a refusal leaves nothing behind.

use proptest::prelude::*;
use recast_kernels::{ElementType, Rounding, Scalar};
use serde_json::{Map, Value, json};

use crate::cases::checked;
use crate::common::{Sample, Trial, bytes, element, options, scalars};

/// An array, and what is asked for.
#[derive(Clone, Debug)]
struct Case {
    data_type: ElementType,
    numbers: Vec<f64>,
    fill: f64,
    markers: Vec<f64>,
    goal: Value,
    flags: Map<String, Value>,
}

/// Numbers as they are measured, counted and computed, with a few that are special.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let plain = (0..6, prop::collection::vec(0.0..1.0, 1..200)).prop_map(|(kind, parts)| {
        let number = |part: f64| match kind {
            0 => 270.0 + 30.0 * part,
            1 => (4000.0 * part).round() / 100.0,
            // Some are far from all others.
            2 if part > 0.95 => 1e20,
            2 => 10_f64.powf(14.0 * part - 8.0),
            3 => 3.25,
            4 => (3.0 * part).floor(),
            _ => 2e6 * (part - 0.5),
        };
        parts.into_iter().map(number).collect::<Vec<f64>>()
    });
    let special = prop::sample::select(vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        -9999.0,
        1e20,
        3.4e38,
        1e-42,
    ]);
    let specials = prop::collection::vec((any::<prop::sample::Index>(), special), 0..4);
    (plain, specials).prop_map(|(mut numbers, specials)| {
        for (index, special) in specials {
            let at = index.index(numbers.len());
            numbers[at] = special;
        }
        numbers
    })
}

fn goal() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!({"max-abs-error": 0.01}),
        json!({"max-abs-error": 0.5}),
        json!({"max-rel-error": 0.01}),
        json!({"precision": 0.1}),
        json!({"auto": true, "data-type": "int8"}),
        json!({"auto": true, "data-type": "uint16"}),
    ])
}

fn flags() -> impl Strategy<Value = Map<String, Value>> {
    let roundings: Vec<Value> = Rounding::ALL.iter().map(|one| json!(one.name())).collect();
    let flags = [
        ("allow-collisions", vec![json!(true)]),
        ("infinity", vec![json!(true)]),
        ("grid", vec![json!(false)]),
        ("no-nan", vec![json!(true)]),
        ("pow2", vec![json!(true)]),
        ("nan-to", vec![json!("min"), json!(7)]),
        ("rounding", roundings),
        ("readers", vec![json!(["any"]), json!(["gdal"])]),
    ];
    let names: Vec<usize> = (0..flags.len()).collect();
    let picked = prop::sample::subsequence(names, 0..4);
    (picked, any::<prop::sample::Index>()).prop_map(move |(picked, index)| {
        let flag = |number: usize| {
            let (name, values) = &flags[number];
            ((*name).to_owned(), index.get(values).clone())
        };
        picked.into_iter().map(flag).collect()
    })
}

fn case() -> impl Strategy<Value = Case> {
    use ElementType::{Float16, Float32, Float64, Int16, Int32, UInt8};
    let data_type = prop::sample::select(vec![
        Float32, Float64, Float32, Float64, Float16, Int16, Int32, UInt8,
    ]);
    let fill = prop::sample::select(vec![0.0, 0.0, 7.0, f64::NAN]);
    let markers = vec![vec![], vec![0.0], vec![0.0, -9999.0], vec![1e20, -9999.0]];
    let markers = prop::sample::select(markers);
    (data_type, numbers(), fill, markers, goal(), flags()).prop_map(
        |(data_type, numbers, fill, markers, goal, flags)| Case {
            data_type,
            numbers,
            fill,
            markers,
            goal,
            flags,
        },
    )
}

/// The element of a type that is nearest to a number; of integers, 0 in place of NaN.
fn value(number: f64, data_type: ElementType) -> Scalar {
    let finite = if number.is_nan() { 0.0 } else { number.clamp(-1e30, 1e30) };
    element(if data_type.is_float() { number } else { finite }, data_type)
}

impl Case {
    /// Whether the array is packed, as promised; otherwise nothing is there.
    fn is_packed(&self) -> Result<bool, TestCaseError> {
        let Self { data_type, numbers, fill, markers, goal, flags } = self;
        let values: Vec<Scalar> = numbers.iter().map(|&one| value(one, *data_type)).collect();
        let fill = zarr_recast::fill_value::to_json(value(*fill, *data_type));
        let count = values.len() as u64;
        let sample = Sample::new(data_type.name(), &[count], &[count.div_ceil(2)], fill)
            .with("attributes", json!({"missing_value": markers}));
        let trial = Trial::of(&sample, &bytes(&values));

        let mut asked = json!({"compressor": "none"});
        for members in [goal.as_object().unwrap(), flags] {
            asked.as_object_mut().unwrap().extend(members.clone());
        }
        let asked_options = options(asked.clone());
        let Ok(report) = trial.pack(asked_options.clone()) else {
            trial.refuses(asked_options);
            return Ok(false);
        };
        let decoded = scalars(&trial.decoded(), *data_type);
        let number = |name: &str| asked.get(name).and_then(Value::as_f64);
        let may_collide = flags.contains_key("allow-collisions");
        let has_nan = flags.contains_key("nan-to") || values.iter().any(|one| one.is_nan());
        let is_marker = |one: Scalar| {
            // One beyond the type marks nothing.
            let is_near = |marker: f64| (one.to_f64() - marker).abs() <= 1e-3 * marker.abs();
            markers.iter().any(|&marker| is_near(marker) && one.equals(value(marker, *data_type)))
        };
        for (&before, after) in values.iter().zip(decoded) {
            let what = format!("{before} became {after}: {asked} {:?}", report.codecs);
            if before.is_nan() || is_marker(before) || !before.is_finite() {
                let is_same = before.equals(after) || before.is_nan() && after.is_nan();
                prop_assert!(is_same, "{}", what);
                continue;
            }
            if after.is_nan() {
                prop_assert!(may_collide && has_nan, "{}", what);
                continue;
            }
            prop_assert!(may_collide || !is_marker(after), "{}", what);
            let (x, y) = (before.to_f64(), after.to_f64());
            let bound = number("max-abs-error")
                .or_else(|| Some(number("max-rel-error")? * x.abs()))
                .unwrap_or(f64::INFINITY);
            // The difference of two float64 is rounded.
            prop_assert!((y - x).abs() <= bound * (1.0 + f64::EPSILON), "{}", what);
        }
        Ok(true)
    }
}

#[test]
fn an_output_keeps_what_it_promises_and_a_refusal_leaves_nothing() {
    let count = checked(500, &case(), |case| case.is_packed());
    assert!(count > 250, "{count}");
}
