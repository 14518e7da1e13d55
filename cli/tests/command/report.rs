//! Dry runs and pages of `recast pack`.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::time::SystemTime;

use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::common::{self, Folder, Sample, f32s, field, metadata, names, recast};
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
    assert_eq!(page.matches("<svg ").count(), 6);
    for caption in [
        "<figcaption>Before</figcaption>",
        "<figcaption>After</figcaption>",
        "<figcaption>Largest |decoded − original| over dimension 0 (down) and dimension 1 (across)<",
        "<figcaption>Values</figcaption>",
        "<figcaption>Stored values</figcaption>",
        "<figcaption>Errors: decoded − original</figcaption>",
    ] {
        assert!(page.contains(caption), "{caption}");
    }
    // The table is that of the command, with all that it can say.
    for label in ["max error", "RMSE"] {
        assert!(page.contains(&format!("<th scope=\"row\">{label}</th>")), "{label}");
    }
    let page = without_pictures(&page);
    // Nothing is loaded: the only addresses are the names of the SVG namespace.
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
    assert!(!page.contains("<script") && !page.contains("src="));
    let [input, output] = [folder.input(), folder.output()].map(|path| path.display().to_string());
    let error = recast(&["compare", &input, &output, "--report", &path]).fails(1);
    assert!(error.contains("exists") && error.contains("--overwrite"), "{error}");
    recast(&["compare", &input, &output, "--report", &path, "--overwrite"]).succeeds();
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(page.matches("<svg ").count(), 5);
}

/// A page without the data of its pictures.
fn without_pictures(page: &str) -> String {
    let mut parts = page.split("data:image/png;base64,");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        text.push_str(part.split_once('"').unwrap().1);
    }
    text
}

/// The pictures of a page: extents, and the index of the colour of each pixel; 0 is clear.
fn pictures(page: &str) -> Vec<([u32; 2], Vec<u8>)> {
    let data = page.split("data:image/png;base64,").skip(1);
    let decode = |data: &str| {
        let data = BASE64_STANDARD.decode(data.split_once('"').unwrap().0).unwrap();
        let mut reader = png::Decoder::new(Cursor::new(data)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!(info.color_type, png::ColorType::Indexed);
        ([info.width, info.height], pixels)
    };
    data.map(decode).collect()
}

#[test]
fn the_data_before_and_after_are_maps_on_one_scale() {
    let folder = Folder::new();
    let mut values: Vec<f32> = (0..20).map(|i| i as f32).collect();
    values[7] = f32::NAN;
    Sample::new("float32", &[4, 5], &[2, 5], json!("NaN")).write(&folder.input(), &f32s(&values));
    let path = folder.path().join("page.html").display().to_string();
    // Multiples of 8: the largest value becomes 16, the scale ends with 19 for both.
    folder.pack(&["--precision", "8", "--report", &path]);
    let page = fs::read_to_string(&path).unwrap();
    let pictures = pictures(&page);
    let [before, after, errors] = pictures.as_slice() else { panic!("{} maps", pictures.len()) };
    let decoded = common::read_f32(&folder.output());
    let colour = |value: f32, most: f32| {
        if value.is_nan() { 0 } else { 1 + (value / most * 254.0).round() as u8 }
    };
    assert_eq!([before.0, after.0, errors.0], [[5, 4]; 3]);
    assert!(before.1.iter().zip(&values).all(|(&pixel, &value)| pixel == colour(value, 19.0)));
    assert!(after.1.iter().zip(&decoded).all(|(&pixel, &value)| pixel == colour(value, 19.0)));
    let largest = values.iter().zip(&decoded).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    for (index, &pixel) in errors.1.iter().enumerate() {
        assert_eq!(pixel, colour((values[index] - decoded[index]).abs(), largest), "{index}");
    }
}

#[test]
fn a_page_says_of_what_it_is() {
    let folder = Folder::new();
    Sample::new("float32", &[3, 4, 5], &[3, 4, 5], json!("NaN"))
        .with("dimension_names", json!(["time", "lat", "a \"<b>\""]))
        .with("attributes", json!({"units": "kg m-2 s-1"}))
        .write(&folder.input(), &f32s(&(0..60).map(|i| i as f32 / 7.0).collect::<Vec<f32>>()));
    let path = folder.path().join("the page.html").display().to_string();
    let seconds = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let start = seconds();
    folder.pack(&["-e", "0.01", "--report", &path]);
    let end = seconds();
    let page = fs::read_to_string(&path).unwrap();
    let name = "a &quot;&lt;b&gt;&quot;";
    assert!(page.contains(&format!("over lat (down) and {name} (across)")), "{page}");
    assert!(
        page.contains("<figcaption>Before (kg m-2 s-1), at index 1 of time</figcaption>"),
        "{page}"
    );
    assert!(page.contains("value (kg m-2 s-1)"));
    let command = page.split("<code>").nth(1).unwrap().split("</code>").next().unwrap();
    let input = folder.input().display().to_string();
    assert!(command.contains(&format!("recast pack {input} ")), "{command}");
    assert!(command.ends_with(&format!("-e 0.01 --report '{path}' --json")), "{command}");
    let date = page.split("<th scope=\"row\">date</th><td>").nth(1).unwrap();
    let date = humantime::parse_rfc3339(date.split('<').next().unwrap()).unwrap();
    let date = date.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!((start..=end).contains(&date), "{start} {date} {end}");
}

/// The most bytes that a page may have.
const MOST: u64 = 300_000;

#[test]
fn pages_stay_small_whatever_the_array() {
    let size = |path: &str| fs::metadata(path).unwrap().len();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::new();
    let path = folder.path().join("page.html").display().to_string();
    for (name, flags) in [
        ("../examples/data/oisst_sst.zarr", &["-e", "0.005"][..]),
        ("tests/data/cf/anom_xarray.zarr", &["-e", "0.005"]),
        ("tests/data/cf/reflectivity_xarray.zarr", &["-e", "0.05"]),
        ("tests/data/cf/reflectivity_packed.zarr", &["--from-cf"]),
    ] {
        let input = manifest.join(name).display().to_string();
        let output = folder.output().display().to_string();
        let arguments = ["pack", &input, &output, "--overwrite", "--report", &path];
        recast(&[&arguments[..], flags].concat()).succeeds();
        assert!(size(&path) < MOST, "{name}: {}", size(&path));
    }
    // Noise is what compresses worst, in two dimensions and in one.
    let noise: Vec<f32> =
        field(1_000_000).iter().map(|value| (value * 1e4).fract() as f32).collect();
    for (shape, chunk) in [(&[800, 1250][..], &[400, 1250][..]), (&[1_000_000], &[250_000])] {
        Sample::new("float32", shape, chunk, json!("NaN")).write(&folder.input(), &f32s(&noise));
        folder.pack(&["-e", "0.001", "--overwrite", "--report", &path]);
        assert!((50_000..MOST).contains(&size(&path)) || shape.len() == 1, "{}", size(&path));
        assert!(size(&path) < MOST, "{shape:?}: {}", size(&path));
        fs::remove_dir_all(folder.input()).unwrap();
    }
    // A group of many says which figures are left out.
    fs::create_dir(folder.input()).unwrap();
    fs::write(folder.input().join("zarr.json"), r#"{"zarr_format": 3, "node_type": "group"}"#)
        .unwrap();
    for index in 0..9 {
        Sample::new("float32", &[200, 250], &[200, 250], json!("NaN"))
            .write(&folder.input().join(format!("a{index}")), &f32s(&noise[..50_000]));
    }
    fs::remove_dir_all(folder.output()).unwrap();
    folder.pack(&["-e", "0.001", "--overwrite", "--report", &path]);
    assert!(size(&path) < MOST, "{}", size(&path));
    let page = fs::read_to_string(&path).unwrap();
    assert_eq!(page.matches("<h2>").count(), 9);
    assert!(page.contains("left out, as the page would be too large"));
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
            assert_eq!(fs::read_to_string(&path).unwrap().matches("<svg ").count(), 6);
        }
    }
}
