//! Groups: what describes other arrays by the conventions of CF stays exact.

use crate::common::{
    Sample, Trial, bytes, contents, create_group, of_group, one_thread, options, outcome, packed,
    quarters, within,
};
use recast_pack::{ArrayReport, GroupJob, GroupReport, Job};
use serde_json::{Value, json};

/// The attribute of a field, with `other` as the name of the array in each role.
const ROLES: [(&str, &str); 12] = [
    ("coordinates", "other"),
    ("bounds", "other"),
    ("climatology", "other"),
    ("formula_terms", "a: none b: other"),
    ("cell_measures", "area: other"),
    ("grid_mapping", "other"),
    ("grid_mapping", "other: x y"),
    ("geometry", "other"),
    ("node_coordinates", "x other"),
    ("node_count", "other"),
    ("part_node_count", "other"),
    ("interior_ring", "other"),
];

/// Attributes by which an array itself is a coordinate.
const OWN: [(&str, &str); 14] = [
    ("units", "days since 1970-01-01"),
    ("units", "hours Since 1900-01-01 00:00"),
    ("units", "degrees_north"),
    ("units", "degree_E"),
    ("units", "degreesN"),
    ("units", "sigma_level"),
    ("standard_name", "latitude"),
    ("standard_name", "projection_x_coordinate"),
    ("standard_name", "atmosphere_hybrid_sigma_pressure_coordinate"),
    ("standard_name", "altitude"),
    ("axis", "Z"),
    ("axis", "T"),
    ("_CoordinateAxisType", "Height"),
    ("_CoordinateAxisType", "Lon"),
];

/// A group of a field and another array, with attributes for each.
fn group_of(field: Value, other: Value) -> Trial {
    let trial = Trial::empty();
    create_group(&trial.input());
    for (name, attributes) in [("field", field), ("other", other)] {
        Sample::new("float32", &[3, 4], &[3, 4], json!(0))
            .with("attributes", attributes)
            .write(&trial.input().join(name), &quarters(12));
    }
    trial
}

fn run(job: &GroupJob) -> GroupReport<ArrayReport> {
    of_group(job.run(&one_thread())).unwrap()
}

#[test]
fn arrays_in_any_role_of_cf_stay_exact_unless_they_are_named() {
    let roles = ROLES.map(|(key, value)| (json!({ key: value }), json!({})));
    let own = OWN.map(|(key, value)| (json!({"units": "K"}), json!({ key: value })));
    for (field, other) in roles.into_iter().chain(own) {
        let case = format!("{field} {other}");
        let trial = group_of(field, other);
        let job = trial.group_job(within(0.3));
        assert_eq!(packed(&run(&job)), ["field"], "{case}");
        let [input, output] = [trial.input(), trial.output()].map(|path| path.join("other"));
        assert_eq!(contents(&output), contents(&input), "{case}");
        std::fs::remove_dir_all(trial.output()).unwrap();
        let named = GroupJob { include: vec!["other".to_owned()], ..job };
        assert_eq!(packed(&run(&named)), ["other"], "{case}");
    }
}

#[test]
fn fields_that_only_look_like_coordinates_are_packed() {
    let others = [
        json!({"units": "Pa", "positive": "up", "standard_name": "air_pressure"}),
        json!({"units": "degrees", "axis": 1}),
        json!({"standard_name": "surface_altitude", "units": "m"}),
    ];
    for other in others {
        let trial = group_of(json!({"cell_measures": "other: none"}), other.clone());
        assert_eq!(packed(&run(&trial.group_job(within(0.3)))), ["field", "other"], "{other}");
    }
}

#[test]
fn ancillary_variables_are_packed_with_a_warning() {
    let trial = group_of(json!({"ancillary_variables": "other"}), json!({}));
    let report = run(&trial.group_job(options(json!({"max-abs-error": 0.3}))));
    assert_eq!(packed(&report), ["field", "other"]);
    assert!(report.warnings.iter().any(|one| one.contains("--exclude other")), "{report:?}");
}

#[test]
fn an_array_of_one_dimension_with_a_positive_direction_is_a_vertical_coordinate() {
    let trial = group_of(json!({}), json!({}));
    Sample::new("float64", &[2], &[2], json!(0))
        .with("attributes", json!({"units": "m", "positive": "up"}))
        .with("dimension_names", json!(["h"]))
        .write(&trial.input().join("height"), &bytes(&[1.123, 2.234]));
    let report = run(&trial.group_job(within(0.1)));
    assert_eq!(
        outcome(&report.arrays, "height").reason(),
        Some("a coordinate by its positive, up")
    );
}

/// CF 1.12, section 2.7: `../` is one group up, and a slash the root.
#[test]
fn names_with_paths_lead_to_coordinates_of_other_groups() {
    let trial = Trial::empty();
    let place = |path: &str| trial.input().join(path);
    for group in ["", "a", "a/b", "c"] {
        create_group(&place(group));
    }
    let named = json!({"coordinates": "../up ./here /root ../../c/aside", "bounds": "../none"});
    for (path, attributes) in [
        ("a/b/field", named),
        ("a/up", json!({})),
        ("a/b/here", json!({})),
        ("root", json!({})),
        ("c/aside", json!({})),
        ("c/up", json!({})),
    ] {
        Sample::new("float32", &[3, 4], &[3, 4], json!(0))
            .with("attributes", attributes)
            .write(&place(path), &quarters(12));
    }
    let report = run(&trial.group_job(within(0.01)));
    assert_eq!(packed(&report), ["a/b/field", "c/up"]);
}
