//! What packing understands of missing values: kinds of data times ways of writing what is missing. All are
//! packed, all values are within the bound, and every missing element comes back bit for bit.

use std::fs;
use std::path::Path;

use crate::common::{Random, Sample, Trial, create_v2, elements, f64s, within};
use recast_kernels::ElementType;
use recast_pack::{PackOptions, PackReport, Reader, scalar};
use serde_json::{Value, json};

const ELEMENTS: usize = 600;
const CHUNK: usize = 200;

/// Roughly a normal deviate.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.number()).sum::<f64>() - 6.0
}

/// A kind of data: its name, and its element at a place between 0 and 1.
type Kind = (&'static str, fn(f64, &mut Random) -> f64);

const KINDS: [Kind; 14] = [
    ("temperature", |x, random| 285.0 + 20.0 * (7.0 * x).sin() + normal(random)),
    (
        "precipitation",
        |_, random| if random.number() < 0.7 { 0.0 } else { 3e-3 * -random.number().ln() },
    ),
    ("humidity", |x, random| 1e-3 + 1e-2 * (1.0 + (5.0 * x).cos()) * (0.5 + random.number())),
    ("mixing ratio", |_, random| 1e-7 * (0.2 + random.number())),
    ("chlorophyll", |_, random| (0.8 * normal(random) - 1.0).exp()),
    ("counts", |_, random| (40.0 * random.number()).floor()),
    ("log-normal", |_, random| (2.0 * normal(random)).exp()),
    ("constant", |_, _| 3.25),
    ("fraction", |_, random| random.number().powi(3)),
    ("anomaly", |_, random| 2.0 * normal(random)),
    ("wind", |x, random| 12.0 * (11.0 * x).sin() + 3.0 * normal(random)),
    ("pressure", |x, random| 101_325.0 + 2500.0 * (3.0 * x).sin() + 10.0 * normal(random)),
    ("elevation", |_, random| -400.0 + 9000.0 * random.number()),
    ("all negative", |_, random| -5.0 - random.number()),
];

/// A way of writing what is missing.
struct Way {
    name: &'static str,
    /// The values that are missing elements, one after the other.
    missing: &'static [f64],
    fill_value: &'static str,
    attributes: &'static str,
    /// What `--missing` names.
    named: &'static str,
    is_v2: bool,
}

const WAY: Way =
    Way { name: "", missing: &[], fill_value: "0", attributes: "{}", named: "", is_v2: false };
const NC_FILL: f64 = 9.969_209_968_386_869e36;

const WAYS: [Way; 9] = [
    Way { name: "none", ..WAY },
    Way { name: "NaN, also as fill value", missing: &[f64::NAN], fill_value: "\"NaN\"", ..WAY },
    Way { name: "NaN", missing: &[f64::NAN], ..WAY },
    Way { name: "_FillValue 1e20", missing: &[1e20], attributes: r#"{"_FillValue": 1e20}"#, ..WAY },
    Way {
        name: "_FillValue -9999 in base64",
        missing: &[-9999.0],
        attributes: r#"{"_FillValue": "AAAAAICHw8A="}"#,
        ..WAY
    },
    Way {
        name: "missing_value -32768",
        missing: &[-32768.0],
        attributes: r#"{"missing_value": -32768}"#,
        ..WAY
    },
    Way {
        name: "a list, and NaN",
        missing: &[-999.0, f64::NAN, -888.5],
        fill_value: "\"NaN\"",
        attributes: r#"{"missing_value": [-999.0, -888.5]}"#,
        ..WAY
    },
    Way { name: "Zarr v2", missing: &[-9999.0], fill_value: "-9999.0", is_v2: true, ..WAY },
    Way { name: "--missing", missing: &[NC_FILL, 1e30], named: "9.969209968386869e36 1e30", ..WAY },
];

/// The floating-point types of the arrays.
const FLOATS: [ElementType; 2] = [ElementType::Float32, ElementType::Float64];

/// Numbers as elements of a type have them.
fn rounded(numbers: &[f64], float: ElementType) -> Vec<f64> {
    f64s(&elements(numbers, float), float)
}

/// The elements; about every seventh is missing.
fn values(kind: Kind, way: &Way, float: ElementType) -> Vec<f64> {
    let mut random = Random(kind.0.len() as u64 * 977 + way.name.len() as u64);
    let mut missing = way.missing.iter().cycle();
    let values: Vec<f64> = (0..ELEMENTS)
        .map(|index| {
            let value = kind.1(index as f64 / ELEMENTS as f64, &mut random);
            if random.number() < 0.15 { missing.next().copied().unwrap_or(value) } else { value }
        })
        .collect();
    rounded(&values, float)
}

fn write(path: &Path, way: &Way, float: ElementType, values: &[f64]) {
    let fill: Value = serde_json::from_str(way.fill_value).unwrap();
    let attributes: Value = serde_json::from_str(way.attributes).unwrap();
    let (size, elements) = (float.size(), elements(values, float));
    if !way.is_v2 {
        return Sample::new(float.name(), &[ELEMENTS as u64], &[CHUNK as u64], fill)
            .with("attributes", attributes)
            .write(path, &elements);
    }
    let dtype = format!("<f{size}");
    create_v2(
        path,
        json!({"shape": [ELEMENTS], "chunks": [CHUNK], "dtype": dtype, "fill_value": fill}),
    );
    fs::write(path.join(".zattrs"), attributes.to_string()).unwrap();
    for (number, chunk) in elements.chunks(CHUNK * size).enumerate() {
        fs::write(path.join(number.to_string()), chunk).unwrap();
    }
}

/// Packs elements, and returns the report and what they decode to.
fn pack(
    way: &Way,
    float: ElementType,
    values: &[f64],
    bound: f64,
    readers: &[Reader],
) -> Result<(PackReport, Vec<f64>), String> {
    let trial = Trial::empty();
    write(&trial.input(), way, float, values);
    let missing = way.named.split_whitespace().map(|text| scalar(text).unwrap()).collect();
    let report = trial.pack(PackOptions { missing, readers: readers.to_vec(), ..within(bound) })?;
    Ok((report, f64s(&trial.decoded(), float)))
}

fn is_missing(way: &Way, float: ElementType, value: f64) -> bool {
    value.is_nan() || rounded(way.missing, float).contains(&value)
}

/// The smallest and the largest value.
fn range(way: &Way, float: ElementType, values: &[f64]) -> (f64, f64) {
    let valid = values.iter().copied().filter(|&value| !is_missing(way, float, value));
    valid.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), value| (a.min(value), b.max(value)))
}

fn judge(
    kind: Kind,
    way: &Way,
    float: ElementType,
    share: f64,
    readers: &[Reader],
) -> Result<(), String> {
    let values = values(kind, way, float);
    let (least, greatest) = range(way, float, &values);
    let extent = if greatest > least { greatest - least } else { 1.0 };
    let bound = share * extent;
    let (report, decoded) = pack(way, float, &values, bound, readers)?;
    let markers: u64 = report.missing.iter().map(|one| one.count).sum();
    let expected = values.iter().filter(|&&value| is_missing(way, float, value)).count() as u64;
    if report.counts.special.nan + markers != expected {
        return Err(format!(
            "{} NaN and {markers} markers, not {expected}",
            report.counts.special.nan
        ));
    }
    if decoded.len() != values.len() {
        return Err(format!("{} elements", decoded.len()));
    }
    for (index, (&before, &after)) in values.iter().zip(&decoded).enumerate() {
        let is_right = if before.is_nan() {
            after.is_nan()
        } else if is_missing(way, float, before) {
            after.to_bits() == before.to_bits()
        } else {
            !is_missing(way, float, after) && (after - before).abs() <= bound
        };
        if !is_right {
            return Err(format!("element {index} is {before:?} and decodes to {after:?}"));
        }
    }
    Ok(())
}

#[test]
fn every_kind_of_data_is_packed_with_every_way_of_missing_values() {
    assert_all_are_packed(&[]);
}

#[test]
fn every_kind_of_data_stays_plain_with_every_way_of_missing_values() {
    assert_all_are_packed(&[Reader::Any]);
}

fn assert_all_are_packed(readers: &[Reader]) {
    let mut failures = Vec::new();
    let mut count = 0;
    for kind in KINDS {
        for way in &WAYS {
            for float in FLOATS {
                for share in [1e-2, 1e-3] {
                    count += 1;
                    if let Err(error) = judge(kind, way, float, share, readers) {
                        let (kind, way) = (kind.0, way.name);
                        failures.push(format!("{kind}, {way}, {float}, {share}: {error}"));
                    }
                }
            }
        }
    }
    assert_eq!(count, 504);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// A value that archives fill with is data unless something names it; where it makes the bound impossible,
/// the error says so.
#[test]
fn what_looks_missing_and_makes_the_bound_impossible_is_named_and_counted() {
    for suspect in [NC_FILL, 1e20, 1e15, 9.999e20, -1e34] {
        for float in FLOATS {
            let mut values = values(KINDS[0], &WAYS[0], float);
            let suspect = rounded(&[suspect], float)[0];
            for index in [5, 6, 450] {
                values[index] = suspect;
            }
            let error = pack(&WAYS[0], float, &values, 0.01, &[]).unwrap_err();
            assert!(error.contains("(3 elements) looks like"), "{error}");
            assert!(error.contains("--missing"), "{error}");
            // What the error names helps.
            let named = error.split("--missing ").nth(1).unwrap();
            let named = named.split(':').next().unwrap().to_owned();
            let named: &'static str = named.leak();
            let way = Way { named, ..WAY };
            let (report, decoded) = pack(&way, float, &values, 0.01, &[]).unwrap();
            assert_eq!(report.missing[0].count, 3);
            assert_eq!(decoded[450].to_bits(), suspect.to_bits());
        }
    }
}

/// The arithmetic of the type stands in the way: only a larger bound helps.
#[test]
fn a_bound_that_is_too_small_is_to_be_larger() {
    let values = values(KINDS[0], &WAYS[0], ElementType::Float64);
    let error = pack(&WAYS[0], ElementType::Float64, &values, 1e-17, &[]).unwrap_err();
    assert!(error.contains("allow a larger --max-abs-error"), "{error}");
    assert!(!error.contains("looks like") && !error.contains("--no-grid"), "{error}");
}
