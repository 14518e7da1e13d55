# shellcheck shell=sh
# Sourced by scripts that build for aarch64 and run under qemu's user-mode emulation. Installs a compiler with
# the aarch64 standard library, a linker and the emulator if they are missing (on Debian or Ubuntu, as root), and
# sets $target and the variables that cargo reads. The target folder is one of its own, for another compiler builds
# nothing that can be shared, and cargo lets one build at a time into a folder.
target=aarch64-unknown-linux-gnu
if ! [ -x /usr/bin/qemu-aarch64 ] || ! [ -x /usr/bin/aarch64-linux-gnu-g++ ] || ! [ -d /usr/lib/rustlib/$target ]; then
    dpkg --add-architecture arm64
    sh .ci/install.sh rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64 \
        gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
fi

# Linked statically, so that the emulator needs no aarch64 system.
export RUSTC=/usr/bin/rustc
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/aarch64"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static"
