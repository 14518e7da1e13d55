#!/usr/bin/env bash
# The kernels' tests on WebAssembly with its vector instructions, under node, with the level asserted; the npm package: its
# size, its contents, and its tests under node without Float16Array and with it; the page of examples/browser, and the pages of
# --report, in Chromium.
# Needs rustup, which adds the targets, and installs node, npm and Chromium if they are missing (on Debian or Ubuntu, as root).
#
# Each test runs every 17th of its jobs; RECAST_TEST_STRIDE=1 .ci/wasm.sh runs all.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v npm > /dev/null || sh .ci/install.sh nodejs npm
sh .ci/targets.sh wasm32-unknown-unknown wasm32-wasip1

bash wasm/build.sh
bash wasm/check.sh
node wasm/benchmark.js

# The pages. The example brings the features of the tests' dependencies, so that nothing is compiled again after .ci/run's tests.
command -v chromium > /dev/null || sh .ci/install.sh chromium
cargo build --quiet --profile test --workspace --bin recast --example rewrite
RECAST="${CARGO_TARGET_DIR:-$PWD/target}/debug/recast" node --test wasm/tests/page/*.test.js

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/wasm"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-C target-feature=+simd128"
export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings $PWD/.ci/wasi.mjs"
export RECAST_EXPECT_LEVEL=simd128
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-17}"

# Without a system: no threads, no environment, and no state of the floating-point unit to drop.
for package in recast-kernels zarr-recast-wasm; do
    cargo clippy --quiet -p $package --no-default-features --target wasm32-unknown-unknown -- -D warnings -A clippy::drop-non-drop
done

# --nocapture: the counts of what was compared are part of the result.
cargo test --profile bench --target wasm32-wasip1 -p recast-kernels --no-default-features --features scalar,std,small-types \
    --test '*' -- --nocapture
