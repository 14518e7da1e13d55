//! Room for values that were not seen: on both sides of the data by default, in a range on request.

use std::fs;

use crate::common::{
    Sample, Trial, assert_within, bytes, f32s, little_endian, metadata, numbers, store, waves,
    within,
};
use recast_kernels::ElementType;
use recast_pack::{ArrayInfo, Compressor, PackOptions, ValueRange, scalar};
use serde_json::{Value, json};

#[allow(clippy::unnecessary_wraps)] // as the option has it
fn range(least: &str, greatest: &str) -> Option<ValueRange> {
    let range = format!("{least},{greatest}");
    Some(range.parse().unwrap())
}

#[test]
fn spare_codes_are_on_both_sides_of_the_data() {
    for compressor in [Compressor::None, Compressor::ZSTD, Compressor::Blosc(5)] {
        for (mean, extent, bound) in [(288.0, 30.0, 0.1), (288.0, 30.0, 0.01), (0.3, 0.2, 1e-4)] {
            is_amid(&waves(5000, mean, extent), PackOptions { compressor, ..within(bound) });
        }
        // Without an offset, there would be room too, but most of it below.
        let counts: Vec<f32> = (0..3000).map(|index| (1 + index * 7919 % 90) as f32).collect();
        is_amid(&counts, PackOptions { compressor, ..within(0.5) });
    }
}

/// Packs data, and finds at least a quarter of the spare codes on either side of them.
fn is_amid(values: &[f32], options: PackOptions) {
    let step = 2.0 * options.max_abs_error.unwrap();
    let report = Trial::new(values, 1000, json!({})).pack(options).unwrap();
    let (least, greatest) = numbers(report.range);
    let (low, high) = numbers(report.storable_range);
    let (below, above) = (least - low, high - greatest);
    assert!(below > 0.0 && above > 0.0, "{report:?}");
    assert!(below.min(above) >= 0.24 * (below + above) - step, "{below} {above}");
}

/// Multiples of a tenth from 0 on come back bit for bit without an offset; the sign leaves room below.
#[test]
fn data_that_come_back_exactly_still_do_where_they_have_room() {
    let values: Vec<f32> = (0..5000).map(|index| ((index * 7919) % 3000) as f32 / 10.0).collect();
    for compressor in [Compressor::None, Compressor::ZSTD] {
        let trial = Trial::new(&values, 1000, json!({}));
        let report = trial.pack(PackOptions { compressor, ..within(0.01) }).unwrap();
        assert_eq!(report.error.errors.max, 0.0);
        let (low, high) = numbers(report.storable_range);
        assert!(low < -1000.0 && high > 1000.0, "{low} {high}");
    }
}

/// Where the bound allows an error, exact values are worth some bytes, but not one in a hundred.
#[test]
fn exactness_that_was_not_asked_for_does_not_make_an_array_much_larger() {
    let steps = |index: u32| 6e4 * (f64::from(index) * 3e-3).sin() * (f64::from(index) * 0.7).sin();
    let values: Vec<f64> = (0..9000).map(|index| steps(index).round() / 1e4).collect();
    let trial = Trial::new(&values, 3000, json!({}));
    // Steps around 0 have two values of the highest byte; those from the smallest value on have one.
    let zstd = |options| PackOptions { compressor: Compressor::ZSTD, ..options };
    let explicit = |offset| {
        zstd(PackOptions {
            scale: Some(scalar("1e4").unwrap()),
            offset: Some(scalar(offset).unwrap()),
            data_type: Some(ElementType::Int32),
            ..PackOptions::default()
        })
    };
    let exact = trial.pack(explicit("0")).unwrap();
    let close = trial.pack(explicit("-5.9999")).unwrap();
    assert_eq!(exact.error.errors.max, 0.0);
    assert!(close.bytes.stored + exact.bytes.stored / 100 < exact.bytes.stored);
    let report = trial.pack(zstd(within(5e-5))).unwrap();
    assert!(report.bytes.stored <= close.bytes.stored + close.bytes.stored / 200, "{report:?}");
    assert!(report.error.errors.max < 1e-14);
    // It is asked for by the bound.
    assert_eq!(trial.pack(within(0.0)).map(|report| report.error.errors.max), Ok(0.0));
}

/// The promise is of every value, not of those seen: all float32 numbers of some stretches, and the ends.
#[test]
fn every_value_of_a_promised_range_is_stored_within_the_bound() {
    let tenths: Vec<f32> = (0..2000).map(|index| 20.0 + (index % 97) as f32 / 10.0).collect();
    for values in [waves(3000, 285.0, 20.0), tenths] {
        for bound in [0.5, 0.01, 1e-3] {
            let trial = Trial::new(&values, 1000, json!({"fill_value": "NaN"}));
            let options = PackOptions { range: range("-90.5", "330.25"), ..within(bound) };
            trial.pack(options).unwrap();
            let mut appended = vec![-90.5_f32, 330.25, f32::NAN];
            for start in [-90.5_f32, -1e-3, 0.0, 200.1, 330.2] {
                appended.extend((0..5000).map(|step| f32::from_bits(start.to_bits() + 37 * step)));
            }
            appended.retain(|value| !(*value > 330.25 || *value < -90.5));
            store(&trial.output(), values.len() as u64, &bytes(&appended));
            let all = [&values[..], &appended].concat();
            assert_within(bound, &all, &f32s(&trial.decoded()));
        }
    }
}

#[test]
fn data_outside_a_promised_range_have_their_place_too() {
    let trial = Trial::new(&waves(1000, 288.0, 30.0), 500, json!({}));
    let report = trial.pack(PackOptions { range: range("300", "320"), ..within(0.1) }).unwrap();
    let (low, high) = numbers(report.storable_range);
    assert!(low <= numbers(report.range).0 && high >= 320.0, "{low} {high}");
}

#[test]
fn a_range_that_a_type_cannot_hold_is_refused_by_its_values() {
    let trial = Trial::new(&waves(1000, 288.0, 30.0), 500, json!({}));
    let narrow = PackOptions { data_type: Some(ElementType::UInt8), ..within(0.1) };
    trial.pack(narrow.clone()).unwrap();
    let error = trial.pack(PackOptions { range: range("-90", "330"), ..narrow }).unwrap_err();
    assert!(error.contains("-90") && error.contains("330") && error.contains("uint8"), "{error}");
    assert!(error.contains("wider --data-type") && error.contains("--range"), "{error}");
    // Given scales are held to the promise, too, also where data may be clamped.
    let explicit = PackOptions {
        scale: Some(scalar("100").unwrap()),
        data_type: Some(ElementType::UInt16),
        out_of_range: recast_kernels::OutOfRange::Clamp,
        range: range("0", "700"),
        ..PackOptions::default()
    };
    let error = trial.pack(explicit.clone()).unwrap_err();
    assert!(error.contains("700") && error.contains("--range"), "{error}");
    trial.pack(PackOptions { range: range("0", "600"), ..explicit }).unwrap();
    // The type of the values may be the one that is too small.
    let trial = Trial::new(&[1_u8, 2, 3], 3, json!({}));
    let error = trial.pack(PackOptions { range: range("-5", "9"), ..within(0.0) }).unwrap_err();
    assert!(error.contains("-5") && error.contains("uint8 (0 to 255)"), "{error}");
}

#[test]
fn a_range_is_two_numbers_in_order() {
    let read = |text: &str| serde_json::from_str::<PackOptions>(text);
    let options = read(r#"{"max-abs-error": 0.1, "range": [-40, "55.5"]}"#).unwrap();
    assert_eq!(options.range, range("-40", "55.5"));
    assert_eq!(read(r#"{"max-abs-error": 0.1, "range": "-40,55.5"}"#).unwrap(), options);
    let written = serde_json::to_string(&options).unwrap();
    assert_eq!(read(&written).unwrap(), options);
    for wrong in ["[1]", "[2, 1]", "[\"NaN\", 1]", "5", "\"a,b\""] {
        assert!(read(&format!("{{\"range\": {wrong}}}")).is_err(), "{wrong}");
    }
}

#[test]
fn info_warns_of_a_value_whose_stored_value_a_map_gives_to_another() {
    let with_map = |encode: Value, decode: Value| {
        let map = json!({"encode": encode, "decode": decode});
        let cast = json!({"data_type": "uint16", "scalar_map": map});
        let codecs = [json!({"name": "cast_value", "configuration": cast}), little_endian()];
        let trial = Trial::new(&[0_u16, 5, 1000], 3, json!({"fill_value": 5}));
        let mut document = metadata(&trial.input());
        document["codecs"] = json!(codecs);
        fs::write(trial.input().join("zarr.json"), document.to_string()).unwrap();
        ArrayInfo::read(trial.input()).unwrap().warnings
    };
    let twice = with_map(json!([[0, 1000]]), json!([[1000, 0]]));
    assert_eq!(
        twice,
        [
            "1000 is read back as 0: the scalar_map of cast_value gives the stored value of one to another"
        ]
    );
    let three = with_map(
        json!([[0, 1000], [1, 1001], [2, 1002]]),
        json!([[1000, 0], [1001, 1], [1002, 2]]),
    );
    assert!(
        three[0].starts_with("1000 is read back as 0, and 2 more values as others: "),
        "{three:?}"
    );
    // Both change places, and both come back.
    assert!(with_map(json!([[0, 1000], [1000, 0]]), json!([[1000, 0], [0, 1000]])).is_empty());
    // The code of a missing value is beyond what can be stored.
    let trial = Trial::new(&waves(1000, 288.0, 30.0), 500, json!({"fill_value": -999.0}));
    trial.pack(within(0.1)).unwrap();
    assert!(ArrayInfo::read(trial.output()).unwrap().warnings.is_empty());
}

#[test]
fn info_has_the_lengths_of_all_chunks_of_a_rectilinear_grid() {
    let lengths = |shape: &[u64], chunks: Value| {
        let grid = json!({"kind": "inline", "chunk_shapes": chunks});
        let sample = Sample::new("float32", shape, shape, json!(0))
            .with("chunk_grid", json!({"name": "rectilinear", "configuration": grid}));
        let trial = Trial::empty();
        fs::create_dir_all(trial.input()).unwrap();
        fs::write(trial.input().join("zarr.json"), sample.metadata.to_string()).unwrap();
        ArrayInfo::read(trial.input()).unwrap().chunk_lengths.unwrap()
    };
    assert_eq!(
        lengths(&[60, 100], json!([[10, 20, 30], [[50, 2]]])),
        [vec![(10, 1), (20, 1), (30, 1)], vec![(50, 2)]]
    );
    assert_eq!(lengths(&[9, 10], json!([[2, 2, 5], 4])), [vec![(2, 2), (5, 1)], vec![(4, 3)]]);
}

#[test]
fn info_says_which_values_can_be_stored() {
    let trial = Trial::new(&waves(1000, 288.0, 30.0), 500, json!({"fill_value": -999.0}));
    let missing = vec![scalar("1e20").unwrap()];
    let report = trial.pack(PackOptions { missing, ..within(0.1) }).unwrap();
    let info = ArrayInfo::read(trial.output()).unwrap();
    // Values that are rounded to the last code are counted by the report only.
    let ((low, high), known) = (numbers(info.range), numbers(report.storable_range));
    assert!((low - known.0).abs() <= 0.1 && (high - known.1).abs() <= 0.1, "{report:?}");
    // Each value up to the ends comes back as it must, and the codes of missing values are beyond them.
    assert!(low > 200.0 && high < 400.0, "{low} {high}");
    let steps: Vec<f32> =
        (0..=100).map(|part| (low + (high - low) * f64::from(part) / 100.0) as f32).collect();
    store(&trial.output(), 1000, &bytes(&steps));
    for (before, after) in steps.iter().zip(&f32s(&trial.decoded())[1000..]) {
        assert!((before - after).abs() <= 0.1, "{before} {after}");
    }
}

/// Differences leave no room beyond: codes of missing values lie next to those of the data.
#[test]
fn with_differences_the_range_of_the_data_or_the_promised_one_can_be_stored() {
    let mut values = waves(4000, 288.0, 30.0);
    values[1000..1400].fill(f32::NAN);
    for (promised, ends) in [(None, None), (range("200", "400"), Some((200.0, 400.0)))] {
        let trial = Trial::new(&values, 1000, json!({}));
        let compressor = Compressor::Smallest;
        let report =
            trial.pack(PackOptions { compressor, range: promised, ..within(0.01) }).unwrap();
        assert!(report.compression.starts_with("delta"), "{}", report.compression);
        let (low, high) = numbers(report.storable_range);
        assert_eq!((low, high), ends.unwrap_or(numbers(report.range)));
        assert_eq!(ArrayInfo::read(trial.output()).unwrap().range, None);
        // From one end to the other, and missing values between.
        let later: Vec<f32> =
            (0..1000).map(|index| [low as f32, high as f32, f32::NAN][index % 3]).collect();
        store(&trial.output(), 4000, &bytes(&later));
        for (before, after) in later.iter().zip(&f32s(&trial.decoded())[4000..]) {
            let is_kept = (before - after).abs() <= 0.0101 || before.is_nan() && after.is_nan();
            assert!(is_kept, "{before} {after}");
        }
    }
}
