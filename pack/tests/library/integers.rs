//! Integer arrays: exactly into the narrowest type, or to a step; markers and fill values bit for bit.

use crate::common::{
    Random, Trial, bytes, create_group, integers, of_group, one_thread, packed, store, within,
};
use recast_kernels::{ElementType, Scalar};
use recast_pack::{ArrayRule, GroupJob, Job, PackOptions, scalar};
use serde_json::{Value, json};

/// Packs without a word about how, and expects every bit back.
fn exactly<T: Copy + Into<Scalar>>(values: &[T], more: Value) -> (ElementType, Trial) {
    let trial = Trial::new(values, values.len().div_ceil(3).max(1), more);
    let report = trial.pack(PackOptions::default()).unwrap();
    assert_eq!(trial.decoded(), bytes(values), "{report:?}");
    assert_eq!(report.error.errors.max, 0.0);
    (report.data_type, trial)
}

#[test]
fn integers_are_packed_exactly_into_the_narrowest_type() {
    let ramp = |start: i64, count: i64| (0..count).map(move |step| start + (step * 37) % count);
    for (start, count, size) in [
        (0, 200, 1),
        (-50, 200, 1),
        (70_000, 250, 1),
        (-3, 300, 2),
        (1_000_000, 60_000, 2),
        (-1_000_000, 2_000_000, 4),
    ] {
        let wide: Vec<i64> = ramp(start, count).collect();
        assert_eq!(exactly(&wide, json!({})).0.size(), size, "{start} {count}");
        let narrow: Vec<i32> = wide.iter().map(|&one| one as i32).collect();
        assert_eq!(exactly(&narrow, json!({})).0.size(), size, "{start} {count}");
        if start >= 0 {
            let unsigned: Vec<u64> = wide.iter().map(|&one| one as u64).collect();
            assert_eq!(exactly(&unsigned, json!({})).0.size(), size, "{start} {count}");
        }
    }
}

#[test]
fn integers_beyond_two_to_the_53_keep_every_bit() {
    let at = |start: i64| -> Vec<i64> { (0..100).map(|step| start + 3 * step).collect() };
    for start in [i64::MIN, i64::MAX - 300, (1 << 53) + 1, -(1 << 60) - 7] {
        assert_eq!(exactly(&at(start), json!({})).0.size(), 2, "{start}");
    }
    let unsigned: Vec<u64> = (0..100).map(|step| u64::MAX - 2 * step).collect();
    assert_eq!(exactly(&unsigned, json!({})).0.size(), 1);
    // What spans the whole type stays in it.
    assert_eq!(exactly(&[i64::MIN, -1, 0, i64::MAX], json!({})).0, ElementType::Int64);
    assert_eq!(exactly(&[u64::MAX, 0, 1 << 63], json!({})).0, ElementType::UInt64);
    // A step needs fractions of a code, for which these have no room.
    let trial = Trial::new(&at(1 << 60), 50, json!({}));
    let error =
        trial.pack(PackOptions { precision: Some(10.0), ..PackOptions::default() }).unwrap_err();
    assert!(error.contains("int64") && error.contains("1152921504606846976"), "{error}");
}

/// Where float64 rounds more away than the bound allows, exact integers keep it as well.
#[test]
fn a_bound_below_what_float64_can_tell_apart_is_kept_by_exact_integers() {
    let times: Vec<i64> = (0..300).map(|step| (1 << 62) + 40 * step).collect();
    for (bound, is_exact) in [(5.0, true), (300.0, true), (1e6, false)] {
        let trial = Trial::new(&times, 100, json!({}));
        let coarse = PackOptions { allow_constant: true, ..within(bound) };
        let report = trial.pack(coarse).unwrap();
        assert!(report.error.errors.max <= bound, "{report:?}");
        assert_eq!(trial.decoded() == bytes(&times), is_exact, "{bound}");
        assert_eq!(report.data_type.size(), if is_exact { 2 } else { 1 });
    }
}

#[test]
fn markers_and_fill_values_of_integers_come_back_bit_for_bit() {
    let mut values: Vec<i32> = (0..220).map(|step| 5 + step % 210).collect();
    for (index, marker) in [(3, -9999), (50, i32::MIN), (51, i32::MAX), (200, 7)] {
        values[index] = marker;
    }
    // One of them lies among the values, where no code is left for anything else.
    let more = json!({"fill_value": -9999,
        "attributes": {"_FillValue": -9999, "missing_value": [i32::MIN, i32::MAX, 7]}});
    let (data_type, trial) = exactly(&values, more);
    assert_eq!(data_type.size(), 1);
    let document = trial.metadata();
    assert_eq!(document["fill_value"], -9999);
    assert_eq!(document["attributes"]["_FillValue"], -9999);
    // A chunk that was never written is the fill value.
    store(&trial.output(), 600, &bytes(&[9_i32]));
    let decoded = integers(&trial.decoded(), "int32");
    assert!(decoded[220..600].iter().all(|&one| one == -9999));
    // Times in nanoseconds, missing as NumPy writes it.
    let mut times: Vec<i64> = (0..90).map(|step| 1_600_000_000_000_000_000 + step).collect();
    times[8] = i64::MIN;
    let more = json!({"attributes": {"_FillValue": i64::MIN}});
    assert_eq!(exactly(&times, more).0.size(), 1);
    let full: Vec<i16> = (0..=255).chain([-1]).collect();
    assert_eq!(exactly(&full, json!({"attributes": {"_FillValue": -1}})).0, ElementType::Int16);
}

#[test]
fn an_array_in_the_narrowest_type_gets_no_codecs_and_the_report_says_so() {
    for more in [json!({}), json!({"fill_value": 200, "attributes": {"_FillValue": 17}})] {
        let values: Vec<u8> = (0..=255).collect();
        let trial = Trial::new(&values, 100, more);
        let report = trial.pack(PackOptions::default()).unwrap();
        assert!(report.already_narrowest);
        assert_eq!(report.storable_range, None);
        assert_eq!(trial.decoded(), values);
        let names: Vec<Value> = trial.metadata()["codecs"].as_array().unwrap().clone();
        assert!(names.iter().all(|codec| codec["name"] == "bytes" || codec["name"] == "zstd"));
    }
    let values: Vec<i16> = (0..1000).map(|step| step * 20 - 9000).collect();
    assert_eq!(exactly(&values, json!({})).0, ElementType::Int16);
    let trial = Trial::new(&[300_i16, 301], 2, json!({}));
    assert!(!trial.pack(PackOptions::default()).unwrap().already_narrowest);
}

#[test]
fn integers_may_be_rounded_to_a_step() {
    let values: Vec<i32> = (0..2000).map(|step| 100_000 + 7 * step).collect();
    let trial = Trial::new(&values, 500, json!({}));
    let options = PackOptions { precision: Some(100.0), ..PackOptions::default() };
    let report = trial.pack(options).unwrap();
    assert_eq!(report.data_type.size(), 1);
    for (&before, after) in values.iter().zip(integers(&trial.decoded(), "int32")) {
        let error = (i64::from(before) - after).abs();
        assert!(after % 100 == 0 && error <= 50, "{before} {after}");
    }
}

#[test]
fn a_type_that_is_named_holds_integers_exactly_or_is_refused() {
    let values: Vec<i32> = (0..250).map(|step| 40_000 + step).collect();
    let trial = Trial::new(&values, 100, json!({}));
    let into = |data_type| PackOptions { data_type: Some(data_type), ..PackOptions::default() };
    trial.pack(into(ElementType::UInt8)).unwrap();
    assert_eq!(trial.decoded(), bytes(&values));
    let error =
        Trial::new(&[1_i32, 1000], 2, json!({})).pack(into(ElementType::UInt8)).unwrap_err();
    assert!(error.contains("uint8") && error.contains("wider --data-type"), "{error}");
    let options =
        PackOptions { missing: vec![scalar("40003").unwrap()], ..into(ElementType::Int16) };
    assert_eq!(trial.pack(options).unwrap().missing[0].count, 1);
    assert_eq!(trial.decoded(), bytes(&values));
}

/// Flags and classes are nobody's measurements: only what is named is packed.
#[test]
fn integers_of_a_group_are_packed_where_they_are_named() {
    let trial = Trial::new(&[0_i32, 1, 2], 3, json!({"dimension_names": ["x"]}));
    let group = trial.path().join("group");
    create_group(&group);
    std::fs::rename(trial.input(), group.join("flags")).unwrap();
    let floats = Trial::new(&[0.5_f32, 1.5, 2.5], 3, json!({"dimension_names": ["x"]}));
    std::fs::rename(floats.input(), group.join("t2m")).unwrap();
    let mut number = 0;
    let mut pack = |mut job: GroupJob| -> Vec<String> {
        number += 1;
        job.pack.output = trial.path().join(format!("packed_{number}"));
        let report = of_group(job.run(&one_thread())).unwrap();
        packed(&report).into_iter().map(ToOwned::to_owned).collect()
    };
    let job = GroupJob::new(&group, "", within(0.01));
    assert_eq!(pack(job.clone()), ["t2m"]);
    let include = vec!["flags".to_owned()];
    // Without a bound, too, as integers need none.
    let named = GroupJob { include, ..GroupJob::new(&group, "", PackOptions::default()) };
    assert_eq!(pack(named), ["flags"]);
    let rules = ArrayRule::list_from_toml("[[array]]\nname = 'flags'").unwrap();
    assert_eq!(pack(GroupJob { rules, ..job }), ["flags", "t2m"]);
}

#[test]
fn a_fill_value_beside_the_largest_integers_is_told_from_them() {
    let values = [i64::MAX, i64::MAX - 1, i64::MAX - 2];
    let trial = Trial::new(&values, 3, json!({"fill_value": i64::MAX}));
    let report = trial.pack(within(0.0)).unwrap();
    assert_eq!((report.counts.special.fill, report.data_type), (1, ElementType::Int8));
    assert_eq!(trial.decoded(), bytes(&values));
}

#[test]
fn integers_within_a_bound_take_fewer_codes() {
    let wide: Vec<i32> = (0..1000).map(|i| 20 * (1_000_000 + (i * 37) % 251)).collect();
    let trial = Trial::new(&wide, 128, json!({}));
    assert_eq!(trial.pack(within(10.0)).unwrap().data_type, ElementType::Int8);
    let decoded = integers(&trial.decoded(), "int32");
    assert!(wide.iter().zip(decoded).all(|(&a, b)| (i64::from(a) - b).abs() <= 10));
}

#[test]
fn integers_beyond_two_to_the_53_keep_every_bound() {
    let mut random = Random(3);
    let start = 1_u64 << 53;
    let values: Vec<u64> = (0..500).map(|_| start + random.below(100_000) as u64).collect();
    for bound in [0.0, 1.0, 2.0, 500.0, 1000.0, 1100.0, 9980.0, 1e5] {
        let trial = Trial::new(&values, 100, json!({"fill_value": 7}));
        let coarse = PackOptions { allow_constant: true, ..within(bound) };
        let report = trial.pack(coarse).unwrap();
        let pairs = values.iter().zip(integers(&trial.decoded(), "uint64"));
        let most = pairs.map(|(&before, after)| before.abs_diff(after as u64)).max().unwrap();
        assert!(most as f64 <= bound, "{most} {bound}: {report:?}");
    }
}

#[test]
fn the_ends_of_the_range_to_keep_are_exact() {
    let start = 1_i64 << 53;
    let values = [start, start + 1, start + 2, start + 5];
    let trial = Trial::new(&values, 4, json!({"fill_value": 7}));
    let src_min = scalar(&(start + 1).to_string()).ok();
    let report = trial.pack(PackOptions { src_min, ..PackOptions::default() }).unwrap();
    assert_eq!(report.counts.clamped, 1);
    assert_eq!(integers(&trial.decoded(), "int64"), [start + 1, start + 1, start + 2, start + 5]);
}

#[test]
fn integers_of_one_byte_stay_as_they_are() {
    let values: Vec<u8> = (0..100_u16).map(|step| (step * 37 % 100) as u8).collect();
    let report = Trial::new(&values, 20, json!({})).pack(within(0.3)).unwrap();
    assert_eq!((report.data_type, report.scale, report.offset), (ElementType::UInt8, None, None));
}
