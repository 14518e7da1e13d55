#!/usr/bin/env bash
# Checks the npm package in wasm/pkg: its size; its tests, under node without Float16Array and with it; and that what npm
# packs is enough for a project that installs it.
set -euo pipefail
cd "$(dirname "$0")"
[ "$(gzip -9 --stdout pkg/* | wc -c)" -le 250000 ] || { echo "wasm/pkg is larger than 250 kB" >&2; exit 1; }
for node in node node_modules/.bin/node; do
    "$node" --version
    "$node" --test tests/*.test.js
done

project="$(mktemp -d)"
trap 'rm -rf "$project"' EXIT
npm pack --silent --pack-destination "$project" ./pkg
cd "$project"
echo '{ "private": true, "type": "module" }' > package.json
npm install --silent --no-audit --no-fund ./zarr-recast-*.tgz
cat > user.js << 'END'
import { Chain } from "zarr-recast";
const codecs = [{ name: "scale_offset", configuration: { scale: 10 } }, { name: "cast_value", configuration: { data_type: "uint8" } }];
const chain = await Chain.create({ data_type: "float32", codecs });
if (chain.decode(Uint8Array.of(15))[0] !== 1.5) throw new Error("what npm packs decodes something else");
END
node user.js
