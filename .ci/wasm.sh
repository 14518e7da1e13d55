#!/usr/bin/env bash
# The kernels' tests on WebAssembly with its vector instructions, under node, with the level asserted. Needs rustup, which
# adds the targets, and installs node if it is missing (on Debian or Ubuntu, as root).
#
# Each test runs every 15th of its jobs; RECAST_TEST_STRIDE=1 .ci/wasm.sh runs all.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v node > /dev/null || sh .ci/install.sh nodejs
rustup target add wasm32-unknown-unknown wasm32-wasip1

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/wasm"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-C target-feature=+simd128"
export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/.ci/wasi.mjs"
export RECAST_EXPECT_LEVEL=simd128
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-15}"

# Without a system: no threads, no environment. Clippy's own lints are those of the host.
cargo clippy --quiet -p recast-kernels --no-default-features --features small-types \
    --target wasm32-unknown-unknown -- -D warnings -A clippy::all -A clippy::pedantic

# --nocapture: the counts of what was compared are part of the result.
cargo test --profile bench --target wasm32-wasip1 -p recast-kernels --no-default-features --features std,small-types \
    --test '*' -- --nocapture
