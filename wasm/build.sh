#!/usr/bin/env bash
# Builds the npm package into wasm/pkg. Needs rustup, which adds the target, and npm.
set -euo pipefail
cd "$(dirname "$0")"
sh ../.ci/targets.sh wasm32-unknown-unknown
npm install --no-package-lock --no-audit --no-fund --silent

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target}/wasm"
export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C target-feature=+simd128"
cargo build --quiet --locked --profile wasm -p zarr-recast-wasm --target wasm32-unknown-unknown

rm -rf pkg
mkdir pkg
# All that engines with simd128 have; a twentieth smaller.
node node_modules/binaryen/bin/wasm-opt -Oz --converge --enable-simd --enable-bulk-memory --enable-nontrapping-float-to-int \
    --enable-sign-ext --enable-mutable-globals --enable-reference-types --enable-multivalue \
    "$CARGO_TARGET_DIR/wasm32-unknown-unknown/wasm/zarr_recast_wasm.wasm" -o pkg/zarr_recast.wasm
cp js/* README.md ../LICENSE-* pkg/
sed -i "s/VERSION/$(grep -m1 '^version' ../Cargo.toml | cut -d'"' -f2)/" pkg/package.json
echo "wasm/pkg: $(gzip -9 --stdout pkg/* | wc -c) bytes gzipped"
