//! The tests of the library: one program, for each links zarrs and the kernels.

mod common;
mod cost;
mod grids;
mod integers;
mod library;
mod markers;
mod missing;
mod names;
mod room;
mod runs;
