//! The tests of the command: one program, for each links zarrs and the kernels.

#[cfg(target_os = "linux")]
mod bounds;
mod common;
mod compare;
mod documents;
#[cfg(unix)]
mod faults;
mod groups;
mod help;
#[cfg(unix)]
mod hostile;
#[cfg(target_os = "linux")]
mod interrupt;
mod messages;
mod pack;
mod places;
mod raw;
mod read;
mod report;
mod runs;
mod store;
mod suggest;
