//! What is not packed: arrays of all types that zarr-python writes, links, and names that are not UTF-8.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{contents, metadata, recast};

fn kinds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds/kinds.zarr")
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        let place = to.join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, bytes).unwrap();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

const PACK: &[&str] = &["pack", "-e", "0.01"];
const COMMANDS: [&[&str]; 5] = [
    PACK,
    &["migrate"],
    &["migrate", "--copy"],
    &["migrate", "--reencode"],
    &["migrate", "--in-place"],
];

/// Runs a command that writes from one place to another; the report.
fn perform(command: &[&str], input: &Path, output: &Path) -> Value {
    let mut arguments = [command, &["--json"]].concat();
    if command.contains(&"--in-place") {
        copy(input, output);
    } else {
        arguments.push(text(input));
    }
    arguments.push(text(output));
    serde_json::from_slice(&recast(&arguments).succeeds()).unwrap()
}

#[test]
fn every_type_of_zarr_v2_becomes_what_zarr_python_has_for_it_in_zarr_v3() {
    let expected = fs::read(kinds().with_file_name("expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    for command in COMMANDS {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.zarr");
        perform(command, &kinds(), &output);
        let consolidated = metadata(&output)["consolidated_metadata"]["metadata"].clone();
        for (name, expected) in expected.as_object().unwrap() {
            let document = metadata(&output.join(name));
            assert_eq!(consolidated[name], document, "{command:?}: {name}");
            assert_eq!(document["dimension_names"], json!(["x"]), "{command:?}: {name}");
            assert_eq!(document["data_type"], expected["data_type"], "{command:?}: {name}");
            assert_eq!(document["fill_value"], expected["fill_value"], "{command:?}: {name}");
            let is_packed = command == PACK && name == "field";
            let is_number = ["integers", "field"].contains(&name.as_str());
            if is_packed || (is_number && command.contains(&"--reencode")) {
                continue;
            }
            let mut codecs = expected["codecs"].clone();
            if ["fixed_big", "days", "complex", "integers"].contains(&name.as_str()) {
                codecs[0]["configuration"]["endian"] = "big".into();
            }
            assert_eq!(document["codecs"], codecs, "{command:?}: {name}");
        }
        recast(&["verify", "--atol", "0.01", text(&kinds()), text(&output)]).succeeds();
        if command == PACK {
            let plain = folder.path().join("plain.zarr");
            recast(&["unpack", text(&output), text(&plain)]).succeeds();
            recast(&["verify", "--atol", "0.01", text(&output), text(&plain)]).succeeds();
        }
    }
}

/// A change of metadata.
type Edit = fn(&mut Value);

#[test]
fn verify_compares_what_readers_get_of_any_type() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.zarr");
    perform(&["migrate", "--copy"], &kinds(), &output);
    let verify = || recast(&["verify", "--atol", "0", text(&kinds()), text(&output)]);
    verify().succeeds();
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
        let error = verify().fails(1);
        assert!(error.contains(name), "{name}: {error}");
        fs::write(&place, before).unwrap();
    }
    verify().succeeds();
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
    for command in COMMANDS.iter().filter(|command| !command.contains(&"--in-place")) {
        let folder = tempfile::tempdir().unwrap();
        let group = linked(folder.path());
        let output = folder.path().join("deeper/down/out.zarr");
        fs::create_dir_all(output.parent().unwrap()).unwrap();
        perform(command, &group, &output);
        for name in contents(&output).keys() {
            assert!(!output.join(name).is_symlink(), "{command:?}: {}", name.display());
        }
        recast(&["verify", "--atol", "0.01", text(&kinds()), text(&output)]).succeeds();
        let moved = folder.path().join("moved.zarr");
        fs::rename(&output, &moved).unwrap();
        fs::remove_dir_all(folder.path().join("annex")).unwrap();
        recast(&["verify", "--atol", "0.01", text(&kinds()), text(&moved)]).succeeds();
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
        for command in [PACK, &["migrate"], &["migrate", "--reencode"]] {
            let arguments = [command, &[text(&group), text(&output)]].concat();
            let error = recast(&arguments).fails(1);
            assert!(error.contains(named) && error.contains("a link to"), "{error}");
            assert!(!output.exists());
        }
        recast(&["verify", "--atol", "1", text(&kinds()), text(&group)]).fails(1);
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_around_it_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let group = folder.path().join("in.zarr");
    copy(&kinds(), &group);
    std::os::unix::fs::symlink("..", group.join("names/again")).unwrap();
    let output = folder.path().join("out.zarr");
    let error = recast(&["migrate", text(&group), text(&output)]).fails(1);
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
    let error = recast(&["migrate", text(&group), text(&output)]).fails(1);
    assert!(error.contains("not UTF-8") && error.contains("rename it"), "{error}");
    let alone = group.join(strange);
    for arguments in [
        [OsStr::new("info"), alone.as_os_str()].as_slice(),
        &[OsStr::new("migrate"), alone.as_os_str(), output.as_os_str()],
        &[OsStr::new("migrate"), group.as_os_str(), folder.path().join(strange).as_os_str()],
    ] {
        let error = recast(arguments).fails(1);
        assert!(error.contains("not UTF-8") && !error.contains("panicked"), "{error}");
    }
}
