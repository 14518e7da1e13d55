//! Suggestions: what they find, what packing then stores, and what they say of arrays that need no bound.

use crate::common::{
    Sample, Trial, bytes, create_group, f32s, kelvin, little_endian, one_thread, sharding, told,
    within,
};
use recast_pack::report::{Counts, Known, Mark, Rung};
use recast_pack::{
    ArrayRule, CompareJob, Compressor, PackOptions, Recommendations, SuggestJob, SuggestReport,
};
use serde_json::json;

fn suggest(trial: &Trial) -> SuggestReport {
    told(SuggestJob::new(trial.input()).run(&one_thread())).unwrap()
}

/// Below 1, the same for the same index.
fn noise(index: usize) -> f64 {
    let mixed = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Temperatures in kelvin on 200 × 300 points, with noise of 0.2 and NaN at some places.
fn climate() -> Vec<f32> {
    let value = |index: usize| {
        let (row, column) = ((index / 300) as f64, (index % 300) as f64);
        let smooth = 285.0 + 12.0 * (row / 60.0).sin() + 4.0 * (column / 25.0).cos();
        (smooth + 0.2 * noise(index)) as f32
    };
    (0..60_000).map(|index| if index % 50 == 3 { f32::NAN } else { value(index) }).collect()
}

/// Hundredths in degrees Celsius that were multiplied in float32, as xarray decodes CF's codes: many are a last digit away
/// from the nearest float32.
fn products() -> Vec<f32> {
    let codes = climate().into_iter().map(|value| ((value - 273.15) * 100.0).round());
    codes.map(|code| code * 0.01_f32).collect()
}

fn plane(values: &[f32], more: &[(&str, serde_json::Value)]) -> Trial {
    let sample = Sample::new("float32", &[200, 300], &[50, 300], json!("NaN"));
    let sample = more.iter().fold(sample, |sample, (name, value)| sample.with(name, value.clone()));
    Trial::of(&sample, &bytes(values))
}

fn marked(report: &SuggestReport, mark: Mark) -> Option<&Rung> {
    report.ladder.iter().find(|rung| rung.mark == Some(mark))
}

#[test]
fn a_ladder_goes_from_coarse_to_fine_and_says_what_each_bound_costs_and_loses() {
    let trial = plane(&climate(), &[]);
    let report = suggest(&trial);
    assert!(report.ladder.len() >= 8 && report.sampled.is_whole());
    assert_eq!(report.known.counts.nan, 1200);
    let pairs = report.ladder.iter().zip(report.ladder.iter().skip(1));
    for (coarse, fine) in pairs {
        assert!(coarse.max_abs_error > fine.max_abs_error, "{coarse:?} {fine:?}");
        assert!(coarse.information <= fine.information && coarse.bits <= fine.bits, "{fine:?}");
        assert!(coarse.largest_error >= fine.largest_error, "{coarse:?} {fine:?}");
    }
    // Noise of 0.2 is not worth keeping: bounds near it keep 99 %.
    let found = marked(&report, Mark::Information).or(marked(&report, Mark::MostInformation));
    let bound = found.unwrap().max_abs_error;
    assert!((0.02..=0.3).contains(&bound), "{bound}");
    let recommended = report.recommended().unwrap();
    assert_eq!(recommended.mark, Some(Mark::MostInformation));
    assert!(recommended.information.unwrap() >= 0.999);
    // A uniform error of at most E has a mean square of E² / 3.
    let variance =
        10_f64.powf(recommended.snr_db.unwrap() / 10.0) * recommended.max_abs_error.powi(2) / 3.0;
    assert!((15.0..40.0).contains(&variance), "{variance}");
    let command =
        &report.suggestions.iter().find(|one| one.reason.contains("99.9 %")).unwrap().arguments;
    assert_eq!(command[0], "pack");
    assert_eq!(command[3..], ["-e".to_owned(), format!("{:?}", recommended.max_abs_error)]);
}

#[test]
fn sizes_are_those_that_packing_stores() {
    let trial = plane(&climate(), &[]);
    let compressor = Compressor::Gzip(1);
    for options in [PackOptions::default(), PackOptions { compressor, ..PackOptions::default() }] {
        let job = SuggestJob { options: options.clone(), ..SuggestJob::new(trial.input()) };
        for rung in told(job.run(&one_thread())).unwrap().ladder {
            let packed = trial
                .pack(PackOptions { max_abs_error: Some(rung.max_abs_error), ..options.clone() });
            let packed = packed.unwrap();
            assert_eq!(packed.bytes.stored, rung.stored_bytes, "{rung:?}");
            assert_eq!(packed.error.errors.max, rung.largest_error, "{rung:?}");
            assert_eq!(packed.data_type, rung.data_type);
        }
    }
}

/// Of a longer array some blocks are read; estimates are near what packing stores.
#[test]
fn a_sample_stands_for_a_long_array() {
    let value = |index: usize| {
        let (row, column) = ((index / 2000) as f64, (index % 2000) as f64);
        (20.0 * (row / 300.0).sin() * (column / 200.0).cos() + 0.1 * noise(index)) as f32
    };
    let values: Vec<f32> = (0..3000 * 2000).map(value).collect();
    let sample = Sample::new("float32", &[3000, 2000], &[500, 1000], json!(0.0));
    let trial = Trial::of(&sample, &bytes(&values));
    let report = suggest(&trial);
    assert!(!report.sampled.is_whole() && report.sampled.all == 6_000_000);
    let rung = report.recommended().unwrap();
    let packed = trial.pack(within(rung.max_abs_error)).unwrap();
    let off = rung.stored_bytes as f64 / packed.bytes.stored as f64 - 1.0;
    assert!(off.abs() < 0.1, "{rung:?} {}", packed.bytes.stored);
}

#[test]
fn multiples_of_a_step_are_found_and_come_back_bit_for_bit() {
    let hundredths: Vec<f32> = climate()
        .iter()
        .map(|value| ((f64::from(*value) * 100.0).round() / 100.0) as f32)
        .collect();
    let metres: Vec<f32> = climate().iter().map(|value| (value * 20.0).round()).collect();
    for (values, step) in [(hundredths, 0.01), (metres, 1.0), (products(), 0.01)] {
        let trial = plane(&values, &[]);
        let report = suggest(&trial);
        assert_eq!(report.known.grid.unwrap().step, step);
        let rung = report.recommended().unwrap();
        assert_eq!((rung.mark, rung.max_abs_error), (Some(Mark::LosesNothing), 0.0));
        trial.pack(within(rung.max_abs_error)).unwrap();
        assert!(
            f32s(&trial.decoded()).iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits())
        );
        let compared = CompareJob::new(trial.input(), trial.output()).run(&one_thread()).unwrap();
        assert_eq!(compared.error.max, 0.0);
    }
}

/// What was multiplied and added to in float32 was rounded twice.
#[test]
fn steps_that_were_rounded_in_the_type_of_the_values_are_kept_as_steps() {
    let values: Vec<f32> = products().iter().map(|value| value + 273.15_f32).collect();
    let report = suggest(&plane(&values, &[]));
    let rung = report.recommended().unwrap();
    assert_eq!((rung.mark, rung.max_abs_error), (Some(Mark::KeepsSteps), 0.005));
    assert!((1e-7..1e-4).contains(&rung.largest_error), "{rung:?}");
    assert!(rung.reason.as_ref().unwrap().contains("multiples of 0.01"), "{rung:?}");
}

#[test]
fn missing_values_and_fills_count_nowhere() {
    let mut values = climate();
    for value in values.iter_mut().filter(|value| value.is_nan()) {
        *value = -9999.0;
    }
    let named = plane(&values, &[("attributes", json!({"_FillValue": -9999.0}))]);
    let plain = suggest(&plane(&climate(), &[]));
    let report = suggest(&named);
    let Known { counts: Counts { missing, .. }, range, .. } = report.known;
    assert_eq!((missing, range.unwrap().0.to_f64()), (1200, plain.known.range.unwrap().0.to_f64()));
    let bits = |report: &SuggestReport| report.information.clone().unwrap().bits;
    assert_eq!(bits(&report), bits(&plain));
    // If no attribute names it, it is told that it looks like one.
    let unnamed = suggest(&plane(&values, &[]));
    assert!(
        unnamed.notes.iter().any(|note| note.contains("--missing -9999.0")),
        "{:?}",
        unnamed.notes
    );
}

#[test]
fn outliers_that_stretch_the_range_are_left_out_of_the_information() {
    let mut values = climate();
    values[1000] = 4e4;
    let report = suggest(&plane(&values, &[]));
    let (least, greatest) = report.known.range_without_outliers.unwrap();
    assert!((260.0..285.0).contains(&least) && (285.0..310.0).contains(&greatest));
    assert!(report.notes.iter().any(|note| note.contains("stretch the range")));
    let bound = marked(&report, Mark::MostInformation).unwrap().max_abs_error;
    assert!((0.01..=0.3).contains(&bound), "{bound}");
}

#[test]
fn arrays_that_need_no_bound_are_told_so_in_a_sentence() {
    let of = |values: &[f32]| {
        suggest(&Trial::new(values, values.len().max(1), json!({"fill_value": "NaN"})))
    };
    let cases: [(&[f32], &str); 4] = [
        (&[], "no elements"),
        (&[f32::NAN; 40], "missing"),
        (&[7.5; 40], "all values are equal"),
        (&[3.25], "all values are equal"),
    ];
    for (values, sentence) in cases {
        let report = of(values);
        assert!(
            report.notes.iter().any(|note| note.contains(sentence)),
            "{values:?} {:?}",
            report.notes
        );
        assert!(report.ladder.len() <= 1 && report.no_information.is_some(), "{values:?}");
        assert!(report.ladder.iter().all(|rung| rung.largest_error == 0.0));
    }
    let few = of(&[1.5, 2.25, 17.0, f32::NAN]);
    assert!(few.no_information.unwrap().contains("too few") && few.ladder.len() >= 8);
    let integers: Vec<i16> = (0..500).collect();
    let integers = suggest(&Trial::new(&integers, 500, json!({})));
    assert!(integers.notes[0].contains("int16 needs no bound"), "{:?}", integers.notes);
    assert_eq!((integers.ladder.len(), integers.recommended), (1, Some(0)));
    let no_dimensions =
        Trial::of(&Sample::new("float64", &[], &[], json!(0.0)), &bytes(&[2.5_f64]));
    assert_eq!(suggest(&no_dimensions).sampled.elements, 1);
}

#[test]
fn infinities_and_options_that_say_the_bound_are_refused() {
    let trial = Trial::new(&[1.0_f32, f32::INFINITY, 3.0], 3, json!({}));
    let error = told(SuggestJob::new(trial.input()).run(&one_thread())).unwrap_err();
    assert!(error.contains("element [1]") && error.contains("--infinity"), "{error}");
    let options = PackOptions { infinity: true, ..PackOptions::default() };
    let kept = SuggestJob { options, ..SuggestJob::new(trial.input()) }.run(&one_thread()).unwrap();
    assert!(kept.suggestions.iter().all(|one| one.arguments.contains(&"--infinity".to_owned())));
    let job = SuggestJob { options: within(0.1), ..SuggestJob::new(trial.input()) };
    assert_eq!(job.run(&one_thread()).unwrap_err().kind(), recast_pack::ErrorKind::Options);
}

#[test]
fn integers_of_cf_are_sent_to_from_cf() {
    let values: Vec<i16> = (0..500).collect();
    let attributes = json!({"attributes": {"scale_factor": 0.01, "add_offset": 0.0}});
    let report = suggest(&Trial::new(&values, 500, attributes));
    assert_eq!(report.suggestions.len(), 1);
    assert!(report.suggestions[0].arguments.contains(&"--from-cf".to_owned()));
}

/// The dry run of each bound reads every kind of chunk: shards, parts of chunks, and chunks that are not stored.
#[test]
fn shards_and_chunks_that_are_not_stored_are_sampled_too() {
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let shard = sharding(&[25, 100], json!([little_endian(), gzip]));
    let trial = plane(&climate(), &[("codecs", json!([shard]))]);
    for rung in suggest(&trial).ladder {
        let packed = trial.pack(within(rung.max_abs_error)).unwrap();
        assert_eq!(packed.bytes.stored, rung.stored_bytes, "{rung:?}");
    }
    let trial = Trial::empty();
    Sample::new("float32", &[8000, 8000], &[1000, 1000], json!("NaN")).create(&trial.input());
    let report = suggest(&trial);
    assert_eq!(report.known.counts.nan, report.sampled.elements);
    assert!(report.ladder.is_empty() && report.notes[0].contains("missing"));
}

#[test]
fn a_recommendation_is_a_row_of_the_ladder_and_the_bound_in_the_file() {
    let text = "
recommendations:
- filters: [{kind: cf-short-name, value: t2m}]
  requirements: [{kind: mean-absolute-error-bound, value: 0.01}, {kind: data-limits, minimum: 0}]
version: 1.0.0
";
    let trial = Trial::empty();
    create_group(&trial.input());
    let values = kelvin(3000);
    for name in ["t2m", "other"] {
        let sample = Sample::new("float32", &[3000], &[3000], json!("NaN"));
        sample.write(&trial.input().join(name), &bytes(&values));
    }
    let recommendations = Some(Recommendations::from_yaml(text).unwrap());
    let job = SuggestJob { recommendations, ..SuggestJob::new(trial.input()) };
    let report = job.run_path(&one_thread()).unwrap().group().unwrap();
    let toml = report.to_toml().unwrap();
    let table = toml.split("[[array]]").find(|table| table.contains("\"t2m\"")).unwrap();
    for line in [
        "# recommended by compression-recommendations 1.0.0",
        "max-mean-error = 0.01",
        "limits = [0.0,\"none\"]",
    ] {
        assert!(table.contains(line), "{line}: {table}");
    }
    let rules = ArrayRule::list_from_toml(&toml).unwrap();
    assert_eq!(rules.len(), 2);
    let of_t2m = report.arrays.iter().find(|one| one.array == "t2m").unwrap();
    let report = of_t2m.report().unwrap();
    let rung = report.recommended().unwrap();
    assert_eq!(rung.mark, Some(Mark::Recommended));
    assert!((0.018..0.022).contains(&rung.max_abs_error), "{rung:?}");
    let first = &report.suggestions[0].arguments;
    assert!(first.join(" ").ends_with("--max-mean-error 0.01 --limits 0.0 none"), "{first:?}");
}

#[test]
fn a_group_whose_tables_all_leave_their_array_out_is_not_to_be_packed_by_them() {
    let trial = Trial::empty();
    create_group(&trial.input());
    let sample = Sample::new("float32", &[40], &[40], json!("NaN"));
    for name in ["absent", "missing"] {
        sample.write(&trial.input().join(name), &bytes(&[f32::NAN; 40]));
    }
    let suggested = || {
        let report = SuggestJob::new(trial.input()).run_path(&one_thread());
        report.unwrap().group().unwrap()
    };
    let report = suggested();
    let rules = ArrayRule::list_from_toml(&report.to_toml().unwrap()).unwrap();
    assert!(rules.len() == 2 && rules.iter().all(|rule| rule.options.is_none()), "{rules:?}");
    assert!(report.suggestions.is_empty(), "{:?}", report.suggestions);
    sample.write(&trial.input().join("present"), &bytes(&kelvin(40)));
    assert_eq!(suggested().suggestions.len(), 2);
}
