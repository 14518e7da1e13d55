//! What `recast pack` says: before, as a dry run, and after, as a page.

mod common;

use std::fs;

use common::{Folder, Sample, f32s, field, metadata, names, recast};
use serde_json::{Value, json};

fn sample(folder: &Folder) -> Vec<f32> {
    let mut values: Vec<f32> = field(60 * 50).into_iter().map(|value| value as f32).collect();
    values[77] = f32::NAN;
    Sample::new("float32", &[60, 50], &[10, 50], json!("NaN"))
        .write(&folder.input(), &f32s(&values));
    values
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_would_be() {
    let folder = Folder::new();
    sample(&folder);
    let before = names(folder.path());
    let predicted = folder.pack(&["-e", "0.01", "--dry-run"]);
    assert_eq!(names(folder.path()), before);
    let report = folder.pack(&["-e", "0.01"]);
    assert_eq!(predicted["codecs"], metadata(&folder.output())["codecs"]);
    assert_eq!([&predicted["dry_run"], &report["dry_run"]], [true, false]);
    // All six chunks are few enough to try them all, so the prediction is what came.
    assert_eq!(predicted["sampled_chunks"], 6);
    for member in ["bytes", "error", "counts", "data_type", "range"] {
        let mut expected = report[member].clone();
        if member == "bytes" {
            expected["source_stored"] = predicted[member]["source_stored"].clone();
        }
        assert_eq!(predicted[member], expected, "{member}");
    }
    // For people, the codecs are printed as they go into zarr.json.
    let arguments =
        ["pack", &folder.input().display().to_string(), "x.zarr", "-e", "0.01", "--dry-run"];
    let text = String::from_utf8(recast(&arguments).succeeds()).unwrap();
    let (table, codecs) = text.split_once("\n\"codecs\": ").unwrap();
    assert!(table.contains("nothing written"), "{table}");
    assert_eq!(serde_json::from_str::<Value>(codecs).unwrap(), predicted["codecs"]);
}

#[test]
fn the_size_of_an_array_is_predicted_from_some_of_its_chunks() {
    let folder = Folder::new();
    let values: Vec<f32> = field(600 * 40).into_iter().map(|value| value as f32).collect();
    Sample::new("float32", &[600, 40], &[1, 40], json!("NaN"))
        .write(&folder.input(), &f32s(&values));
    let predicted = folder.pack(&["-e", "0.01", "--dry-run"]);
    assert_eq!(predicted["sampled_chunks"], 256);
    let stored = folder.pack(&["-e", "0.01"])["bytes"]["stored"].as_f64().unwrap();
    let ratio = predicted["bytes"]["stored"].as_f64().unwrap() / stored;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

#[test]
fn a_dry_run_finds_what_a_run_would_refuse() {
    let folder = Folder::new();
    sample(&folder);
    let error = folder.refuses(&["-e", "0.001", "-t", "uint8", "--dry-run"]);
    assert!(error.contains("wider --data-type"), "{error}");
    folder.pack(&["-e", "0.01"]);
    let error = folder.refuses(&["-e", "0.01", "--dry-run"]);
    assert!(error.contains("exists"), "{error}");
}

#[test]
fn the_page_needs_nothing_else_and_has_all_plots() {
    let folder = Folder::new();
    sample(&folder);
    let file = folder.path().join("a<b>.html");
    let path = file.display().to_string();
    folder.pack(&["-e", "0.01", "--report", &path]);
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(page.matches("<svg ").count(), 4);
    for caption in ["Values", "Stored values", "Errors", "dimensions 0 (down) and 1 (across)"] {
        assert!(page.contains(caption), "{caption}");
    }
    // The table is that of the command.
    assert!(page.contains("<th scope=\"row\">max error</th>"));
    // Nothing is loaded: the only addresses are the names of the SVG namespace.
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
    assert!(!page.contains("<script") && !page.contains("src="));
    let [input, output] = [folder.input(), folder.output()].map(|path| path.display().to_string());
    let error = recast(&["compare", &input, &output, "--report", &path]).fails(1);
    assert!(error.contains("exists") && error.contains("--overwrite"), "{error}");
    recast(&["compare", &input, &output, "--report", &path, "--overwrite"]).succeeds();
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(page.matches("<svg ").count(), 3);
}

#[test]
fn a_run_that_fails_leaves_no_page() {
    let folder = Folder::new();
    sample(&folder);
    let path = folder.path().join("page.html").display().to_string();
    folder.refuses(&["-e", "0.001", "-t", "uint8", "--report", &path]);
    let inside = folder.path().join("none/page.html").display().to_string();
    let error = folder.refuses(&["-e", "0.01", "--report", &inside]);
    assert!(error.contains("--report"), "{error}");
}

#[test]
fn arrays_of_any_shape_have_a_page() {
    for (shape, chunks, values) in [
        (&[][..], &[][..], vec![3.0_f32]),
        (&[0], &[4], vec![]),
        (&[5], &[2], vec![f32::NAN; 5]),
        (&[300], &[7], field(300).into_iter().map(|value| value as f32).collect()),
        (&[3, 4, 5], &[2, 2, 2], (0..60).map(|i| i as f32 / 7.0).collect()),
    ] {
        let folder = Folder::new();
        Sample::new("float32", shape, chunks, json!("NaN")).write(&folder.input(), &f32s(&values));
        let path = folder.path().join("page.html").display().to_string();
        for target in ["float16", "int32"] {
            folder.pack(&["-e", "0.2", "-t", target, "--report", &path, "--overwrite"]);
            assert_eq!(fs::read_to_string(&path).unwrap().matches("<svg ").count(), 4);
        }
    }
}
