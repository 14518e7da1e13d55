//! Comparing any two arrays of one shape.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{
    Sample, Trial, bytes, comparison, kelvin, little_endian, metadata, one_thread, text, told,
    waves, within,
};
use recast_kernels::Scalar;
use recast_pack::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
use recast_pack::{ArrayInfo, CompareJob, CompareReport, Mount, PackOptions, Runtime};
use serde_json::{Value, json};
use zarrs::array::{ArrayBytes, CodecOptions};
use zarrs::filesystem::FilesystemStore;

/// `in.zarr` and `out.zarr` of a folder.
fn compared(trial: &Trial, atol: impl Into<Option<f64>>) -> CompareReport {
    told(comparison(&trial.input(), &trial.output(), atol).run(&one_thread())).unwrap()
}

#[test]
fn the_statistics_are_those_of_the_elements() {
    // Other type, other chunks, NaN and the fill value in both.
    let mut before = kelvin(2000);
    let mut after: Vec<f64> = before
        .iter()
        .enumerate()
        .map(|(i, &value)| f64::from(value) + (i as f64).sin() * 0.01 + 0.001)
        .collect();
    (before[11], after[11]) = (f32::NAN, f64::NAN);
    (before[12], after[12]) = (1e20, 1e20_f32.into());
    (before[13], after[13]) = (f32::INFINITY, f64::INFINITY);
    let sample = Sample::new("float32", &[40, 50], &[7, 20], json!(1e20));
    let trial = Trial::of(&sample, &bytes(&before));
    let sample = Sample::new("float64", &[40, 50], &[40, 11], json!(0.0));
    sample.write(&trial.output(), &bytes(&after));
    let report = compared(&trial, None);
    let pairs = || before.iter().zip(&after).map(|(&a, &b)| (f64::from(a), b));
    let differences: Vec<f64> =
        pairs().filter(|(a, _)| a.abs() < 1e19).map(|(a, b)| b - a).collect();
    let count = differences.len() as f64;
    let rmse = (differences.iter().map(|d| d * d).sum::<f64>() / count).sqrt();
    let largest = differences.iter().fold(0.0, |largest: f64, d| largest.max(d.abs()));
    let values = || before.iter().copied().filter(|value| value.abs() < 1e19).map(f64::from);
    let extent = values().fold(f64::MIN, f64::max) - values().fold(f64::MAX, f64::min);
    let errors = &report.error;
    for (found, expected) in [
        (errors.max, largest),
        (errors.mean, differences.iter().map(|d| d.abs()).sum::<f64>() / count),
        (errors.bias, differences.iter().sum::<f64>() / count),
        (errors.rmse, rmse),
        (errors.psnr.unwrap(), 20.0 * (extent / rmse).log10()),
    ] {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}: {errors:?}");
    }
    let counts = &report.counts;
    assert_eq!(
        [counts.special.nan, counts.special.infinite, counts.special.fill, counts.compared],
        [1, 1, 1, 1997]
    );
    let place = pairs().position(|(a, b)| (b - a).abs() == largest).unwrap() as u64;
    let worst = report.error.worst.unwrap();
    assert_eq!(worst.element, [place / 50, place % 50]);
    assert_eq!(worst.chunk, [place / 50 / 7, place % 50 / 20]);
}

/// Each small chunk decoded the large one again: 36 chunks in one took 36 times as long as the other way round.
#[test]
fn chunks_of_very_different_sizes_are_each_decoded_once() {
    let numbers = waves(144 * 144, 280.0, 10.0);
    let mut other = numbers.clone();
    other[144 * 30 + 100] += 1.0;
    // A large chunk that small ones do not divide is read for those on its edge, too.
    for (small, large, most) in [([24, 24], [144, 144], 1), ([24, 24], [100, 100], 4)] {
        let codecs = json!([little_endian(), {"name": "gzip", "configuration": {"level": 1}}]);
        let trial = Trial::empty();
        for (name, elements, chunks) in [("small", &numbers, small), ("large", &other, large)] {
            Sample::new("float32", &[144, 144], &chunks, json!(0))
                .with("codecs", codecs.clone())
                .write(&trial.place(name), &bytes(elements));
        }
        let count = |shape: [u64; 2]| shape.map(|extent| 144_u64.div_ceil(extent)).iter().product();
        for (a, b) in [("small", "large"), ("large", "small")] {
            let mounts = [a, b].map(|name| {
                let storage = Arc::new(FilesystemStore::new(trial.place(name)).unwrap());
                let counted = Arc::new(PerformanceMetricsStorageAdapter::new(storage));
                (Mount::read_only(counted.clone(), false), counted)
            });
            let [first, second] = [&mounts[0].0, &mounts[1].0].map(|mount| mount.at(""));
            let job = comparison(Path::new(&first), Path::new(&second), 0.5);
            let report = told(job.run(&one_thread())).unwrap();
            assert_eq!((report.counts.over, report.counts.compared), (Some(1), 144 * 144));
            let (found, chunk) =
                (report.first_over.unwrap(), if a == "small" { small } else { large });
            assert_eq!(found.element, [30, 100]);
            assert_eq!(found.chunk, [30 / chunk[0], 100 / chunk[1]]);
            for (name, (_, counted)) in [a, b].iter().zip(&mounts) {
                let chunks: u64 = count(if *name == "small" { small } else { large });
                // The metadata, the range of the first array, and the comparison.
                let most = 4 + chunks + most * chunks;
                assert!(
                    counted.reads() as u64 <= most,
                    "{name} of {a}: {} > {most}",
                    counted.reads()
                );
            }
        }
    }
}

/// The difference of two float64 is rounded; the comparison is not.
#[test]
fn an_error_above_the_tolerance_by_less_than_its_rounding_is_found() {
    let beyond = -(2.0_f64.powi(-60));
    for (before, is_within) in [(0.0, true), (beyond, false)] {
        let sample = Sample::new("float64", &[3], &[3], json!(0.0));
        let trial = Trial::of(&sample, &bytes(&[0.5, before, 2.0]));
        sample.write(&trial.output(), &bytes(&[0.5, 1.0, 2.0]));
        let failure = compared(&trial, 1.0).failure();
        assert_eq!(failure.is_none(), is_within, "{before}: {failure:?}");
    }
}

#[test]
fn what_was_packed_verifies_within_its_bound_and_not_below() {
    let trial = Trial::new(&kelvin(3000), 700, json!({"fill_value": "NaN"}));
    let report = trial.pack(PackOptions { verify: true, ..within(0.01) }).unwrap();
    assert!(report.verified);
    assert_eq!(compared(&trial, 0.01).failure(), None);
    let compared = compared(&trial, 0.009);
    assert!(compared.failure().is_some());
    // The errors in both reports are the same.
    let json = |errors| -> Value { serde_json::to_value(errors).unwrap() };
    assert_eq!(json(&compared.error), json(&report.error.errors));
}

#[test]
fn integers_of_64_bits_are_compared_exactly() {
    let trial = Trial::new(&[1_u64 << 60], 1, json!({}));
    Sample::new("uint64", &[1], &[1], json!(0))
        .write(&trial.output(), &bytes(&[(1_u64 << 60) + 1]));
    assert!(compared(&trial, 0.0).failure().is_some());
    assert_eq!(compared(&trial, 1.0).failure(), None);
    assert_eq!(compared(&trial, None).error.max, 1.0);
    fs::remove_dir_all(trial.output()).unwrap();
    Sample::new("int8", &[1, 1], &[1, 1], json!(0)).write(&trial.output(), &[5]);
    let error =
        text(CompareJob::new(trial.input(), trial.output()).run(&one_thread()).unwrap_err());
    assert!(error.contains("shape"), "{error}");
}

/// int64 has all signed integers and the lower half of uint64; an element above it is named.
#[test]
fn uint64_is_compared_with_signed_integers() {
    let greatest = i64::MAX as u64;
    for (unsigned, signed, off) in
        [(5, -3, 8.0), (greatest, i64::MAX, 0.0), (greatest, i64::MAX - 1, 1.0)]
    {
        let trial = Trial::new(&[unsigned, 7], 2, json!({}));
        Sample::new("int64", &[2], &[2], json!(0)).write(&trial.output(), &bytes(&[signed, 7]));
        assert_eq!(compared(&trial, None).error.max, off);
    }
    let trial = Trial::new(&[1, greatest + 1], 2, json!({}));
    Sample::new("int8", &[2], &[2], json!(0)).write(&trial.output(), &[1, 1]);
    let error =
        text(CompareJob::new(trial.input(), trial.output()).run(&one_thread()).unwrap_err());
    let expected = "element [1] (chunk [0]) is 9223372036854775808, which int64 does not have";
    assert!(error.contains(expected), "{error}");
}

/// Chunks that neither array has stored are compared by their fill values, as if they were stored.
#[test]
fn chunks_that_are_not_stored_count_as_those_that_are() {
    for (fills, tolerance) in
        [([0.0, 0.0], 0.0), ([1.5, 1.5], 0.0), ([1.5, 1.75], 0.0), ([1.5, 1.75], 1.0)]
    {
        let trial = Trial::empty();
        let [first, second] = [false, true].map(|is_stored| {
            for (path, fill) in [trial.input(), trial.output()].into_iter().zip(fills) {
                let _ = fs::remove_dir_all(&path);
                // The last chunks are cut; one chunk of each array has other values.
                let array = Sample::new("float32", &[50, 10], &[4, 4], json!(fill)).create(&path);
                if is_stored {
                    let options = CodecOptions::default().with_store_empty_chunks(true);
                    for chunk in 0..39 {
                        let elements = ArrayBytes::new_flen(bytes(&[fill as f32; 16]));
                        array.store_chunk_opt(&[chunk / 3, chunk % 3], elements, &options).unwrap();
                    }
                }
                array.store_chunk(&[2, 1], ArrayBytes::new_flen(bytes(&[7.0_f32; 16]))).unwrap();
            }
            let report = compared(&trial, tolerance);
            (serde_json::to_value(&report).unwrap(), report.failure())
        });
        assert_eq!(first, second);
        assert_eq!(first.1.is_some(), tolerance == 0.0 && fills[0] != fills[1], "{first:?}");
    }
}

/// float64 has no number between 2^53 and 2^53 + 2, so such a difference would be 0; and none just below 2^63 and 2^64.
#[test]
fn integers_that_float64_does_not_have_are_not_compared_with_floats() {
    fn check<T: Copy + Into<Scalar>>(integers: [T; 3], is_exact: bool) {
        let trial = Trial::new(&integers, 2, json!({}));
        let floats = integers.map(|integer| integer.into().to_f64());
        Sample::new("float64", &[3], &[3], json!(0.0)).write(&trial.output(), &bytes(&floats));
        let [a, b] = [trial.input(), trial.output()];
        for (a, b) in [(&a, &b), (&b, &a)] {
            let compared = told(comparison(a, b, 0.0).run(&one_thread()));
            if is_exact {
                assert_eq!(compared.unwrap().failure(), None);
            } else {
                let (error, first) = (compared.unwrap_err(), integers[0].into());
                assert!(error.contains(&format!("element [0] (chunk [0]) is {first}")), "{error}");
            }
        }
    }
    let odd = (1_i64 << 53) + 1;
    check([odd - 1, 5, 7], true);
    check([0_i64, 1, 5], true);
    check([i64::MIN, 1, 5], true);
    for integer in [odd, i64::MAX, i64::MAX - 1] {
        check([integer, 5, 7], false);
    }
    for integer in [u64::MAX, u64::MAX - 1] {
        check([integer, 5, 7], false);
    }
}

/// What is compared as float64 takes eight bytes an element, whatever is stored.
#[test]
fn memory_is_limited_by_the_type_in_which_arrays_are_compared() {
    let trial = Trial::empty();
    Sample::new("int8", &[10_000], &[10_000], json!(0)).write(&trial.input(), &vec![7; 10_000]);
    let sevens = bytes(&vec![7.0_f32; 10_000]);
    Sample::new("float32", &[10_000], &[10_000], json!(0)).write(&trial.output(), &sevens);
    let within = |max_memory| {
        let runtime = Runtime { max_memory: Some(max_memory), ..one_thread() };
        told(comparison(&trial.input(), &trial.output(), 0.0).run(&runtime))
    };
    assert_eq!(within(4 * 80_000).unwrap().failure(), None);
    let error = within(4 * 80_000 - 1).map(|report| report.counts.compared).unwrap_err();
    assert!(error.contains("[10000]") && error.contains("--max-memory"), "{error}");
}

/// Information on an array needs no whole chunk, and a large one may be larger than memory.
#[test]
fn info_reads_a_part_of_a_large_chunk() {
    const ELEMENTS: u64 = 40 << 20;
    let trial = Trial::empty();
    Sample::new("float32", &[4], &[4], json!(0)).write(&trial.input(), &bytes(&[1.0_f32; 4]));
    let mut document = metadata(&trial.input());
    document["shape"] = json!([ELEMENTS]);
    document["chunk_grid"]["configuration"]["chunk_shape"] = json!([ELEMENTS]);
    fs::write(trial.input().join("zarr.json"), document.to_string()).unwrap();
    let chunk = trial.input().join("c/0");
    let rounded: Vec<f32> = kelvin(1 << 20).into_iter().map(|x| (x * 8.0).round() / 8.0).collect();
    fs::write(&chunk, bytes(&rounded)).unwrap();
    fs::File::options().write(true).open(&chunk).unwrap().set_len(ELEMENTS * 4).unwrap();
    let storage = Arc::new(FilesystemStore::new(trial.input()).unwrap());
    let counted = Arc::new(PerformanceMetricsStorageAdapter::new(storage));
    let mount = Mount::read_only(counted.clone(), false);
    let info = told(ArrayInfo::read(mount.at(""))).unwrap();
    let rounded = info.rounded.unwrap().to_string();
    assert_eq!(rounded, "multiples of 2^-3 = 0.125, in the first elements of all chunks");
    assert!(counted.bytes_read() < 8 << 20, "{}", counted.bytes_read());
}

/// Times that all are the fill value, which marks nothing, are times like others; only without any is nothing to compare.
#[test]
fn times_in_other_units_are_refused_wherever_there_are_times() {
    for (values, is_refused) in [
        (vec![0.0, 0.0], true),
        (vec![7.0, 7.0], true),
        (vec![1.0, 2.0], true),
        (vec![f64::NAN, f64::NAN], false),
    ] {
        for fill in [json!(0.0), json!(7.0), json!("NaN")] {
            let trial = Trial::empty();
            for (place, year) in [(trial.input(), 2000), (trial.output(), 2001)] {
                let units = json!({"units": format!("days since {year}-01-01")});
                let sample = Sample::new("float64", &[2], &[2], fill.clone());
                sample.with("attributes", units).write(&place, &bytes(&values));
            }
            let compared = comparison(&trial.input(), &trial.output(), 0.0).run(&one_thread());
            assert_eq!(compared.is_err(), is_refused, "{values:?} {fill}");
        }
    }
}
