#!/usr/bin/env bash
# The crates as others use them: the examples run, also the one that links Icechunk; a program with path dependencies (tests/downstream)
# compiles without a warning, runs, and nothing it links needs a newer Rust than the crates promise.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_PROFILE_DEV_DEBUG=false

# As `cargo test --workspace` has built them.
examples=(custom_chain from_zarr_cast_value region_service)
cargo build --quiet --profile test --workspace "${examples[@]/#/--example=}"
for example in "${examples[@]}"; do
    "$CARGO_TARGET_DIR/debug/examples/$example"
done

manifest=tests/downstream/Cargo.toml
cargo clippy --quiet --manifest-path "$manifest"
cargo run --quiet --manifest-path "$manifest"
cargo run --quiet --manifest-path examples/icechunk/Cargo.toml

promised="$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -1)"
for minimum in "$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$manifest")" \
    $(cargo metadata --format-version 1 --manifest-path "$manifest" |
        grep -o '"rust_version":"[^"]*"' | cut -d'"' -f4); do
    if [ "$(printf '%s\n%s\n' "$minimum" "$promised" | sort -V | tail -1)" != "$promised" ]; then
        echo "Rust $minimum is needed, and $promised promised" >&2
        exit 1
    fi
done
# The promised compiler, or else the oldest one installed, unless it is the one above; .github/workflows/crates.yml has the
# promised one.
for toolchain in "$promised" $(rustup toolchain list 2>/dev/null | grep -o '^1[0-9.]*' | sort -V); do
    if [ "$(printf '%s\n%s\n' "$promised" "$toolchain" | sort -V | head -1)" = "$promised" ] &&
        version="$(cargo "+$toolchain" --version 2>/dev/null)"; then
        echo "the oldest compiler here: $version"
        [ "$version" = "$(cargo --version)" ] ||
            CARGO_TARGET_DIR="$CARGO_TARGET_DIR/$toolchain" cargo "+$toolchain" check --quiet --manifest-path "$manifest"
        break
    fi
done
