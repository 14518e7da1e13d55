//! What goes wrong around `recast pack`: afterwards OUTPUT is whole or not there, the input is as it
//! was, and the message says what to do.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Sample, contents, metadata, open, recast};
use serde_json::{Value, json};
use tempfile::TempDir;
use zarrs::array::ArrayBytes;

/// The largest error asked for.
const BOUND: f32 = 0.001;

type Files = BTreeMap<PathBuf, Vec<u8>>;

fn bytes() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// A folder with an array `in.zarr` of 64 chunks, and what packing it gives.
struct Fixture {
    folder: TempDir,
    input: Files,
    packed: Files,
    /// How long packing took.
    duration: Duration,
}

impl Fixture {
    fn new(codecs: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let values = (0..1_u32 << 18).map(|i| ((i / 100) as f32 * 0.01).sin() + (i % 7) as f32);
        let elements: Vec<u8> = values.flat_map(f32::to_ne_bytes).collect();
        Sample::new("float32", &[512, 512], &[64, 64], json!("NaN"))
            .with("codecs", codecs.clone())
            .write(&folder.path().join("in.zarr"), &elements);
        let input = contents(&folder.path().join("in.zarr"));
        let mut fixture =
            Self { folder, input, packed: Files::new(), duration: Duration::default() };
        let start = Instant::now();
        recast(&fixture.arguments(&[])).succeeds();
        fixture.duration = start.elapsed();
        fixture.packed = contents(&fixture.output());
        fs::remove_dir_all(fixture.output()).unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn output(&self) -> PathBuf {
        self.path("out.zarr")
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let [input, output] =
            ["in.zarr", "out.zarr"].map(|name| self.path(name).display().to_string());
        let bound = BOUND.to_string();
        let arguments = ["pack", &input, &output, "-e", &bound, "--quiet"];
        arguments.iter().chain(more).map(ToString::to_string).collect()
    }

    fn spawn(&self, more: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_recast"))
            .args(self.arguments(more))
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Packing fails with status 1 and one line, and leaves nothing.
    fn refuses(&self) -> String {
        let error = recast(&self.arguments(&[])).fails(1);
        assert_eq!(self.names(), ["in.zarr"], "{error}");
        error
    }

    /// Packing either fails with a message that has `what` in it and leaves nothing, or gives an array
    /// within the bound of what the input reads as now. True if it fails.
    fn fails_or_is_right(&self, what: &str) -> bool {
        let run = recast(&self.arguments(&[])).run();
        if run.status.success() {
            let [input, output] = ["in.zarr", "out.zarr"].map(|name| read(&self.path(name)));
            let is_right =
                |(a, b): (&f32, &f32)| (a - b).abs() <= BOUND || a.is_nan() && b.is_nan();
            assert!(input.iter().zip(&output).all(is_right));
            fs::remove_dir_all(self.output()).unwrap();
        } else {
            assert_eq!(run.status.code(), Some(1), "{}", run.stderr);
            assert!(run.stderr.contains(what), "{}", run.stderr);
            assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        }
        assert_eq!(self.names(), ["in.zarr"]);
        !run.status.success()
    }
}

fn read(path: &Path) -> Vec<f32> {
    let array = open(path);
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let bytes = bytes.into_fixed().unwrap();
    bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

/// Numbers below 1 from a seed: the golden ratio's multiples.
fn fraction(n: u32) -> f64 {
    (f64::from(n) * 0.618_033_988_749_894_9).fract()
}

#[test]
fn a_killed_run_leaves_the_whole_output_or_none_and_the_next_one_clears_up() {
    let fixture = Fixture::new(&json!([bytes()]));
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
        assert_eq!(contents(&fixture.path("in.zarr")), fixture.input);
        let names = fixture.names();
        let left = names.iter().filter(|name| *name != "in.zarr");
        let left: Vec<_> = left.collect();
        assert!(left.len() <= 1, "{left:?}");
        assert!(left.iter().all(|name| name.starts_with("out.zarr.recast-tmp-")), "{left:?}");
    }
    println!("{killed} killed, {finished} finished");
    // The first is killed at once.
    assert!(killed > 0);
    recast(&fixture.arguments(&[])).succeeds();
    assert_eq!(contents(&fixture.output()), fixture.packed);
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_killed_run_that_overwrites_leaves_the_old_array_or_the_new_one() {
    let fixture = Fixture::new(&json!([bytes()]));
    recast(&fixture.arguments(&["--no-provenance"])).succeeds();
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
            recast(&fixture.arguments(&["--no-provenance", "--overwrite"])).succeeds();
            replaced += 1;
        }
    }
    println!("{kept} kept, {replaced} replaced");
    recast(&fixture.arguments(&["--overwrite"])).succeeds();
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
fn what_another_run_is_still_writing_stays() {
    let fixture = Fixture::new(&json!([bytes()]));
    let others = fixture.path("out.zarr.recast-tmp-0123ab");
    fs::create_dir_all(others.join("c/0")).unwrap();
    let lock = File::open(&others).unwrap();
    lock.lock().unwrap();
    recast(&fixture.arguments(&[])).succeeds();
    assert!(others.join("c/0").is_dir());
    drop(lock);
    recast(&fixture.arguments(&["--overwrite"])).succeeds();
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
}

#[test]
fn a_disk_that_is_full_leaves_nothing() {
    let fixture = Fixture::new(&json!([bytes()]));
    let mut limit = 0;
    loop {
        // A limit of the size of files fails as a full disk does: within a write.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", &limit.to_string()]);
        shell.arg(env!("CARGO_BIN_EXE_recast")).args(fixture.arguments(&[]));
        let output = shell.output().unwrap();
        assert_eq!(contents(&fixture.path("in.zarr")), fixture.input);
        if output.status.success() {
            break;
        }
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.starts_with("recast: writing ") && error.lines().count() == 1, "{error}");
        assert!(error.contains("make room, or name an OUTPUT elsewhere"), "{error}");
        assert_eq!(fixture.names(), ["in.zarr"]);
        limit += 1;
    }
    println!("{limit} limits");
    assert!(limit > 1);
    assert_eq!(contents(&fixture.output()), fixture.packed);
}

#[test]
fn a_chunk_cut_short_or_with_another_bit_never_gives_a_wrong_array() {
    for (codecs, is_checked) in [
        (json!([bytes()]), false),
        (json!([bytes(), {"name": "crc32c"}]), true),
        (
            json!([bytes(), {"name": "zstd", "configuration": {"level": 1, "checksum": false}}]),
            false,
        ),
        (
            json!([bytes(), {"name": "zstd", "configuration": {"level": 1, "checksum": false}},
                {"name": "crc32c"}]),
            true,
        ),
        (json!([bytes(), {"name": "gzip", "configuration": {"level": 1}}]), false),
    ] {
        let fixture = Fixture::new(&codecs);
        let chunk = fixture.path("in.zarr/c/3/5");
        let whole = fs::read(&chunk).unwrap();
        let (mut refused, mut flipped) = (0, 0);
        for n in 0..40 {
            let bit = (fraction(n) * 8.0 * whole.len() as f64) as usize;
            let mut broken = whole.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            fs::write(&chunk, broken).unwrap();
            flipped += 1;
            // Without a checksum other values may come of it, and those may be beyond the bound.
            let what = if is_checked { "chunk [3, 5]" } else { "in.zarr" };
            refused += usize::from(fixture.fails_or_is_right(what));
        }
        println!("{refused} of {flipped} refused: {codecs}");
        assert!(!is_checked || refused == flipped, "{codecs}");
        for n in 0..10 {
            let length = (fraction(n) * whole.len() as f64) as usize;
            fs::write(&chunk, &whole[..length]).unwrap();
            let error = fixture.refuses();
            let hint = "chunk [3, 5] (c/3/5; restore it if it is damaged)";
            assert!(error.contains(hint), "{codecs}, {length} bytes: {error}");
        }
        fs::write(&chunk, &whole).unwrap();
        assert_eq!(contents(&fixture.path("in.zarr")), fixture.input);
    }
}

#[test]
fn what_cannot_be_read_is_an_error_and_no_missing_chunk() {
    let fixture = Fixture::new(&json!([bytes()]));
    let input = fixture.path("in.zarr");

    // A file where there should be a folder, and the other way round: what also root cannot read.
    fs::rename(input.join("c/2"), fixture.path("in.zarr/aside")).unwrap();
    fs::write(input.join("c/2"), "").unwrap();
    let error = fixture.refuses();
    assert!(error.contains("chunk [2, 0]") && error.contains("directory"), "{error}");
    fs::remove_file(input.join("c/2")).unwrap();
    fs::rename(input.join("aside"), input.join("c/2")).unwrap();

    fs::rename(input.join("c/2/1"), input.join("aside")).unwrap();
    fs::create_dir(input.join("c/2/1")).unwrap();
    let error = fixture.refuses();
    assert!(error.contains("chunk [2, 1]"), "{error}");
    fs::remove_dir(input.join("c/2/1")).unwrap();
    fs::rename(input.join("aside"), input.join("c/2/1")).unwrap();

    // A link that leads back to itself.
    fs::rename(input.join("c/2"), input.join("aside")).unwrap();
    std::os::unix::fs::symlink("2", input.join("c/2")).unwrap();
    let error = fixture.refuses();
    assert!(error.contains("chunk [2, 0]"), "{error}");
    fs::remove_file(input.join("c/2")).unwrap();
    fs::rename(input.join("aside"), input.join("c/2")).unwrap();

    assert_eq!(contents(&input), fixture.input);
    recast(&fixture.arguments(&[])).succeeds();
    assert_eq!(contents(&fixture.output()), fixture.packed);
}

#[test]
fn a_folder_without_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(&json!([bytes()]));
    let locked = fixture.path("in.zarr/c/2");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o0)).unwrap();
    // Root reads it all the same.
    if fs::read_dir(&locked).is_ok() {
        recast(&fixture.arguments(&[])).succeeds();
    } else {
        assert!(fixture.refuses().contains("chunk [2, 0]"));
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(contents(&fixture.path("in.zarr")), fixture.input);
}

#[test]
fn an_output_that_exists_stays_as_it_is() {
    let fixture = Fixture::new(&json!([bytes()]));
    let output = fixture.output();
    let kept = |more: &[&str], hint: &str| {
        let error = recast(&fixture.arguments(more)).fails(1);
        assert!(error.contains(hint), "{error}");
        assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
    };
    fs::write(&output, "precious").unwrap();
    kept(&[], "--overwrite");
    kept(&["--overwrite"], "not a directory");
    assert_eq!(fs::read(&output).unwrap(), b"precious");
    fs::remove_file(&output).unwrap();

    std::os::unix::fs::symlink("nowhere", &output).unwrap();
    kept(&[], "--overwrite");
    kept(&["--overwrite"], "not a directory");
    fs::remove_file(&output).unwrap();

    fs::create_dir(&output).unwrap();
    kept(&[], "--overwrite");
    kept(&["--overwrite"], "not an array");
    fs::remove_dir(&output).unwrap();

    recast(&fixture.arguments(&[])).succeeds();
    kept(&[], "--overwrite replaces it");
    assert_eq!(contents(&output), fixture.packed);
    recast(&fixture.arguments(&["--overwrite", "--no-provenance"])).succeeds();
    assert_eq!(metadata(&output)["attributes"], json!({}));
    assert_eq!(fixture.names(), ["in.zarr", "out.zarr"]);
    assert_eq!(contents(&fixture.path("in.zarr")), fixture.input);
}
