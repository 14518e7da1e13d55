#!/bin/sh
# The kernels' test suite on aarch64, under qemu's user-mode emulation, with the level asserted.
# Needs Debian or Ubuntu and root, to install a compiler with the aarch64 standard library, a linker
# and the emulator; leaves what is installed.
#
# Emulation is some thirty times slower than the CPU, so each test runs every 15th of its jobs (15
# shares no factor with the 26 types, so all of them take part), and the tests of level scalar are
# left out: on aarch64 both levels run the same kernels. RECAST_TEST_STRIDE=1 .ci/neon.sh runs all.
set -eu
cd "$(dirname "$0")/.."

target=aarch64-unknown-linux-gnu
if ! [ -x /usr/bin/qemu-aarch64 ] || ! [ -d /usr/lib/rustlib/$target ]; then
    dpkg --add-architecture arm64
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64 \
        gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
fi

# Linked statically, so that the emulator needs no aarch64 system beside it.
export RUSTC=/usr/bin/rustc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
export RECAST_EXPECT_LEVEL=neon
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-15}"

# --nocapture: the counts of what was compared are part of the result.
cargo test --profile bench --target $target -p recast-kernels --test '*' -- --nocapture --skip scalar::
