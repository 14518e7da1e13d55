// Times of reading packed arrays through zarrita: with this package, with zarrita's own codecs, and of the same array stored
// plain. `node benchmark.js` prints them; it fails where the elements differ.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import * as zarr from "zarrita";
import { exact, register } from "./pkg/index.js";

const CHUNK = 1 << 20;
const CHUNKS = 4;
const REPEATS = 41;

const nan = (code) => ({ encode: [["NaN", code]], decode: [[code, "NaN"]] });
// Scales for which zarrita's arithmetic, in doubles, is that of float32.
const ROWS = {
  "int16 → float32": { data_type: "int16", scale: 128, offset: 20, scalar_map: nan(-32768), codes: Int16Array },
  "uint8 → float32": { data_type: "uint8", scale: 8, offset: -3, scalar_map: nan(255), codes: Uint8Array },
};

/** A store in memory with one array: chunks of codes, or of their values. */
function store(codecs, chunk) {
  const metadata = {
    zarr_format: 3,
    node_type: "array",
    shape: [CHUNK * CHUNKS],
    data_type: "float32",
    chunk_grid: { name: "regular", configuration: { chunk_shape: [CHUNK] } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    fill_value: "NaN",
    codecs: [...codecs, { name: "bytes", configuration: { endian: "little" } }],
    attributes: {},
  };
  const files = new Map([["/zarr.json", new TextEncoder().encode(JSON.stringify(metadata))]]);
  const bytes = new Uint8Array(chunk.buffer);
  for (let at = 0; at < CHUNKS; at++) files.set(`/c/${at}`, bytes);
  return files;
}

/** Milliseconds: of the first read, and the median of those behind the first ten, when the engine has compiled all. */
async function times(store, expected) {
  const array = await zarr.open(store, { kind: "array" });
  const milliseconds = [];
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const before = performance.now();
    const { data } = await zarr.get(array);
    milliseconds.push(performance.now() - before);
    const found = Buffer.from(data.buffer, 4 * CHUNK * (CHUNKS - 1), 4 * CHUNK);
    assert.ok(found.equals(Buffer.from(expected.buffer)), "the elements differ");
  }
  const warm = milliseconds.slice(10).sort((a, b) => a - b);
  return { first: milliseconds[0], median: warm[warm.length >> 1] };
}

/** What the codecs decode, element by element in float32. */
function decoded({ scale, offset, scalar_map }, codes) {
  const [[missing]] = scalar_map.decode;
  return Float32Array.from(codes, (code) =>
    code === missing ? Number.NaN : Math.fround(Math.fround(code / Math.fround(scale)) + Math.fround(offset)),
  );
}

/** A row by one reader: each in a process of its own, for the engine compiles a loop for all the types that it has met. */
async function measure(name, reader) {
  if (reader === "zarr-recast") await register(zarr.registry);
  const row = ROWS[name];
  const { data_type, scale, offset, scalar_map } = row;
  const codes = row.codes.from({ length: CHUNK }, (_, at) => (at * 40503) >> 3);
  const values = decoded(row, codes);
  const codecs = [
    { name: "scale_offset", configuration: { scale, offset } },
    { name: "cast_value", configuration: { data_type, scalar_map } },
  ];
  const packed = () => store(codecs, codes);
  const stores = { plain: () => store([], values), zarrita: packed, "zarr-recast": () => exact(packed()) };
  return await times(stores[reader](), values);
}

const [name, reader] = process.argv.slice(2);
if (reader) {
  console.log(JSON.stringify(await measure(name, reader)));
} else {
  for (const name of Object.keys(ROWS)) {
    const read = (reader) => JSON.parse(execFileSync(process.execPath, [fileURLToPath(import.meta.url), name, reader]));
    const [plain, theirs, ours] = ["plain", "zarrita", "zarr-recast"].map(read);
    for (const which of ["first", "median"]) {
      const [p, t, o] = [plain, theirs, ours].map((times) => times[which]);
      console.log(
        `${name}, ${which}: zarr-recast ${o.toFixed(1)} ms, zarrita's codecs ${t.toFixed(1)} ms (${(t / o).toFixed(1)} times), ` +
          `plain float32 ${p.toFixed(1)} ms (zarr-recast takes ${(o / p).toFixed(2)} times that)`,
      );
    }
  }
}
