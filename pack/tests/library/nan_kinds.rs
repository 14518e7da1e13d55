//! Kinds of NaN, which some formats tell apart by their bits, such as VCF's "missing" and "end of vector".

use crate::common::{Sample, Trial, comparison, kelvin, one_thread, told, within};
use recast_pack::{PackOptions, Reader, scalar};
use serde_json::{Value, json};

const MISSING: u32 = 0x7f80_0001;
const END: u32 = 0x7f80_0002;

/// Kelvin, of which some are NaN of these kinds.
fn of_kinds(kinds: &[u32]) -> Trial {
    let mut values = kelvin(1000);
    for (index, value) in values.iter_mut().enumerate().filter(|(index, _)| index % 50 == 7) {
        *value = f32::from_bits(kinds[index / 50 % kinds.len()]);
    }
    Trial::new(&values, 200, json!({"fill_value": 0.0}))
}

fn named(kinds: &[&str]) -> PackOptions {
    let missing = kinds.iter().map(|kind| scalar(kind).unwrap()).collect();
    PackOptions { missing, ..within(0.01) }
}

fn kinds_in(elements: &[u8]) -> Vec<u32> {
    let (elements, _) = elements.as_chunks();
    let nan = elements.iter().map(|&bytes| f32::from_ne_bytes(bytes)).filter(|x| x.is_nan());
    let mut kinds: Vec<u32> = nan.map(f32::to_bits).collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

#[test]
fn the_report_says_how_many_kinds_of_nan_become_one() {
    let trial = of_kinds(&[MISSING, END]);
    let report = trial.pack(within(0.01)).unwrap();
    let merged = report.nan_kinds.as_ref().unwrap();
    assert_eq!((merged.kinds, merged.patterns.len()), (2, 2));
    assert_eq!(merged.to_string(), "2 (0x7f800001, 0x7f800002) become 0x7fc00000");
    let json: Value = serde_json::to_value(&report).unwrap();
    assert_eq!(json["nan_kinds"]["decoded"], json!(["0x7fc00000"]));
    // One kind stays one, whichever it is, and plain numbers keep all bits.
    assert!(of_kinds(&[MISSING]).pack(within(0.01)).unwrap().nan_kinds.is_none());
    let plain = PackOptions { readers: vec![Reader::Any], ..named(&["0x7F800001"]) };
    assert!(trial.pack(plain).unwrap().nan_kinds.is_none());
    assert_eq!(kinds_in(&trial.decoded()), [MISSING, END]);
}

/// zarr-python's own `cast_value` does not open a map with the bits of a NaN.
#[test]
fn an_array_with_a_named_kind_of_nan_needs_zarr_recast() {
    for (kind, name, needs) in [
        (MISSING, None, false),
        (MISSING, Some("0x7F800001"), true),
        (0x7fc0_0000, Some("0x7fc00000"), false),
    ] {
        let readers = of_kinds(&[kind]).pack(named(name.as_slice())).unwrap().readers.unwrap();
        let found = (readers.needs_zarr_recast, readers.needs_ml_dtypes);
        assert_eq!(found, (needs, false), "{name:?}");
    }
}

#[test]
fn a_kind_of_nan_that_is_named_comes_back_bit_for_bit() {
    for (target, bound) in
        [(None, 0.01), (None, 1e-5), (Some("int32"), 0.01), (Some("float32"), 0.01)]
    {
        for kind in [MISSING, 0xffc0_0000, 0x7fc0_0000] {
            let trial = of_kinds(&[kind]);
            let data_type =
                target.map(|name| recast_kernels::ElementType::from_name(name).unwrap());
            let options = PackOptions {
                max_abs_error: Some(bound),
                data_type,
                ..named(&[&format!("{kind:#x}")])
            };
            let report = trial.pack(options).unwrap();
            assert_eq!(kinds_in(&trial.decoded()), [kind], "{target:?} {bound}");
            assert!(report.nan_kinds.is_none() && report.counts.special.nan == 20);
            let report =
                told(comparison(&trial.input(), &trial.output(), bound).run(&one_thread()));
            let report = report.unwrap();
            assert_eq!((report.failure(), report.counts.other_nan), (None, 0));
        }
    }
}

#[test]
fn codecs_cannot_tell_a_named_kind_from_others() {
    let trial = of_kinds(&[MISSING, END]);
    let error = trial.refuses(named(&["0x7F800001"]));
    for expected in ["names the NaN 0x7f800001", "the NaN 0x7f800002 (10 times)", "--readers any"] {
        assert!(error.contains(expected), "{error}");
    }
    let error = trial.refuses(named(&["0x7F800001", "0x7f800002"]));
    assert!(error.contains("two kinds of NaN, 0x7f800001 and 0x7f800002"), "{error}");
    let error = of_kinds(&[MISSING]).refuses(PackOptions {
        nan_to: serde_json::from_value(json!(-5)).unwrap(),
        ..named(&["0x7f800001"])
    });
    assert!(error.contains("--nan-to"), "{error}");
}

#[test]
fn comparisons_count_nan_of_other_kinds_and_pass() {
    let trial = of_kinds(&[MISSING, END]);
    trial.pack(within(0.01)).unwrap();
    let job = comparison(&trial.input(), &trial.output(), 0.01);
    let report = told(job.run(&one_thread())).unwrap();
    assert_eq!((report.failure(), report.counts.other_nan), (None, 20));
    let first = report.first_other_nan.as_ref().unwrap();
    assert_eq!((first.element.as_slice(), first.before.bits()), (&[7][..], MISSING.into()));
    let same = told(comparison(&trial.input(), &trial.input(), 0.0).run(&one_thread())).unwrap();
    assert!(same.first_other_nan.is_none() && same.counts.special.nan == 20);

    // Chunks that are not stored have the fill value's.
    let empty = Trial::empty();
    for (place, fill) in [(empty.input(), "0x7f800001"), (empty.output(), "NaN")] {
        Sample::new("float32", &[50], &[20], json!(fill)).create(&place);
    }
    let report = told(comparison(&empty.input(), &empty.output(), 0.0).run(&one_thread())).unwrap();
    assert_eq!((report.failure(), report.counts.other_nan), (None, 50));
}
