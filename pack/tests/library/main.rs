//! The tests of the library: one program, for each links zarrs and the kernels.

mod cf;
mod common;
mod compare;
mod compression;
mod copies;
mod cost;
mod faults;
mod goals;
mod grids;
mod groups;
mod integers;
mod library;
mod markers;
mod migrate;
mod missing;
mod names;
mod outputs;
mod pack;
mod plain;
mod promises;
mod read;
mod readers;
mod room;
mod runs;
mod shards;
mod suggest;
