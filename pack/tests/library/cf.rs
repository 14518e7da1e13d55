//! From attributes of CF to codecs and back: the same codes, and values that are CF's or known to differ.

use std::fs;
use std::path::Path;

use crate::common::{
    Sample, Trial, bytes, chunks, codec_names, contents, copy, create_group, create_v2, data, f64s,
    from_cf, integers, little_endian, metadata, one_thread, options, read_by_zarrs, repository,
    sharding, text, to_cf, told, within,
};
use recast_kernels::ElementType;
use recast_pack::report::Differences;
use recast_pack::{
    ArrayReport, ArrayRule, DryRun, ErrorKind, FromCfReport, GroupJob, Job, PackJob, PackOptions,
    PathReport, ToCfReport, UnpackedArray, codecs_from_cf,
};
use serde_json::{Value, json};

/// See [`a_few_codes_get_their_last_bit_from_the_map`].
const FACTOR: f32 = 3.265_089e-5;

/// An array of int16 codes with attributes.
#[allow(clippy::needless_pass_by_value)] // what callers write with json!
fn int16(codes: &[i16], fill: i16, attributes: Value) -> Trial {
    let chunk = 8.max(codes.len() / 4);
    Trial::new(codes, chunk, json!({"fill_value": fill, "attributes": attributes}))
}

fn job(trial: &Trial) -> GroupJob {
    job_for(None, trial)
}

/// The same for values of a type.
fn job_for(decoded_type: Option<ElementType>, trial: &Trial) -> GroupJob {
    let options = PackOptions { from_cf: true, decoded_type, ..PackOptions::default() };
    trial.job(options).into()
}

/// The report of a job that took codecs from attributes.
fn of_cf(
    outcome: Result<PathReport<ArrayReport>, recast_pack::Error>,
) -> Result<FromCfReport, String> {
    told(outcome).map(|report| match report.array().unwrap() {
        ArrayReport::FromCf(report) => report,
        ArrayReport::Packed(report) => panic!("{report:?}"),
    })
}

#[test]
fn a_job_that_packs_values_refuses_to_ignore_from_cf() {
    let trial = int16(&[1, 2, 3], -1, json!({"scale_factor": 0.5}));
    let pack = job(&trial).pack;
    for error in [pack.run(&one_thread()).unwrap_err(), pack.dry_run(&one_thread()).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Options);
        assert!(text(error).contains("GroupJob"));
    }
    assert!(!trial.output().exists());
}

/// The codecs come from one array's attributes, whatever the values of others are.
#[test]
fn a_job_for_attributes_refuses_to_ignore_scale_from() {
    let trial = int16(&[1, 2, 3], -1, json!({"scale_factor": 0.5}));
    let mut job = job(&trial);
    job.pack.scale_from = vec![trial.input()];
    for error in [job.run(&one_thread()).unwrap_err(), job.dry_run(&one_thread()).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Options);
        assert!(text(error).contains("scale_from"));
    }
    assert!(!trial.output().exists());
}

/// Its codecs come from its attributes, so it has no part in the others' scale.
#[test]
fn an_array_with_attributes_may_be_in_a_group_of_one_scale() {
    let trial = int16(&[1, 2, 3], -1, json!({"scale_factor": 0.5}));
    let group = trial.place("group.zarr");
    create_group(&group);
    copy(&trial.input(), &group.join("packed"));
    for (name, values) in [("a", [0.0_f32, 1.0]), ("b", [0.0, 100.0])] {
        copy(&Trial::new(&values, 2, json!({})).input(), &group.join(name));
    }
    let pack = PackJob::new(&group, trial.output(), within(0.01));
    let from_cf = PackOptions { from_cf: true, ..PackOptions::default() };
    let rule =
        ArrayRule { name: "packed".to_owned(), is_path: true, options: Some(from_cf.into()) };
    let pack = PackJob { scale_from: vec!["*".into()], ..pack };
    let job = GroupJob { rules: vec![rule], ..pack.into() };
    told(job.run(&one_thread())).unwrap();
    assert_eq!(values(&trial.output().join("packed")), [0.5, 1.0, 1.5]);
    let codecs = |name: &str| metadata(&trial.output().join(name))["codecs"].clone();
    assert_eq!(codecs("a"), codecs("b"));
}

fn converted(trial: &Trial) -> FromCfReport {
    of_cf(job(trial).run(&one_thread())).unwrap()
}

/// The same with another type than the job would choose.
fn decoded_as(decoded_type: ElementType, trial: &Trial) -> FromCfReport {
    of_cf(job_for(Some(decoded_type), trial).run(&one_thread())).unwrap()
}

fn as_cf(input: &Path, output: &Path) -> ToCfReport {
    match told(to_cf(input, output).run(&one_thread())).unwrap().array().unwrap() {
        UnpackedArray::ToCf(report) => report,
        UnpackedArray::Values(report) => panic!("{report:?}"),
    }
}

/// What was packed, as CF has it again.
fn back(trial: &Trial) -> std::path::PathBuf {
    let back = trial.place("back.zarr");
    as_cf(&trial.output(), &back);
    back
}

/// All elements of an array of float32 or float64.
fn values(path: &Path) -> Vec<f64> {
    let data_type = metadata(path)["data_type"].as_str().unwrap().parse().unwrap();
    f64s(&read_by_zarrs(path), data_type)
}

#[test]
fn real_arrays_decode_to_what_xarray_gives_bit_for_bit_and_come_back() {
    let data = data().join("cf");
    for (name, expected, missing) in [
        ("sst", repository().join("examples/data/oisst_sst.zarr"), 4448),
        // One code lies below the missing value, so no range tells which are missing.
        ("anom", data.join("anom_xarray.zarr"), 4448),
        ("reflectivity", data.join("reflectivity_xarray.zarr"), 0),
    ] {
        let trial = Trial::empty();
        let input = data.join(format!("{name}_packed.zarr"));
        let output = trial.output();
        let report = of_cf(from_cf(&input, &output).run(&one_thread())).unwrap();
        assert!(report.bit_identical, "{name}");
        assert_eq!(
            (report.codes.differences.elements, report.missing),
            (65_536, missing),
            "{name}"
        );
        assert_eq!(metadata(&output)["data_type"], "float32");
        let (found, expected) = (values(&output), values(&expected));
        assert_eq!(found.len(), expected.len());
        for (index, (x, y)) in found.iter().zip(&expected).enumerate() {
            assert!(
                x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan(),
                "{name} {index}: {x} {y}"
            );
        }
        assert_eq!(chunks(&output), chunks(&input), "{name}");

        let back = trial.place("back.zarr");
        assert_eq!(as_cf(&output, &back).differences.differing, 0);
        assert_eq!(chunks(&back), chunks(&input), "{name}");
        let (back, input) = (metadata(&back), metadata(&input));
        for member in ["attributes", "data_type", "fill_value"] {
            assert_eq!(back[member], input[member], "{name}");
        }
    }
}

#[test]
fn a_scale_factor_is_inverted_and_what_differs_is_said_truly() {
    let codes: Vec<i16> = (-600..600).collect();
    let trial = int16(&codes, 0, json!({"scale_factor": 0.01, "add_offset": 0.5}));
    let report = decoded_as(ElementType::Float64, &trial);
    assert_eq!(report.data_type, ElementType::Float64);
    let document = trial.metadata();
    let affine = &document["codecs"][0]["configuration"];
    let (scale, offset) = (affine["scale"].as_f64().unwrap(), affine["offset"].as_f64().unwrap());
    assert!((scale - 100.0).abs() < 1e-9 && offset == 0.5, "{affine}");

    // Counted here by the two formulas themselves.
    let pairs = |code: i16| {
        let code = f64::from(code);
        (code * 0.01 + 0.5, code / scale + offset)
    };
    let count = |codes: &mut dyn Iterator<Item = i16>| {
        let mut counts = Differences::default();
        for (cf, ours) in codes.map(pairs) {
            let (x, y) = (cf.to_bits() as i64, ours.to_bits() as i64);
            let distance = if (x < 0) == (y < 0) { x.abs_diff(y) } else { u64::MAX };
            counts.elements += 1;
            counts.differing += u64::from(x != y);
            counts.max_ulps = counts.max_ulps.max(distance);
            counts.max = counts.max.max((cf - ours).abs());
        }
        assert!(counts.differing > 0);
        counts
    };
    assert_eq!(report.codes.differences, count(&mut (i16::MIN..=i16::MAX)));
    assert_eq!(report.elements, count(&mut codes.iter().copied()));
    assert!(!report.bit_identical);
    // 3 · 0.1 is 0.30000000000000004, and 3 / 10 is 0.3.
    let found = values(&trial.output());
    assert!(codes.iter().zip(&found).all(|(&code, &value)| value == pairs(code).1));
}

#[test]
fn the_type_is_the_one_that_is_cf_to_the_last_bit() {
    let codes: Vec<i16> = (-600..600).collect();
    // No float32 number is 0.01, so xarray would take float64, where a third of the codes differ.
    let trial = int16(&codes, 0, json!({"scale_factor": 0.01, "add_offset": 0.5}));
    let report = converted(&trial);
    assert!(report.data_type == ElementType::Float32 && report.bit_identical);
    assert_eq!(report.decoded_bytes, 4800);
    for (&code, value) in codes.iter().zip(values(&trial.output())) {
        assert_eq!(value, f64::from(f32::from(code) * 0.01_f32 + 0.5), "{code}");
    }
    let requested = decoded_as(ElementType::Float64, &trial);
    assert!(requested.codes.differences.differing > 0, "{requested:?}");
}

#[test]
fn attributes_without_an_array_get_what_a_job_gives_an_array() {
    let attributes = json!({
        "scale_factor": -0.01, "add_offset": 0.5, "_FillValue": -9, "missing_value": [-8, 70_000],
        "valid_min": -7, "units": "K",
    });
    let trial = int16(&[-9, 0, 3], -9, attributes.clone());
    let attributes = attributes.as_object().unwrap();
    for decoded in [None, Some(ElementType::Float32), Some(ElementType::Float64)] {
        let mut job = job_for(decoded, &trial);
        job.pack.provenance = false;
        let report = of_cf(job.run(&one_thread())).unwrap();
        let chosen = codecs_from_cf(ElementType::Int16, attributes, decoded).unwrap();
        assert_eq!(chosen.codecs, report.value_codecs);
        assert_eq!(chosen.data_type, report.data_type);
        assert_eq!(chosen.codes.differences, report.codes.differences);
        assert_eq!(chosen.codes.which, "codes of int16");
        assert_eq!(chosen.warnings, report.warnings);
        assert!(chosen.warnings[0].contains("missing_value is 70000"), "{:?}", chosen.warnings);
        assert!(chosen.fill_value.is_nan() && report.fill_value.is_nan());
        assert_eq!(Value::from(chosen.attributes), trial.metadata()["attributes"]);
    }
}

#[test]
fn attributes_without_an_array_count_the_codes_that_differ() {
    let attributes = json!({"scale_factor": 0.1});
    let attributes = attributes.as_object().unwrap();
    let chosen =
        codecs_from_cf(ElementType::UInt8, attributes, Some(ElementType::Float64)).unwrap();
    let scale = serde_json::to_value(&chosen.codecs).unwrap();
    let scale = scale[0]["configuration"]["scale"].as_f64().unwrap();
    let pairs = (0..=u8::MAX).map(f64::from).map(|code| (code * 0.1, code / scale));
    let differences: Vec<f64> = pairs.filter(|(x, y)| x != y).map(|(x, y)| (x - y).abs()).collect();
    let found = chosen.codes.differences;
    let counted = (256, differences.len() as u64, differences.into_iter().fold(0.0, f64::max));
    assert_eq!((found.elements, found.differing, found.max), counted);
    assert!(found.is_none() == (found.max == 0.0));
}

/// Attributes of the range of values are codes, or of the values: then all are, and stay as they are.
#[test]
fn a_valid_range_of_the_values_is_left_as_it_is() {
    for (stored, valid, expected) in [
        ("int16", json!({"valid_min": -10.0, "valid_max": 40.0}), None),
        ("int16", json!({"valid_range": [-10.5, 40]}), None),
        ("int16", json!({"valid_range": [0, 40_000]}), None),
        ("int16", json!({"valid_min": -10, "valid_max": 40.0}), None),
        ("uint8", json!({"valid_min": -1, "valid_max": 40}), None),
        ("int16", json!({"valid_max": "40"}), None),
        (
            "int16",
            json!({"valid_min": -10, "valid_max": 40}),
            Some(json!({"valid_min": -5.0, "valid_max": 20.0})),
        ),
        ("uint8", json!({"valid_range": [0, 255]}), Some(json!({"valid_range": [0.0, 127.5]}))),
    ] {
        let mut attributes = json!({"scale_factor": 0.5});
        attributes.as_object_mut().unwrap().extend(valid.as_object().unwrap().clone());
        let attributes = attributes.as_object().unwrap();
        let chosen = codecs_from_cf(stored.parse().unwrap(), attributes, None).unwrap();
        let is_left = expected.is_none();
        assert_eq!(
            Value::from(chosen.attributes),
            expected.unwrap_or_else(|| valid.clone()),
            "{valid}"
        );
        assert_eq!(chosen.warnings.len(), usize::from(is_left), "{valid}: {:?}", chosen.warnings);
        if is_left {
            let name = valid.as_object().unwrap().keys().next().unwrap();
            assert!(
                chosen.warnings[0].contains(name) && chosen.warnings[0].contains("left as it is")
            );
        }
    }
    // The stored integers get their attributes back.
    let attributes = json!({"scale_factor": 0.001, "valid_min": -10.0, "valid_max": 40.0});
    let trial = int16(&[0, 20_000], 0, attributes.clone());
    assert!(converted(&trial).warnings[0].contains("valid_min is -10.0"));
    assert_eq!(trial.metadata()["attributes"]["valid_max"], 40.0);
    assert_eq!(metadata(&back(&trial))["attributes"], attributes);
}

#[test]
fn nan_over_integers_is_no_missing_value_and_a_warning() {
    for nan in [json!("NaN"), json!("nan"), json!("AAAAAAAA+H8=")] {
        for name in ["_FillValue", "missing_value"] {
            let trial = int16(&[0, 1, -1], 1, json!({"scale_factor": 0.5, name: nan}));
            let report = converted(&trial);
            assert_eq!(report.missing_codes, []);
            let expected = format!("{name} is {nan}, which is not a value of int16");
            assert!(report.warnings[0].contains(&expected), "{:?}", report.warnings);
            assert_eq!(values(&trial.output()), [0.0, 0.5, -0.5]);
        }
        let attributes = json!({"scale_factor": 0.5, "_FillValue": nan, "missing_value": 4});
        let attributes = attributes.as_object().unwrap();
        assert_eq!(
            codecs_from_cf(ElementType::Int16, attributes, None).unwrap().fill_value.to_f64(),
            0.0
        );
    }
}

#[test]
fn the_report_says_in_which_type_xarray_reads_the_input() {
    for (attributes, expected) in [
        (json!({"scale_factor": 1000}), ElementType::Int64),
        (json!({"scale_factor": 1000, "add_offset": 1}), ElementType::Float64),
        (json!({"scale_factor": 0.5}), ElementType::Float64),
        (json!({"_FillValue": 3}), ElementType::Float32),
        (json!({"_Unsigned": "true"}), ElementType::UInt16),
    ] {
        let report = converted(&int16(&[0, 1], 0, attributes));
        assert_eq!(report.xarray_data_type, expected);
    }
}

/// Zeros that only a map keeps are masked, and counted.
#[test]
fn elements_that_only_a_map_gives_are_counted_where_cf_masks_them() {
    let values: Vec<f32> = (0..100).map(|number| 280.0 + number as f32 / 4.0).collect();
    let trial = Trial::empty();
    let array = Sample::new("float32", &[250], &[100], json!(0)).create(&trial.input());
    array.store_chunk(&[0], values).unwrap();
    trial.pack(within(0.01)).unwrap();
    let report = as_cf(&trial.output(), &trial.place("back.zarr"));
    assert_eq!(report.masked_fill_values, 150);
}

/// 65 535 · 5.192376086697342e33 rounds to infinity in float32, and the nearest quotient to the greatest float32.
#[test]
fn a_code_that_overflows_is_refused_only_where_an_element_may_have_it() {
    let attributes = json!({"scale_factor": 5.192_376_086_697_342e33});
    let trial = |codes: &[u16]| Trial::new(codes, 8, json!({"attributes": attributes.clone()}));
    let report = decoded_as(ElementType::Float32, &trial(&[0, 1, 60_000]));
    assert_eq!((report.codes.differences.not_finite, report.elements.not_finite), (1, 0));

    let trial = trial(&[0, 1, 65_535]);
    let job = job_for(Some(ElementType::Float32), &trial);
    let in_data = told(job.run(&one_thread())).unwrap_err();
    assert!(in_data.contains("chunk [0]: 1 of 3 elements"), "{in_data}");
    let attributes = attributes.as_object().unwrap();
    let alone = codecs_from_cf(ElementType::UInt16, attributes, Some(ElementType::Float32));
    for error in [in_data, alone.unwrap_err().to_string()] {
        assert!(error.contains("code · 5.192376086697342e33"), "{error}");
        assert!(error.contains("finite") && error.contains("decode to float64"), "{error}");
    }
}

#[test]
fn attributes_that_no_codecs_replace_are_named_with_their_values_and_a_way_out() {
    let refused = |stored, attributes: Value, decoded| {
        let attributes = attributes.as_object().unwrap().clone();
        codecs_from_cf(stored, &attributes, decoded).unwrap_err().to_string()
    };
    let (int16, float32) = (ElementType::Int16, Some(ElementType::Float32));
    for (error, parts) in [
        (
            refused(int16, json!({"units": "K"}), None),
            ["none of the attributes", "leave it as it is"],
        ),
        (refused(int16, json!({"scale_factor": 0}), None), ["scale_factor is 0.0", "correct the"]),
        (
            refused(int16, json!({"_FillValue": 1.5}), None),
            ["_FillValue is 1.5", "correct or remove the attribute"],
        ),
        (
            refused(int16, json!({"scale_factor": 1e38}), float32),
            ["code · 1e38", "decode to float64"],
        ),
        // The inverse overflows.
        (
            refused(int16, json!({"scale_factor": 1e-310}), Some(ElementType::Float64)),
            ["no finite scale of float64", "correct the attributes"],
        ),
        (
            refused(int16, json!({"scale_factor": 2, "add_offset": 1e300}), float32),
            ["code · 2.0 + 1e300", "decode to float64"],
        ),
        (
            refused(int16, json!({"scale_factor": 2}), Some(ElementType::Float16)),
            ["the values are float16", "float32 or float64"],
        ),
        (
            refused(ElementType::Float32, json!({"scale_factor": 2}), None),
            ["the elements are float32", "nothing to convert"],
        ),
    ] {
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}

#[test]
fn a_few_codes_get_their_last_bit_from_the_map() {
    // With this factor no scale does it for all codes: some products lie in the middle between two
    // float32 numbers, and want to be rounded to different sides.
    let codes: Vec<i16> = (i16::MIN..=i16::MAX).collect();
    let attributes = json!({"scale_factor": f64::from(FACTOR), "add_offset": 0.5});
    let trial = int16(&codes, 0, attributes);
    let report = converted(&trial);
    assert!(report.data_type == ElementType::Float32 && report.bit_identical);
    assert!((1..=256).contains(&report.patched_codes), "{report:?}");
    assert_eq!(report.codes_not_encoded_back, Some(0));
    for (code, value) in codes.into_iter().zip(values(&trial.output())) {
        assert_eq!(value, f64::from(f32::from(code) * FACTOR + 0.5), "{code}");
    }
}

#[test]
fn attributes_that_would_be_applied_twice_are_gone() {
    let attributes = json!({
        "scale_factor": -0.5, "add_offset": 10, "_FillValue": -1, "missing_value": [-2, -3],
        "valid_range": [-100, 200], "valid_min": -100, "units": "K", "recast": {"version": "0"},
    });
    let trial = int16(&[0, 1, -1, -2, -3, 30_000, -4, -100], -2, attributes);
    let mut job = job(&trial);
    job.pack.provenance = false;
    let report = of_cf(job.run(&one_thread())).unwrap();
    let expected = json!({"units": "K", "valid_range": [-90.0, 60.0], "valid_max": 60.0});
    assert_eq!(trial.metadata()["attributes"], expected);
    assert_eq!((report.missing, report.bit_identical), (3, true));
    let found = values(&trial.output());
    assert!(found[2..5].iter().all(|value| value.is_nan()));
    assert_eq!(
        [found[0], found[1], found[5], found[6], found[7]],
        [10.0, 9.5, -14_990.0, 12.0, 60.0]
    );
}

#[test]
fn chunks_that_are_not_stored_are_what_cf_makes_of_them() {
    for (fill, expected) in [(-999_i16, None), (50, Some(0.01_f32 * 50.0 + 2.5))] {
        let trial = Trial::empty();
        let factor = f64::from(0.01_f32);
        let attributes = json!({"scale_factor": factor, "add_offset": 2.5, "_FillValue": -999});
        let array = Sample::new("int16", &[20], &[8], json!(fill))
            .with("attributes", attributes)
            .create(&trial.input());
        // The last chunk is stored, and padded with the fill value beyond the array.
        array.store_chunk(&[2], [-999_i16, 1, 2, fill, 0, 0, 0, 0].to_vec()).unwrap();
        converted(&trial);
        assert_eq!(chunks(&trial.output()).len(), 1);
        let found = values(&trial.output());
        for value in &found[..16] {
            match expected {
                Some(expected) => assert_eq!(*value, f64::from(expected)),
                None => assert!(value.is_nan()),
            }
        }
        assert!(found[16].is_nan());
        assert_eq!(found[17], f64::from(0.01_f32 + 2.5));
        // Missing chunks stay so on the way back, and are the same code.
        let back = back(&trial);
        assert_eq!(metadata(&back)["fill_value"], fill);
        assert_eq!(read_by_zarrs(&back), read_by_zarrs(&trial.input()));
    }
}

#[test]
fn unsigned_takes_the_codes_for_what_they_are() {
    let attributes = json!({
        "scale_factor": 0.5, "_Unsigned": "true", "_FillValue": -1, "valid_range": [0, -2],
    });
    let trial = int16(&[0, 1, -1, -2, i16::MIN], -1, attributes);
    let report = converted(&trial);
    assert_eq!(report.stored_data_type, ElementType::UInt16);
    let found = values(&trial.output());
    assert!(found[2].is_nan());
    assert_eq!([found[0], found[1], found[3], found[4]], [0.0, 0.5, 32_767.0, 16_384.0]);
    assert_eq!(trial.metadata()["attributes"]["valid_range"], json!([0.0, 32_767.0]));
    let back = back(&trial);
    assert_eq!(metadata(&back)["attributes"], metadata(&trial.input())["attributes"]);
    assert_eq!(read_by_zarrs(&back), read_by_zarrs(&trial.input()));
}

#[test]
fn integers_of_32_bits_are_compared_over_the_range_that_is_there() {
    let more = json!({"attributes": {"scale_factor": 0.25, "add_offset": 1.0}});
    let trial = Trial::new(&[-70_000_i32, 5, 80_000, 0], 4, more);
    let report = converted(&trial);
    assert_eq!(report.data_type, ElementType::Float64);
    assert_eq!(report.codes.which, "codes of int32 from -70000 to 80000");
    assert_eq!(report.codes.differences.elements, 150_001);
    assert!(report.bit_identical);
    assert_eq!(values(&trial.output()), [-17_499.0, 2.25, 20_001.0, 1.0]);
}

#[test]
fn zero_keeps_the_sign_that_cf_gives_it() {
    for (attributes, negative) in [
        (json!({"scale_factor": -0.5}), true),
        (json!({"scale_factor": -0.5, "add_offset": 0}), false),
        (json!({"scale_factor": 0.5}), false),
    ] {
        let trial = int16(&[0, 2], 2, attributes);
        assert!(converted(&trial).bit_identical);
        assert_eq!(values(&trial.output())[0].is_sign_negative(), negative);
    }
}

#[test]
fn the_fill_value_of_zarr_v2_is_a_missing_value() {
    let trial = Trial::empty();
    let input = trial.input();
    let members = json!({"shape": [3, 1], "chunks": [3, 1], "dtype": ">i2", "fill_value": -5});
    create_v2(&input, members);
    // xarray reads no `_FillValue` beside it.
    let attributes = json!({"scale_factor": 0.5, "_ARRAY_DIMENSIONS": ["time", "x"], "units": "m",
        "_FillValue": -300});
    fs::write(input.join(".zattrs"), attributes.to_string()).unwrap();
    let stored: Vec<u8> = [1_i16, -5, -300].iter().flat_map(|code| code.to_be_bytes()).collect();
    fs::write(input.join("0.0"), &stored).unwrap();
    assert_eq!(converted(&trial).missing, 1);
    let output = trial.output();
    let found = values(&output);
    assert!(found[1].is_nan());
    assert_eq!([found[0], found[2]], [0.5, -150.0]);
    let document = trial.metadata();
    assert_eq!(document["dimension_names"], json!(["time", "x"]));
    assert!(document["attributes"].get("_ARRAY_DIMENSIONS").is_none());
    assert_eq!(fs::read(output.join("c/0/0")).unwrap(), stored);
    // In Zarr v3 a reader needs to be told.
    let expected = json!({"scale_factor": 0.5, "units": "m", "_FillValue": -5});
    assert_eq!(metadata(&back(&trial))["attributes"], expected);
}

#[test]
fn what_pack_wrote_becomes_cf_with_its_differences() {
    let values: Vec<f32> =
        (0..500).map(|i| if i == 3 { f32::NAN } else { i as f32 / 8.0 }).collect();
    let trial = Trial::new(&values, 100, json!({"fill_value": "NaN"}));
    trial.pack(within(0.01)).unwrap();
    let back = trial.place("back.zarr");
    assert_eq!(as_cf(&trial.output(), &back).differences.differing, 0);
    let document = metadata(&back);
    let number = |name: &str| document["attributes"][name].as_f64().unwrap();
    let codes = integers(&read_by_zarrs(&back), document["data_type"].as_str().unwrap());
    for (code, value) in codes.into_iter().zip(values) {
        let code = code as f64;
        if code == number("_FillValue") {
            assert!(value.is_nan());
        } else {
            let cf = code * number("scale_factor") + number("add_offset");
            assert!((cf - f64::from(value)).abs() <= 0.01, "{code}: {cf} {value}");
        }
    }
}

/// Where values are large, neighbouring codes round to one value, here to the fill value.
#[test]
fn codes_that_only_round_to_the_fill_value_are_not_missing() {
    let (trial, back) = (Trial::empty(), |trial: &Trial| trial.place("back.zarr"));
    let codecs = json!([
        {"name": "scale_offset", "configuration": {"offset": 300_000.0, "scale": 100}},
        {"name": "cast_value", "configuration": {"data_type": "int16"}},
        little_endian(),
    ]);
    let sample =
        Sample::new("float32", &[6], &[6], json!(300_000.0)).with("codecs", codecs.clone());
    sample.create(&trial.output());
    let stored = [-2_i16, -1, 0, 1, 2, 100].map(i16::to_le_bytes).concat();
    fs::create_dir(trial.output().join("c")).unwrap();
    fs::write(trial.output().join("c/0"), stored).unwrap();
    let report = as_cf(&trial.output(), &back(&trial));
    assert_eq!(
        report.attributes,
        *json!({"scale_factor": 0.01_f32, "add_offset": 300_000.0}).as_object().unwrap()
    );
    assert_eq!(report.differences.not_finite, 0);

    // A map that names one of them means that one.
    let trial = Trial::empty();
    let mut codecs = codecs;
    codecs[1]["configuration"]["scalar_map"] =
        json!({"encode": [[30_000_000.0, 5000]], "decode": [[5000, 30_000_000.0]]});
    codecs[0]["configuration"]["offset"] = json!(0);
    sample.with("codecs", codecs).create(&trial.output());
    let report = as_cf(&trial.output(), &back(&trial));
    assert_eq!(report.attributes["_FillValue"], 5000);
    assert!(!report.attributes.contains_key("missing_value"));

    // All codes.
    let attributes = json!({"scale_factor": 0.01, "add_offset": 1e10});
    let trial = int16(&[0, 1, 2, 3, -4], 0, attributes.clone());
    decoded_as(ElementType::Float32, &trial);
    let report = as_cf(&trial.output(), &back(&trial));
    assert_eq!(Value::from(report.attributes), attributes);
}

#[test]
fn integers_of_64_bits_go_back_to_cf_although_their_ends_round() {
    let codes: Vec<i64> = (0..100).chain([10_i64.pow(17)]).collect();
    let attributes = json!({"scale_factor": 0.01, "add_offset": -3.0});
    let trial = Trial::new(&codes, 40, json!({"attributes": attributes}));
    converted(&trial);
    let back = back(&trial);
    assert_eq!(metadata(&back)["attributes"], attributes);
    assert_eq!(read_by_zarrs(&back), bytes(&codes));
}

#[test]
fn what_is_not_packed_as_cf_does_it_is_refused_with_the_reason() {
    let refuses = |trial: &Trial| {
        let before = contents(trial.path());
        let error = text(job(trial).run(&one_thread()).unwrap_err());
        assert_eq!(contents(trial.path()), before);
        assert!(error.contains("in.zarr"), "{error}");
        error
    };
    let error = refuses(&Trial::new(&[0.0_f32; 2], 2, json!({})));
    assert!(error.contains("the elements are float32; CF packs integers"), "{error}");
    for (attributes, expected) in [
        (json!({}), "none of the attributes scale_factor,"),
        (
            json!({"scale_factor": "0.01"}),
            r#"attribute scale_factor is "0.01"; it must be a finite"#,
        ),
        (json!({"scale_factor": [1, 2]}), "attribute scale_factor is [1,2]; it must be one number"),
        (json!({"scale_factor": 0}), "scale_factor is 0.0, which makes all values equal"),
        (json!({"_FillValue": 40_000}), "_FillValue is 40000, which is not a value of int16"),
        (json!({"_FillValue": "NaN"}), r#"_FillValue is "NaN", which is not a value of int16"#),
        (json!({"_Unsigned": 1}), "attribute _Unsigned is 1; it must be"),
    ] {
        let error = refuses(&int16(&[1, 2], 0, attributes));
        assert!(error.contains(expected), "{error}");
    }
    for invalid in [
        json!({"from-cf": true, "scale": 2}),
        json!({"max-abs-error": 1, "decoded-type": "float32"}),
    ] {
        options(invalid).check().unwrap_err();
    }
    assert!(PackOptions { from_cf: true, ..PackOptions::default() }.check().is_ok());
    let trial = int16(&[1, 2], 0, json!({"scale_factor": 2}));
    let job = to_cf(trial.input(), trial.output());
    let error = text(job.run(&one_thread()).unwrap_err());
    assert!(error.contains("no cast_value or scale_offset among the codecs"), "{error}");
}

#[test]
fn a_dry_run_of_cf_writes_nothing_and_says_what_would_be() {
    let attributes = json!({"scale_factor": 0.01, "add_offset": 20.0, "_FillValue": -1});
    let trial = int16(&[0, 1, -1, 300, i16::MIN], -1, attributes);
    let before = contents(trial.path());
    let mut planned = of_cf(job(&trial).dry_run(&one_thread())).unwrap();
    assert_eq!(contents(trial.path()), before);
    let report = converted(&trial);
    assert_eq!(planned.codecs, trial.metadata()["codecs"]);
    assert_eq!([planned.dry_run, report.dry_run], [true, false]);
    assert_eq!([planned.chunks, planned.bytes], [None; 2]);
    (planned.dry_run, planned.chunks, planned.bytes) = (false, report.chunks, report.bytes);
    assert_eq!(serde_json::to_value(&planned).unwrap(), serde_json::to_value(&report).unwrap());
}

#[test]
fn codes_in_shards_get_codecs_inside_and_go_back_to_the_same_files() {
    let codecs = json!([sharding(&[8, 8], json!([little_endian()]))]);
    let sample = Sample::new("int16", &[100, 90], &[32, 32], json!(-1))
        .with("codecs", codecs)
        .with("attributes", json!({"scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -1}));
    let elements = bytes(&(0..9000).collect::<Vec<i16>>());
    let trial = Trial::of(&sample, &elements);
    let report = converted(&trial);
    assert_eq!(codec_names(&trial.metadata()["codecs"]), ["sharding_indexed"]);
    assert_eq!(report.readers.zarr_python, recast_pack::report::Reading::PartsOfShards);
    let back = back(&trial);
    assert_eq!(chunks(&back), chunks(&trial.input()));
    assert_eq!(crate::common::read(&back), elements);
}

/// On the grid of the codes a marker has no code of its own, so nothing but the name says that it is missing.
#[test]
fn values_that_were_named_as_missing_are_missing_for_cf() {
    let values: Vec<f64> =
        (0..1000).map(|i| if i % 7 == 0 { -999.0 } else { f64::from(i) }).collect();
    for goal in [json!({"max-abs-error": 0.1}), json!({"scale": 1, "data-type": "int32"})] {
        let trial = Trial::new(&values, 1000, json!({"fill_value": "NaN"}));
        let mut goal = goal;
        goal["missing"] = json!([-999]);
        trial.pack(options(goal)).unwrap();
        let back = trial.place("back.zarr");
        let report = as_cf(&trial.output(), &back);
        let stored = integers(&read_by_zarrs(&back), report.stored_data_type.name());
        let marker = stored[0];
        let named = format!("{:?}", report.attributes.get("missing_value"));
        assert!(named.contains(&format!("({marker})")), "{named}");
        assert!(
            stored.iter().zip(&values).all(|(code, value)| (*code == marker) == (*value == -999.0))
        );
    }
}

/// xarray scales floats, too.
#[test]
fn values_that_attributes_scale_already_are_not_written_for_cf() {
    for attribute in ["scale_factor", "add_offset"] {
        let values: Vec<f32> = (0..100).map(|i| i as f32 / 10.0).collect();
        let trial = Trial::new(&values, 100, json!({"attributes": {attribute: 10.0}}));
        trial.pack(within(0.01)).unwrap();
        let error = to_cf(trial.output(), trial.place("back.zarr")).run(&one_thread());
        let error = text(error.unwrap_err());
        assert!(error.contains(attribute) && error.contains("recast unpack"), "{error}");
    }
}
