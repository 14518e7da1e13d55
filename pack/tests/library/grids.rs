//! Values on a grid: what is stored for them alone, and for values to come.

use crate::common::{
    Random, Sample, Trial, bytes, element, elements, f32s, f64s, one_thread, options, store, within,
};
use recast_kernels::{ElementType, Scalar};
use recast_pack::report::Lattice;
use recast_pack::{
    ArrayInfo, Choice, CompareJob, Compressor, DryRun, PackJob, PackOptions, Surveyor,
    choose_checked, scalar,
};
use serde_json::{Value, json};

fn chosen(values: &[u8], fill: Scalar, options: &PackOptions) -> Result<Choice, String> {
    let count = (values.len() / fill.element_type().size()) as u64;
    let survey = Surveyor::for_array(fill, &serde_json::Map::new(), options, count).unwrap();
    let survey = survey.survey(values).unwrap();
    choose_checked(&survey, options, |choice| choice.check(values)).map_err(|e| format!("{e:#}"))
}

/// What elements become in an array with these codecs; an error if one cannot be stored.
fn decoded(choice: &Choice, fill: Scalar, elements: &[u8]) -> Result<Vec<u8>, String> {
    let options = zarr_recast::BindOptions::default();
    let element_type = fill.element_type();
    let chain =
        zarr_recast::Chain::bind(element_type, Some(fill), &choice.codecs, &options).unwrap();
    let codes = chain.encode(elements).map_err(|error| error.to_string())?;
    Ok(chain.decode(&codes).unwrap())
}

/// Values that were seen, and what is asked for them and for values to come.
struct Case {
    element_type: ElementType,
    /// Whether the values are on a round grid.
    is_round: bool,
    seen: Vec<f64>,
    bound: f64,
    marker: Option<f64>,
    /// Where values to come lie at least.
    ends: (f64, f64),
    options: PackOptions,
}

const TYPES: [ElementType; 6] = [
    ElementType::Float32,
    ElementType::Float32,
    ElementType::Float64,
    ElementType::Float16,
    ElementType::Int32,
    ElementType::Int16,
];

impl Case {
    fn new(random: &mut Random, element_type: ElementType) -> Option<Self> {
        let kind = random.below(6);
        let step = match kind {
            0 => 10_f64.powi(random.below(6) as i32 - 3) * random.one(&[1.0, 2.0, 5.0]),
            1 => 2_f64.powi(random.below(12) as i32 - 8),
            2 => random.one(&[3.28, 0.3048, 1.0 / 3.0, 0.7]),
            3 => 0.5 + random.number(),
            // Values without a grid, and all the same.
            4 => 1e-9,
            _ => 0.0,
        };
        let step = if element_type.is_integer() { step.ceil() } else { step };
        let count = random.one(&[2, 3, 40, 700]);
        let steps = random.one(&[3.0, 40.0, 900.0, 20_000.0]) * if kind == 4 { 1e7 } else { 1.0 };
        let start = random.one(&[0.0, -1.0, 7.0, 1000.0]) * step.max(1e-3);
        let seen: Vec<f64> =
            (0..count).map(|_| start + step * (random.number() * steps).floor()).collect();
        let ends = |marker: Option<f64>| {
            let values = seen.iter().filter(|value| Some(**value) != marker);
            values.fold((f64::MAX, f64::MIN), |(a, b), &x| (a.min(x), b.max(x)))
        };
        let (least, greatest) = ends(None);
        let extent = (greatest - least).max(1e-2);
        let bound = match random.below(4) {
            0 => step * random.one(&[0.5, 0.499, 0.1, 0.02]),
            1 => extent * random.one(&[0.1, 1e-2, 1e-3]),
            2 => random.one(&[0.01, 0.005, 1.0, 0.3]),
            _ => 0.0,
        };
        let mut options = within(bound);
        let marker = (least + extent / 3.0).floor();
        let is_marked = random.below(4) == 0 && element_type.is_float();
        let is_value = |marker: &f64| element(*marker, element_type).to_f64() == *marker;
        let marker = Some(marker).filter(is_value).filter(|_| is_marked);
        options.missing.extend(marker.map(|marker| scalar(&format!("{marker:?}")).unwrap()));
        let mut ends = ends(marker);
        if ends.0 > ends.1 {
            return None;
        }
        if random.below(3) == 0 && element_type != ElementType::Float16 {
            ends = (least - extent, greatest + 3.0 * extent);
            options.range = Some(format!("{:?},{:?}", ends.0, ends.1).parse().unwrap());
        }
        Some(Self { element_type, is_round: kind < 2, seen, bound, marker, ends, options })
    }

    fn fill(&self) -> Scalar {
        element(if self.element_type.is_float() { f64::NAN } else { 0.0 }, self.element_type)
    }

    /// Values between two ends.
    fn between(&self, random: &mut Random, (low, high): (f64, f64)) -> Vec<u8> {
        let values: Vec<f64> = (0..400).map(|_| low + (high - low) * random.number()).collect();
        elements(&values, self.element_type)
    }

    /// Values and what they are read as, if that is missing or off by more than the bound.
    fn wrong(&self, values: &[u8], read: &[u8]) -> Option<(f64, f64)> {
        let read = f64s(read, self.element_type);
        let mut pairs = f64s(values, self.element_type).into_iter().zip(read);
        pairs.find(|&(value, read)| {
            let is_off = (value - read).abs() > self.bound || read.is_nan();
            Some(value) != self.marker && (is_off || Some(read) == self.marker)
        })
    }

    /// Whether the codecs must also hold wherever else they can store values: neither 16 bits of float16 nor 32 bits of
    /// codes, whose ends are too far away for the arithmetic, nor a marker beyond the values, nor a range.
    fn has_room(&self, choice: &Choice) -> bool {
        let is_between = |one: f64| self.ends.0 <= one && one <= self.ends.1;
        self.element_type != ElementType::Float16
            && choice.data_type.bits() <= 16
            && self.options.range.is_none()
            && self.bound > 0.0
            && self.marker.is_none_or(is_between)
    }
}

/// Codecs for values to come keep the bound for them, or refuse them: between the values seen, in a promised range, and
/// wherever else they can be stored. On the grid they are as exact as with codes for the grid alone.
#[test]
fn values_to_come_keep_the_bound_or_are_refused() {
    let mut random = Random(30);
    let (mut kept, mut refused, mut beyond, mut gridded) = (0, 0, 0, 0);
    for number in 0..500 {
        let Some(case) = Case::new(&mut random, TYPES[number % TYPES.len()]) else { continue };
        let (fill, options) = (case.fill(), &case.options);
        let values = elements(&case.seen, case.element_type);
        let Ok(choice) = chosen(&values, fill, options) else {
            refused += 1;
            continue;
        };
        kept += 1;
        let what = format!("{number}: {} {options:?} {:?}", case.element_type, choice.codecs);
        assert_eq!(choice.only, None, "{what}");
        let later = case.between(&mut random, case.ends);
        let read = decoded(&choice, fill, &later).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(case.wrong(&later, &read), None, "{what}");
        // On the grid, as exact as the grid's own codes.
        let on_grid = PackOptions { grid: Some(true), range: None, ..options.clone() };
        if let Ok(grid) = chosen(&values, fill, &on_grid)
            && grid.only.is_some()
        {
            gridded += 1;
            let error = |choice: &Choice| {
                let read = f64s(&decoded(choice, fill, &values).unwrap(), case.element_type);
                let pairs = f64s(&values, case.element_type).into_iter().zip(read);
                pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            let rounding = case.ends.0.abs().max(case.ends.1.abs()) * 1e-6;
            let (fine, coarse) = (error(&choice), error(&grid));
            // Values that are off by more than a small part of the bound are on no grid.
            let is_plain = case.is_round && case.marker.is_none() && coarse <= case.bound / 16.0;
            if case.element_type == ElementType::Float32 && is_plain {
                assert!(fine <= coarse + rounding, "{what}: {fine} {coarse} {:?}", grid.codecs);
            }
        }
        let ends = choice.storable_range.map(|(a, b)| (a.to_f64(), b.to_f64()));
        let Some(ends) = ends.filter(|_| case.has_room(&choice)) else { continue };
        let outside = case.between(&mut random, ends);
        for one in outside.chunks_exact(case.element_type.size()) {
            let Ok(read) = decoded(&choice, fill, one) else { continue };
            beyond += 1;
            assert_eq!(case.wrong(one, &read), None, "{what} {ends:?}");
        }
    }
    let counts = format!("{kept} {refused} {beyond} {gridded}");
    assert!(kept > 250 && refused > 20 && beyond > 5000 && gridded > 50, "{counts}");
}

#[test]
fn the_grid_of_two_values_is_not_that_of_the_next_ones() {
    let values = bytes(&[271.0_f32, 310.0]);
    let fill = Scalar::from(f32::NAN);
    let later = bytes(&[280.5_f32, 271.0, 310.0]);
    let choice = chosen(&values, fill, &within(0.01)).unwrap();
    let read = f32s(&decoded(&choice, fill, &later).unwrap());
    assert!((read[0] - 280.5).abs() <= 0.01, "{read:?}");
    assert_eq!(read[1..], [271.0, 310.0]);
    let only = PackOptions { grid: Some(true), ..within(0.01) };
    let choice = chosen(&values, fill, &only).unwrap();
    assert_eq!(choice.only, Some(Lattice { step: 1.0, origin: 0.0 }));
    // Nothing but the grid is exact.
    let error = chosen(&values, fill, &within(0.0)).unwrap_err();
    assert!(error.contains("--no-grid"), "{error}");
    assert!(chosen(&values, fill, &PackOptions { grid: Some(true), ..within(0.0) }).is_ok());
    for other in [json!({"precision": 1}), json!({"max-abs-error": 1, "range": [0, 9]})] {
        let mut other = other;
        other["grid"] = true.into();
        let options: PackOptions = serde_json::from_value(other).unwrap();
        let error = chosen(&values, fill, &options).unwrap_err();
        assert!(error.contains("grid = true cannot be used with"), "{error}");
    }
}

/// An infinity, or a value next to a marker, that nobody has seen yet, becomes no marker.
#[test]
fn what_was_not_seen_does_not_become_missing() {
    let fill = Scalar::from(-5.0_f32);
    let seen: Vec<f32> = (0..200).map(|index| index as f32 / 7.0 - 10.0).collect();
    let missing = ["-9999", "1e30"].map(|one| scalar(one).unwrap()).to_vec();
    for bound in [0.1, 0.01, 1e-3] {
        let options = PackOptions { missing: missing.clone(), ..within(bound) };
        let choice = chosen(&bytes(&seen), fill, &options).unwrap();
        for infinite in [f32::INFINITY, f32::NEG_INFINITY] {
            let read = decoded(&choice, fill, &bytes(&[infinite]));
            assert!(read.is_err(), "{:?} {read:?}", choice.codecs);
        }
    }
    // 3 marks missing values; those next to it are on the grid of halves so far.
    let seen: Vec<f32> = (0..20).map(|index| index as f32 / 2.0).collect();
    let options = PackOptions { missing: vec![scalar("3").unwrap()], ..within(0.1) };
    let choice = chosen(&bytes(&seen), fill, &options).unwrap();
    let later: Vec<f32> =
        (0..1000).map(|index| 2.5 + index as f32 / 1000.0).filter(|x| *x != 3.0).collect();
    let read = f32s(&decoded(&choice, fill, &bytes(&later)).unwrap());
    for (before, after) in later.iter().zip(&read) {
        assert!((before - after).abs() <= 0.1 && *after != 3.0, "{before} {after}");
    }
}

/// What is packed whole says on which grid later values would have to be, everywhere.
#[test]
fn a_packed_array_says_that_it_is_for_a_grid_only() {
    let tenths: Vec<f32> = (0..3000).map(|index| (index * 7 % 400) as f32 / 10.0).collect();
    let grid = Lattice { step: 0.1, origin: 0.0 };
    let trial = Trial::new(&tenths, 1000, json!({}));
    let report = trial.pack(within(0.01)).unwrap();
    assert_eq!(report.grid, Some(grid));
    assert_eq!(serde_json::to_value(&report).unwrap()["grid"], json!({"step": 0.1}));
    assert_eq!(trial.metadata()["attributes"]["recast"]["grid"], json!({"step": 0.1}));
    let info = ArrayInfo::read(trial.output()).unwrap();
    assert_eq!(info.grid, Some(grid));
    // Beside the bound, in one sentence, wherever somebody reads of the array.
    let sentence = "errors are at most 0.01, for multiples of 0.1 only: values between these may be off by up to 0.05";
    assert_eq!(report.bound.as_deref(), Some(sentence));
    assert_eq!(trial.metadata()["attributes"]["recast"]["note"], sentence);
    assert_eq!(info.bound.unwrap().to_string(), sentence);
    let job = CompareJob { recorded: true, ..CompareJob::new(trial.input(), trial.output()) };
    assert_eq!(job.run(&one_thread()).unwrap().recorded.unwrap().to_string(), sentence);
    // Without a grid, a value between the others is stored within the bound.
    let report = trial.pack(PackOptions { grid: Some(false), ..within(0.01) }).unwrap();
    assert_eq!(report.grid, None);
    assert_eq!(report.bound.as_deref(), Some("errors are at most 0.01"));
    let recorded = &trial.metadata()["attributes"]["recast"];
    assert!(recorded.get("grid").is_none() && recorded.get("note").is_none());
    assert_eq!(ArrayInfo::read(trial.output()).unwrap().grid, None);
    let later: Vec<f32> = (0..1000).map(|index| index as f32 / 25.1).collect();
    store(&trial.output(), 3000, &bytes(&later));
    let read = f32s(&trial.decoded());
    assert_eq!(read[..3000], tenths);
    for (before, after) in later.iter().zip(&read[3000..]) {
        assert!((before - after).abs() <= 0.01, "{before} {after}");
    }
    // Where the bound allows any value, nothing is said; nor for integers, each of which has a code.
    assert_eq!(trial.pack(within(0.06)).unwrap().grid, None);
    let trial = Trial::new(&[5_i32, 10, 700], 3, json!({}));
    assert_eq!(trial.pack(PackOptions::default()).unwrap().grid, None);
}

/// Heights in whole metres, given in feet.
#[test]
fn a_step_that_is_not_round_is_found_and_holds_for_every_element() {
    let mut random = Random(3);
    for (step, origin, bound) in
        [(3.28, 0.0, 0.5), (0.3048, 0.0, 0.01), (1.8, 0.37, 0.1), (5.0 / 9.0, 255.372_22, 0.05)]
    {
        let mut height = 1500.0;
        let mut values: Vec<f32> = (0..60_000)
            .map(|_| {
                height += (random.number() * 9.0).floor() - 4.0;
                (origin + step * height) as f32
            })
            .collect();
        for compressor in [Compressor::None, Compressor::Auto] {
            let trial = Trial::new(&values, 10_000, json!({}));
            let report = trial.pack(PackOptions { compressor, ..within(bound) }).unwrap();
            let grid = report.grid.unwrap_or_else(|| panic!("{step}: {:?}", report.codecs));
            assert!((grid.step - step).abs() <= step * 1e-5, "{grid:?}");
            assert!(report.error.errors.max <= bound / 20.0, "{:?}", report.error);
            let finer = trial.pack(PackOptions { compressor, grid: Some(false), ..within(bound) });
            let finer = finer.unwrap();
            assert_eq!(finer.grid, None);
            if compressor == Compressor::Auto {
                let rest =
                    PackOptions { compressor, precision: Some(step), ..PackOptions::default() };
                let named =
                    if origin == 0.0 { trial.pack(rest).unwrap().bytes.stored } else { u64::MAX };
                let stored = report.bytes.stored;
                assert!(stored <= named.saturating_add(named / 50), "{stored} {named}");
            }
        }
        // An element off the grid, which no sample is likely to have.
        values[41_234] += (step / 2.0) as f32;
        let trial = Trial::new(&values, 10_000, json!({}));
        let report = trial.pack(within(bound)).unwrap();
        assert!(report.error.errors.max <= bound, "{step}");
        assert!(report.grid.is_none_or(|grid| grid.step < 0.6 * step), "{step} {:?}", report.grid);
    }
}

/// A bound for each array, in units of its range.
#[test]
fn a_bound_in_units_of_the_range_suits_every_array() {
    let waves = |mean: f64, extent: f64| -> Vec<f32> {
        (0..5000).map(|index| (mean + extent * (f64::from(index) * 0.013).sin()) as f32).collect()
    };
    let share =
        |share: f64| PackOptions { error_over_range: Some(share), ..PackOptions::default() };
    for (mean, extent) in [(288.0, 30.0), (5e-5, 4e-5), (0.0, 1e12)] {
        let values = waves(mean, extent);
        let trial = Trial::new(&values, 1000, json!({}));
        let report = trial.pack(share(1e-3)).unwrap();
        let range = report.range.map(|(a, b)| b.to_f64() - a.to_f64()).unwrap();
        assert_eq!(report.error.bound, Some(1e-3 * range));
        assert!(report.error.errors.max <= 1e-3 * range);
        assert!(report.error.errors.max > 1e-4 * range && report.coarse.is_none());
        assert_eq!(report.error.over_range, Some(1e-3));
        assert_eq!(trial.metadata()["attributes"]["recast"]["error_over_range"], 1e-3);
        let choice = chosen(&bytes(&values), Scalar::from(0.0_f32), &share(1e-3)).unwrap();
        assert_eq!(choice.data_type, report.data_type);
        let error = trial.pack(PackOptions { data_type: Some(ElementType::Int8), ..share(1e-5) });
        assert!(error.unwrap_err().contains("larger --error-over-range"));
    }
    // Equal values are kept.
    let trial = Trial::new(&[1e-4_f32; 50], 50, json!({}));
    let report = trial.pack(share(1e-3)).unwrap();
    assert!(report.error.errors.max <= 1e-7 && report.coarse.is_none(), "{:?}", report.error);
    for values in [vec![], vec![0.0_f32; 9]] {
        assert!(Trial::new(&values, 9, json!({})).pack(share(1e-3)).is_ok());
    }
    let trial = Trial::new(&[3_i32, 3000, 77_000], 3, json!({}));
    assert!(trial.pack(share(0.01)).unwrap().error.errors.max <= 770.0);
    assert_eq!(trial.pack(share(1e-6)).unwrap().error.errors.max, 0.0);
    for (wrong, text) in [
        (json!({"error-over-range": 1}), "from 0 to below 1"),
        (json!({"error-over-range": 0.1, "precision": 1}), "cannot be used with"),
        (json!({"error-over-range": 0.1, "scale": 1}), "cannot be used with"),
    ] {
        let options: PackOptions = serde_json::from_value(wrong).unwrap();
        assert!(trial.pack(options).unwrap_err().contains(text));
    }
}

/// The range is the greatest less the least value, as they are stored: neither that of the type, nor their magnitude.
#[test]
fn the_range_of_a_bound_is_that_of_the_values() {
    let bound = |trial: &Trial, more: Value| {
        let mut asked = json!({"error-over-range": 0.01});
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let report = trial.pack(options(asked)).unwrap();
        assert!(report.error.errors.max <= report.error.bound.unwrap());
        report.error.bound.unwrap()
    };
    // Their difference is 0 in float64.
    let times: Vec<i64> = (0..=100).map(|step| 1_700_000_000_000_000_000 + step).collect();
    assert_eq!(bound(&Trial::new(&times, 50, json!({})), json!({})), 1.0);
    let numbers: Vec<f32> = (0..=100_u8).map(|step| 7.0 + f32::from(step)).collect();
    let trial = Trial::new(&numbers, 50, json!({}));
    assert_eq!(bound(&trial, json!({"src-max": 1e6})), 1.0);
    assert_eq!(bound(&trial, json!({"src-min": -1e6, "src-max": 57})), 0.5);
    // All equal, before or after they are clamped, and none at all.
    assert_eq!(bound(&trial, json!({"src-min": 107, "src-max": 200})), 0.0);
    assert_eq!(bound(&Trial::new(&[i64::MIN; 9], 9, json!({})), json!({})), 0.0);
    assert_eq!(bound(&Trial::new(&[273.16_f32; 9], 9, json!({})), json!({})), 0.0);
    assert_eq!(bound(&Trial::new(&[f32::NAN; 9], 9, json!({})), json!({})), 0.0);
}

/// A bound of 0 is none for values that are all the same, or missing.
#[test]
fn where_nothing_can_be_lost_nothing_is_refused() {
    let all = |number| vec![number; 60];
    for data_type in [ElementType::Float16, ElementType::Float32, ElementType::Float64] {
        for numbers in [all(0.0), all(-0.0), all(1.0), all(0.1), all(f64::NAN), vec![]] {
            for (fill, grid) in [(f64::NAN, None), (0.0, Some(false)), (0.0, None), (7.0, None)] {
                let values = elements(&numbers, data_type);
                let fill = element(fill, data_type);
                let options = PackOptions { grid, ..within(0.0) };
                let what = format!("{data_type} {numbers:?} {fill} {grid:?}");
                let choice = chosen(&values, fill, &options);
                let choice = choice.unwrap_or_else(|error| panic!("{what}: {error}"));
                let back = f64s(&decoded(&choice, fill, &values).unwrap(), data_type);
                let pairs = f64s(&values, data_type).into_iter().zip(back);
                let is_same = |(a, b): (f64, f64)| a == b || (a.is_nan() && b.is_nan());
                assert!(pairs.into_iter().all(is_same), "{what}");
                let fill = zarr_recast::fill_value::to_json(fill);
                let sample = Sample::new(data_type.name(), &[numbers.len() as u64], &[60], fill);
                let trial = Trial::of(&sample, &values);
                trial.pack(options).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
    }
}

/// A scale that is a power of two rounds nothing away, so the whole bound is left for the codes.
#[test]
fn a_bound_of_half_a_unit_in_the_last_place_is_kept() {
    let mut random = Random(5);
    let values: Vec<f32> = (0..3000).map(|_| (1e6 * random.number()) as f32).collect();
    for grid in [Some(false), None] {
        let options = PackOptions { grid, ..within(0.0625) };
        let choice = chosen(&bytes(&values), Scalar::from(f32::NAN), &options).unwrap();
        assert_eq!(choice.data_type, ElementType::Int32);
        assert!(choice.is_proven);
    }
}

/// A bound that leaves little of an array is said to.
#[test]
fn a_bound_that_is_coarse_for_the_values_is_said_to_be() {
    let rain: Vec<f32> = (0..5000).map(|index| (index * 37 % 91) as f32 * 1e-6).collect();
    let coarse = |values: &[f32], options: PackOptions| {
        let options = PackOptions { allow_constant: true, ..options };
        let trial = Trial::new(values, 1000, json!({}));
        let job = PackJob::new(trial.input(), trial.output(), options.clone());
        let dry = job.dry_run(&one_thread()).unwrap();
        let report = trial.pack(options).unwrap();
        assert_eq!(dry.coarse, report.coarse);
        report.coarse
    };
    let found = coarse(&rain, within(0.01)).unwrap();
    assert!((found.of_range - 0.01 / 8.9e-5).abs() < 1e-3, "{found:?}");
    assert!(found.of_deviation.unwrap() > found.of_range);
    assert!(found.to_string().starts_with("the bound 0.01 is 112.4 times the range"), "{found}");
    assert_eq!(coarse(&rain, within(1e-6)), None);
    assert!(
        coarse(&rain, PackOptions { precision: Some(0.01), ..PackOptions::default() }).is_some()
    );
    // A few large values: the range is wide, and most of what varies is lost.
    let mut spiky = rain.clone();
    spiky[7] = 1.0;
    let found = coarse(&spiky, within(0.01)).unwrap();
    assert!(found.of_range < 0.1 && found.of_deviation.unwrap() > 0.1, "{found:?}");
    assert!(coarse(&[1e-4_f32; 50], within(0.01)).is_some());
    for values in [vec![0.0_f32; 9], vec![3.5; 9], vec![f32::NAN; 9], vec![]] {
        assert_eq!(coarse(&values, within(0.01)), None, "{values:?}");
    }
    // Below 1 an error of integers is none.
    let classes: Vec<i32> = (0..50).map(|index| index % 5).collect();
    for (bound, is_coarse) in [(0.9, false), (1.0, true)] {
        let report = Trial::new(&classes, 10, json!({})).pack(within(bound)).unwrap();
        assert_eq!(report.coarse.is_some(), is_coarse, "{bound}");
    }
    let document: Value = serde_json::to_value(found).unwrap();
    assert!(document["of_range"].is_number() && document["bound"] == 0.01);
}

/// xarray decodes CF's codes so, and no division in float32 gives the same values.
#[test]
fn codes_that_were_multiplied_in_float32_come_back_bit_for_bit() {
    let mut random = Random(17);
    let options = PackOptions { grid: Some(true), compressor: Compressor::None, ..within(0.0) };
    let fill = Scalar::from(f32::NAN);
    for exponent in -6..=1 {
        for digits in [1.0, 2.0, 2.5, 5.0] {
            let step = (digits * 10_f64.powi(exponent)) as f32;
            let least = random.below(60_000) as i32 - 30_000;
            let most = random.one(&[100, 4_000, 30_000]);
            let mut values: Vec<f32> =
                (0..6_000).map(|_| (least + random.below(most) as i32) as f32 * step).collect();
            values[random.below(6_000)] = f32::NAN;
            let elements = bytes(&values);
            let choice =
                chosen(&elements, fill, &options).unwrap_or_else(|e| panic!("{step}: {e}"));
            // Codes of one byte would need an offset, and the sum is rounded once more; some such arrays get wider ones.
            assert!(choice.data_type.size() <= 2 || most == 100, "{step}: {:?}", choice.codecs);
            assert_eq!(decoded(&choice, fill, &elements).unwrap(), elements, "{step}");
        }
    }
}
