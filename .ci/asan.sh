#!/bin/sh
# The kernels' tests under AddressSanitizer, on the nightly compiler: no read or write beyond a buffer,
# on any level. The sanitizer is slow, so each test runs every 17th of its jobs; RECAST_TEST_STRIDE=1 runs all.
# With overflow checks and debug assertions. The standard library is not instrumented.
# recast_poison: each slice runs twice, with other bytes in the buffers between stages; the same output shows that no plan
# passes on a byte that nothing was written to.
set -eu
cd "$(dirname "$0")/.."

target="$(rustc -vV | sed -n 's/^host: //p')"
# Its own, as in .ci/aarch64.sh.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/asan"
export RUSTFLAGS="-Zsanitizer=address -Cdebug-assertions=on -Coverflow-checks=on --cfg recast_poison"
# With little optimisation: instrumented vectorised kernels take ten minutes to compile, and the addresses are
# the same without vectors.
little="profile.test.package.recast-kernels.opt-level=1"
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-17}"
# Proc macros and build scripts are not sanitized if --target is given.
cargo +nightly test --config "$little" --target "$target" -p recast-kernels --test types --test plan_vs_reference -- --nocapture
