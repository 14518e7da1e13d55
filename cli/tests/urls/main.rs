//! Reading from URLs and writing to them, on servers that `.ci/object_store.sh` starts.

#[path = "../command/common/mod.rs"]
mod common;
mod inputs;
mod outputs;

fn setting(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set: run these tests by .ci/object_store.sh"))
}
