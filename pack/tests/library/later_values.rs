//! Codecs that are chosen for values to come keep the bound for each of them, from the least to the greatest that was surveyed
//! or promised, and not only for those that are there by chance.

use proptest::prelude::*;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use recast_pack::{Choice, PackOptions, Surveyor, choose_checked};
use serde_json::{Map, Value, json};
use zarr_recast::{BindOptions, Chain};

use crate::cases::checked;
use crate::common::{Random, Trial, bytes, f32s, options, relative, scalars, store, within};

/// What is surveyed, and what is asked for.
#[derive(Clone, Debug)]
struct Case {
    data_type: ElementType,
    values: Vec<Scalar>,
    fill: Scalar,
    markers: Vec<Scalar>,
    goal: Value,
    flags: Map<String, Value>,
}

/// The value of a type nearest to a number.
fn nearest(number: f64, data_type: ElementType) -> Scalar {
    let number = if number.is_nan() && !data_type.has_nan() { 0.0 } else { number };
    Scalar::from(number).cast(data_type, Rounding::NearestEven, OutOfRange::Clamp).unwrap()
}

fn data_types() -> impl Strategy<Value = ElementType> {
    use ElementType::{
        BFloat16, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32,
        UInt64,
    };
    prop::sample::select(vec![
        Int8, UInt8, Int16, UInt16, Int32, UInt32, Int64, UInt64, Float16, BFloat16, Float32,
        Float64,
    ])
}

/// Numbers of some ranges: everywhere in them, in steps, or their ends only.
fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let ranges = vec![
        (0.0, 255.0),
        (0.0, 10_000.0),
        (-100.0, 100.0),
        (270.0, 300.0),
        (1000.0, 1200.0),
        (0.0, 1.0),
        (0.5, 12.0),
        (-30_000.0, 30_000.0),
        (9e15, 9.000_000_000_001e15),
        (0.0, 1e6),
        (5.0, 5.0),
        (0.0, 0.0),
    ];
    let ranges = prop::sample::select(ranges);
    let parts = prop::collection::vec(0.0..1.0, 0..40);
    (ranges, 0..3_usize, parts).prop_map(|((least, greatest), kind, parts)| {
        let number = |part: &f64| {
            let number = least + (greatest - least) * part;
            [number, number.round(), (number / 10.0).round() * 10.0][kind]
        };
        let within = |number: &f64| (least..=greatest).contains(number);
        let between = parts.iter().map(number).filter(within);
        [least, greatest].into_iter().chain(between).collect()
    })
}

fn goals() -> impl Strategy<Value = Value> {
    let absolute = [0.0, 0.02, 0.0625, 0.5, 1.0, 2.0, 6.0, 12.0, 100.0];
    let absolute = absolute.into_iter().map(|bound| json!({"max-abs-error": bound}));
    let others = [
        json!({"max-rel-error": 0.1}),
        json!({"max-rel-error": 0.04}),
        json!({"max-rel-error": 0.004}),
        json!({"precision": 0.1}),
        json!({"precision": 5}),
        json!({"error-over-range": 0.01}),
    ];
    prop::sample::select(absolute.chain(others).collect::<Vec<Value>>())
}

fn flags() -> impl Strategy<Value = Map<String, Value>> {
    let roundings: Vec<Value> = Rounding::ALL.iter().map(|one| json!(one.name())).collect();
    let targets =
        ["float8_e5m2", "float8_e4m3", "float8_e3m4", "float16", "int8", "uint8", "uint16"];
    let flags = [
        ("data-type", targets.into_iter().map(|name| json!(name)).collect()),
        ("no-nan", vec![json!(true)]),
        ("pow2", vec![json!(true)]),
        ("rounding", roundings),
        ("range", vec![json!([0, 120]), json!([-50, 400])]),
    ];
    let picked = prop::sample::subsequence((0..flags.len()).collect::<Vec<usize>>(), 0..3);
    (picked, any::<prop::sample::Index>()).prop_map(move |(picked, index)| {
        let flag = |number: usize| {
            let (name, values) = &flags[number];
            ((*name).to_owned(), index.get(values).clone())
        };
        picked.into_iter().map(flag).collect()
    })
}

fn case() -> impl Strategy<Value = Case> {
    let special = || {
        prop::sample::select(vec![
            0.0,
            0.0,
            3.0,
            100.0,
            280.0,
            -9999.0,
            -1e30,
            1e30,
            65_535.0,
            f64::NAN,
        ])
    };
    let markers = prop::collection::vec(special(), 0..3);
    let specials = (special(), markers, any::<bool>());
    (data_types(), numbers(), specials, goals(), flags()).prop_map(
        |(data_type, mut numbers, (fill, markers, has_specials), goal, flags)| {
            let of_type = |number: &f64| nearest(*number, data_type);
            if has_specials {
                numbers.push(fill);
                numbers.extend(&markers);
            }
            Case {
                data_type,
                values: numbers.iter().map(of_type).collect(),
                fill: of_type(&fill),
                markers: markers.iter().map(of_type).filter(|one| !one.is_nan()).collect(),
                goal,
                flags,
            }
        },
    )
}

/// Values of a type from one to another: all of them if they are few; otherwise the ends, what is next to some places, and
/// others at random.
fn between(least: Scalar, greatest: Scalar, places: &[Scalar]) -> Vec<Scalar> {
    let data_type = least.element_type();
    let is_within = |one: &Scalar| {
        let is_in = |one: f64| least.to_f64() <= one && one <= greatest.to_f64();
        is_in(one.to_f64())
    };
    if data_type.size() <= 2 {
        let all = (0..1_u64 << data_type.bits()).map(|bits| Scalar::from_bits(data_type, bits));
        return all.filter(is_within).collect();
    }
    let mut random = Random(1);
    let (from, extent) = (least.to_f64(), greatest.to_f64() - least.to_f64());
    let anywhere = (0..3000).map(|_| nearest(from + extent * random.number(), data_type));
    let mut values: Vec<Scalar> = anywhere.collect();
    let mut random = Random(2);
    let small = (0..300).map(|_| extent * (-40.0 * random.number()).exp2());
    values.extend(small.flat_map(|one| [from + one, one, -one]).map(|one| nearest(one, data_type)));
    let next_to = |place: &Scalar| {
        let place = *place;
        (-40..=40_i64).filter_map(move |step| {
            Some(Scalar::from_bits(data_type, place.bits().checked_add_signed(step)?))
        })
    };
    values.extend(places.iter().chain([&least, &greatest]).flat_map(next_to));
    values.retain(is_within);
    values
}

impl Case {
    fn options(&self) -> PackOptions {
        let mut asked = json!({"compressor": "none", "grid": false});
        for members in [self.goal.as_object().unwrap(), &self.flags] {
            asked.as_object_mut().unwrap().extend(members.clone());
        }
        options(asked)
    }

    fn choice(&self) -> Option<(Choice, Scalar, Scalar)> {
        let surveyor = Surveyor::new(self.fill, &self.markers, self.values.len() as u64).unwrap();
        let elements = bytes(&self.values);
        let survey = surveyor.survey(&elements).unwrap();
        let options = self.options();
        let choice = choose_checked(&survey, &options, |choice| choice.check(&elements)).ok()?;
        let promised = options.range.iter().flat_map(|range| {
            [&range.least, &range.greatest].map(|end| end.to_scalar(self.data_type).unwrap())
        });
        let is_marker = |one: &Scalar| self.markers.iter().any(|marker| marker.equals(*one));
        // A fill value of 0 is a value like any other.
        let is_value = |one: &&Scalar| one.is_zero() || !one.equals(self.fill);
        let seen = self.values.iter().filter(is_value).copied();
        let seen = seen.filter(|one| one.is_finite() && !is_marker(one));
        let mut ends: Vec<Scalar> = promised.chain(seen).collect();
        ends.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
        Some((choice, *ends.first()?, *ends.last()?))
    }

    /// Whether codecs were chosen; then they keep what they promise.
    fn is_kept(&self) -> Result<bool, TestCaseError> {
        let Some((choice, least, greatest)) = self.choice() else { return Ok(false) };
        let Self { data_type, fill, markers, .. } = self;
        let bind = BindOptions::default();
        let chain = Chain::bind(*data_type, Some(*fill), &choice.codecs, &bind).unwrap();
        let places = [&[*fill, nearest(0.0, *data_type)], &markers[..]].concat();
        let values = between(least, greatest, &places);
        let what =
            |text: String| format!("{text}; from {least} to {greatest}: {:?}", choice.codecs);
        let decoded = |values: &[Scalar]| -> Result<Vec<Scalar>, TestCaseError> {
            let codes = chain.encode(&bytes(values));
            let codes = codes.map_err(|error| TestCaseError::fail(what(error.to_string())))?;
            Ok(scalars(&chain.decode(&codes).unwrap(), *data_type))
        };
        let number = |name: &str| self.goal.get(name).and_then(Value::as_f64);
        let of_range =
            (greatest.to_f64() - least.to_f64()) * number("error-over-range").unwrap_or(f64::NAN);
        let is_special =
            |one: Scalar| markers.iter().chain([fill]).any(|special| special.equals(one));
        for (before, after) in values.iter().copied().zip(decoded(&values)?) {
            let (x, y) = (before.to_f64(), after.to_f64());
            let error = if data_type.is_integer() {
                let integer = |one: Scalar| one.to_string().parse::<i128>().unwrap();
                integer(before).abs_diff(integer(after)) as f64
            } else {
                (y - x).abs()
            };
            let step = self
                .options()
                .precision
                .map(|step| step / if self.is_nearest() { 2.0 } else { 1.0 });
            // Step, offset and value are rounded.
            let unit = if data_type.size() == 2 { 2_f64.powi(-8) } else { 1e-6 };
            let step = step.map(|step| 1.001 * step + unit * x.abs());
            let is_small = choice.relative_from.is_some_and(|from| x.abs() < from.to_f64());
            // A small value may be off by any error, and become a marker 0.
            let relative = number("max-rel-error");
            let relative =
                relative.map(|bound| if is_small { f64::INFINITY } else { bound * x.abs() });
            let bound = number("max-abs-error").or(relative).or(step).unwrap_or(of_range);
            let bound = if is_special(before) { 0.0 } else { bound };
            let is_marker =
                markers.iter().any(|marker| marker.equals(after) && !marker.equals(before));
            let is_kept = error <= bound * (1.0 + f64::EPSILON) && (!is_marker || is_small);
            prop_assert!(
                is_kept,
                "{}",
                what(format!("{before} became {after}, not within {bound}"))
            );
        }
        Ok(true)
    }

    fn is_nearest(&self) -> bool {
        self.options().rounding.name().starts_with("nearest")
    }
}

#[test]
fn every_value_to_come_is_kept() {
    let count = checked(700, &case(), |case| case.is_kept());
    assert!(count > 250, "{count}");
}

fn chosen<T: Copy + Into<Scalar>>(values: &[T], fill: T, options: &PackOptions) -> Choice {
    let elements = bytes(values);
    let surveyor = Surveyor::new(fill.into(), &[], values.len() as u64).unwrap();
    let survey = surveyor.survey(&elements).unwrap();
    choose_checked(&survey, options, |choice| choice.check(&elements)).unwrap()
}

/// Near 0 the numbers of a floating-point type are equally far apart.
#[test]
fn the_magnitude_from_which_a_relative_bound_is_kept_is_named() {
    let whole: Vec<f32> = (0..=100_u8).map(f32::from).collect();
    let trial = Trial::new(&whole, 101, json!({}));
    let report = trial.pack(relative(0.1)).unwrap();
    let from = report.error.relative_from.unwrap().to_f64() as f32;
    assert!(report.data_type == ElementType::Float8E3M4 && (0.1..1.0).contains(&from), "{from}");
    let later: Vec<f32> = (0..1000).map(|step| from * (1.0 + step as f32 / 100.0)).collect();
    store(&trial.output(), 101, &bytes(&later));
    for (before, after) in later.iter().zip(&f32s(&trial.decoded())[101..]) {
        assert!((before - after).abs() <= 0.1 * before, "{before} {after}");
    }
    // Where no value may be so small, there is nothing to name.
    let negative: Vec<f32> = whole[2..].iter().map(|value| -value).collect();
    for values in [&whole[2..], &negative] {
        let report = Trial::new(values, 99, json!({})).pack(relative(0.1)).unwrap();
        assert_eq!((report.error.relative_from, report.data_type), (None, ElementType::Float8E3M4));
    }
    // Between two signs, there is.
    let signed: Vec<f32> = whole.iter().map(|value| value - 50.5).collect();
    let report = Trial::new(&signed, 101, json!({})).pack(relative(0.1)).unwrap();
    assert!(report.error.relative_from.is_some(), "{:?}", report.data_type);
}

/// Between 0 and the others may be more; where nothing is promised, 0 needs a code only.
#[test]
fn a_fill_value_of_0_that_elements_have_is_a_value_like_any_other() {
    let values: Vec<i32> =
        (0..1000).map(|step| if step % 7 == 0 { 0 } else { 1000 + step % 200 }).collect();
    for (grid, size) in [(Some(false), 2), (Some(true), 1)] {
        let choice = chosen(&values, 0, &PackOptions { grid, ..within(0.0) });
        assert_eq!(choice.data_type.size(), size);
        let (least, _) = choice.storable_range.unwrap();
        assert_eq!(least.to_f64() <= 0.0, grid == Some(false), "{least}");
    }
}

#[test]
fn small_floats_take_as_few_codes_as_large_ones() {
    let numbers: Vec<f64> = (0..400).map(|step| 1.0 + f64::from(step) / 128.0).collect();
    for data_type in [ElementType::Float16, ElementType::Float32] {
        let values: Vec<Scalar> = numbers.iter().map(|&one| nearest(one, data_type)).collect();
        let options = PackOptions { grid: Some(false), ..within(0.02) };
        let choice = chosen(&values, nearest(0.0, data_type), &options);
        assert_eq!(choice.data_type.size(), 1, "{data_type}");
    }
}

/// The bound is less than the spacing of float16 from 4 on, and not much more below.
#[test]
fn float16_values_between_those_surveyed_are_kept_within_few_of_their_units() {
    let values: Vec<Scalar> =
        (0..600).map(|step| nearest(f64::from(step % 40), ElementType::Float16)).collect();
    let options = PackOptions { grid: Some(false), ..within(0.0039) };
    let choice = chosen(&values, nearest(0.0, ElementType::Float16), &options);
    assert_eq!(choice.data_type, ElementType::Int16);
}
