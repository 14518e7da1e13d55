//! What is not packed: arrays of all types that zarr-python writes, files that are not Zarr, links, and names that are not
//! UTF-8.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use recast_pack::storage::byte_range::ByteRangeIterator;
use recast_pack::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
use recast_pack::storage::store::MemoryStore;
use recast_pack::storage::{
    ListableStorageTraits, MaybeBytesIterator, ReadableStorageTraits, StorageError, StoreKey,
    StoreKeys, StoreKeysPrefixes, StorePrefix, WritableStorageTraits,
};
use serde_json::{Value, json};

use crate::common::{
    Sample, Trial, comparison, contents, copy, create_group, create_v2, data, metadata, of_group,
    one_thread, quarters, told, within,
};
use recast_pack::{
    ArrayInfo, CompareJob, GroupJob, Job, MigrateJob, Mount, Runtime, UnpackJob, Visibility, info,
};

fn kinds() -> PathBuf {
    data().join("kinds/kinds.zarr")
}

/// A job that writes a group from one place to another.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Pack,
    Migrate,
    MigrateCopies,
    Reencode,
    InPlace,
}

const WAYS: [Way; 5] = [Way::Pack, Way::Migrate, Way::MigrateCopies, Way::Reencode, Way::InPlace];

impl Way {
    fn run(self, input: &Path, output: &Path) -> Result<(), String> {
        let migrate = MigrateJob::new(input, Some(output.to_owned()));
        let migrate = match self {
            Self::Pack => {
                let job = GroupJob::new(input, output, within(0.01));
                return told(job.run(&one_thread())).map(|_| ());
            }
            Self::Migrate => migrate,
            Self::MigrateCopies => MigrateJob { copy: true, ..migrate },
            Self::Reencode => MigrateJob { reencode: true, ..migrate },
            Self::InPlace => {
                copy(input, output);
                MigrateJob::new(output, None)
            }
        };
        told(migrate.run(&one_thread())).map(|_| ())
    }
}

/// How a group differs from another by more than a tolerance, if it does.
fn difference(a: &Path, b: &Path, atol: f64) -> Option<String> {
    of_group(comparison(a, b, atol).run_path(&one_thread())).unwrap().failure()
}

#[test]
fn every_type_of_zarr_v2_becomes_what_zarr_python_has_for_it_in_zarr_v3() {
    let expected = fs::read(kinds().with_file_name("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    for way in WAYS {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.zarr");
        way.run(&kinds(), &output).unwrap();
        let consolidated = metadata(&output)["consolidated_metadata"]["metadata"].clone();
        for (name, expected) in expected.as_object().unwrap() {
            let document = metadata(&output.join(name));
            assert_eq!(consolidated[name], document, "{way:?}: {name}");
            assert_eq!(document["dimension_names"], json!(["x"]), "{way:?}: {name}");
            assert_eq!(document["data_type"], expected["data_type"], "{way:?}: {name}");
            assert_eq!(document["fill_value"], expected["fill_value"], "{way:?}: {name}");
            let is_packed = way == Way::Pack && name == "field";
            let is_number = ["integers", "field"].contains(&name.as_str());
            if is_packed || (is_number && way == Way::Reencode) {
                continue;
            }
            let mut codecs = expected["codecs"].clone();
            if ["fixed_big", "days", "complex", "integers"].contains(&name.as_str()) {
                codecs[0]["configuration"]["endian"] = "big".into();
            }
            assert_eq!(document["codecs"], codecs, "{way:?}: {name}");
        }
        assert_eq!(difference(&kinds(), &output, 0.01), None, "{way:?}");
        if way == Way::Pack {
            let plain = folder.path().join("plain.zarr");
            told(UnpackJob::new(&output, &plain).run(&one_thread())).unwrap();
            assert_eq!(difference(&output, &plain, 0.01), None);
        }
    }
}

/// A change of metadata.
type Edit = fn(&mut Value);

#[test]
fn groups_are_compared_by_what_readers_get_of_any_type() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.zarr");
    Way::MigrateCopies.run(&kinds(), &output).unwrap();
    assert_eq!(difference(&kinds(), &output, 0.0), None);
    let edits: [(&str, Edit); 6] = [
        ("names", |document| document["codecs"].as_array_mut().unwrap().truncate(1)),
        ("records", |document| document["codecs"].as_array_mut().unwrap().truncate(1)),
        ("bytes", |document| document["fill_value"] = "".into()),
        // The chunk that is not stored reads as the fill value.
        ("blobs", |document| document["fill_value"] = "YQ==".into()),
        ("fixed", |document| {
            document["codecs"][0]["configuration"]["endian"] = "big".into();
        }),
        ("times", |document| {
            document["data_type"]["configuration"]["unit"] = "ms".into();
        }),
    ];
    for (name, edit) in edits {
        let place = output.join(name).join("zarr.json");
        let before = fs::read(&place).unwrap();
        let mut document: Value = serde_json::from_slice(&before).unwrap();
        edit(&mut document);
        fs::write(&place, document.to_string()).unwrap();
        let failure = difference(&kinds(), &output, 0.0).expect(name);
        assert!(failure.contains(name), "{name}: {failure}");
        fs::write(&place, before).unwrap();
    }
    assert_eq!(difference(&kinds(), &output, 0.0), None);
}

/// A group of Zarr v2 or v3 with an array in a folder without a document, and files that are not Zarr.
fn with_more(group: &Path, is_v2: bool) {
    if is_v2 {
        fs::create_dir_all(group).unwrap();
        fs::write(group.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    } else {
        create_group(group);
    }
    for array in ["t", "sub/deeper/u"] {
        let place = group.join(array);
        if is_v2 {
            let members = json!({"shape": [4], "chunks": [4], "dtype": "<f4", "fill_value": 0});
            create_v2(&place, members);
            fs::write(place.join("0"), quarters(4)).unwrap();
        } else {
            Sample::new("float32", &[4], &[4], json!(0)).write(&place, &quarters(4));
        }
    }
    let files = FILES.iter().chain(&[".git/objects/4a", "notes/x.recast-tmp-abcdef/y"]);
    for name in files.chain(&["zarr.json.bak", ".zattrs.bak"]) {
        let place = group.join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, *name).unwrap();
    }
}

const FILES: [&str; 4] = ["README.txt", "OME/METADATA.ome.xml", "notes/a/meta", "sub/attrs"];

/// The paths of the arrays of a group.
fn arrays(group: impl AsRef<Path>) -> Vec<String> {
    let info = of_group(info(group)).unwrap();
    info.arrays.into_iter().map(|one| one.array).collect()
}

#[test]
fn arrays_in_folders_without_documents_and_files_that_are_not_zarr_are_in_every_output() {
    for (is_v2, way) in [false, true].into_iter().flat_map(|v2| WAYS.map(|way| (v2, way))) {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.zarr"), folder.path().join("out.zarr"));
        with_more(&input, is_v2);
        assert_eq!(arrays(&input), ["sub/deeper/u", "t"]);
        if way == Way::InPlace {
            // What another migration has left.
            for name in ["zarr.json.bak", ".zattrs.bak"] {
                fs::remove_file(input.join(name)).unwrap();
            }
        }
        let outcome = way.run(&input, &output);
        if !is_v2 && way != Way::Pack {
            let error = outcome.unwrap_err();
            assert!(error.contains("none of 2 arrays") && error.contains("to migrate"), "{error}");
            continue;
        }
        outcome.unwrap();
        for group in ["", "sub", "sub/deeper"] {
            assert_eq!(metadata(&output.join(group))["node_type"], "group", "{way:?} {group}");
        }
        assert_eq!(difference(&input, &output, 0.01), None);
        let unpacked = folder.path().join("unpacked.zarr");
        told(UnpackJob::new(&output, &unpacked).run(&one_thread())).unwrap();
        for written in [&output, &unpacked] {
            assert_eq!(arrays(written), ["sub/deeper/u", "t"]);
            for name in FILES {
                assert_eq!(fs::read(written.join(name)).unwrap(), name.as_bytes(), "{way:?}");
            }
        }
        let others = ["zarr.json.bak", ".git", "notes/x.recast-tmp-abcdef"];
        assert!(!others.iter().any(|name| unpacked.join(name).exists()));
        fs::remove_dir_all(output.join("sub")).unwrap();
        let failure = difference(&input, &output, 0.01).unwrap();
        assert!(failure.contains("sub/deeper/u"), "{failure}");
    }
}

#[test]
fn a_copy_of_metadata_leads_to_arrays_in_folders_without_documents() {
    let folder = tempfile::tempdir().unwrap();
    with_more(folder.path(), false);
    let storage = MemoryStore::new();
    let set = |key: &str, bytes: Vec<u8>| {
        storage.set(&StoreKey::new(key).unwrap(), bytes.into()).unwrap();
    };
    let mut root = metadata(folder.path());
    for array in ["t", "sub/deeper/u"] {
        let place = folder.path().join(array);
        root["consolidated_metadata"]["metadata"][array] = metadata(&place);
        for name in ["zarr.json", "c/0"] {
            set(&format!("{array}/{name}"), fs::read(place.join(name)).unwrap());
        }
    }
    set("zarr.json", root.to_string().into());
    let mount = Mount::read_only(Arc::new(storage), false);
    assert_eq!(arrays(mount.at("")), ["sub/deeper/u", "t"]);
    let output = folder.path().join("out.zarr");
    told(GroupJob::new(mount.at(""), &output, within(0.01)).run(&one_thread())).unwrap();
    let copies = &metadata(&output)["consolidated_metadata"]["metadata"];
    for path in ["sub", "sub/deeper", "sub/deeper/u", "t"] {
        assert_eq!(copies[path], metadata(&output.join(path)), "{path}");
    }
}

#[test]
fn a_copy_of_metadata_is_read_once_however_many_groups_it_leads_to() {
    let storage = Arc::new(MemoryStore::new());
    let set = |key: &str, document: Value| {
        storage.set(&StoreKey::new(key).unwrap(), document.to_string().into()).unwrap();
    };
    let long = "long ".repeat(10_000);
    let mut root = json!({"zarr_format": 3, "node_type": "group", "attributes": {"title": long}});
    for group in ["a", "a/b", "c", "d"] {
        let document = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
        root["consolidated_metadata"]["metadata"][group] = document.clone();
        set(&format!("{group}/zarr.json"), document);
    }
    set("zarr.json", root);
    let counted = Arc::new(PerformanceMetricsStorageAdapter::new(storage));
    let mount = Mount::read_only(counted.clone(), false);
    assert!(arrays(mount.at("")).is_empty());
    // Twice as the document of a group, and once for the copy.
    assert!(counted.bytes_read() < 4 * long.len(), "{}", counted.bytes_read());
}

/// A storage that notes how much it was asked for at once.
#[derive(Default)]
struct Watched {
    storage: MemoryStore,
    most_at_once: AtomicU64,
}

impl ReadableStorageTraits for Watched {
    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let Some(parts) = self.storage.get_partial_many(key, byte_ranges)? else { return Ok(None) };
        let parts: Vec<_> = parts.collect();
        let all = parts.iter().flatten().map(|part| part.len() as u64).sum();
        self.most_at_once.fetch_max(all, Ordering::Relaxed);
        Ok(Some(Box::new(parts.into_iter())))
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        self.storage.size_key(key)
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl ListableStorageTraits for Watched {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.storage.list()
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        self.storage.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        self.storage.list_dir(prefix)
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        self.storage.size_prefix(prefix)
    }
}

/// Puts everything in a folder into a storage.
fn put(folder: &Path, storage: &MemoryStore) {
    for (path, bytes) in contents(folder) {
        let key = path.strip_prefix(folder).unwrap_or(&path).to_str().unwrap().to_owned();
        storage.set(&StoreKey::new(key).unwrap(), bytes.into()).unwrap();
    }
}

#[test]
fn within_limited_memory_large_values_of_a_storage_are_copied_in_pieces() {
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[8], &[4], json!(0)).write(&trial.input().join("t"), &quarters(8));
    let watched = Arc::new(Watched::default());
    put(&trial.input(), &watched.storage);
    let piece = 16 << 20;
    let sizes = [0, 1, piece - 1, piece, piece + 1, 2 * piece + 5];
    let file = |size: usize| (0..size).map(|at| (at / 1000) as u8).collect::<Vec<u8>>();
    for size in sizes {
        let key = StoreKey::new(format!("file {size}")).unwrap();
        watched.storage.set(&key, file(size).into()).unwrap();
    }
    let mount = Mount::read_only(watched.clone(), true);
    let runtime = Runtime { max_memory: Some(32 << 20), ..one_thread() };
    told(GroupJob::new(mount.at(""), trial.output(), within(0.01)).run(&runtime)).unwrap();
    for size in sizes {
        let copy = fs::read(trial.output().join(format!("file {size}"))).unwrap();
        assert!(copy == file(size), "{size}");
    }
    assert_eq!(watched.most_at_once.load(Ordering::Relaxed), piece as u64);
}

#[test]
fn a_value_that_is_larger_than_the_allowed_memory_is_not_uploaded() {
    let trial = Trial::empty();
    create_group(&trial.input());
    Sample::new("float32", &[8], &[4], json!(0)).write(&trial.input().join("t"), &quarters(8));
    fs::write(trial.input().join("large"), vec![1; 3 << 20]).unwrap();
    let storage = Arc::new(MemoryStore::new());
    let mount = Mount::new(storage.clone(), Visibility::AtOnce);
    let job = GroupJob::new(trial.input(), mount.at("out"), within(0.01));
    let job =
        GroupJob { pack: recast_pack::PackJob { overwrite: true, ..job.pack.clone() }, ..job };
    told(job.run(&one_thread())).unwrap();
    let before = storage.list().unwrap();
    let limited = |most: u64| Runtime { max_memory: Some(most << 20), ..Runtime::default() };
    let error = told(job.run(&limited(2))).map(drop).unwrap_err();
    for part in ["large has 3.0 MiB", "--max-memory 2.0 MiB", "allow more"] {
        assert!(error.contains(part), "{error}");
    }
    // What was there is still there.
    assert_eq!(storage.list().unwrap(), before);
    told(job.run(&limited(4))).unwrap();
}

#[test]
fn a_store_that_takes_no_files_gets_none_and_the_report_names_them() {
    let folder = tempfile::tempdir().unwrap();
    for way in [Way::Pack, Way::Migrate] {
        let input = folder.path().join(format!("{way:?}"));
        with_more(&input, way == Way::Migrate);
        for visibility in [Visibility::AtOnce, Visibility::OnCommit] {
            let storage = Arc::new(MemoryStore::new());
            let mount = Mount::new(storage.clone(), visibility);
            let warnings = if way == Way::Pack {
                let job = GroupJob::new(&input, mount.at("out"), within(0.01));
                of_group(job.run(&one_thread())).unwrap().warnings
            } else {
                let job = MigrateJob::new(&input, Some(mount.at("out").into()));
                of_group(job.run(&one_thread())).unwrap().warnings
            };
            let key = StoreKey::new("out/README.txt").unwrap();
            let is_there = storage.get(&key).unwrap().is_some();
            assert_eq!(is_there, visibility == Visibility::AtOnce);
            assert_eq!(warnings.len(), usize::from(!is_there), "{warnings:?}");
            for warning in warnings {
                assert!(FILES.iter().all(|name| warning.contains(name)), "{warning}");
            }
        }
    }
}

/// A group of Zarr v2 with texts and numbers, and the chunks of both behind links, also to a folder.
#[cfg(unix)]
fn linked(folder: &Path) -> PathBuf {
    use std::os::unix::fs::symlink;

    let group = folder.join("data.zarr");
    copy(&kinds(), &group);
    let annex = folder.join("annex");
    fs::create_dir(&annex).unwrap();
    for name in ["names", "integers", "field"] {
        let chunk = group.join(name).join("0");
        fs::rename(&chunk, annex.join(name)).unwrap();
        symlink(Path::new("../../annex").join(name), &chunk).unwrap();
    }
    fs::rename(group.join("bytes"), folder.join("annex/all bytes")).unwrap();
    symlink("../annex/all bytes", group.join("bytes")).unwrap();
    group
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_what_is_written_does_not_need_them() {
    for way in WAYS.into_iter().filter(|way| *way != Way::InPlace) {
        let folder = tempfile::tempdir().unwrap();
        let group = linked(folder.path());
        let output = folder.path().join("deeper/down/out.zarr");
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        way.run(&group, &output).unwrap();
        for name in contents(&output).keys() {
            assert!(!output.join(name).is_symlink(), "{way:?}: {}", name.display());
        }
        assert_eq!(difference(&kinds(), &output, 0.01), None);
        let moved = folder.path().join("moved.zarr");
        fs::rename(&output, &moved).unwrap();
        fs::remove_dir_all(folder.path().join("annex")).unwrap();
        assert_eq!(difference(&kinds(), &moved, 0.01), None);
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_an_error_that_names_it_and_no_fill_value() {
    for (lost, named) in [("names", "names/0"), ("field", "field/0"), ("all bytes", "bytes")] {
        let folder = tempfile::tempdir().unwrap();
        let group = linked(folder.path());
        let lost = folder.path().join("annex").join(lost);
        if lost.is_dir() {
            fs::remove_dir_all(&lost).unwrap();
        } else {
            fs::remove_file(&lost).unwrap();
        }
        let output = folder.path().join("out.zarr");
        for way in [Way::Pack, Way::Migrate, Way::Reencode] {
            let error = way.run(&group, &output).unwrap_err();
            assert!(error.contains(named) && error.contains("a link to"), "{error}");
            assert!(!output.exists());
        }
        let compared = of_group(CompareJob::new(kinds(), &group).run_path(&one_thread()));
        assert!(compared.map_or_else(Some, |report| report.failure()).is_some());
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_around_it_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let group = folder.path().join("in.zarr");
    copy(&kinds(), &group);
    std::os::unix::fs::symlink("..", group.join("names/again")).unwrap();
    let error = Way::Migrate.run(&group, &folder.path().join("out.zarr")).unwrap_err();
    assert!(error.contains("names/again") && error.contains("which it is in"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_not_utf8_get_a_sentence() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let strange = OsStr::from_bytes(b"caf\xe9.zarr");
    let group = folder.path().join("in.zarr");
    copy(&kinds(), &group);
    copy(&kinds().join("field"), &group.join(strange));
    let output = folder.path().join("out.zarr");
    let error = Way::Migrate.run(&group, &output).unwrap_err();
    assert!(error.contains("not UTF-8") && error.contains("rename it"), "{error}");
    let alone = group.join(strange);
    for outcome in [
        told(ArrayInfo::read(&alone)).map(|_| ()),
        Way::Migrate.run(&alone, &output),
        Way::Migrate.run(&group, &folder.path().join(strange)),
    ] {
        let error = outcome.unwrap_err();
        assert!(error.contains("not UTF-8"), "{error}");
    }
}

/// The last chunk is stored whole, with the fill value of its array beyond the edge.
#[test]
fn what_lies_beyond_the_edge_of_an_array_is_not_compared() {
    let trial = Trial::empty();
    let groups = [trial.input(), trial.output()];
    for (group, fill) in groups.iter().zip([false, true]) {
        create_group(group);
        let sample = Sample::new("bool", &[5], &[4], json!(fill));
        sample.write(&group.join("mask"), &[1, 0, 1, 1, 0]);
    }
    let [a, b] = &groups;
    assert_eq!(difference(a, b, 0.0), None);
}
