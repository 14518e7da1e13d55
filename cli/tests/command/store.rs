//! Where arrays may lie: zip files, and URLs.

use std::fs;
use std::path::Path;

use crate::common::{Sample, create_group, quarters, recast, zip};
use serde_json::json;

/// A group with an array, and the array's elements.
fn group(folder: &Path) -> Vec<u8> {
    let elements = quarters(60);
    Sample::new("float32", &[6, 10], &[4, 4], json!(0))
        .write(&folder.join("inner/array"), &elements);
    for path in ["", "inner"] {
        create_group(&folder.join(path));
    }
    elements
}

#[test]
fn arrays_and_groups_in_zip_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let elements = group(&folder.path().join("tree"));
    zip(&folder.path().join("tree"), &folder.path().join("tree.zip"));
    let array = place("tree.zip/inner/array");
    assert_eq!(recast(&["cat", &array]).succeeds(), elements);
    assert_eq!(recast(&["cat", &place("tree.zip"), "inner/array"]).succeeds(), elements);
    recast(&["unpack", &place("tree.zip"), &place("plain")]).succeeds();
    recast(&["verify", &place("tree.zip"), &place("plain")]).succeeds();
    let info = String::from_utf8(recast(&["info", &array]).succeeds()).unwrap();
    assert!(info.contains("float32"), "{info}");

    let report = recast(&["pack", "-e", "0.01", "--json", &array, &place("one")]).succeeds();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    // Before the zip file's own compression.
    let unzipped =
        ["pack", "-e", "0.01", "--json", "--dry-run", &place("tree/inner/array"), &place("no")];
    let unzipped: serde_json::Value =
        serde_json::from_slice(&recast(&unzipped).succeeds()).unwrap();
    assert_eq!(report["bytes"]["source_stored"], unzipped["bytes"]["source_stored"]);
    assert_eq!(recast(&["cat", &place("one")]).succeeds(), elements);
    recast(&["pack", "-e", "0.01", &place("tree.zip"), &place("all")]).succeeds();
    assert_eq!(recast(&["cat", &place("all/inner/array")]).succeeds(), elements);

    let error = recast(&["pack", "-e", "1", &array, &place("tree.zip/inner/new")]).fails(1);
    assert!(error.contains("zip files can only be read"), "{error}");
    let error = recast(&["cat", &place("tree.zip/inner/other")]).fails(1);
    assert!(error.contains("tree.zip/inner has no other"), "{error}");
    fs::write(folder.path().join("bad.zip"), "no zip file").unwrap();
    let error = recast(&["cat", &place("bad.zip")]).fails(1);
    assert!(error.contains("not a readable zip file"), "{error}");
}

#[test]
fn what_cannot_be_written_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("tree");
    group(&input);
    let array = input.join("inner/array").display().to_string();
    let archive = folder.path().join("out.zip").display().to_string();
    let mut outputs = vec!["https://example.org/array", &archive];
    if cfg!(not(feature = "object-store")) {
        outputs.extend(["s3://bucket/array", "gs://bucket/array", "az://container/array"]);
    }
    for output in outputs {
        let error = recast(&["pack", "-e", "0.1", &array, output]).fails(1);
        assert!(error.contains("write to a directory"), "{error}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(not(feature = "object-store"))]
#[test]
fn urls_are_refused_with_a_way_out() {
    for url in [
        "s3://bucket/array",
        "gs://bucket/array",
        "az://container/array",
        "http://localhost:1/array",
    ] {
        let error = recast(&["cat", url]).fails(1);
        let text = "this recast cannot read URLs; build it with --features object-store";
        assert!(error.contains(url) && error.contains(text), "{error}");
    }
    // No build reads it.
    let error = recast(&["cat", "ftp://host/array"]).fails(1);
    let text = "ftp:// is not supported; http://, https://, s3://, gs:// and az:// are";
    assert!(error.contains(text) && !error.contains("object-store"), "{error}");
}
