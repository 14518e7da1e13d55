#!/usr/bin/env bash
# The crates without some features: each combination compiles without a warning, and the kernels without AVX-512 are
# tested. Without `std`, the kernels are compiled for two targets without a system (a Cortex-M4 and WebAssembly), and
# a program that links them (kernels/tests/no_std) runs under node. Needs rustup; installs the targets, and node if it is
# missing (on Debian or Ubuntu, as root).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

lint() {
    cargo clippy --quiet --no-default-features "$@"
}

for features in "" std avx512 small-types avx512,small-types std,avx512 std,small-types rayon rayon,avx512 serde; do
    lint -p recast-kernels --features "$features" -- -D warnings
done
for features in "" avx512 small-types; do
    lint -p zarr-recast --features "$features" -- -D warnings
    lint -p zarrs-recast --features "$features" -- -D warnings
done
lint -p zarrs-recast --features async -- -D warnings
lint -p zarrs-recast --features async,transpose -- -D warnings

sh .ci/targets.sh thumbv7em-none-eabihf wasm32-unknown-unknown
for features in "" avx512,small-types; do
    for target in thumbv7em-none-eabihf wasm32-unknown-unknown; do
        # Clippy's own lints are those of the host.
        lint -p recast-kernels --features "$features" --target "$target" -- -D warnings -A clippy::all -A clippy::pedantic
    done
done

# A program with a panic handler and an allocator of its own, which clash with `std`.
manifest=kernels/tests/no_std/Cargo.toml
cargo clippy --quiet --manifest-path "$manifest" --target wasm32-unknown-unknown -- -D warnings
cargo build --quiet --release --manifest-path "$manifest" --target wasm32-unknown-unknown
command -v node > /dev/null || sh .ci/install.sh nodejs
node kernels/tests/no_std/run.js "$CARGO_TARGET_DIR/wasm32-unknown-unknown/release/recast_no_std.wasm"

# Every pair of types, on the levels that are left. Not optimised, which takes a fifth of the time to compile: other tests run
# these loops as they are shipped.
RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-17}" cargo test --quiet -p recast-kernels --no-default-features \
    --features std,small-types,serde --config profile.test.package.recast-kernels.opt-level=0 --test types --test serde \
    --test plan_vs_reference
