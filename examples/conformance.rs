//! Writes the conformance vectors: `cargo run --release --example conformance`.

#[path = "../conformance/generate.rs"]
mod generate;
#[path = "../conformance/invalid.rs"]
mod invalid;
#[path = "../kernels/tests/oracle/mod.rs"]
mod oracle;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/vectors");
    std::fs::create_dir_all(&folder)?;
    for (name, text) in generate::files() {
        println!("{name}: {} lines, {} bytes", text.lines().count(), text.len());
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}
