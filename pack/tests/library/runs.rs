//! Runs beside which something else happens: another run to the same place, a change of the input, an attack on the
//! temporary directory. What other runs do in the middle of a pass is done here by the receiver of progress.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::common::{
    Sample, Trial, bytes, contents, create_group, little_endian, names, one_thread, options,
    quarters_as, store, text, within,
};
use recast_pack::{GroupJob, Job, MigrateJob, PackJob, Pass, Progress, Runtime, UnpackJob};
use serde_json::json;

type Disturbance = Box<dyn FnOnce() + Send>;

/// Does something once, when the first chunk of a pass is done.
struct Disturbing {
    pass: &'static str,
    is_in_it: Mutex<bool>,
    disturb: Mutex<Option<Disturbance>>,
}

impl Progress for Disturbing {
    fn begin(&self, pass: &Pass) {
        *self.is_in_it.lock().unwrap() = pass.name == self.pass;
    }

    fn advance(&self, _: u64) {
        if *self.is_in_it.lock().unwrap()
            && let Some(disturb) = self.disturb.lock().unwrap().take()
        {
            disturb();
        }
    }

    fn end(&self) {}
}

/// A runtime with a disturbance in a pass, and what tells whether that has come.
fn disturbed(
    pass: &'static str,
    disturb: impl FnOnce() + Send + 'static,
) -> (Runtime, Arc<Disturbing>) {
    let disturb: Disturbance = Box::new(disturb);
    let progress =
        Disturbing { pass, is_in_it: Mutex::default(), disturb: Mutex::new(Some(disturb)) };
    let progress = Arc::new(progress);
    (Runtime { progress: Some(Arc::<Disturbing>::clone(&progress)), ..one_thread() }, progress)
}

fn values() -> Vec<f32> {
    (0..64_u16).map(|i| f32::from(i) * 0.25).collect()
}

/// Gives all files below a folder an old time: a clock of the filesystem may tick only every few milliseconds.
fn age(folder: &Path) {
    for name in contents(folder).keys() {
        let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_hours(24)).unwrap();
    }
}

/// The temporary directory of a run in a folder.
fn temporary(folder: &Path) -> PathBuf {
    let name = names(folder).into_iter().find(|name| name.contains(".recast-tmp-"));
    folder.join(name.expect("a temporary directory"))
}

#[test]
fn of_two_runs_that_overwrite_the_later_one_wins_also_if_nothing_was_there_at_first() {
    let trial = Trial::new(&values(), 16, json!({}));
    let job = |bound| PackJob {
        overwrite: true,
        ..PackJob::new(trial.input(), trial.output(), within(bound))
    };
    let runtime = one_thread();
    let (first, second) =
        (job(0.01).prepare(&runtime).unwrap(), job(0.02).prepare(&runtime).unwrap());
    first.commit().unwrap();
    second.commit().unwrap();
    assert_eq!(trial.metadata()["attributes"]["recast"]["max_abs_error"], 0.02);
    // What the first would replace is gone when it comes to that.
    let (first, second) =
        (job(0.01).prepare(&runtime).unwrap(), job(0.02).prepare(&runtime).unwrap());
    fs::remove_dir_all(trial.output()).unwrap();
    second.commit().unwrap();
    first.commit().unwrap();
    assert_eq!(trial.metadata()["attributes"]["recast"]["max_abs_error"], 0.01);
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
}

#[test]
fn a_run_that_does_not_overwrite_loses_and_is_told_what_to_do() {
    let trial = Trial::new(&values(), 16, json!({}));
    let job = PackJob::new(trial.input(), trial.output(), within(0.01));
    let pending = job.prepare(&one_thread()).unwrap();
    job.run(&one_thread()).unwrap();
    let error = text(pending.commit().unwrap_err());
    let expected = "has appeared during the run; --overwrite replaces it, or name another OUTPUT";
    assert!(error.contains(expected) && error.contains("out.zarr"), "{error}");
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
    // A run that overwrites does not replace everything, either.
    let job = PackJob { overwrite: true, ..job };
    for is_file in [true, false] {
        fs::remove_dir_all(trial.output()).unwrap();
        let pending = job.prepare(&one_thread()).unwrap();
        let put =
            |place: &Path| if is_file { fs::write(place, "mine") } else { fs::create_dir(place) };
        put(&trial.output()).unwrap();
        let error = text(pending.commit().unwrap_err());
        assert!(error.contains("--overwrite replaces"), "{error}");
        assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
        if is_file {
            assert_eq!(fs::read(trial.output()).unwrap(), b"mine");
            fs::remove_file(trial.output()).unwrap();
            fs::create_dir(trial.output()).unwrap();
        }
    }
}

/// Chunks written before are lost, and those after it would lie alone in a new directory.
#[test]
fn an_output_whose_temporary_directory_was_removed_in_the_middle_does_not_appear() {
    for is_group in [false, true] {
        let trial = Trial::new(&values(), 16, json!({}));
        let folder = trial.path().to_owned();
        let (runtime, progress) = disturbed("write", move || {
            fs::remove_dir_all(temporary(&folder)).unwrap();
        });
        let error = if is_group {
            let group = trial.place("group.zarr");
            create_group(&group);
            fs::rename(trial.input(), group.join("one")).unwrap();
            let job = GroupJob::new(group, trial.output(), within(0.01));
            text(job.run(&runtime).unwrap_err())
        } else {
            let job = PackJob::new(trial.input(), trial.output(), within(0.01));
            text(job.run(&runtime).unwrap_err())
        };
        assert!(progress.disturb.lock().unwrap().is_none());
        assert!(error.contains(".recast-tmp-"), "{error}");
        assert!(!trial.output().exists(), "{error}");
    }
}

/// A change of the input between two passes, or within one.
#[test]
fn an_input_that_changes_during_the_run_is_named_and_nothing_is_written() {
    // Before the first chunk is written again it has other values: close to the old ones, out of all range, or of another
    // type of fill value; or a chunk appears, or goes away.
    type Change = fn(&Path);
    let changes: [(&str, Change); 4] = [
        ("close", |input| store(input, 60, &bytes(&[15.25_f32]))),
        ("far", |input| store(input, 60, &bytes(&[1e30_f32]))),
        ("gone", |input| fs::remove_file(input.join("c/3")).unwrap()),
        ("longer", |input| store(input, 64, &bytes(&[1.0_f32]))),
    ];
    for (name, change) in changes {
        for (pass, is_linked) in [("range", false), ("write", false), ("write", true)] {
            let trial = Trial::new(&values(), 16, json!({}));
            let input = trial.input();
            age(&input);
            let elsewhere = Trial::empty();
            #[cfg(unix)]
            if is_linked {
                fs::rename(input.join("c"), elsewhere.place("c")).unwrap();
                std::os::unix::fs::symlink(elsewhere.place("c"), input.join("c")).unwrap();
            }
            let (runtime, progress) = disturbed(pass, move || change(&input));
            let job = PackJob::new(trial.input(), trial.output(), within(0.001));
            let error = text(job.run(&runtime).unwrap_err());
            assert!(progress.disturb.lock().unwrap().is_none());
            assert!(error.contains("in.zarr: it has changed during the run"), "{name}: {error}");
            assert!(!error.contains("clamp"), "{name}: {error}");
            assert_eq!(names(trial.path()), ["in.zarr"], "{name}");
        }
    }
}

#[test]
fn an_interrupted_group_says_so_and_blames_no_array() {
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[64], &[16], json!(0))
        .write(&trial.input().join("one"), &bytes(&values()));
    let interrupt = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&interrupt);
    let (runtime, progress) = disturbed("range", move || set.store(true, Ordering::Relaxed));
    let runtime = Runtime { interrupt, ..runtime };
    let error = trial.group_job(within(0.001)).run(&runtime).unwrap_err();
    assert!(progress.disturb.lock().unwrap().is_none());
    assert_eq!(text(error), "interrupted");
    assert_eq!(names(trial.path()), ["in.zarr"]);
}

/// What has changed on the disk since it was written is found by `verify`, and does not appear.
#[test]
fn verify_compares_what_stands_on_the_disk() {
    let given = json!({"scale": 4, "data-type": "int16"});
    for ((value, expected), how) in [
        (12.0, "an error of 12.0"),
        (f32::NAN, "NaN is lost"),
        (-9999.0, "a missing value does not come back"),
    ]
    .into_iter()
    .flat_map(|case| [(case, given.clone()), (case, json!({}))])
    {
        let mut values = values();
        values[48] = value;
        let trial = Trial::new(&values, 16, json!({}));
        let folder = trial.path().to_owned();
        let (runtime, progress) = disturbed("verify", move || {
            let chunks = temporary(&folder).join("c");
            fs::copy(chunks.join("0"), chunks.join("3")).unwrap();
        });
        // No other codecs are tried, also where they are not given.
        let mut into = how;
        into["max-abs-error"] = json!(0.1);
        into["missing"] = json!([-9999]);
        into["verify"] = json!(true);
        let job = PackJob::new(trial.input(), trial.output(), options(into));
        let error = text(job.run(&runtime).unwrap_err());
        assert!(progress.disturb.lock().unwrap().is_none());
        assert!(error.contains("element [48]") && error.contains(expected), "{error}");
        assert!(error.contains("what was written reads back otherwise"), "{error}");
        assert_eq!(names(trial.path()), ["in.zarr"]);
    }
}

#[test]
fn every_job_that_writes_notices_that_its_input_changes() {
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"scale": 4.0}},
        {"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "nearest-even"}},
        {"name": "bytes"},
    ]);
    let legacy = json!([quarters_as("|u1"), {"name": "bytes"}]);
    for (name, pass) in [
        ("unpack", "unpack"),
        ("unpack group", "unpack"),
        ("pack group", "write"),
        ("migrate", "compare"),
        ("migrate group", "compare"),
        ("in place", "compare"),
        ("in place group", "compare"),
        ("reencode", "encode"),
        ("scale from", "write"),
    ] {
        let codecs = match name {
            "unpack" | "unpack group" => codecs.clone(),
            "pack group" | "scale from" => {
                json!([little_endian()])
            }
            _ => legacy.clone(),
        };
        let trial = Trial::new(&values(), 16, json!({"codecs": codecs}));
        let (mut place, mut array) = (trial.input(), trial.input());
        if name.ends_with("group") {
            place = trial.path().join("group.zarr");
            array = place.join("one");
            create_group(&place);
            fs::rename(trial.input(), &array).unwrap();
        }
        let other = trial.path().join("other.zarr");
        if name == "scale from" {
            fs::create_dir_all(other.join("c")).unwrap();
            for file in ["zarr.json", "c/0", "c/1", "c/2", "c/3"] {
                fs::copy(trial.input().join(file), other.join(file)).unwrap();
            }
            array.clone_from(&other);
        }
        age(trial.path());
        let before = names(trial.path());
        let (runtime, progress) = disturbed(pass, move || store(&array, 60, &bytes(&[3.25_f32])));
        let output = trial.output();
        let error = match name {
            "unpack" | "unpack group" => UnpackJob::new(&place, output).run(&runtime).map(drop),
            "pack group" => GroupJob::new(&place, output, within(0.01)).run(&runtime).map(drop),
            "migrate" | "migrate group" => {
                MigrateJob::new(&place, Some(output)).run(&runtime).map(drop)
            }
            "in place" | "in place group" => MigrateJob::new(&place, None).run(&runtime).map(drop),
            "reencode" => {
                let job = MigrateJob::new(&place, Some(output));
                MigrateJob { reencode: true, ..job }.run(&runtime).map(drop)
            }
            _ => {
                let scale_from = vec![other.clone()];
                let job = PackJob::new(&place, output, within(0.01));
                PackJob { scale_from, ..job }.run(&runtime).map(drop)
            }
        };
        assert!(progress.disturb.lock().unwrap().is_none(), "{name}");
        let error = text(error.expect_err(name));
        assert!(error.contains("it has changed during the run"), "{name}: {error}");
        assert_eq!(names(trial.path()), before, "{name}");
        assert!(!place.join("zarr.json.bak").exists(), "{name}");
    }
}
