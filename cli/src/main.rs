//! The recast command.
fn main() {}
