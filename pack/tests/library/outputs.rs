//! What is at the place of the output: it stays, or is replaced by a whole array or group on request.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{
    Trial, contents, create_group, create_v2, kelvin, names, one_thread, open, told, weather,
    within,
};
use recast_pack::{DryRun, GroupJob, Job, MigrateJob, PackJob, Runtime, UnpackJob};
use serde_json::json;

#[test]
fn an_existing_output_is_replaced_only_when_asked_and_by_a_whole_array() {
    let mut values = kelvin(100);
    values[50] = 1.234_567e-9;
    let trial = Trial::new(&values, 10, json!({"fill_value": "NaN"}));
    trial.pack(within(0.01)).unwrap();
    let first = contents(&trial.output());
    let job = PackJob { overwrite: false, ..trial.job(within(1.0)) };
    for outcome in [told(job.run(&one_thread())), told(job.dry_run(&one_thread()))] {
        let error = outcome.map(|report| report.codecs).unwrap_err();
        assert!(error.contains("exists") && error.contains("--overwrite"), "{error}");
    }
    trial.refuses(within(1e-9));
    assert_eq!(contents(&trial.output()), first);
    trial.pack(within(1.0)).unwrap();
    assert_ne!(contents(&trial.output()), first);
    assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);

    fs::remove_dir_all(trial.output()).unwrap();
    fs::create_dir(trial.output()).unwrap();
    fs::write(trial.output().join("precious"), "text").unwrap();
    let error = trial.refuses(within(1.0));
    assert!(error.contains("not an array"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_is_no_array_stays_also_with_overwrite() {
    let trial = Trial::new(&kelvin(100), 10, json!({"fill_value": "NaN"}));
    let output = trial.output();
    let kept = |hint: &str| {
        let careful = PackJob { overwrite: false, ..trial.job(within(1.0)) };
        let error = told(careful.run(&one_thread())).map(|report| report.codecs).unwrap_err();
        assert!(error.contains("--overwrite"), "{error}");
        let error = told(trial.job(within(1.0)).run(&one_thread()));
        let error = error.map(|report| report.codecs).unwrap_err();
        assert!(error.contains(hint), "{error}");
        assert_eq!(names(trial.path()), ["in.zarr", "out.zarr"]);
    };
    fs::write(&output, "precious").unwrap();
    kept("not a directory");
    assert_eq!(fs::read(&output).unwrap(), b"precious");
    fs::remove_file(&output).unwrap();

    std::os::unix::fs::symlink("nowhere", &output).unwrap();
    kept("not a directory");
    fs::remove_file(&output).unwrap();

    fs::create_dir(&output).unwrap();
    kept("not an array");
}

/// A job from one place to another, which may replace what is there.
type Run = fn(&Path, &Path, bool) -> Result<(), String>;

#[test]
fn overwrite_replaces_groups_as_it_replaces_arrays_in_every_job() {
    let trial = Trial::empty();
    weather(&trial.input());
    let (packed, old) = (trial.place("packed.zarr"), trial.place("old.zarr"));
    told(GroupJob::new(trial.input(), &packed, within(0.1)).run(&one_thread())).unwrap();
    let members = json!({"shape": [4], "chunks": [4], "dtype": "<f4", "fill_value": 0});
    create_v2(&old.join("one"), members);
    fs::write(old.join(".zgroup"), r#"{"zarr_format": 2}"#).unwrap();
    fs::write(old.join("one/0"), crate::common::quarters(4)).unwrap();
    let jobs: [(&PathBuf, Run); 5] = [
        (&trial.input(), |input, output, overwrite| {
            let job = PackJob { overwrite, ..PackJob::new(input, output, within(0.1)) };
            told(GroupJob::from(job).run(&one_thread())).map(drop)
        }),
        (&packed, |input, output, overwrite| {
            let unpack = UnpackJob { overwrite, ..UnpackJob::new(input, output) };
            told(unpack.run(&one_thread())).map(drop)
        }),
        (&packed, |input, output, overwrite| {
            let unpack = UnpackJob { overwrite, to_cf: true, ..UnpackJob::new(input, output) };
            told(unpack.run(&one_thread())).map(drop)
        }),
        (&old, |input, output, overwrite| {
            let job = MigrateJob::new(input, Some(output.to_owned()));
            told(MigrateJob { overwrite, ..job }.run(&one_thread())).map(drop)
        }),
        (&old, |input, output, overwrite| {
            let job = MigrateJob::new(input, Some(output.to_owned()));
            told(MigrateJob { overwrite, reencode: true, ..job }.run(&one_thread())).map(drop)
        }),
    ];
    let output = trial.output();
    for (number, (input, run)) in jobs.into_iter().enumerate() {
        run(input, &output, false).unwrap();
        let expected = contents(&output);
        fs::remove_dir_all(&output).unwrap();
        // The old group has an array that the new one has not.
        weather(&output);
        crate::common::copy(&trial.input().join("wind"), &output.join("more"));
        let before = contents(&output);
        let error = run(input, &output, false).unwrap_err();
        assert!(error.contains("exists; --overwrite replaces it"), "{error}");
        assert_eq!(contents(&output), before);
        run(input, &output, true).unwrap();
        assert_eq!(contents(&output), expected, "{number}");
        assert_eq!(names(trial.path()), ["in.zarr", "old.zarr", "out.zarr", "packed.zarr"]);
        // A job that fails leaves the old one.
        run(&trial.place("none.zarr"), &output, true).unwrap_err();
        assert_eq!(contents(&output), expected, "{number}");
        fs::remove_dir_all(&output).unwrap();
    }
}

#[test]
fn overwrite_replaces_no_group_by_an_array_and_no_array_by_a_group() {
    let trial = Trial::new(&kelvin(64), 16, json!({}));
    let group = trial.place("group.zarr");
    weather(&group);
    crate::common::copy(&trial.input(), &trial.output());
    let before = contents(trial.path());
    let job = PackJob { input: group.clone(), ..trial.job(within(0.1)) };
    let error = told(GroupJob::from(job).run(&one_thread())).map(drop).unwrap_err();
    assert!(error.contains("out.zarr: is an array, and a group would replace it"), "{error}");
    let job = |output| PackJob { output, ..trial.job(within(0.1)) };
    let error = told(job(group.clone()).run(&one_thread())).map(|report| report.output);
    let error = error.unwrap_err();
    assert!(error.contains("group.zarr: is a group, and an array would replace"), "{error}");
    assert_eq!(contents(trial.path()), before);
    // An array of the group is another thing, once no consolidated metadata hold a copy of what it is now.
    create_group(&group);
    told(job(group.join("deep/t2m")).run(&one_thread())).unwrap();
    assert_eq!(open(&group.join("deep/t2m")).shape(), [64]);
}

#[test]
fn an_output_that_would_harm_the_input_is_refused_however_it_is_spelled() {
    let trial = Trial::empty();
    weather(&trial.input());
    #[cfg(unix)]
    std::os::unix::fs::symlink(trial.input(), trial.place("link.zarr")).unwrap();
    let before = contents(&trial.input());
    for (input, output) in [
        ("in.zarr", "in.zarr"),
        ("in.zarr", "in.zarr/"),
        ("in.zarr", "./in.zarr/../in.zarr"),
        ("in.zarr", "."),
        ("in.zarr/t2m", "in.zarr/t2m/c/../x"),
        ("in.zarr/t2m", "in.zarr/deep/../t2m"),
        ("link.zarr", "in.zarr"),
        ("link.zarr/t2m", "in.zarr/t2m"),
        ("in.zarr", "in.zarr/deep/new"),
        ("in.zarr/t2m", "in.zarr"),
    ] {
        if input.starts_with("link") && !trial.place("link.zarr").exists() {
            continue;
        }
        let places = [input, output].map(|name| trial.place(name));
        let job = PackJob::new(&places[0], &places[1], within(0.1));
        let job = PackJob { overwrite: true, ..job };
        let error = if input.ends_with("t2m") {
            told(job.run(&one_thread())).map(drop)
        } else {
            told(GroupJob::from(job).run(&one_thread())).map(drop)
        };
        let error = error.unwrap_err();
        assert!(error.contains("write to another place"), "{input} {output}: {error}");
    }
    // Nor is a folder made that nobody has named.
    let job = PackJob::new(trial.input().join("t2m"), trial.place("none/out.zarr"), within(0.1));
    let error = told(job.run(&one_thread())).map(drop).unwrap_err();
    assert!(error.contains("none/out.zarr"), "{error}");
    assert_eq!(contents(&trial.input()), before);
}

#[cfg(unix)]
#[test]
fn an_output_is_refused_that_would_harm_what_links_in_the_input_lead_to() {
    for (linked, place) in [("deep", "more"), ("wind/c/0/0", "more/chunk")] {
        let trial = Trial::empty();
        weather(&trial.input());
        create_group(&trial.place("other.zarr"));
        create_group(&trial.place("other.zarr/more"));
        let (link, real) = (trial.input().join(linked), trial.place("other.zarr").join(place));
        if linked == "deep" {
            fs::remove_dir_all(&real).unwrap();
        }
        fs::rename(&link, &real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let before = contents(trial.path());
        for output in ["other.zarr/more", "other.zarr", "other.zarr/more/new"] {
            // A file has no place in it.
            if output.ends_with("new") && linked != "deep" {
                continue;
            }
            let job = PackJob::new(trial.input(), trial.place(output), within(0.1));
            let job = GroupJob::from(PackJob { overwrite: true, ..job });
            let error = told(job.run(&one_thread())).map(drop).unwrap_err();
            let expected = ["a link to ", "other.zarr/more", "write to another place"];
            assert!(expected.iter().all(|part| error.contains(part)), "{output}: {error}");
        }
        assert_eq!(contents(trial.path()), before);
    }
}

/// Readers of a group may lack the codecs of an array that appears in it.
#[test]
fn an_output_in_a_group_that_the_input_is_in_has_to_be_asked_for() {
    let trial = Trial::empty();
    let group = trial.place("raw.zarr");
    weather(&group.join("deep"));
    create_group(&group);
    let [input, beside] = ["deep/t2m", "packed"].map(|name| group.join(name));
    let asked = || Runtime { into_group: true, ..one_thread() };
    let into = |place: &Path, runtime: &Runtime| {
        told(PackJob::new(&input, place, within(0.1)).run(runtime)).map(|_| ())
    };
    for place in [&beside, &group.join("deep/packed"), &group.join("deep/deep/packed")] {
        let before = contents(trial.path());
        let error = into(place, &one_thread()).unwrap_err();
        let named =
            format!("the group {}, which INPUT is in", group.canonicalize().unwrap().display());
        assert!(error.contains(&named) && error.contains("--into-group"), "{error}");
        assert!(error.contains("outside it"), "{error}");
        assert!(contents(trial.path()) == before, "{error}");
        into(place, &asked()).unwrap();
    }
    let migration = told(MigrateJob::new(&input, Some(group.join("moved"))).run(&one_thread()));
    assert!(migration.map(|_| ()).unwrap_err().contains("--into-group"));
    let plain = told(UnpackJob::new(&beside, group.join("plain")).run(&one_thread()));
    assert!(plain.map(|_| ()).unwrap_err().contains("--into-group"));
    let deep = GroupJob::new(group.join("deep"), group.join("all"), within(0.1));
    assert!(told(deep.run(&one_thread())).map(|_| ()).unwrap_err().contains("--into-group"));

    // What is replaced was in the group before.
    let job = PackJob { overwrite: true, ..PackJob::new(&input, &beside, within(0.1)) };
    told(job.run(&one_thread())).unwrap();
    let other = trial.place("other.zarr");
    fs::create_dir(&other).unwrap();
    create_group(&other);
    into(&other.join("packed"), &one_thread()).unwrap();
    into(&trial.place("packed"), &one_thread()).unwrap();
}

/// No reader looks for nodes in an array, and a job on a group around it would lose them.
#[test]
fn an_output_in_an_array_is_refused() {
    let trial = Trial::empty();
    weather(&trial.input());
    let input = trial.input().join("deep/t2m");
    let other = trial.place("other.zarr");
    weather(&other);
    let before = contents(trial.path());
    for place in ["t2m/packed", "t2m/c/packed", "deep/t2m/c/packed"] {
        let place = other.join(place);
        let packed = PackJob::new(&input, &place, within(0.1)).run(&one_thread()).map(|_| ());
        let group = GroupJob::new(trial.input(), &place, within(0.1)).run(&one_thread());
        for error in [told(packed), told(group).map(|_| ())].map(Result::unwrap_err) {
            assert!(error.contains("lies in the array"), "{error}");
        }
    }
    assert!(contents(trial.path()) == before);
}
