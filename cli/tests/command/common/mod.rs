//! Running the command.

#![allow(dead_code)] // each test file uses its part

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;
use zarrs_recast as _;

/// A run of the command to come.
pub(crate) struct Recast {
    command: Command,
    stdin: Vec<u8>,
    piece: usize,
}

/// What came of a run.
pub(crate) struct Run {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// The command with these arguments.
pub(crate) fn recast<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Recast {
    let mut command = Command::new(env!("CARGO_BIN_EXE_recast"));
    command.args(arguments).env_remove("RECAST_LEVEL").env_remove("RUST_BACKTRACE");
    Recast { command, stdin: Vec::new(), piece: usize::MAX }
}

impl Recast {
    /// Runs it without a variable of the environment.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// Runs it with a variable of the environment.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Gives it these bytes on standard input.
    pub(crate) fn stdin(self, bytes: &[u8]) -> Self {
        Self { stdin: bytes.to_vec(), ..self }
    }

    /// As [`Recast::stdin`], written piece by piece.
    pub(crate) fn stdin_in_pieces(self, bytes: &[u8], piece: usize) -> Self {
        Self { stdin: bytes.to_vec(), piece, ..self }
    }

    /// Runs it.
    pub(crate) fn run(self) -> Run {
        self.reading(usize::MAX)
    }

    /// Runs it, and closes its standard output after so many bytes.
    pub(crate) fn reading(mut self, limit: usize) -> Run {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let writer = std::thread::spawn(move || {
            for piece in self.stdin.chunks(self.piece) {
                // The command may end without reading everything.
                if stdin.write_all(piece).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        let mut output = Vec::new();
        stdout.by_ref().take(limit as u64).read_to_end(&mut output).unwrap();
        drop(stdout);
        let status = child.wait().unwrap();
        writer.join().unwrap();
        Run { status, stdout: output, stderr: errors.join().unwrap() }
    }

    /// Runs it, expects success, and returns its output.
    pub(crate) fn succeeds(self) -> Vec<u8> {
        let Run { status, stdout, stderr } = self.run();
        assert!(status.success(), "{status}: {stderr}");
        stdout
    }

    /// Runs it, expects a status and one line on standard error, and returns that; of wrong usage, what clap
    /// says of it.
    pub(crate) fn fails(self, status: i32) -> String {
        let run = self.run();
        assert_eq!(run.status.code(), Some(status), "{}", run.stderr);
        if status == 2 {
            assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
            assert!(
                run.stderr.ends_with("For more information, try '--help'.\n"),
                "{}",
                run.stderr
            );
            return run.stderr;
        }
        assert!(run.stderr.starts_with("recast: "), "{}", run.stderr);
        assert_eq!(run.stderr.trim_end().lines().count(), 1, "{}", run.stderr);
        run.stderr
    }
}

/// An array on the filesystem for a test.
pub(crate) struct Sample {
    pub(crate) metadata: serde_json::Value,
}

impl Sample {
    /// An array of this type; the codecs are `bytes` and gzip.
    #[allow(clippy::needless_pass_by_value)] // json!(…) makes a value
    pub(crate) fn new(
        data_type: &str,
        shape: &[u64],
        chunks: &[u64],
        fill: serde_json::Value,
    ) -> Self {
        let codecs = serde_json::json!([
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "gzip", "configuration": {"level": 1}},
        ]);
        let metadata = serde_json::json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill,
            "codecs": codecs,
        });
        Self { metadata }
    }

    /// Sets a member of the metadata.
    pub(crate) fn with(mut self, member: &str, value: serde_json::Value) -> Self {
        self.metadata[member] = value;
        self
    }

    /// Writes it with all its elements, in native byte order.
    pub(crate) fn write(&self, path: &Path, elements: &[u8]) {
        let array = self.create(path);
        array.store_array_subset(&array.subset_all(), ArrayBytes::new_flen(elements)).unwrap();
    }

    /// Writes the metadata only.
    pub(crate) fn create(&self, path: &Path) -> Array<FilesystemStore> {
        std::fs::create_dir_all(path).unwrap();
        std::fs::write(path.join("zarr.json"), self.metadata.to_string()).unwrap();
        open(path)
    }
}

/// Opens an array with zarrs.
pub(crate) fn open(path: &Path) -> Array<FilesystemStore> {
    Array::open(Arc::new(FilesystemStore::new(path).unwrap()), "/").unwrap()
}

/// The metadata document of an array.
pub(crate) fn metadata(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(path.join("zarr.json")).unwrap()).unwrap()
}

/// A value codec's configuration in a metadata document.
pub(crate) fn configuration<'a>(
    metadata: &'a serde_json::Value,
    name: &str,
) -> Option<&'a serde_json::Value> {
    let codecs = metadata["codecs"].as_array().unwrap();
    Some(&codecs.iter().find(|codec| codec["name"] == name)?["configuration"])
}

/// The stored elements of a packed array as integers: what zarrs reads with the value codecs taken
/// out of the metadata.
pub(crate) fn stored_codes(path: &Path) -> Vec<i64> {
    let mut document = metadata(path);
    let cast = configuration(&document, "cast_value").unwrap().clone();
    let name = cast["data_type"].as_str().unwrap().to_owned();
    let fill = code_of_fill(&document);
    let codecs = document["codecs"].as_array_mut().unwrap();
    codecs.retain(|codec| codec["name"] != "cast_value" && codec["name"] != "scale_offset");
    document["data_type"] = name.as_str().into();
    document["fill_value"] = fill.into();
    let store = Arc::new(FilesystemStore::new(path).unwrap());
    let metadata = serde_json::from_value(document).unwrap();
    let array = Array::new_with_metadata(store, "/", metadata).unwrap();
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let bytes = bytes.into_fixed().unwrap();
    let size = array.data_type().fixed_size().unwrap();
    let signed = name.starts_with('i');
    let code = |bytes: &[u8]| {
        let sign = if signed && bytes[size - 1] >= 128 { 255 } else { 0 };
        let mut wide = [sign; 8];
        wide[..size].copy_from_slice(bytes);
        i64::from_le_bytes(wide)
    };
    bytes.chunks_exact(size).map(code).collect()
}

/// The code of the fill value, if a map of the last cast has one; chunks that are not stored hold it.
fn code_of_fill(document: &serde_json::Value) -> i64 {
    let cast = configuration(document, "cast_value").unwrap();
    let nan = cast["scalar_map"]["encode"].as_array().into_iter().flatten();
    let nan = nan.filter(|pair| pair[0] == document["fill_value"]).map(|pair| pair[1].as_i64());
    nan.flatten().next().unwrap_or(0)
}

/// All files below a folder, with their paths in it.
pub(crate) fn contents(folder: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut files = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(folder).unwrap().to_owned();
        if path.is_dir() {
            let below = contents(&path);
            files.extend(below.into_iter().map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            files.insert(name, std::fs::read(&path).unwrap());
        }
    }
    files
}

/// The bytes of all files below a folder.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    contents(folder).values().map(|bytes| bytes.len() as u64).sum()
}

/// Values that are multiples of a quarter.
pub(crate) fn quarters(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f32 / 4.0).to_ne_bytes()).collect()
}

/// A group as weather models write it: two fields, their coordinates, flags, and a group below.
pub(crate) fn weather(root: &Path) {
    let array = |path: &str, data_type: &str, shape: &[u64], names: &Value, attributes: Value| {
        let count = shape.iter().product::<u64>() as usize;
        let elements = match data_type {
            "float32" => quarters(count),
            _ => vec![1; count],
        };
        Sample::new(data_type, shape, shape, serde_json::json!(0))
            .with("dimension_names", names.clone())
            .with("attributes", attributes)
            .write(&root.join(path), &elements);
    };
    let plane = serde_json::json!(["time", "lat"]);
    array(
        "t2m",
        "float32",
        &[3, 4],
        &plane,
        serde_json::json!({"units": "K", "coordinates": "height lon"}),
    );
    array("wind", "float32", &[3, 4], &plane, serde_json::json!({}));
    array("flag", "uint8", &[3, 4], &plane, serde_json::json!({}));
    array(
        "lat",
        "float32",
        &[4],
        &serde_json::json!(["lat"]),
        serde_json::json!({"bounds": "lat_bounds"}),
    );
    array(
        "lat_bounds",
        "float32",
        &[4, 2],
        &serde_json::json!(["lat", null]),
        serde_json::json!({}),
    );
    array("lon", "float32", &[3, 4], &plane, serde_json::json!({}));
    array("deep/t2m", "float32", &[3, 4], &plane, serde_json::json!({}));
    std::fs::write(root.join("deep/zarr.json"), r#"{"zarr_format":3,"node_type":"group"}"#)
        .unwrap();
    let mut group = serde_json::json!({
        "zarr_format": 3, "node_type": "group", "attributes": {"title": "weather"},
    });
    let mut copies = serde_json::Map::new();
    for path in ["t2m", "wind", "flag", "lat", "lat_bounds", "lon", "deep", "deep/t2m"] {
        copies.insert(path.to_owned(), metadata(&root.join(path)));
    }
    group["consolidated_metadata"] =
        serde_json::json!({"kind": "inline", "must_understand": false, "metadata": copies});
    std::fs::write(root.join("zarr.json"), group.to_string()).unwrap();
}

/// A folder with an array `in.zarr`, and a place for `out.zarr`.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn input(&self) -> PathBuf {
        self.0.path().join("in.zarr")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.0.path().join("out.zarr")
    }

    fn arguments<'a>(&self, more: &[&'a str]) -> Vec<std::borrow::Cow<'a, str>> {
        let paths = [self.input(), self.output()].map(|path| path.display().to_string().into());
        ["pack".into()]
            .into_iter()
            .chain(paths)
            .chain(more.iter().map(|&text| text.into()))
            .collect()
    }

    /// Packs, and returns the report.
    pub(crate) fn pack(&self, more: &[&str]) -> Value {
        let arguments = self.arguments(&[more, &["--json"]].concat());
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        serde_json::from_slice(&recast(&arguments).succeeds()).unwrap()
    }

    /// Packs, which must fail and leave nothing behind.
    pub(crate) fn refuses(&self, more: &[&str]) -> String {
        self.fails(more, 1)
    }

    /// Packs with arguments that make no sense.
    pub(crate) fn usage(&self, more: &[&str]) -> String {
        self.fails(more, 2)
    }

    fn fails(&self, more: &[&str], status: i32) -> String {
        let before = names(self.0.path());
        let arguments = self.arguments(more);
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let error = recast(&arguments).fails(status);
        assert_eq!(names(self.0.path()), before);
        error
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A reproducible stand-in for measured values: waves, a slope, and noise.
pub(crate) fn field(count: usize) -> Vec<f64> {
    let mut state = 12_345_u64;
    (0..count)
        .map(|i| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            let noise = (state >> 11) as f64 / (1_u64 << 53) as f64;
            288.7 + 11.3 * (i as f64 * 0.013).sin() + 1e-3 * i as f64 + noise
        })
        .collect()
}

pub(crate) fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

pub(crate) fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// The decoded elements, as zarrs reads them through the value codecs.
pub(crate) fn read_f32(path: &Path) -> Vec<f32> {
    let array = open(path);
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let bytes = bytes.into_fixed().unwrap();
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_ne_bytes(bytes)).collect()
}
