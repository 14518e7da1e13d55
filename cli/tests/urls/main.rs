//! Reading from URLs and writing to them, on servers that `.ci/object_store.sh` starts.

#[path = "../command/common/mod.rs"]
mod common;
mod inputs;
mod outputs;
