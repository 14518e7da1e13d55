//! Arrays on the filesystem for tests, and what became of them. The tests of the command have it, too.

#![allow(dead_code)] // each test file uses its part

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar};
use recast_pack::{
    AllClose, ArrayOutcome, ArrayReport, CatFormat, CompareJob, GroupJob, GroupReport, Job,
    Outcome, PackJob, PackOptions, PackReport, PathReport, Runtime, UnpackJob, cat,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use zarrs::array::{Array, ArrayBytes};
use zarrs::filesystem::FilesystemStore;

/// A folder with an array or a group to pack, and what it is packed as.
pub(crate) struct Trial {
    folder: TempDir,
}

impl Trial {
    /// A folder without an array.
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// An array with these elements, in native byte order.
    pub(crate) fn of(sample: &Sample, elements: &[u8]) -> Self {
        let trial = Self::empty();
        sample.write(&trial.input(), elements);
        trial
    }

    /// An array of one dimension with these members of its metadata.
    #[allow(clippy::needless_pass_by_value)] // what callers write with json!
    pub(crate) fn new<T: Copy + Into<Scalar>>(values: &[T], chunk: usize, more: Value) -> Self {
        let element_type =
            values.first().map_or(ElementType::Float32, |&one| one.into().element_type());
        let (count, chunk) = (values.len() as u64, chunk as u64);
        let mut sample = Sample::new(element_type.name(), &[count], &[chunk], json!(0));
        for (name, value) in more.as_object().unwrap() {
            sample = sample.with(name, value.clone());
        }
        Self::of(&sample, &bytes(values))
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn input(&self) -> PathBuf {
        self.place("in.zarr")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.place("out.zarr")
    }

    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn job(&self, options: PackOptions) -> PackJob {
        PackJob { overwrite: true, ..PackJob::new(self.input(), self.output(), options) }
    }

    pub(crate) fn pack(&self, options: PackOptions) -> Result<PackReport, String> {
        told(self.job(options).run(&one_thread()))
    }

    /// Packs, which fails and leaves nothing behind.
    pub(crate) fn refuses(&self, options: PackOptions) -> String {
        let before = contents(self.path());
        let error = self.pack(options).map(|report| report.codecs).unwrap_err();
        assert!(contents(self.path()) == before, "{error}");
        error
    }

    pub(crate) fn group_job(&self, options: PackOptions) -> GroupJob {
        self.job(options).into()
    }

    /// What the packed array decodes to, as it lies in memory.
    pub(crate) fn decoded(&self) -> Vec<u8> {
        read(&self.output())
    }

    pub(crate) fn metadata(&self) -> Value {
        metadata(&self.output())
    }
}

/// A float32 array of these values; chunks have a fifth of them.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
pub(crate) fn trial(values: &[f32], fill: Value) -> Trial {
    Trial::new(values, values.len().div_ceil(5).max(1), json!({"fill_value": fill}))
}

/// The metadata of an array of Zarr v3.
pub(crate) struct Sample {
    pub(crate) metadata: Value,
}

impl Sample {
    /// An array of this type, little-endian and not compressed.
    #[allow(clippy::needless_pass_by_value)] // json!(…) makes a value
    pub(crate) fn new(data_type: &str, shape: &[u64], chunks: &[u64], fill: Value) -> Self {
        let metadata = json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [little_endian()],
            "fill_value": fill,
        });
        Self { metadata }
    }

    /// Sets a member of the metadata.
    pub(crate) fn with(mut self, member: &str, value: Value) -> Self {
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
        self.create_metadata(path);
        open(path)
    }

    /// Writes the metadata, which zarrs may not accept.
    pub(crate) fn create_metadata(&self, path: &Path) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("zarr.json"), self.metadata.to_string()).unwrap();
    }
}

/// The codec `bytes`.
pub(crate) fn little_endian() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

/// The codec of numcodecs that stores quarters as integers of a type.
pub(crate) fn quarters_as(astype: &str) -> Value {
    json!({"name": "numcodecs.fixedscaleoffset", "configuration": {
        "scale": 4.0, "offset": 0.0, "dtype": "<f4", "astype": astype}})
}

/// The codec of shards whose parts have this shape and these codecs, with the index at the end.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
pub(crate) fn sharding(chunk_shape: &[u64], codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {
        "chunk_shape": chunk_shape, "codecs": codecs,
        "index_codecs": [little_endian(), {"name": "crc32c"}], "index_location": "end",
    }})
}

/// Writes the metadata of an array of Zarr v2 with these members, in C order and not compressed.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
pub(crate) fn create_v2(path: &Path, members: Value) {
    fs::create_dir_all(path).unwrap();
    let mut document = json!({"zarr_format": 2, "order": "C", "compressor": null, "filters": null});
    document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    fs::write(path.join(".zarray"), document.to_string()).unwrap();
}

/// An array of two texts, for which no job has numbers.
pub(crate) fn create_texts(path: &Path) {
    Sample::new("string", &[2], &[2], json!(""))
        .with("codecs", json!([{"name": "vlen-utf8"}]))
        .with("attributes", json!({}))
        .create_metadata(path);
    fs::create_dir(path.join("c")).unwrap();
    fs::write(path.join("c/0"), b"\x02\0\0\0\x01\0\0\0a\x01\0\0\0b").unwrap();
}

/// Makes a group of Zarr v3.
pub(crate) fn create_group(path: &Path) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
}

pub(crate) fn one_thread() -> Runtime {
    Runtime { threads: Some(1), ..Runtime::default() }
}

/// The largest allowed error.
pub(crate) fn within(bound: f64) -> PackOptions {
    PackOptions { max_abs_error: Some(bound), ..PackOptions::default() }
}

/// The largest allowed error, as a part of each value.
pub(crate) fn relative(bound: f64) -> PackOptions {
    PackOptions { max_rel_error: Some(bound), ..PackOptions::default() }
}

/// Options by their names, as in `recast.toml`.
pub(crate) fn options(json: Value) -> PackOptions {
    serde_json::from_value(json).unwrap()
}

/// The outcome of a job, or what the command says of it.
pub(crate) fn told<T>(outcome: Result<T, recast_pack::Error>) -> Result<T, String> {
    outcome.map_err(text)
}

/// As [`told`], of a job on a group.
pub(crate) fn of_group<A, G>(
    outcome: Result<PathReport<A, G>, recast_pack::Error>,
) -> Result<G, String> {
    told(outcome).map(|report| report.group().unwrap())
}

/// The job that writes an array with CF's attributes.
pub(crate) fn to_cf(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> UnpackJob {
    UnpackJob { to_cf: true, ..UnpackJob::new(input, output) }
}

/// The job that makes codecs of CF's attributes.
pub(crate) fn from_cf(input: impl Into<PathBuf>, output: impl Into<PathBuf>) -> GroupJob {
    let options = PackOptions { from_cf: true, ..PackOptions::default() };
    GroupJob::new(input, output, options)
}

/// An error with its causes.
pub(crate) fn text(error: recast_pack::Error) -> String {
    format!("{:#}", anyhow::Error::from(error))
}

/// The comparison of two arrays or groups, which may differ by so much.
pub(crate) fn comparison(a: &Path, b: &Path, atol: impl Into<Option<f64>>) -> CompareJob {
    let tolerance = atol.into().map(|atol| AllClose { atol, rtol: 0.0 });
    CompareJob { tolerance, ..CompareJob::new(a, b) }
}

/// The reports of the arrays of a group that were packed, but not from CF.
pub(crate) fn reports(report: &GroupReport<ArrayReport>) -> Vec<&PackReport> {
    let reports = report.arrays.iter().filter_map(|one| match one.report()? {
        ArrayReport::Packed(report) => Some(report),
        ArrayReport::FromCf(_) => None,
    });
    reports.collect()
}

/// The arrays of a group that were packed.
pub(crate) fn packed(report: &GroupReport<ArrayReport>) -> Vec<&str> {
    done(&report.arrays)
}

/// The arrays of a group that a job did its work on.
pub(crate) fn done<R>(arrays: &[ArrayOutcome<R>]) -> Vec<&str> {
    arrays.iter().filter(|one| one.report().is_some()).map(|one| one.array.as_str()).collect()
}

/// The arrays of a group that a job failed on.
pub(crate) fn failed<R>(arrays: &[ArrayOutcome<R>]) -> Vec<&str> {
    let failed = arrays.iter().filter(|one| matches!(one.outcome, Outcome::Failed { .. }));
    failed.map(|one| one.array.as_str()).collect()
}

/// The arrays of a group that a job is not for.
pub(crate) fn kept<R>(arrays: &[ArrayOutcome<R>]) -> Vec<&str> {
    let kept = arrays.iter().filter(|one| matches!(one.outcome, Outcome::Kept { .. }));
    kept.map(|one| one.array.as_str()).collect()
}

/// An array of a group.
pub(crate) fn outcome<'a, R>(arrays: &'a [ArrayOutcome<R>], array: &str) -> &'a ArrayOutcome<R> {
    arrays.iter().find(|one| one.array == array).unwrap()
}

pub(crate) fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// The ends of a range.
pub(crate) fn numbers(range: Option<(Scalar, Scalar)>) -> (f64, f64) {
    let (least, greatest) = range.unwrap();
    (least.to_f64(), greatest.to_f64())
}

/// Elements in native byte order.
pub(crate) fn bytes<T: Copy + Into<Scalar>>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|&value| value.into().to_ne_bytes()).collect()
}

/// The elements of a type that are nearest to numbers, in native byte order.
pub(crate) fn elements(numbers: &[f64], element_type: ElementType) -> Vec<u8> {
    numbers.iter().flat_map(|&number| element(number, element_type).to_ne_bytes()).collect()
}

/// The element of a type that is nearest to a number.
pub(crate) fn element(number: f64, element_type: ElementType) -> Scalar {
    Scalar::from(number).cast(element_type, Rounding::NearestEven, OutOfRange::Clamp).unwrap()
}

/// Elements in native byte order, read.
pub(crate) fn scalars(bytes: &[u8], element_type: ElementType) -> Vec<Scalar> {
    let elements = bytes.chunks_exact(element_type.size());
    elements.map(|one| Scalar::from_ne_bytes(element_type, one).unwrap()).collect()
}

pub(crate) fn f64s(bytes: &[u8], element_type: ElementType) -> Vec<f64> {
    scalars(bytes, element_type).into_iter().map(Scalar::to_f64).collect()
}

pub(crate) fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&one| f32::from_ne_bytes(one)).collect()
}

/// Each value is within the bound; NaN is so of NaN.
pub(crate) fn assert_within(bound: f64, before: &[f32], after: &[f32]) {
    assert_eq!(before.len(), after.len());
    for (index, (&before, &after)) in before.iter().zip(after).enumerate() {
        let error = (f64::from(before) - f64::from(after)).abs();
        let is_nan = before.is_nan() && after.is_nan();
        assert!(error <= bound || is_nan, "element {index}: {before} {after}, bound {bound}");
    }
}

/// Opens an array with zarrs.
pub(crate) fn open(path: &Path) -> Array<FilesystemStore> {
    zarrs_recast::register();
    Array::open(Arc::new(FilesystemStore::new(path).unwrap()), "/").unwrap()
}

/// Writes elements into an array from a place on; the array grows where they lie beyond it.
pub(crate) fn store(path: &Path, start: u64, elements: &[u8]) {
    let mut array = open(path);
    let end = start + (elements.len() / array.data_type().fixed_size().unwrap()) as u64;
    if array.shape()[0] < end {
        array.set_shape(vec![end]).unwrap();
        array.store_metadata().unwrap();
    }
    #[allow(clippy::single_range_in_vec_init)] // one dimension
    array.store_array_subset(&[start..end], ArrayBytes::new_flen(elements)).unwrap();
}

/// The elements of an array, as `recast cat` gives them.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    cat(path, CatFormat::Raw, &one_thread(), &mut bytes).unwrap();
    bytes
}

/// The elements of an array, as zarrs reads them through the value codecs.
pub(crate) fn read_by_zarrs(path: &Path) -> Vec<u8> {
    let array = open(path);
    let bytes: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    bytes.into_fixed().unwrap().into_owned()
}

/// As [`read_by_zarrs`].
pub(crate) fn read_f32(path: &Path) -> Vec<f32> {
    f32s(&read_by_zarrs(path))
}

/// The metadata document of an array or a group.
pub(crate) fn metadata(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap()
}

/// A codec's configuration in a metadata document.
pub(crate) fn configuration<'a>(metadata: &'a Value, name: &str) -> Option<&'a Value> {
    let codecs = metadata["codecs"].as_array().unwrap();
    Some(&codecs.iter().find(|codec| codec["name"] == name)?["configuration"])
}

/// The names of codecs.
pub(crate) fn codec_names(codecs: &Value) -> Vec<&str> {
    codecs.as_array().unwrap().iter().map(|codec| codec["name"].as_str().unwrap()).collect()
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
    integers(&bytes.into_fixed().unwrap(), &name)
}

/// Elements of an integer type, in native byte order.
pub(crate) fn integers(bytes: &[u8], data_type: &str) -> Vec<i64> {
    let scalars = scalars(bytes, data_type.parse().unwrap());
    scalars.into_iter().map(|one| one.to_string().parse().unwrap()).collect()
}

/// The code of the fill value, if a map of the last cast has one; chunks that are not stored hold it.
fn code_of_fill(document: &Value) -> i64 {
    let cast = configuration(document, "cast_value").unwrap();
    let nan = cast["scalar_map"]["encode"].as_array().into_iter().flatten();
    let nan = nan.filter(|pair| pair[0] == document["fill_value"]).map(|pair| pair[1].as_i64());
    nan.flatten().next().unwrap_or(0)
}

/// All files below a folder, with their paths in it.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(folder).unwrap().to_owned();
        if path.is_dir() {
            let below = contents(&path);
            files.extend(below.into_iter().map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// The files of an array of Zarr v3 but its metadata.
pub(crate) fn chunks(array: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = contents(array);
    files.remove(Path::new("zarr.json")).unwrap();
    files
}

pub(crate) fn copy(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        let place = to.join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Whether a directory is there and has an entry.
pub(crate) fn holds_something(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// The repository, for what other folders of it have.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Arrays that xarray and zarr-python wrote for these tests.
pub(crate) fn data() -> PathBuf {
    repository().join("pack/tests/data")
}

/// Values that are multiples of a quarter.
pub(crate) fn quarters(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (i as f32 / 4.0).to_ne_bytes()).collect()
}

/// Numbers that look random, the same in every run, from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Below 1.
    pub(crate) fn number(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.number() * most as f64) as usize
    }

    pub(crate) fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Waves and noise around a mean.
pub(crate) fn waves(count: usize, mean: f32, extent: f32) -> Vec<f32> {
    let mut random = Random(9);
    let wave = |index: usize| {
        let noise = random.number() as f32 - 0.5;
        mean + extent * (0.4 * (index as f32 * 0.01).sin() + 0.2 * noise)
    };
    (0..count).map(wave).collect()
}

/// Numbers below 1 from a number: the golden ratio's multiples.
pub(crate) fn fraction(n: u32) -> f64 {
    (f64::from(n) * 0.618_033_988_749_894_9).fract()
}

/// A reproducible stand-in for measured values: waves, a slope, and noise.
pub(crate) fn field(count: usize) -> Vec<f64> {
    let mut random = Random(12_345);
    let value = |i| 288.7 + 11.3 * (i as f64 * 0.013).sin() + 1e-3 * i as f64 + random.number();
    (0..count).map(value).collect()
}

/// The same as float32.
pub(crate) fn kelvin(count: usize) -> Vec<f32> {
    field(count).into_iter().map(|value| value as f32).collect()
}

/// A group as weather models write it: two fields, their coordinates, flags, and a group below.
pub(crate) fn weather(root: &Path) {
    let array = |path: &str, data_type: &str, shape: &[u64], names: &Value, attributes: Value| {
        let count = shape.iter().product::<u64>() as usize;
        let elements = match data_type {
            "float32" => quarters(count),
            _ => vec![1; count],
        };
        Sample::new(data_type, shape, shape, json!(0))
            .with("dimension_names", names.clone())
            .with("attributes", attributes)
            .write(&root.join(path), &elements);
    };
    let plane = json!(["time", "lat"]);
    let field = json!({"units": "K", "coordinates": "height lon"});
    array("t2m", "float32", &[3, 4], &plane, field);
    array("wind", "float32", &[3, 4], &plane, json!({}));
    array("flag", "uint8", &[3, 4], &plane, json!({}));
    array("lat", "float32", &[4], &json!(["lat"]), json!({"bounds": "lat_bounds"}));
    array("lat_bounds", "float32", &[4, 2], &json!(["lat", null]), json!({}));
    array("lon", "float32", &[3, 4], &plane, json!({}));
    array("deep/t2m", "float32", &[3, 4], &plane, json!({}));
    create_group(&root.join("deep"));
    let mut group = json!({
        "zarr_format": 3, "node_type": "group", "attributes": {"title": "weather"},
    });
    let mut copies = serde_json::Map::new();
    for path in ["t2m", "wind", "flag", "lat", "lat_bounds", "lon", "deep", "deep/t2m"] {
        copies.insert(path.to_owned(), metadata(&root.join(path)));
    }
    group["consolidated_metadata"] =
        json!({"kind": "inline", "must_understand": false, "metadata": copies});
    fs::write(root.join("zarr.json"), group.to_string()).unwrap();
}

/// The elements of an `.npy` file in C order, and its header.
pub(crate) fn npy(path: &Path) -> (Vec<u8>, String) {
    let bytes = fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00", "{}", path.display());
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8(bytes[10..start].to_vec()).unwrap();
    (bytes[start..].to_vec(), header)
}
