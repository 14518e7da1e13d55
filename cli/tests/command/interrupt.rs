//! Ctrl-C: every command that can run for long ends with status 130, and leaves nothing that looks whole.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::common::{
    Sample, Trial, create_group, create_v2, holds_something, little_endian, names, recast,
};
use serde_json::{Value, json};

/// More chunks than any command gets through while a test runs; none of them is stored.
const CHUNKS: u64 = 90_000_000;
/// After this the test gives up waiting. Nothing that passes depends on it.
const PATIENCE: Duration = Duration::from_mins(5);

/// Waits until something is so.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process handles SIGINT by itself, as the kernel tells.
fn catches_interrupts(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

fn end(mut child: Child) -> (ExitStatus, String) {
    let mut status = None;
    wait_until("the command ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let mut error = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut error).unwrap();
    (status.unwrap(), error)
}

/// An array of a type in very many chunks, with attributes.
fn endless(path: &Path, data_type: &str, fill: Value, attributes: Value) {
    Sample::new(data_type, &[CHUNKS], &[1], fill).with("attributes", attributes).create(path);
}

#[test]
fn every_command_that_may_run_for_long_ends_with_status_130_and_leaves_nothing() {
    let trial = Trial::empty();
    let path = |name: &str| trial.place(name);
    endless(&path("float.zarr"), "float32", json!(1.5), json!({}));
    endless(&path("cf.zarr"), "int16", json!(3), json!({"scale_factor": 0.5}));
    create_group(&path("group.zarr"));
    endless(&path("group.zarr/one"), "float32", json!(1.5), json!({}));
    let old = json!({"shape": [CHUNKS], "chunks": [1], "dtype": "<f4", "fill_value": 1.5});
    create_v2(&path("old.zarr"), old);
    let packed = json!([
        {"name": "cast_value", "configuration": {"data_type": "int16", "out_of_range": "clamp"}},
        little_endian(),
    ]);
    Sample::new("float32", &[CHUNKS], &[1], json!(2.0))
        .with("codecs", packed)
        .create(&path("packed.zarr"));
    let before = names(trial.path());
    let text = |name: &str| path(name).display().to_string();
    let out = text("out.zarr");
    let page = text("page.html");
    for (command, inputs, flags) in [
        ("pack", &["float.zarr"][..], &["-e", "0.1"][..]),
        ("pack", &["float.zarr"], &["-e", "0.1", "--report", &page]),
        ("pack", &["float.zarr"], &["--scale", "1", "-t", "int16"]),
        ("pack", &["group.zarr"], &["-e", "0.1"]),
        ("pack", &["cf.zarr"], &["--from-cf"]),
        ("unpack", &["float.zarr"], &[]),
        ("unpack", &["packed.zarr"], &["--to-cf"]),
        ("migrate", &["old.zarr"], &[]),
        ("migrate", &["old.zarr"], &["--reencode"]),
        ("verify", &["float.zarr", "float.zarr"], &[]),
        ("compare", &["float.zarr", "float.zarr"], &["--report", &page]),
        ("cat", &["float.zarr"], &[]),
        ("cat", &["float.zarr"], &["--npy"]),
        ("raw", &[], &["encode", "-t", "float32", "--codecs", "[]"]),
    ] {
        let inputs: Vec<String> = inputs.iter().map(|name| text(name)).collect();
        let has_output = ["pack", "unpack", "migrate"].contains(&command);
        let mut arguments = vec![command];
        arguments.extend(inputs.iter().map(String::as_str));
        arguments.extend(has_output.then_some(out.as_str()));
        arguments.extend(flags);
        let child = recast(&arguments).start();
        wait_until("interrupts are caught", || catches_interrupts(&child));
        interrupt(&child);
        let (status, error) = end(child);
        assert_eq!(status.code(), Some(130), "{arguments:?}: {error}");
        assert_eq!(names(trial.path()), before, "{arguments:?}");
    }
}

#[test]
fn what_is_half_written_goes_away() {
    let trial = Trial::empty();
    let input = trial.input();
    endless(&input, "float32", json!(1.5), json!({}));
    // The only chunk that the run writes.
    fs::create_dir(input.join("c")).unwrap();
    fs::write(input.join("c/0"), [0; 4]).unwrap();
    let output = trial.output();
    let child = recast(&["unpack", input.to_str().unwrap(), output.to_str().unwrap()]).start();
    wait_until("something is written", || {
        names(trial.path())
            .iter()
            .any(|name| *name != "in.zarr" && holds_something(&trial.place(name)))
    });
    assert!(names(trial.path()).iter().any(|name| name.starts_with("out.zarr.recast-tmp-")));
    interrupt(&child);
    let (status, error) = end(child);
    assert_eq!(status.code(), Some(130), "{error}");
    assert_eq!(error, "recast: interrupted\n");
    assert_eq!(names(trial.path()), ["in.zarr"]);
}

/// `--config <(…)` is a pipe, which may stay silent for ever.
#[cfg(unix)]
#[test]
fn a_signal_ends_the_wait_for_a_pipe_and_what_comes_out_of_one_is_read() {
    use std::os::unix::process::ExitStatusExt;
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[4], &[4], json!(0)).write(&trial.input().join("one"), &[0; 16]);
    let [input, output, pipe] =
        [trial.input(), trial.output(), trial.place("pipe")].map(|path| path.display().to_string());
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let codecs = format!("@{pipe}");
    let config = ["pack", &input, &output, "--config", &pipe];
    let raw = ["raw", "encode", "-t", "float32", "--codecs", &codecs];
    for arguments in [&config[..], &raw] {
        for (signal, number, is_open) in
            [("-INT", 2, false), ("-TERM", 15, false), ("-INT", 2, true), ("-TERM", 15, true)]
        {
            let child = recast(arguments).start();
            // This waits until the command has opened the pipe, and now waits for text.
            let _writer = is_open.then(|| fs::OpenOptions::new().write(true).open(&pipe).unwrap());
            let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let (status, error) = end(child);
            let is_ended = status.signal() == Some(number) || status.code() == Some(128 + number);
            assert!(is_ended, "{arguments:?}: {status:?} {error}");
        }
    }
    let child = recast(&config).start();
    fs::write(&pipe, "[[array]]\nname = \"one\"\nmax-abs-error = 0.1\n").unwrap();
    let (status, error) = end(child);
    assert!(status.success(), "{error}");
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr", "pipe"]);
}

#[test]
fn a_stream_ends_in_the_middle() {
    let mut child = recast(&["raw", "decode", "-t", "float32", "--codecs", "[]"]).start();
    let mut input = child.stdin.take().unwrap();
    wait_until("interrupts are caught", || catches_interrupts(&child));
    input.write_all(&[0; 4096]).unwrap();
    interrupt(&child);
    // The input stays open: the command does not wait for more.
    let (status, error) = end(child);
    assert_eq!((status.code(), error.as_str()), (Some(130), ""));
    drop(input);
}
