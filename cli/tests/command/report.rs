//! Pages of `recast pack`.

use std::fs;
use std::io::Cursor;
use std::time::SystemTime;

use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::common::{
    Sample, Trial, bytes, create_group, data, field, kelvin, path, read_f32, recast, repository,
};
use serde_json::json;

fn trial() -> Trial {
    let mut values = kelvin(60 * 50);
    values[77] = f32::NAN;
    let sample = Sample::new("float32", &[60, 50], &[10, 50], json!("NaN"));
    Trial::of(&sample, &bytes(&values))
}

#[test]
fn the_page_needs_nothing_else_and_has_all_plots() {
    let trial = trial();
    let file = trial.place("a<b>.html");
    let path = path(&file);
    trial.packs(&["-e", "0.01", "--report", &path]);
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
    let [input, output] = trial.places();
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
    let mut values: Vec<f32> = (0..20).map(|i| i as f32).collect();
    values[7] = f32::NAN;
    let sample = Sample::new("float32", &[4, 5], &[2, 5], json!("NaN"));
    let trial = Trial::of(&sample, &bytes(&values));
    let path = path(&trial.place("page.html"));
    // Multiples of 8: the largest value becomes 16, the scale ends with 19 for both.
    trial.packs(&["--precision", "8", "--report", &path]);
    let page = fs::read_to_string(&path).unwrap();
    let pictures = pictures(&page);
    let [before, after, errors] = pictures.as_slice() else { panic!("{} maps", pictures.len()) };
    let decoded = read_f32(&trial.output());
    let colour = |value: f32, most: f32| {
        if value.is_nan() { 0 } else { 1 + (value / most * 254.0).round() as u8 }
    };
    assert_eq!([before.0, after.0, errors.0], [[5, 4]; 3]);
    assert!(before.1.iter().zip(&values).all(|(&pixel, &value)| pixel == colour(value, 19.0)));
    assert!(after.1.iter().zip(&decoded).all(|(&pixel, &value)| pixel == colour(value, 19.0)));
    // Errors from the least one of a cell to the largest.
    let error = |index: usize| (values[index] - decoded[index]).abs();
    let [least, largest] = [f32::min, f32::max].map(|of| (0..20).map(error).reduce(of).unwrap());
    for (index, &pixel) in errors.1.iter().enumerate() {
        assert_eq!(pixel, colour(error(index) - least, largest - least), "{index}");
    }
}

/// In a group, axes have the numbers and units of the coordinates, and the north is at the top.
#[test]
fn axes_are_those_of_the_coordinates() {
    for array in ["t2m", "air/t2m"] {
        axes_are_those_of_the_coordinates_of(array);
    }
}

/// The coordinates lie in the root.
fn axes_are_those_of_the_coordinates_of(array: &str) {
    let trial = Trial::empty();
    let group = trial.input();
    create_group(&group);
    create_group(&group.join("air"));
    let (lat, lon) = ([-60.0_f32, -20.0, 20.0, 60.0], [10.0_f32, 20.0, 40.0]);
    for (name, numbers, units) in
        [("lat", &lat[..], "degrees_north"), ("lon", &lon, "degrees_east")]
    {
        let shape = [numbers.len() as u64];
        Sample::new("float32", &shape, &shape, json!("NaN"))
            .with("dimension_names", json!([name]))
            .with("attributes", json!({"units": units}))
            .write(&group.join(name), &bytes(numbers));
    }
    let values: Vec<f32> = (0..12).map(|index| index as f32).collect();
    Sample::new("float32", &[4, 3], &[4, 3], json!("NaN"))
        .with("dimension_names", json!(["lat", "lon"]))
        .write(&group.join(array), &bytes(&values));
    let file = path(&trial.place("page.html"));
    trial.packs(&["-e", "0.25", "--report", &file]);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("over lat (up) and lon (across)"), "{page}");
    let text = |text: &str| page.contains(&format!("\n{text}\n"));
    assert!(text("lat (degrees_north)") && text("lon (degrees_east)"), "{page}");
    // Even steps: round numbers of the coordinate. Others: those of some elements.
    for tick in ["-50", "50", "10.00", "20.00", "40.00"] {
        assert!(text(tick), "{tick}: {page}");
    }
    assert!(!text("30"));
    let (_, before) = &pictures(&page)[0];
    assert_eq!((before[0], before[9]), (1 + (254.0_f32 * 9.0 / 11.0).round() as u8, 1));
    // With --no-outside-links nothing but the array that is named is read.
    let alone = path(&group.join(array));
    let output = path(&trial.place("alone.zarr"));
    let flags = ["-e", "0.25", "--overwrite", "--report", &file];
    recast(&[&["pack", &alone, &output, "--no-outside-links"], &flags[..]].concat()).succeeds();
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("over lat (down) and lon (across)"), "{page}");
}

/// Above `.` and `..` the search for coordinates ends.
#[test]
fn a_page_of_an_array_without_coordinates_is_made_wherever_the_command_runs() {
    let trial = Trial::empty();
    let group = trial.input();
    let values: Vec<f32> = (0..12).map(|index| index as f32).collect();
    for place in ["", "air"] {
        create_group(&group.join(place));
        Sample::new("float32", &[4, 3], &[4, 3], json!("NaN"))
            .with("dimension_names", json!(["lat", "lon"]))
            .write(&group.join(place).join("t2m"), &bytes(&values));
    }
    for array in ["t2m", "./t2m", "air/t2m", "air/../t2m", "../in.zarr/t2m"] {
        let output = path(&trial.place("packed.zarr"));
        let page = path(&trial.place("page.html"));
        let command = ["pack", array, &output, "-e", "0.25", "--overwrite", "--report", &page];
        recast(&command).inside(&group).succeeds();
        let page = fs::read_to_string(&page).unwrap();
        assert!(page.contains("over lat (down) and lon (across)"), "{array}: {page}");
    }
}

#[test]
fn a_page_says_of_what_it_is() {
    let sample = Sample::new("float32", &[3, 4, 5], &[3, 4, 5], json!("NaN"))
        .with("dimension_names", json!(["time", "lat", "a \"<b>\""]))
        .with("attributes", json!({"units": "kg m-2 s-1"}));
    let trial = Trial::of(&sample, &bytes(&(0..60).map(|i| i as f32 / 7.0).collect::<Vec<f32>>()));
    let path = path(&trial.place("the page.html"));
    let seconds = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let start = seconds();
    trial.packs(&["-e", "0.01", "--report", &path]);
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
    let [input, _] = trial.places();
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
    let trial = Trial::empty();
    let path = path(&trial.place("page.html"));
    let [input, output] = trial.places();
    for (array, flags) in [
        (repository().join("examples/data/oisst_sst.zarr"), &["-e", "0.005"][..]),
        (data().join("cf/anom_xarray.zarr"), &["-e", "0.005"]),
        (data().join("cf/reflectivity_xarray.zarr"), &["-e", "0.05"]),
        (data().join("cf/reflectivity_packed.zarr"), &["--from-cf"]),
    ] {
        let array = array.display().to_string();
        let arguments = ["pack", &array, &output, "--overwrite", "--report", &path];
        recast(&[&arguments[..], flags].concat()).succeeds();
        assert!(size(&path) < MOST, "{array}: {}", size(&path));
    }
    // Noise is what compresses worst, in two dimensions and in one.
    let noise: Vec<f32> =
        field(1_000_000).iter().map(|value| (value * 1e4).fract() as f32).collect();
    for (shape, chunk) in [(&[800, 1250][..], &[400, 1250][..]), (&[1_000_000], &[250_000])] {
        Sample::new("float32", shape, chunk, json!("NaN")).write(&trial.input(), &bytes(&noise));
        trial.packs(&["-e", "0.001", "--overwrite", "--report", &path]);
        assert!((50_000..MOST).contains(&size(&path)) || shape.len() == 1, "{}", size(&path));
        assert!(size(&path) < MOST, "{shape:?}: {}", size(&path));
        fs::remove_dir_all(&input).unwrap();
    }
    // A group of many says which figures are left out.
    create_group(&trial.input());
    for index in 0..9 {
        Sample::new("float32", &[200, 250], &[200, 250], json!("NaN"))
            .write(&trial.input().join(format!("a{index}")), &bytes(&noise[..50_000]));
    }
    fs::remove_dir_all(output).unwrap();
    trial.packs(&["-e", "0.001", "--overwrite", "--report", &path]);
    assert!(size(&path) < MOST, "{}", size(&path));
    let page = fs::read_to_string(&path).unwrap();
    assert_eq!(page.matches("<h2 ").count(), 9);
    // A list of contents leads to each.
    for index in 0..9 {
        let name = format!("a{index}");
        assert!(page.contains(&format!("<li><a href=\"#{name}\">{name}</a></li>")));
        assert!(page.contains(&format!("<h2 id=\"{name}\">")));
    }
    assert!(page.contains("left out, as the page would be too large"));
}

#[test]
fn a_run_that_fails_leaves_no_page() {
    let trial = trial();
    let page = path(&trial.place("page.html"));
    trial.fails(&["-e", "0.001", "-t", "uint8", "--report", &page]);
    let inside = path(&trial.place("none/page.html"));
    let error = trial.fails(&["-e", "0.01", "--report", &inside]);
    assert!(error.contains("--report"), "{error}");
}

#[test]
fn arrays_of_any_shape_have_a_page() {
    for (shape, chunks, values) in [
        (&[][..], &[][..], vec![3.0_f32]),
        (&[0], &[4], vec![]),
        (&[5], &[2], vec![f32::NAN; 5]),
        (&[300], &[7], kelvin(300)),
        (&[3, 4, 5], &[2, 2, 2], (0..60).map(|i| i as f32 / 7.0).collect()),
    ] {
        let trial =
            Trial::of(&Sample::new("float32", shape, chunks, json!("NaN")), &bytes(&values));
        let path = path(&trial.place("page.html"));
        for target in ["float16", "int32"] {
            trial.packs(&["-e", "0.2", "-t", target, "--report", &path, "--overwrite"]);
            let page = fs::read_to_string(&path).unwrap();
            // Nothing is plotted of nothing.
            let plots = if values.iter().any(|value| value.is_finite()) { 6 } else { 0 };
            assert_eq!(page.matches("<svg ").count(), plots, "{shape:?}");
        }
    }
}

/// Near the largest float64, and where all values are equal, an axis has room without overflowing.
#[test]
fn numbers_of_every_magnitude_have_a_page() {
    let most = f64::MAX;
    for values in [
        vec![1.0, 2.0, 3.0, most],
        vec![-most, 0.0, most],
        vec![most; 4],
        vec![1e17; 4],
        vec![5e-324, 0.0, 1e-323],
        vec![1e300, 1e300 * (1.0 + f64::EPSILON)],
    ] {
        let sample = Sample::new("float64", &[values.len() as u64], &[4], json!("NaN"));
        let trial = Trial::of(&sample, &bytes(&values));
        let [input, _] = trial.places();
        let page = path(&trial.place("page.html"));
        recast(&["compare", &input, &input, "--report", &page, "--overwrite"]).succeeds();
        assert_eq!(fs::read_to_string(&page).unwrap().matches("<svg ").count(), 5, "{values:?}");
    }
}
