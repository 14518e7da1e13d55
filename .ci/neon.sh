#!/bin/sh
# The kernels' test suite on aarch64, under qemu's user-mode emulation, with the level asserted.
# Needs what .ci/aarch64.sh installs.
#
# Emulation is some thirty times slower than the CPU, so each test runs every 17th of its jobs (17
# shares no factor with the 27 types, so all of them take part), and the tests of level scalar are
# left out. RECAST_TEST_STRIDE=1 .ci/neon.sh runs all.
set -eu
cd "$(dirname "$0")/.."
. .ci/aarch64.sh

export RECAST_EXPECT_LEVEL=neon
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-17}"

# --nocapture: the counts of what was compared are part of the result.
cargo test --profile bench --target $target -p recast-kernels --test '*' -- --nocapture --skip scalar::
