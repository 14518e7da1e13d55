//! Arrays and groups written to URLs, on the servers that `.ci/object_store.sh` starts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Sample, Trial, bytes, contents, kelvin, path, quarters, recast, weather};
use crate::setting;
use serde_json::{Value, json};

/// The mark of an output that is not finished.
const MARK: &str = ".recast-unfinished";

/// A place in the bucket that no other test writes to.
fn url(name: &str) -> String {
    format!("s3://bucket/{name}")
}

/// All objects below a place in the Azure container, by their keys from there, as Azure's own client reads them.
fn blobs(name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let code = "
import azure.storage.blob, os, pathlib, sys
prefix, folder = sys.argv[1] + '/', pathlib.Path(sys.argv[2])
server = azure.storage.blob.BlobServiceClient.from_connection_string(os.environ['AZURE_STORAGE_CONNECTION_STRING'])
container = server.get_container_client('container')
for one in container.list_blobs(name_starts_with=prefix):
    file = folder / one.name.removeprefix(prefix)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(container.download_blob(one.name).readall())
";
    downloaded(code, name)
}

/// All objects below a place in the bucket, by their keys from there, as boto3 reads them.
fn objects(name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let code = "
import boto3, pathlib, sys
prefix, folder = sys.argv[1] + '/', pathlib.Path(sys.argv[2])
s3 = boto3.client('s3')
for page in s3.get_paginator('list_objects_v2').paginate(Bucket='bucket', Prefix=prefix):
    for one in page.get('Contents', []):
        file = folder / one['Key'].removeprefix(prefix)
        file.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file('bucket', one['Key'], str(file))
";
    downloaded(code, name)
}

/// What a Python program downloads from a place into a folder.
fn downloaded(code: &str, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let mut python = Command::new(setting("RECAST_TEST_PYTHON"));
    let status = python.args(["-c", code, name]).arg(folder.path()).status().unwrap();
    assert!(status.success());
    contents(folder.path())
}

/// Puts an object into the bucket.
fn store(key: &str, text: &str) {
    let code = "import boto3, sys; boto3.client('s3').put_object(Bucket='bucket', Key=sys.argv[1], \
                Body=sys.argv[2].encode())";
    let mut python = Command::new(setting("RECAST_TEST_PYTHON"));
    assert!(python.args(["-c", code, key, text]).status().unwrap().success());
}

/// An array of 40 chunks; the second is not stored.
fn write(path: &Path) {
    let mut values = kelvin(400);
    values[10..20].fill(0.0);
    Sample::new("float32", &[400], &[10], json!(0)).write(path, &bytes(&values));
}

/// A gate in front of `gated/NAME/`, as `.ci/object_store.py` says.
struct Gate(PathBuf);

impl Gate {
    fn new(name: &str, what: &str) -> Self {
        let path = Path::new(&setting("RECAST_TEST_GATES")).join(name);
        fs::write(&path, what).unwrap();
        Self(path)
    }

    /// Waits until requests wait.
    fn wait(&self) {
        let (start, held) = (Instant::now(), self.0.with_extension("held"));
        while !held.exists() {
            assert!(start.elapsed() < Duration::from_mins(2), "no request has come");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn open(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

#[test]
fn what_is_written_to_a_url_is_what_would_be_written_to_a_directory() {
    let trial = Trial::empty();
    write(&trial.input());
    trial.packs(&["-e", "0.01", "--no-provenance"]);
    let (input, output) = (path(&trial.input()), url("same/array.zarr"));
    let arguments = ["pack", "-e", "0.01", "--no-provenance", "--verify", "--json"];
    let report = recast(&[&arguments[..], &[&input, &output]].concat()).succeeds();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_eq!(report["output"], output);
    assert_eq!(objects("same/array.zarr"), contents(&trial.output()));
    recast(&["verify", "--atol", "0.01", &input, &output]).succeeds();

    // Plain numbers in place of codes.
    let any = ["--readers", "any", "--overwrite"];
    trial.packs(&[&["-e", "0.01", "--no-provenance"][..], &any].concat());
    recast(&[&arguments[..], &any, &[&input, &output]].concat()).succeeds();
    assert_eq!(objects("same/array.zarr"), contents(&trial.output()));

    // From URL to URL, and back to plain values.
    recast(&[&arguments[..], &["--overwrite", &input, &output]].concat()).succeeds();
    let plain = url("same/plain.zarr/");
    recast(&["unpack", &output, &plain]).succeeds();
    recast(&["verify", &output, &plain]).succeeds();
    recast(&["unpack", "--to-cf", &output, &url("same/cf.zarr")]).succeeds();
    assert!(objects("same/cf.zarr").contains_key(Path::new("zarr.json")));
    let old = format!("{}/old.zarr", setting("RECAST_TEST_FILES"));
    recast(&["migrate", &old, &url("same/new.zarr")]).succeeds();
    recast(&["verify", &old, &url("same/new.zarr")]).succeeds();
}

#[test]
fn google_and_azure_get_the_same_objects() {
    type Objects = fn(&str) -> BTreeMap<PathBuf, Vec<u8>>;
    let trial = Trial::empty();
    weather(&trial.input());
    trial.packs(&["-e", "0.01"]);
    // boto3 sees what Google's clients have written: the server is the same.
    let clouds: [(&str, &str, Objects); 2] = [
        ("gs://bucket", "google/weather.zarr", objects),
        ("az://container", "weather.zarr", blobs),
    ];
    for (holder, name, objects) in clouds {
        let (input, output) = (path(&trial.input()), format!("{holder}/{name}"));
        let pack =
            |more: &[&str]| recast(&[&["pack", "-e", "0.01", &input, &output], more].concat());
        pack(&[]).succeeds();
        assert_eq!(objects(name), contents(&trial.output()), "{output}");
        recast(&["verify", "--atol", "0.01", &input, &output]).succeeds();
        let error = pack(&[]).fails(1);
        assert!(error.contains(&output) && error.contains("--overwrite replaces it"), "{error}");
        // Coarser: all objects are removed first.
        recast(&["pack", "-e", "0.5", "--overwrite", &input, &output]).succeeds();
        recast(&["verify", "--atol", "0.01", &input, &output]).fails(1);
        recast(&["verify", "--atol", "0.5", &input, &output]).succeeds();
        assert!(!objects(name).contains_key(Path::new(MARK)));
        // From one cloud to the other.
        let plain = format!("s3://bucket/from-{}", name.rsplit('/').next().unwrap());
        recast(&["unpack", "--overwrite", &output, &plain]).succeeds();
        recast(&["verify", &output, &plain]).succeeds();
    }
}

#[test]
fn what_is_there_stays_unless_it_is_an_array_to_be_replaced() {
    let trial = Trial::empty();
    write(&trial.input());
    let (input, output) = (path(&trial.input()), url("replaced/array.zarr"));
    let pack = |more: &[&str]| recast(&[&["pack", "-e", "0.01", &input, &output], more].concat());
    pack(&[]).succeeds();
    let before = objects("replaced/array.zarr");
    let error = pack(&[]).fails(1);
    assert!(error.contains(&output) && error.contains("--overwrite replaces it"), "{error}");
    assert_eq!(objects("replaced/array.zarr"), before);

    // The new array has fewer chunks; none of the old ones stays.
    fs::remove_dir_all(trial.input()).unwrap();
    Sample::new("float32", &[20], &[10], json!(0)).write(&trial.input(), &quarters(20));
    pack(&["--overwrite"]).succeeds();
    let after = objects("replaced/array.zarr");
    let keys: Vec<&Path> = after.keys().map(PathBuf::as_path).collect();
    assert_eq!(keys, [Path::new("c/0"), Path::new("c/1"), Path::new("zarr.json")]);
    recast(&["verify", "--atol", "0.01", &input, &output]).succeeds();

    store("replaced/other/notes.txt", "mine");
    let other = url("replaced/other");
    let error = recast(&["pack", "-e", "0.01", "--overwrite", &input, &other]).fails(1);
    assert!(
        error.contains("is not an array or a group; --overwrite replaces these only"),
        "{error}"
    );
    assert_eq!(objects("replaced/other").len(), 1);
}

#[test]
fn groups_are_replaced_by_groups_only() {
    let trial = Trial::empty();
    weather(&trial.input());
    let (input, output) = (path(&trial.input()), url("replaced/group.zarr"));
    let pack = |input: &str, more: &[&str]| {
        recast(&[&["pack", "-e", "0.01", input, &output], more].concat())
    };
    pack(&input, &["--include", "t2m"]).succeeds();
    let error = pack(&input, &[]).fails(1);
    assert!(error.contains(&output) && error.contains("--overwrite replaces it"), "{error}");
    pack(&input, &["--overwrite"]).succeeds();
    trial.packs(&["-e", "0.01"]);
    assert_eq!(objects("replaced/group.zarr"), contents(&trial.output()));
    recast(&["verify", "--atol", "0.01", &input, &output]).succeeds();
    let wind = path(&trial.input().join("wind"));
    let error = pack(&wind, &["--overwrite"]).fails(1);
    assert!(error.contains("is a group, and an array would replace"), "{error}");
    let inside = format!("{output}/wind");
    let error = recast(&["pack", "-e", "0.1", "--overwrite", &wind, &inside]).fails(1);
    assert!(error.contains("group.zarr has consolidated metadata with a copy"), "{error}");
    assert_eq!(objects("replaced/group.zarr"), contents(&trial.output()));
}

#[test]
fn a_run_whose_url_another_run_begins_to_write_to_gives_up_before_its_array_opens() {
    let trial = Trial::empty();
    write(&trial.input());
    let scratch = tempfile::tempdir().unwrap();
    let (input, output) = (path(&trial.input()), url("gated/overtaken/array.zarr"));
    let gate = Gate::new("overtaken", "hold 5");
    let child = begin(&input, &output, scratch.path());
    gate.wait();
    store(&format!("gated/overtaken/array.zarr/{MARK}"), "of another run");
    gate.open();
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{error}");
    assert!(error.contains("another run has begun to write there"), "{error}");
    let left = objects("gated/overtaken/array.zarr");
    assert!(!left.contains_key(Path::new("zarr.json")));
    assert_eq!(left[Path::new(MARK)], b"of another run");
}

#[test]
fn outputs_that_make_no_sense_are_refused_before_anything_is_written() {
    let trial = Trial::empty();
    write(&trial.input());
    let input = path(&trial.input());
    let fails = |input: &str, output: &str, reason: &str| {
        let error = recast(&["pack", "-e", "0.01", input, output]).fails(1);
        assert!(error.contains(output) && error.contains(reason), "{error}");
    };
    fails(&input, "https://127.0.0.1:1/array", "cannot be written to; write to a directory");
    fails(&input, "s3://bucket", "OUTPUT must end in a name in the bucket; write s3://BUCKET/PATH");
    fails(&input, "gs://bucket/", "write gs://BUCKET/PATH");
    fails(&input, "az://container", "a name in the container; write az://CONTAINER/PATH");
    fails(&input, "gs://no-such-bucket/array", "NoSuchBucket: The specified bucket");
    fails(&input, "az://no-such/array", "The specified container does not exist");
    fails(&input, "s3://no-such-bucket/array", "NoSuchBucket: The specified bucket");
    let array = url("refused/array.zarr");
    recast(&["pack", "-e", "0.01", &input, &array]).succeeds();
    fails(&array, &array, "OUTPUT is INPUT");
    fails(&array, &format!("{array}/inside"), "OUTPUT lies inside INPUT");
    fails(&array, &url("refused"), "INPUT lies inside OUTPUT");
    let error = recast(&["pack", "-e", "0.01", &input, &url("refused/b")])
        .without("AWS_ACCESS_KEY_ID")
        .fails(1);
    assert!(error.contains("no credentials"), "{error}");
    assert!(objects("refused/b").is_empty());
}

#[test]
fn a_dry_run_and_a_bound_that_cannot_be_kept_write_nothing() {
    let trial = Trial::empty();
    write(&trial.input());
    let (input, output) = (path(&trial.input()), url("nothing/array.zarr"));
    recast(&["pack", "-e", "0.01", "--dry-run", &input, &output]).succeeds();
    recast(&["pack", "-e", "1e-9", "-t", "uint8", &input, &output]).fails(1);
    assert!(objects("nothing").is_empty());
}

/// Begins to pack to a gated place.
fn begin(input: &str, output: &str, scratch: &Path) -> std::process::Child {
    let arguments = ["pack", "-e", "0.01", "--threads", "2", input, output];
    recast(&arguments).with("TMPDIR", &path(scratch)).start()
}

#[test]
fn an_array_whose_upload_was_killed_does_not_open_and_the_next_run_can_replace_it() {
    let trial = Trial::empty();
    write(&trial.input());
    let scratch = tempfile::tempdir().unwrap();
    let (input, output) = (path(&trial.input()), url("gated/killed/array.zarr"));
    let gate = Gate::new("killed", "hold 5");
    let mut child = begin(&input, &output, scratch.path());
    gate.wait();
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    gate.open();

    let left = objects("gated/killed/array.zarr");
    assert!(left.len() > 1 && left.contains_key(Path::new(MARK)), "{:?}", left.keys());
    assert!(!left.contains_key(Path::new("zarr.json")));
    let error = recast(&["info", &output]).fails(1);
    assert!(error.contains("no array here"), "{error}");
    let error = recast(&["pack", "-e", "0.01", &input, &output]).fails(1);
    assert!(error.contains("holds the objects of an unfinished run"), "{error}");
    assert!(error.contains("--overwrite removes them"), "{error}");

    // What the killed run has left on this machine goes away, too.
    let staged = || fs::read_dir(scratch.path()).unwrap().count();
    assert_eq!(staged(), 1);
    let scratch = path(scratch.path());
    recast(&["pack", "-e", "0.01", "--overwrite", &input, &output])
        .with("TMPDIR", &scratch)
        .succeeds();
    assert_eq!(staged(), 0);
    recast(&["verify", "--atol", "0.01", &input, &output]).succeeds();
    assert!(!objects("gated/killed/array.zarr").contains_key(Path::new(MARK)));
}

#[cfg(unix)]
#[test]
fn an_upload_that_is_interrupted_removes_what_it_has_written_and_exits_130() {
    let trial = Trial::empty();
    write(&trial.input());
    let scratch = tempfile::tempdir().unwrap();
    let (input, output) = (path(&trial.input()), url("gated/interrupted/array.zarr"));
    let gate = Gate::new("interrupted", "hold 5");
    let child = begin(&input, &output, scratch.path());
    gate.wait();
    assert!(objects("gated/interrupted/array.zarr").len() > 1);
    // The server does not answer until the gate opens, which is after the run has ended.
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{error}");
    assert!(error.contains("interrupted") && !error.contains("left"), "{error}");
    assert!(objects("gated/interrupted").is_empty());
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    drop(gate);
}

#[test]
fn an_upload_that_fails_removes_what_it_has_written() {
    let trial = Trial::empty();
    write(&trial.input());
    let output = url("gated/refused/array.zarr");
    let _gate = Gate::new("refused", "refuse 5");
    let error = recast(&["pack", "-e", "0.01", &path(&trial.input()), &output]).fails(1);
    assert!(error.contains(&format!("{output}: not written")), "{error}");
    assert!(error.contains("the gate is shut") || error.contains("credentials"), "{error}");
    assert!(objects("gated/refused").is_empty());
}

#[test]
fn what_cannot_be_removed_after_a_failure_is_named_and_does_not_open() {
    let trial = Trial::empty();
    write(&trial.input());
    let output = url("gated/stuck/array.zarr");
    let gate = Gate::new("stuck", "refuse 5 remove");
    let error = recast(&["pack", "-e", "0.01", &path(&trial.input()), &output]).fails(1);
    assert!(
        error.contains(&output)
            && error.contains("objects that could not be removed are left there"),
        "{error}"
    );
    gate.open();
    assert!(objects("gated/stuck/array.zarr").contains_key(Path::new(MARK)));
    let error = recast(&["info", &output]).fails(1);
    assert!(error.contains("no array here"), "{error}");
}
