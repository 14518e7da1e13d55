//! What goes wrong around `recast pack`: afterwards OUTPUT is whole or not there, the input is as it
//! was, and the message says what to do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::common::{Sample, Trial, bytes, contents, fraction, names};
use serde_json::json;

type Files = BTreeMap<PathBuf, Vec<u8>>;

const FLAGS: &[&str] = &["-e", "0.001", "--quiet"];

/// An array of 64 chunks, and what packing it gives.
struct Fixture {
    trial: Trial,
    input: Files,
    packed: Files,
    /// How long packing took.
    duration: Duration,
}

impl Fixture {
    fn new() -> Self {
        let values = (0..1_u32 << 18).map(|i| ((i / 100) as f32 * 0.01).sin() + (i % 7) as f32);
        let sample = Sample::new("float32", &[512, 512], &[64, 64], json!("NaN"));
        let trial = Trial::of(&sample, &bytes(&values.collect::<Vec<f32>>()));
        let input = contents(&trial.input());
        let start = Instant::now();
        trial.command(FLAGS).succeeds();
        let duration = start.elapsed();
        let packed = contents(&trial.output());
        fs::remove_dir_all(trial.output()).unwrap();
        Self { trial, input, packed, duration }
    }

    fn output(&self) -> PathBuf {
        self.trial.output()
    }

    fn succeeds(&self, more: &[&str]) {
        self.trial.command(&[FLAGS, more].concat()).succeeds();
    }

    fn spawn(&self, more: &[&str]) -> Child {
        self.trial.command(&[FLAGS, more].concat()).start()
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        names(self.trial.path())
    }
}

#[test]
fn a_killed_run_leaves_the_whole_output_or_none_and_the_next_one_clears_up() {
    let fixture = Fixture::new();
    let (mut killed, mut finished) = (0, 0);
    for round in 0..50 {
        let mut child = fixture.spawn(&[]);
        std::thread::sleep(fixture.duration.mul_f64(1.1 * fraction(round)));
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if fixture.output().exists() {
            assert_eq!(contents(&fixture.output()), fixture.packed);
            fs::remove_dir_all(fixture.output()).unwrap();
            finished += 1;
        } else {
            assert!(!status.success());
            killed += 1;
        }
        assert_eq!(contents(&fixture.trial.input()), fixture.input);
        let names = fixture.names();
        let left = names.iter().filter(|name| *name != "in.zarr");
        let left: Vec<_> = left.collect();
        assert!(left.len() <= 1, "{left:?}");
        assert!(left.iter().all(|name| name.starts_with("out.zarr.recast-tmp-")), "{left:?}");
    }
    println!("{killed} killed, {finished} finished");
    // The first is killed at once.
    assert!(killed > 0);
    fixture.succeeds(&[]);
    assert_eq!(contents(&fixture.output()), fixture.packed);
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_run_that_overwrites_leaves_the_old_array_or_the_new_one() {
    let fixture = Fixture::new();
    fixture.succeeds(&["--no-provenance"]);
    let old = contents(&fixture.output());
    assert_ne!(old, fixture.packed);
    let (mut kept, mut replaced) = (0, 0);
    for round in 0..20 {
        let mut child = fixture.spawn(&["--overwrite"]);
        // Mostly towards the end, where the places change.
        std::thread::sleep(fixture.duration.mul_f64(0.3 + 0.8 * fraction(round)));
        child.kill().unwrap();
        child.wait().unwrap();
        if contents(&fixture.output()) == old {
            kept += 1;
        } else {
            assert_eq!(contents(&fixture.output()), fixture.packed);
            fixture.succeeds(&["--no-provenance", "--overwrite"]);
            replaced += 1;
        }
    }
    println!("{kept} kept, {replaced} replaced");
    fixture.succeeds(&["--overwrite"]);
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
fn what_another_run_is_still_writing_stays() {
    let fixture = Fixture::new();
    let others = fixture.trial.place("out.zarr.recast-tmp-0123ab");
    fs::create_dir_all(others.join("c/0")).unwrap();
    let lock = File::open(&others).unwrap();
    lock.lock().unwrap();
    fixture.succeeds(&[]);
    assert!(others.join("c/0").is_dir());
    drop(lock);
    fixture.succeeds(&["--overwrite"]);
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
fn a_disk_that_is_full_leaves_nothing() {
    let fixture = Fixture::new();
    let mut limit = 0;
    loop {
        // A limit of the size of files fails as a full disk does: within a write.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &limit.to_string()]);
        let [input, output] = fixture.trial.places();
        shell.args([env!("CARGO_BIN_EXE_recast"), "pack", &input, &output]).args(FLAGS);
        let output = shell.output().unwrap();
        assert_eq!(contents(&fixture.trial.input()), fixture.input);
        if output.status.success() {
            break;
        }
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        let written = format!("recast: {}: writing ", fixture.output().display());
        assert!(error.starts_with(&written) && error.lines().count() == 1, "{error}");
        assert!(error.contains("make room, or name an OUTPUT elsewhere"), "{error}");
        assert_eq!(fixture.names(), ["in.zarr"]);
        limit += 1;
    }
    println!("{limit} limits");
    assert!(limit > 1);
    assert_eq!(contents(&fixture.output()), fixture.packed);
}
