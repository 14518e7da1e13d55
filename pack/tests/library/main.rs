//! The tests of the library: one program, for each links zarrs and the kernels.

mod cases;
mod cf;
mod common;
mod compare;
mod compression;
mod coordinates;
mod copies;
mod cost;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[path = "../../../kernels/tests/environments/mod.rs"]
mod environments;
mod faults;
mod float_environment;
mod goals;
mod grids;
mod groups;
mod hostile;
mod integers;
mod later_values;
mod library;
mod links;
mod markers;
mod migrate;
mod missing;
mod names;
mod nan_kinds;
mod outputs;
mod own;
mod pack;
mod plain;
mod promises;
mod read;
mod readers;
mod requirements;
mod room;
mod runs;
mod shards;
mod suggest;
mod valid_range;
