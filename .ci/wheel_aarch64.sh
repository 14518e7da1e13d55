#!/usr/bin/env bash
# The wheel for aarch64, cross-built, and the tests of its array functions under emulation:
#
#   .ci/wheel_aarch64.sh FOLDER
#
# leaves the wheel in FOLDER. Needs what .ci/neon.sh installs, and Debian's Python for arm64, which is
# unpacked beside the system and not installed.
set -euo pipefail
out=$(mkdir -p "${1:?the folder for the wheel is missing}" && cd "$1" && pwd)
cd "$(dirname "$0")/../python"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

target=aarch64-unknown-linux-gnu
export RUSTC=/usr/bin/rustc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
python3 -m venv "$work/build"
"$work/build/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2'
"$work/build/bin/maturin" build --release --locked --target $target --out "$out"

# Python 3 of this Debian, with what it and NumPy load.
name=$(apt-cache depends python3-minimal:arm64 | grep -om1 'python3\.[0-9]*')
packages=("$name-minimal" "lib$name-minimal" "lib$name-stdlib" libc6 zlib1g libexpat1 libffi8 libssl3
    libgcc-s1 libstdc++6 libbz2-1.0 liblzma5 libuuid1)
(cd "$work" && apt-get download --quiet "${packages[@]/%/:arm64}")
for package in "$work"/*.deb; do
    dpkg --extract "$package" "$work/system"
done
"$work/build/bin/pip" install --quiet --disable-pip-version-check --target "$work/site" \
    --python-version "${name#python}" --implementation cp --only-binary=:all: \
    --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 \
    numpy ml_dtypes pytest hypothesis
python3 -m zipfile -e "$out"/zarr_recast-*-manylinux*_aarch64.whl "$work/site"

tests=$PWD/tests
cd "$work" # the package in use is the wheel's
PYTHONPATH=$work/site qemu-aarch64 -L "$work/system" "$work/system/usr/bin/$name" \
    -m pytest --quiet -p no:cacheprovider --rootdir "$tests" "$tests/test_arrays.py" "$tests/test_chain.py"
