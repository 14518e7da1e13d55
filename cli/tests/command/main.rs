//! The tests of the command: one program, for each links zarrs and the kernels.

mod cf;
mod choose;
mod common;
mod compare;
mod compression;
mod copies;
#[cfg(unix)]
mod faults;
mod feel;
mod group;
mod groups;
#[cfg(target_os = "linux")]
mod interrupt;
mod manners;
mod migrate;
mod pack;
mod pitfalls;
mod raw;
mod read;
mod report;
mod runs;
mod shards;
mod store;
