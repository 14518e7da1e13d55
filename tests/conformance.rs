//! The conformance vectors are those that the oracle gives, and hold on every level.

#[path = "../conformance/generate.rs"]
mod generate;
#[path = "../conformance/invalid.rs"]
mod invalid;
#[path = "../kernels/tests/oracle/mod.rs"]
mod oracle;
#[path = "../conformance/replay.rs"]
mod replay;

use std::path::Path;

use zarr_recast::Level;

fn read(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/vectors");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

const FILES: [&str; 5] =
    ["cast.jsonl", "scale_offset.jsonl", "scalars.jsonl", "chains.jsonl", "invalid.jsonl"];

#[test]
fn the_committed_vectors_are_the_generated_ones() {
    let mut bytes = 0;
    for (name, text) in generate::files() {
        assert!(FILES.contains(&name));
        bytes += text.len();
        // Not assert_eq, which would print a megabyte.
        assert!(read(name) == text, "{name}: run `cargo run --release --example conformance`");
    }
    assert!(bytes <= 3_000_000, "{bytes} bytes");
}

#[test]
fn every_vector_holds_on_every_level() {
    for name in FILES {
        let text = read(name);
        for level in Level::available() {
            match replay::replay(&text, level) {
                Ok(count) => println!("{name}, level {level}: {count} results"),
                Err(error) => panic!("{name}, level {level}: {error}"),
            }
        }
    }
}

#[test]
fn a_wrong_vector_is_found() {
    let text = read("cast.jsonl");
    let wrong = text.replacen(r#"["01","01"]"#, r#"["01","00"]"#, 1);
    assert!(wrong != text);
    let error = replay::replay(&wrong, Level::Scalar).unwrap_err();
    assert!(error.starts_with("line "), "{error}");
    assert!(replay::replay("", Level::Scalar).is_err());
}
