//! Every seed, those of past findings among them, passes on the stable compiler too.

use std::path::Path;

fn run_all(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    println!("{count} seeds of {target}");
    assert!(count > 0, "no seeds were read");
}

#[test]
fn seeds_of_cast_pass() {
    run_all("cast", recast_fuzz::cast);
}

#[test]
fn seeds_of_chain_pass() {
    run_all("chain", recast_fuzz::chain);
}

#[test]
fn seeds_of_doors_pass() {
    run_all("doors", recast_fuzz::doors);
}

#[test]
fn seeds_of_metadata_pass() {
    run_all("metadata", recast_fuzz::metadata);
}

#[test]
fn seeds_of_raw_pass() {
    run_all("raw", recast_fuzz::raw);
}
