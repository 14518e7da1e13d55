//! Links in an input that lead out of it: every job that writes names them, and refuses them on request.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use recast_pack::report::OutsideLinks;
use recast_pack::{DryRun, GroupJob, Job, MigrateJob, PackJob, Runtime, UnpackJob};
use serde::Serialize;
use serde_json::{Value, json};

use crate::common::{
    Random, Sample, Trial, contents, create_group, create_v2, from_cf, of_group, one_thread,
    quarters, to_cf, told, within,
};

/// The links in the report of a job.
fn reported<R: Serialize>(outcome: Result<R, recast_pack::Error>) -> Result<Value, String> {
    let report = told(outcome.map(|report| serde_json::to_value(report).unwrap()))?;
    Ok(report.get("outside_links").cloned().unwrap_or_default())
}

/// A group with an array of Zarr v3 and one of Zarr v2.
fn group(place: &Path) {
    create_group(place);
    Sample::new("float32", &[3, 8], &[3, 4], json!(0)).write(&place.join("a"), &quarters(24));
    let members = json!({"shape": [24], "chunks": [12], "dtype": "<f4", "fill_value": 0});
    create_v2(&place.join("old"), members);
    for chunk in ["old/0", "old/1"] {
        fs::write(place.join(chunk), quarters(12)).unwrap();
    }
}

/// All jobs on the group and its arrays.
fn all_jobs(trial: &Trial, runtime: &Runtime) -> Vec<(&'static str, Result<Value, String>)> {
    let (input, array, old) = (trial.input(), trial.input().join("a"), trial.input().join("old"));
    let outputs = trial.place("outputs");
    fs::create_dir_all(&outputs).unwrap();
    let place = |name: &str| outputs.join(name);
    let pack = GroupJob::new(&input, place("packed"), within(0.1));
    let pack_array = PackJob::new(&array, place("packed array"), within(0.1));
    let migrate = |from: &Path, to: &str| MigrateJob::new(from, Some(place(to))).run(runtime);
    let outcomes = vec![
        ("preview of group", reported(pack.preview(runtime))),
        ("dry run of group", reported(pack.dry_run(runtime))),
        ("pack group", reported(pack.run(runtime))),
        ("dry run", reported(pack_array.dry_run(runtime))),
        ("pack", reported(pack_array.run(runtime))),
        ("unpack group", reported(UnpackJob::new(&input, place("plain")).run(runtime))),
        ("unpack", reported(UnpackJob::new(&array, place("plain array")).run(runtime))),
        ("migrate group", reported(migrate(&input, "migrated"))),
        ("migrate", reported(migrate(&old, "migrated array"))),
    ];
    fs::remove_dir_all(outputs).unwrap();
    outcomes
}

#[test]
fn every_job_that_writes_names_the_links_that_lead_out_of_its_input() {
    let trial = Trial::empty();
    group(&trial.input());
    for (job, links) in all_jobs(&trial, &one_thread()) {
        assert_eq!(links, Ok(Value::Null), "{job}");
    }
    // A link inside is none of them.
    symlink("0/1", trial.input().join("a/c/inside")).unwrap();
    let strict = Runtime { no_outside_links: true, ..one_thread() };
    for (job, links) in all_jobs(&trial, &strict) {
        assert_eq!(links, Ok(Value::Null), "{job}");
    }
    let private = trial.place("private");
    fs::create_dir(&private).unwrap();
    for chunk in ["a/c/0/0", "old/0"] {
        let chunk = trial.input().join(chunk);
        let name = if chunk.ends_with("old/0") { "old" } else { "new" };
        fs::rename(&chunk, private.join(name)).unwrap();
        symlink(private.join(name), &chunk).unwrap();
    }
    let real = private.canonicalize().unwrap();
    for (job, links) in all_jobs(&trial, &one_thread()) {
        let links = links.unwrap_or_else(|error| panic!("{job}: {error}"));
        let number = if job.contains("group") { 2 } else { 1 };
        assert_eq!(links["count"], number, "{job}: {links}");
        assert_eq!(links["folders"][0]["folder"], real.to_str().unwrap(), "{job}: {links}");
        let link = match job {
            "migrate" => "0",
            _ if number == 1 => "c/0/0",
            _ => "a/c/0/0",
        };
        assert_eq!(links["folders"][0]["examples"][0]["link"], link, "{job}: {links}");
    }
    let before = contents(trial.path());
    for (job, links) in all_jobs(&trial, &strict) {
        let error = links.expect_err(job);
        let target = real.join(if job == "migrate" { "old" } else { "new" });
        let parts = [target.to_str().unwrap(), "in.zarr", "without --no-outside-links"];
        assert!(parts.iter().all(|part| error.contains(part)), "{job}: {error}");
    }
    assert!(contents(trial.path()) == before);
    // Arrays of two versions in one group cannot be migrated in place.
    let old = trial.input().join("old");
    let refused = reported(MigrateJob::new(&old, None).run(&strict)).unwrap_err();
    assert!(refused.contains("old/0: a link to ") && contents(trial.path()) == before, "{refused}");
    let links = reported(MigrateJob::new(&old, None).run(&one_thread())).unwrap();
    assert_eq!(links["count"], 1, "{links}");
}

#[test]
fn links_of_arrays_that_only_give_the_scale_are_refused_on_request() {
    let trial = Trial::empty();
    group(&trial.input());
    let (other, chunk) = (trial.place("other.zarr"), trial.place("chunk"));
    Sample::new("float32", &[3, 8], &[3, 4], json!(0)).write(&other, &quarters(24));
    fs::rename(other.join("c/0/0"), &chunk).unwrap();
    symlink(&chunk, other.join("c/0/0")).unwrap();
    let job = PackJob {
        scale_from: vec![other.clone()],
        ..PackJob::new(trial.input().join("a"), trial.output(), within(0.1))
    };
    let strict = Runtime { no_outside_links: true, ..one_thread() };
    for outcome in [job.preview(&strict), job.dry_run(&strict), job.run(&strict)] {
        let error = told(outcome).map(drop).unwrap_err();
        assert!(
            error.contains("other.zarr/c/0/0: a link to ") && error.contains("chunk"),
            "{error}"
        );
    }
    told(job.run(&one_thread())).unwrap();
}

#[test]
fn a_link_that_leads_to_itself_is_not_told_as_one_to_a_missing_file() {
    let trial = Trial::empty();
    group(&trial.input());
    let notes = trial.input().join("notes");
    symlink("notes", &notes).unwrap();
    let job = GroupJob::new(trial.input(), trial.output(), within(0.1));
    let error = told(job.run(&one_thread())).map(drop).unwrap_err();
    assert!(error.contains("notes: a link to notes, which cannot be followed"), "{error}");
    // A device is no file, and the report says so.
    fs::remove_file(&notes).unwrap();
    symlink("/dev/null", &notes).unwrap();
    let report = of_group(job.run(&one_thread())).unwrap();
    let warnings = report.warnings.join(" ");
    assert!(warnings.contains("not copied") && warnings.contains("notes"), "{warnings}");
}

#[test]
fn links_of_cf_jobs_are_named_too() {
    let trial = Trial::empty();
    let attributes = json!({"scale_factor": 0.5, "add_offset": 10.0});
    let sample = Sample::new("int16", &[4], &[2], json!(0)).with("attributes", attributes);
    sample.write(&trial.input(), &[0, 1, 0, 2, 0, 3, 0, 4]);
    let chunk = trial.input().join("c/0");
    fs::rename(&chunk, trial.place("chunk")).unwrap();
    symlink("../../chunk", &chunk).unwrap();
    let job = from_cf(trial.input(), trial.output());
    assert_eq!(reported(job.dry_run(&one_thread())).unwrap()["count"], 1);
    assert_eq!(reported(job.run(&one_thread())).unwrap()["count"], 1);
    let chunk = trial.output().join("c/1");
    fs::rename(&chunk, trial.place("other")).unwrap();
    symlink("../../other", &chunk).unwrap();
    let job = to_cf(trial.output(), trial.place("back.zarr"));
    assert_eq!(reported(job.run(&one_thread())).unwrap()["count"], 1);
}

/// What random trees of links must be reported as, counted by the test itself.
#[test]
fn links_are_counted_by_the_folder_to_which_they_lead_and_the_report_stays_small() {
    for seed in 0..20 {
        let trial = Trial::empty();
        let (root, mut random) = (trial.path().canonicalize().unwrap(), Random(seed));
        let input = root.join("deep/er/in.zarr");
        fs::create_dir_all(input.parent().unwrap()).unwrap();
        group(&input);
        let folders = 1 + random.below(40);
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        let above = [root.clone(), root.join("deep"), root.join("deep/er")];
        for number in 0..=random.below(300) {
            let outermost =
                above[random.below(3)].join(format!("folder {:02}", random.below(folders)));
            let target = outermost.join("objects").join(format!("{number}"));
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::write(&target, "text").unwrap();
            let mut place = input.join(["a", "notes", "old"][random.below(3)]);
            fs::create_dir_all(&place).unwrap();
            place.push(format!("link {number:03}"));
            match random.below(4) {
                0 => symlink("../zarr.json", &place).unwrap(),
                // Through another link, which is inside.
                1 => {
                    symlink(&target, place.with_extension("way")).unwrap();
                    symlink(place.with_extension("way").file_name().unwrap(), &place).unwrap();
                    *expected.entry(outermost.to_str().unwrap().to_owned()).or_default() += 2;
                }
                _ => {
                    symlink(&target, &place).unwrap();
                    *expected.entry(outermost.to_str().unwrap().to_owned()).or_default() += 1;
                }
            }
        }
        let job = GroupJob::new(&input, trial.output(), within(0.1));
        let links: OutsideLinks = of_group(job.run(&one_thread())).unwrap().outside_links;
        assert_eq!(links.count, expected.values().sum::<u64>(), "{seed}");
        let found = links.folders.iter().map(|one| (one.folder.clone(), one.count));
        assert!(found.eq(expected.clone().into_iter().take(20)), "{seed}: {links:?} {expected:?}");
        for one in &links.folders {
            assert_eq!(one.examples.len() as u64, one.count.min(3), "{seed}: {one:?}");
            assert!(one.examples.is_sorted(), "{seed}: {one:?}");
            for example in &one.examples {
                let target = input.join(&example.link).canonicalize().unwrap();
                assert_eq!(target.to_str().unwrap(), example.target, "{seed}");
            }
        }
    }
}
