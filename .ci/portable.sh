#!/bin/sh
# The kernels' tests with 32-bit pointers (i686) and with big-endian bytes (s390x, under qemu's user-mode
# emulation; with the conformance vectors). Needs rustup, and root on Debian or Ubuntu to install linkers and
# the emulator.
#
# i686 runs every 17th of each test's jobs, s390x every 61st; RECAST_TEST_STRIDE=1 .ci/portable.sh runs
# all.
set -eu
cd "$(dirname "$0")/.."

if ! [ -x /usr/bin/qemu-s390x ] || ! [ -x /usr/bin/s390x-linux-gnu-gcc ] ||
    ! [ -x /usr/bin/i686-linux-gnu-gcc ]; then
    sh .ci/install.sh gcc-i686-linux-gnu libc6-dev-i386-cross gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user
fi
sh .ci/targets.sh i686-unknown-linux-gnu s390x-unknown-linux-gnu

# Linked statically, so that neither needs another system.
export CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER=i686-linux-gnu-gcc
export CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER=s390x-linux-gnu-gcc
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER=qemu-s390x
export CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export RECAST_EXPECT_LEVEL=scalar

# --nocapture: the counts of what was compared are part of the result.
RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-17}" cargo test --profile bench \
    --target i686-unknown-linux-gnu -p recast-kernels --test types --test plan_vs_reference -- --nocapture
RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-61}" cargo test --profile bench \
    --target s390x-unknown-linux-gnu -p recast-kernels -p zarr-recast \
    --test types --test plan_vs_reference --test reference_vs_oracle --test conformance -- --nocapture
# With the kernels as above, so that they are not compiled again.
cargo test --profile bench --target s390x-unknown-linux-gnu -p zarr-recast --features recast-kernels/default --test zarr \
    -- --nocapture specification_examples::
cargo test --profile bench --target s390x-unknown-linux-gnu -p zarr-recast --features recast-kernels/default --lib
