#!/bin/sh
# The kernels' tests under AddressSanitizer, on the nightly compiler: no read or write beyond a buffer,
# on any level. Every 15th of each test's jobs, for the sanitizer is slow; RECAST_TEST_STRIDE=1 runs all.
# With overflow checks and debug assertions. The standard library is not instrumented.
set -eu
cd "$(dirname "$0")/.."

target="$(rustc -vV | sed -n 's/^host: //p')"
export RUSTFLAGS="-Zsanitizer=address -Cdebug-assertions=on -Coverflow-checks=on"
# Optimised little: instrumented, the vectorised kernels take ten minutes to compile, and what is looked
# for is the addresses, which are the same without vectors.
little="profile.test.package.recast-kernels.opt-level=1"
export CARGO_PROFILE_TEST_OPT_LEVEL=1
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-15}"
# Proc macros and build scripts are not sanitized where --target is given.
cargo +nightly test --config "$little" --target "$target" -p recast-kernels --test types --test plan_vs_reference -- --nocapture
