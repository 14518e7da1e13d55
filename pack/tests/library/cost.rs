//! What jobs go through, counted by the passes that they report: no pass is for nothing.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::{
    Random, Trial, bytes, create_group, create_v2, metadata, of_group, one_thread, packed,
    quarters_as, read_f32, reports, store, within,
};
use recast_pack::{
    DryRun, GroupJob, Job, MigrateJob, PackJob, PackOptions, Pass, PathReport, Progress, Runtime,
};
use serde_json::json;
use zarrs::array::codec::api::{CodecRuntimePluginV3, register_codec_v3};
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::PluginCreateError;

/// Counts passes by their names.
#[derive(Default)]
struct Passes(Mutex<BTreeMap<&'static str, usize>>);

impl Progress for Passes {
    fn begin(&self, pass: &Pass) {
        *self.0.lock().unwrap().entry(pass.name).or_default() += 1;
    }

    fn advance(&self, _: u64) {}

    fn end(&self) {}
}

/// The passes of some work.
fn passes(work: impl FnOnce(&Runtime)) -> Vec<(&'static str, usize)> {
    let passes = Arc::new(Passes::default());
    work(&Runtime { progress: Some(Arc::<Passes>::clone(&passes)), ..one_thread() });
    let found = passes.0.lock().unwrap();
    found.iter().map(|(name, count)| (*name, *count)).collect()
}

/// A group of arrays with values from 0 to other ends.
fn group(trial: &Trial, names: &[&str]) -> std::path::PathBuf {
    let group = trial.path().join("group.zarr");
    create_group(&group);
    for (number, name) in names.iter().enumerate() {
        let array = group.join(name);
        fs::create_dir_all(array.join("c")).unwrap();
        fs::copy(trial.input().join("zarr.json"), array.join("zarr.json")).unwrap();
        let values: Vec<f32> =
            (0..64_u16).map(|i| f32::from(i) * 0.25 * (number + 1) as f32).collect();
        store(&array, 0, &bytes(&values));
    }
    group
}

fn trial() -> Trial {
    Trial::new(&vec![0.0_f32; 64], 16, json!({}))
}

fn codecs(array: &Path) -> serde_json::Value {
    metadata(array)["codecs"].clone()
}

/// A job that gives all arrays of a group one scale.
fn of_one_scale(group: &Path, output: &Path) -> GroupJob {
    PackJob { scale_from: vec!["*".into()], ..PackJob::new(group, output, within(0.01)) }.into()
}

#[test]
fn arrays_of_one_scale_are_read_once_for_it_and_once_to_be_written() {
    let names = ["a", "b", "c", "d", "e"];
    for dry in [false, true] {
        let trial = trial();
        let group = group(&trial, &names);
        let job = of_one_scale(&group, &trial.output());
        let found = passes(|runtime| {
            let report = if dry { job.dry_run(runtime) } else { job.run(runtime) };
            let report = of_group(report).unwrap();
            assert_eq!(packed(&report), names);
            for (name, report) in names.iter().zip(reports(&report)) {
                assert_eq!(report.scale_from.as_ref().unwrap().arrays.len(), names.len());
                assert!(report.input.ends_with(name));
            }
        });
        let last = if dry { "sample" } else { "write" };
        assert_eq!(found, [("range", names.len()), (last, names.len())]);
        if !dry {
            for name in names {
                assert_eq!(codecs(&trial.output().join(name)), codecs(&trial.output().join("a")));
            }
        }
    }
}

#[test]
fn arrays_of_one_scale_with_options_of_their_own_still_share_the_range() {
    let trial = trial();
    let group = group(&trial, &["a", "b", "c"]);
    let rule = recast_pack::ArrayRule {
        name: "b".to_owned(),
        is_path: true,
        options: Some(within(0.02).into()),
    };
    let job = GroupJob { rules: vec![rule], ..of_one_scale(&group, &trial.output()) };
    let found = passes(|runtime| {
        let report = of_group(job.run(runtime)).unwrap();
        assert_eq!(packed(&report), ["a", "b", "c"]);
        for report in reports(&report) {
            let (_, greatest) = report.scale_from.as_ref().unwrap().range.unwrap();
            assert_eq!(greatest.to_f64(), 63.0 * 0.75);
        }
    });
    // Two choices, each over all arrays; those that it does not write are tried.
    assert_eq!(found, [("range", 6), ("try", 3), ("write", 3)]);
}

/// Missing chunks of arrays that share all codecs decode to the fill value of each.
#[test]
fn arrays_of_one_scale_keep_their_own_fill_values() {
    let trial = trial();
    let group = group(&trial, &["a", "b"]);
    for (name, fill) in [("a", 0.0_f32), ("b", 2.5)] {
        let document = group.join(name).join("zarr.json");
        let mut fields = metadata(&group.join(name));
        fields["fill_value"] = json!(fill);
        fs::write(document, fields.to_string()).unwrap();
        fs::remove_file(group.join(name).join("c/1")).unwrap();
    }
    let job = of_one_scale(&group, &trial.output());
    job.run(&one_thread()).unwrap();
    for (name, fill) in [("a", 0.0_f32), ("b", 2.5)] {
        let output = trial.output().join(name);
        assert!(!output.join("c/1").exists());
        let decoded = read_f32(&output);
        assert!(decoded[16..32].iter().all(|&value| value == fill), "{name}: {decoded:?}");
    }
}

#[test]
fn an_array_that_is_encoded_again_on_request_is_compared_once() {
    let legacy = json!([quarters_as("|u1"), {"name": "bytes"}]);
    let values: Vec<f32> = (0..64_u16).map(|i| f32::from(i) * 0.25).collect();
    let trial = Trial::new(&values, 16, json!({"codecs": legacy}));
    fs::remove_file(trial.input().join("c/2")).unwrap();
    for (reencode, expected) in
        [(false, vec![("chunks", 1), ("compare", 1)]), (true, vec![("encode", 1)])]
    {
        let output = Some(trial.path().join(format!("{reencode}.zarr")));
        let job = MigrateJob { reencode, ..MigrateJob::new(trial.input(), output) };
        let found = passes(|runtime| {
            let report = json!(job.run(runtime).unwrap());
            assert_eq!(report["elements"]["compared"], 64, "{report}");
            assert_eq!(report["bit_identical"], true);
        });
        assert_eq!(found, expected);
    }
}

/// One long chunk says little about the others.
#[test]
fn a_dry_run_estimates_the_size_from_several_chunks_however_long_they_are() {
    // Three chunks of 40 MiB: two of one value, and noise between them.
    const CHUNK: usize = 10 << 20;
    let mut random = Random(7);
    let mut noise = || random.below(1 << 12) as f32 / 4.0;
    let values: Vec<f32> = (0..3 * CHUNK)
        .map(|place| if (CHUNK..2 * CHUNK).contains(&place) { noise() } else { 1.5 })
        .collect();
    let trial = Trial::new(&values, CHUNK, json!({}));
    let options = PackOptions { compressor: "zstd:1".parse().unwrap(), ..within(0.1) };
    let job = PackJob::new(trial.input(), trial.output(), options);
    let planned = job.dry_run(&one_thread()).unwrap();
    assert_eq!(planned.sampled_chunks, Some(3));
    let stored = job.run(&one_thread()).unwrap().bytes.stored as f64;
    let ratio = planned.bytes.stored as f64 / stored;
    assert!((0.9..1.1).contains(&ratio), "{ratio}");
}

thread_local! {
    /// How often this thread has opened an array.
    static OPENED: Cell<usize> = const { Cell::new(0) };
}

/// Counts lookups of `bytes`, which zarrs makes whenever it opens an array, in the thread of one test.
fn count_opened_arrays() {
    let is_counted = |name: &str| {
        OPENED.set(OPENED.get() + usize::from(name == "bytes"));
        false
    };
    let never = |_: &MetadataV3| Err(PluginCreateError::from("zarrs has this codec"));
    register_codec_v3(CodecRuntimePluginV3::new(is_counted, never));
}

#[test]
fn a_migration_in_place_opens_its_result_once() {
    let folder = tempfile::tempdir().unwrap();
    let array = folder.path().join("array");
    let filters = json!([{"id": "fixedscaleoffset", "scale": 10, "offset": 0, "dtype": "<f4", "astype": "<i2"}]);
    create_v2(
        &array,
        json!({"shape": [6], "chunks": [4], "dtype": "<f4", "fill_value": 0, "filters": filters,
            "compressor": {"id": "zlib", "level": 1}}),
    );
    count_opened_arrays();
    let report = MigrateJob::new(&array, None).run(&one_thread()).unwrap();
    let PathReport::Array(report) = report else { panic!("{report:?}") };
    assert!(report.metadata_only && report.bit_identical);
    // The array as it was, and as it is.
    assert_eq!(OPENED.get(), 2);
}
