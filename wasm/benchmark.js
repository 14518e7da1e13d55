// Times of reading packed arrays through zarrita: with this package, with zarrita's own codecs, and of the same array stored
// plain; in a process that reads nothing else, and in one that has read arrays of other types before, for which the engine
// compiles zarrita's loops anew. `node benchmark.js` prints them; it fails where the elements differ.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";
import { exact, register } from "./pkg/index.js";
import { cases, goldens } from "./tests/stores.js";

const CHUNK = 1 << 20;
const CHUNKS = 4;
const REPEATS = 41;
const SECONDS = 3;

const asItIs = (store) => store;

/** Who reads, and from what store. */
const READERS = {
  "plain float32": asItIs,
  "zarrita's codecs": asItIs,
  "zarr-recast": exact,
  "zarr-recast with reuse": (store) => exact(store, { reuse: true }),
};

/** What else a process reads. */
const SETTINGS = ["alone", "after stores of other types"];

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

/** Milliseconds: of the first read, and the median of the warm ones, when the engine has compiled all. */
async function times(store, expected) {
  const array = await zarr.open(store, { kind: "array" });
  const milliseconds = [];
  const end = performance.now() + 1000 * SECONDS;
  while (milliseconds.length < REPEATS && performance.now() < end) {
    const before = performance.now();
    const { data } = await zarr.get(array);
    milliseconds.push(performance.now() - before);
    for (let at = 0; at < CHUNKS; at++) {
      const found = Buffer.from(data.buffer, 4 * CHUNK * at, 4 * CHUNK);
      assert.ok(found.equals(Buffer.from(expected.buffer)), "the elements differ");
    }
  }
  const warm = milliseconds.slice(Math.min(10, milliseconds.length >> 1)).sort((a, b) => a - b);
  return { first: milliseconds[0], median: warm[warm.length >> 1] };
}

/** Reads what it can of the golden stores. */
async function readOthers(wrap) {
  for (const name of cases) {
    const store = wrap(new FileSystemStore(fileURLToPath(new URL(`${name}/array.zarr`, goldens))));
    await zarr.open(store, { kind: "array" }).then((array) => zarr.get(array)).catch(() => {});
  }
}

/** What the codecs decode, element by element in float32. */
function decoded({ scale, offset, scalar_map }, codes) {
  const [[missing]] = scalar_map.decode;
  return Float32Array.from(codes, (code) =>
    code === missing ? Number.NaN : Math.fround(Math.fround(code / Math.fround(scale)) + Math.fround(offset)),
  );
}

/** A row by one reader, in a process of its own. */
async function measure(name, setting, reader) {
  const wrap = READERS[reader];
  if (wrap !== asItIs) await register(zarr.registry);
  if (setting !== SETTINGS[0]) await readOthers(wrap);
  const row = ROWS[name];
  const { data_type, scale, offset, scalar_map } = row;
  const codes = row.codes.from({ length: CHUNK }, (_, at) => (at * 40503) >> 3);
  const values = decoded(row, codes);
  const codecs = [
    { name: "scale_offset", configuration: { scale, offset } },
    { name: "cast_value", configuration: { data_type, scalar_map } },
  ];
  return await times(wrap(reader === "plain float32" ? store([], values) : store(codecs, codes)), values);
}

const [name, setting, reader] = process.argv.slice(2);
if (reader) {
  console.log(JSON.stringify(await measure(name, setting, reader)));
} else {
  for (const setting of SETTINGS) {
    for (const name of Object.keys(ROWS)) {
      const script = fileURLToPath(import.meta.url);
      const read = (reader) => JSON.parse(execFileSync(process.execPath, [script, name, setting, reader]));
      const all = Object.keys(READERS).map((reader) => [reader, read(reader)]);
      const [[, plain], [, theirs]] = all;
      for (const which of ["first", "median"]) {
        console.log(`${name}, ${setting}, ${which}:`);
        for (const [reader, { [which]: time }] of all) {
          const [longer, faster] = [time / plain[which], theirs[which] / time];
          console.log(
            `  ${reader}: ${time.toFixed(1)} ms, ${longer.toFixed(2)} times the plain array's, ` +
              `${faster.toFixed(1)} times as fast as zarrita's`,
          );
        }
      }
    }
  }
}
