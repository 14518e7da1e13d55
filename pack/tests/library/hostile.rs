//! Stores of strangers: nothing outside the output is touched, and every job ends.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use recast_pack::{
    CatFormat, GroupJob, Job, MigrateJob, PackJob, SuggestJob, UnpackJob, cat, info,
};
use serde_json::json;
use zip::CompressionMethod;
use zip::write::{FullFileOptions, SimpleFileOptions};

use crate::common::{
    Random, Sample, Trial, contents, create_group, create_v2, one_thread, quarters, told, within,
};

/// Names of entries that lead out of the store, or would on another system.
const TRAPS: [&str; 14] = [
    "../stolen",
    "../../stolen",
    "../in.zarr/zarr.json",
    "a/../../stolen",
    "a/../zarr.json",
    "/stolen",
    "//stolen",
    "a//zarr.json",
    "./stolen",
    "a/./stolen",
    "..\\stolen",
    "a\\stolen",
    "C:\\stolen",
    "c:/stolen",
];

/// A group of one array with chunks.
fn group(place: &Path) {
    create_group(place);
    let codecs = json!([{"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "gzip", "configuration": {"level": 1}}]);
    let sample = Sample::new("float32", &[3, 8], &[3, 4], json!(0)).with("codecs", codecs);
    sample.write(&place.join("a"), &quarters(24));
}

/// Writes a zip file of a folder, with other entries after its own.
pub(crate) fn zip(
    folder: &Path,
    place: &Path,
    method: CompressionMethod,
    others: &[(&str, &[u8])],
) {
    let mut zip = zip::ZipWriter::new(File::create(place).unwrap());
    let options = SimpleFileOptions::default().compression_method(method);
    for (path, bytes) in contents(folder) {
        let name = path.strip_prefix(folder).unwrap_or(&path).to_str().unwrap().to_owned();
        zip.start_file(name, options).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    for (name, bytes) in others {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// All jobs of a group, each to a new place; the outcome of each.
fn all_jobs(input: &Path, output: &Path) -> Vec<(&'static str, Result<(), String>)> {
    let place = |name: &str| output.join(name);
    let pack = GroupJob::from(PackJob::new(input, place("packed"), within(0.01)));
    let runtime = one_thread();
    vec![
        ("info", told(info(input)).map(drop)),
        ("pack", told(pack.run(&runtime)).map(drop)),
        ("unpack", told(UnpackJob::new(input, place("plain")).run(&runtime)).map(drop)),
        ("migrate", told(MigrateJob::new(input, Some(place("migrated"))).run(&runtime)).map(drop)),
        ("suggest", told(SuggestJob::new(input).run_path(&runtime)).map(drop)),
    ]
}

#[test]
fn no_entry_of_a_zip_file_leaves_the_output() {
    for trap in TRAPS {
        let trial = Trial::empty();
        let deep = trial.place("deep");
        fs::create_dir_all(deep.join("out")).unwrap();
        group(&trial.input());
        fs::write(trial.place("stolen"), "mine").unwrap();
        let input = deep.join("in.zip");
        zip(&trial.input(), &input, CompressionMethod::Stored, &[(trap, b"theirs")]);
        let before = contents(trial.path());
        for (job, outcome) in all_jobs(&input, &deep.join("out")) {
            let error = outcome.expect_err(job);
            assert!(error.contains("cannot be the path of a file"), "{job}, {trap}: {error}");
        }
        assert!(contents(trial.path()) == before, "{trap}");
    }
}

#[test]
fn no_name_in_consolidated_metadata_leaves_the_store() {
    for trap in ["../secret", "/secret", "a/../../secret", "a\\b"] {
        let trial = Trial::empty();
        let before = contents(trial.path());
        fs::create_dir(trial.place("out")).unwrap();
        let storage = std::sync::Arc::new(recast_pack::storage::store::MemoryStore::new());
        let document = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata":
            {"kind": "inline", "must_understand": false, "metadata": {trap: {"zarr_format": 3}}}});
        let key = recast_pack::storage::StoreKey::new("zarr.json").unwrap();
        recast_pack::storage::WritableStorageTraits::set(
            &*storage,
            &key,
            document.to_string().into_bytes().into(),
        )
        .unwrap();
        let mount = recast_pack::Mount::read_only(storage, false);
        for (job, outcome) in all_jobs(Path::new(&mount.at("")), &trial.place("out")) {
            let error = outcome.expect_err(job);
            assert!(error.contains("cannot be the path of a file"), "{job}, {trap}: {error}");
        }
        assert_eq!(contents(trial.path()), before, "{trap}");
    }
}

/// Fails if the work takes a minute: it waits for what never comes.
fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    match outcome.recv_timeout(Duration::from_mins(1)) {
        Ok(outcome) => outcome,
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn every_job_on_a_damaged_zip_file_ends() {
    let trial = Trial::empty();
    group(&trial.input());
    let whole = trial.place("whole.zip");
    let mut refused = 0;
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        zip(&trial.input(), &whole, method, &[]);
        let bytes = fs::read(&whole).unwrap();
        let mut random = Random(7);
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            let at = random.below(damaged.len());
            damaged[at] ^= 1 << random.below(8);
            if random.below(8) == 0 {
                damaged.truncate(at);
            }
            let damaged_at = trial.place("damaged.zip");
            fs::write(&damaged_at, damaged).unwrap();
            let output = trial.place("out");
            fs::create_dir_all(&output).unwrap();
            let to = output.clone();
            let outcomes = ends(&format!("byte {at}"), move || all_jobs(&damaged_at, &to));
            for (job, outcome) in outcomes {
                if let Err(error) = outcome {
                    assert!(!error.contains("a bug in recast"), "{job}, byte {at}: {error}");
                    refused += 1;
                }
            }
            fs::remove_dir_all(&output).unwrap();
        }
    }
    assert!(refused > 300, "{refused}");
}

/// Python's zipfile refuses such an entry, too.
#[test]
fn an_entry_that_the_list_names_otherwise_than_its_header_is_refused() {
    let trial = Trial::empty();
    let sample = Sample::new("uint8", &[4], &[2], json!(0));
    sample.write(&trial.input(), &[1, 2, 3, 4]);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let place = trial.place("in.zip");
        zip(&trial.input(), &place, method, &[]);
        assert!(cat(&place, CatFormat::Raw, &one_thread(), &mut Vec::new()).is_ok());
        let mut bytes = fs::read(&place).unwrap();
        // In the list of entries, which is behind all headers, chunk 1 gets another name: of chunk 0, or of no chunk.
        let at = bytes.windows(3).rposition(|name| name == b"c/1").unwrap();
        for name in [b'0', b'7'] {
            bytes[at + 2] = name;
            fs::write(&place, &bytes).unwrap();
            let error = told(cat(&place, CatFormat::Raw, &one_thread(), &mut Vec::new()));
            let error = error.unwrap_err();
            assert!(error.contains("c/") && error.contains("has another name"), "{error}");
        }
    }
}

/// Info-ZIP's extra field 0x7075, which Python's zipfile reads, too.
#[test]
fn a_unicode_path_is_the_name_of_its_entry() {
    for is_in_list_only in [false, true] {
        let trial = Trial::empty();
        let sample = Sample::new("uint8", &[4], &[2], json!(0));
        sample.write(&trial.input(), &[1, 2, 3, 4]);
        let place = trial.place("in.zip");
        let mut zip = zip::ZipWriter::new(File::create(&place).unwrap());
        for (path, bytes) in contents(&trial.input()) {
            let name = path.strip_prefix(trial.input()).unwrap_or(&path).to_str().unwrap();
            let stored = format!("ä/{name}");
            let mut crc = flate2::Crc::new();
            crc.update(stored.as_bytes());
            let unicode_path = format!("größe/{name}");
            let field = [&[1], &crc.sum().to_le_bytes()[..], unicode_path.as_bytes()].concat();
            let mut options =
                FullFileOptions::default().compression_method(CompressionMethod::Stored);
            options.add_extra_field(0x7075, field, is_in_list_only).unwrap();
            zip.start_file(stored, options).unwrap();
            zip.write_all(&bytes).unwrap();
        }
        zip.finish().unwrap();
        let mut found = Vec::new();
        told(cat(place.join("größe"), CatFormat::Raw, &one_thread(), &mut found)).unwrap();
        assert_eq!(found, [1, 2, 3, 4], "{is_in_list_only}");
        // The list is behind the headers.
        let mut bytes = fs::read(&place).unwrap();
        let at = bytes.windows(11).rposition(|name| name == "größe/c/1".as_bytes()).unwrap();
        bytes[at] = b'k';
        fs::write(&place, bytes).unwrap();
        let error = told(cat(place.join("größe"), CatFormat::Raw, &one_thread(), &mut Vec::new()));
        // A path in the list alone has no other one to be compared with.
        if !is_in_list_only {
            assert!(error.unwrap_err().contains("has another name"));
        }
    }
}

/// Programs without Zip64 count entries in 16 bits. Other readers go through the list, so a chunk that is not counted must not
/// become fill values.
#[test]
fn a_zip_file_with_more_entries_than_it_says_is_refused() {
    let trial = Trial::empty();
    group(&trial.input());
    let place = trial.place("in.zip");
    zip(&trial.input(), &place, CompressionMethod::Stored, &[]);
    let whole = fs::read(&place).unwrap();
    let end = whole.len() - 22;
    let all = whole[end + 8];
    for (start, count) in [("", all), ("#!/bin/sh\n", all), ("", all - 1), ("", 1)] {
        let mut bytes = whole.clone();
        for at in [8, 10] {
            bytes[end + at] = count;
        }
        // A zip file may stand behind other bytes.
        fs::write(&place, [start.as_bytes(), &bytes].concat()).unwrap();
        let output = trial.place(&format!("{count} {}", start.len()));
        fs::create_dir(&output).unwrap();
        for (job, outcome) in all_jobs(&place, &output) {
            match outcome {
                Ok(()) => assert_eq!(count, all, "{job}"),
                Err(error) if count == all => assert_eq!(job, "migrate", "{error}"),
                Err(error) => {
                    let says = format!("it says that it has {count} entries, and has more");
                    assert!(error.contains(&says), "{job}: {error}");
                }
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_file_is_an_error_and_nobody_waits_for_it() {
    for name in ["a/c/0/0", "a/zarr.json", "zarr.json", "in.zip"] {
        let trial = Trial::empty();
        group(&trial.input());
        let is_zip = name == "in.zip";
        let pipe = if is_zip { trial.place(name) } else { trial.input().join(name) };
        if !is_zip {
            fs::remove_file(&pipe).unwrap();
        }
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (input, output) = (if is_zip { pipe } else { trial.input() }, trial.place("out"));
        fs::create_dir(&output).unwrap();
        for (job, outcome) in ends(name, move || all_jobs(&input, &output)) {
            if let Err(error) = outcome {
                // That nothing is to be migrated is known before a chunk is read.
                let is_read = job != "migrate" || name != "a/c/0/0";
                let expected = if is_read { "pipe" } else { "nothing to migrate" };
                assert!(error.contains(expected) || is_zip, "{job}, {name}: {error}");
            } else {
                // Information on a group reads no chunk, and suggestions have the error in their report.
                assert!(["info", "suggest"].contains(&job) && name == "a/c/0/0", "{job}, {name}");
            }
        }
    }
}

/// Files of strangers become the caller's: as private as they were, and nobody else's when they run.
#[cfg(unix)]
#[test]
fn copies_are_the_callers_own_files_of_their_own() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let trial = Trial::empty();
    create_v2_group(&trial.input());
    let outside = trial.place("private");
    fs::write(&outside, "mine").unwrap();
    for (name, mode) in [("readme", 0o644), ("program", 0o6755), ("open", 0o666)] {
        let file = trial.input().join(name);
        fs::write(&file, name).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("../private", trial.input().join("link")).unwrap();
    let chunk = trial.input().join("a/0.0");
    fs::rename(&chunk, trial.place("chunk")).unwrap();
    symlink("../../chunk", &chunk).unwrap();
    told(MigrateJob::new(trial.input(), Some(trial.output())).run(&one_thread())).unwrap();
    let mode = |name: &str| {
        let metadata = fs::metadata(trial.output().join(name)).unwrap();
        assert_eq!(metadata.nlink(), 1, "{name} is another name of a file of INPUT, or outside");
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!([mode("program") & 0o7000, mode("readme") & 0o7022, mode("link")], [0, 0, 0o600]);
    mode("open");
    mode("a/c/0/0");
    // What no link leads to may be shared: chunks are not written to.
    let shared = fs::metadata(trial.output().join("a/c/0/1")).unwrap();
    assert_eq!(shared.nlink(), 2);
}

/// A sparse file of any size takes little of the disk that its sender pays for, and no more of the caller's.
#[cfg(target_os = "linux")]
#[test]
fn copies_have_the_holes_of_their_files() {
    use std::os::unix::fs::{FileExt, MetadataExt};
    const SIZE: u64 = 300 << 20;
    let trial = Trial::empty();
    group(&trial.input());
    for (name, at) in [("start", &[0][..]), ("inside", &[100 << 20, 200 << 20]), ("none", &[])] {
        let file = File::create(trial.input().join(name)).unwrap();
        file.set_len(SIZE).unwrap();
        for place in at {
            file.write_all_at(b"written", *place).unwrap();
        }
    }
    File::create(trial.input().join("end")).unwrap().write_all_at(b"written", SIZE - 7).unwrap();
    fs::write(trial.input().join("empty"), "").unwrap();
    let job = GroupJob::from(PackJob::new(trial.input(), trial.output(), within(0.01)));
    told(job.run(&one_thread())).unwrap();
    for name in ["start", "inside", "none", "end", "empty"] {
        let [file, copy] = [trial.input(), trial.output()].map(|place| place.join(name));
        let [metadata, of_copy] = [&file, &copy].map(|path| fs::metadata(path).unwrap());
        assert_eq!(metadata.len(), of_copy.len(), "{name}");
        let [blocks, of_copy] = [metadata.blocks(), of_copy.blocks()];
        assert!(of_copy <= blocks + 64, "{name}: {of_copy} blocks instead of {blocks}");
        for place in [0, 100 << 20, 200 << 20, SIZE - 7] {
            let read = |path| {
                let mut bytes = [0; 7];
                let read = File::open(path).unwrap().read_at(&mut bytes, place).unwrap();
                (read, bytes)
            };
            assert_eq!(read(&file), read(&copy), "{name} at {place}");
        }
    }
}

/// A group of Zarr v2 with one array of two chunks.
fn create_v2_group(place: &Path) {
    create_v2(
        &place.join("a"),
        json!({"shape": [3, 8], "chunks": [3, 4], "dtype": "<f4", "fill_value": 0}),
    );
    fs::write(place.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    for chunk in ["a/0.0", "a/0.1"] {
        fs::write(place.join(chunk), quarters(12)).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_migrated_in_place_through_a_link_that_leads_out() {
    for link in ["linked", "deep/linked"] {
        let trial = Trial::empty();
        create_v2_group(&trial.input());
        create_v2_group(&trial.place("others"));
        let link = trial.input().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(trial.place("others").join("a"), &link).unwrap();
        let before = contents(trial.path());
        let error = told(MigrateJob::new(trial.input(), None).run(&one_thread())).map(drop);
        let error = error.unwrap_err();
        assert!(error.contains("linked") && error.contains("name an OUTPUT"), "{error}");
        assert!(contents(trial.path()) == before, "{error}");
    }
}

#[test]
fn a_document_that_makes_no_node_is_an_error_that_names_the_array() {
    for document in [
        json!({}),
        json!({"zarr_format": 3}),
        json!({"node_type": "array"}),
        json!({"zarr_format": 3, "node_type": "xx"}),
        json!({"zarr_format": 99, "node_type": "group"}),
    ] {
        let trial = Trial::empty();
        group(&trial.input());
        fs::write(trial.input().join("a/zarr.json"), document.to_string()).unwrap();
        fs::create_dir(trial.place("out")).unwrap();
        for (job, outcome) in all_jobs(&trial.input(), &trial.place("out")) {
            let error = outcome.expect_err(job);
            let is_named = error.contains("a: zarr.json: ");
            let member = error.contains("zarr_format") || error.contains("node_type");
            assert!(is_named && member, "{job}, {document}: {error}");
        }
    }
}
