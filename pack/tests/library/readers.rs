//! `--readers gdal`: types and codecs that GDAL's main branch has.

use recast_kernels::ElementType;
use recast_pack::{PackOptions, Reader, scalar};
use serde_json::json;

use crate::common::{Trial, codec_names, options, relative, within};

const GDAL: &str = "main branch, September 2026";

fn trial() -> Trial {
    let values: Vec<f32> =
        (0..4000).map(|index| 280.0 + (index as f32 / 300.0).sin() * 9.0).collect();
    Trial::new(&values, 1000, json!({"fill_value": "NaN"}))
}

fn for_gdal(options: PackOptions) -> PackOptions {
    PackOptions { readers: vec![Reader::Gdal], ..options }
}

#[test]
fn gdal_gets_types_and_codecs_that_it_has() {
    let trial = trial();
    let smallest = PackOptions { compressor: "smallest".parse().unwrap(), ..within(0.001) };
    for options in [within(0.01), within(1e-4), smallest] {
        let report = trial.pack(for_gdal(options)).unwrap();
        assert_eq!(report.readers.unwrap().gdal, Some(GDAL));
        let known = ["scale_offset", "cast_value", "bytes", "zstd", "gzip", "blosc"];
        let names = codec_names(&report.codecs);
        assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    }
}

#[test]
fn types_that_gdal_lacks_are_neither_chosen_nor_taken() {
    let values: Vec<f64> = (1..2000).map(f64::from).collect();
    let trial = Trial::new(&values, 500, json!({"fill_value": "NaN"}));
    let relative = relative(0.01);
    let report = trial.pack(relative.clone()).unwrap();
    assert_eq!((report.data_type.size(), report.readers.unwrap().gdal), (2, None));
    let report = trial.pack(for_gdal(relative)).unwrap();
    assert_eq!(
        (report.data_type, report.readers.unwrap().gdal),
        (ElementType::Float32, Some(GDAL))
    );
    for name in ["float8_e4m3", "float8_e4m3fn", "float16", "bfloat16", "int4"] {
        let asked = json!({"max-abs-error": 0.5, "data-type": name, "readers": ["gdal"]});
        let error = trial.refuses(options(asked));
        assert!(error.contains(&format!("--data-type {name}")) && error.contains(GDAL), "{error}");
    }
    let halves = [ElementType::Float16];
    for element_type in halves {
        let number = scalar("1.5").unwrap().to_scalar(element_type).unwrap();
        let trial = Trial::new(&[number; 8], 4, json!({"fill_value": 0.0}));
        let error = trial.refuses(for_gdal(within(0.01)));
        assert!(
            error.contains("cast_value of float16") && error.contains("--readers any"),
            "{error}"
        );
    }
}

#[test]
fn of_several_readers_all_can_read() {
    let asked = json!({"max-abs-error": 0.01, "readers": ["gdal", "any", "zarrita"]});
    let report = trial().pack(options(asked)).unwrap();
    assert_eq!((report.data_type, report.readers), (ElementType::Float32, None));
    let asked =
        json!({"max-abs-error": 0.01, "readers": ["zarrita", "gdal"], "compressor": "smallest"});
    let report = trial().pack(options(asked)).unwrap();
    assert_eq!(report.readers.unwrap().gdal, Some(GDAL));
}
