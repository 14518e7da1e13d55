// Which chains of `recast pack --compressor smallest` zarrita reads with its own codecs, as docs/compatibility.md says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import Blosc from "numcodecs/blosc";
import Zstd from "numcodecs/zstd";
import * as zarr from "zarrita";
import { bytesInOrder } from "./stores.js";

const SHAPE = [3, 4];
const CODES = Int16Array.of(10, 12, 15, 11, -300, -290, 7, 9, 200, 201, 203, 206);
const DELTA = { name: "numcodecs.delta", configuration: { dtype: "<i2", astype: "<i2" } };
const BIAS = { name: "scale_offset", configuration: { offset: -128 } };
const BYTES = { name: "bytes", configuration: { endian: "little" } };

const differences = (codes) => codes.map((code, at) => code - (codes[at - 1] ?? 0));
const biased = (codes) => codes.map((code) => code + 128);

/** Compressors as storage.rs has them, and what they make of bytes. */
const COMPRESSORS = {
  zstd: [{ name: "zstd", configuration: { level: 5, checksum: false } }, (bytes) => new Zstd(5).encode(bytes)],
  gzip: [{ name: "gzip", configuration: { level: 6 } }, gzipSync],
};
for (const [number, shuffle] of ["noshuffle", "shuffle", "bitshuffle"].entries()) {
  const configuration = { cname: "zstd", clevel: 5, shuffle, typesize: 2, blocksize: 0 };
  // numcodecs for JavaScript shuffles bytes of elements of one byte, so of none.
  COMPRESSORS[shuffle] = [{ name: "blosc", configuration }, (bytes) => new Blosc(5, "zstd", number, 0).encode(bytes)];
}

async function read(codecs, bytes) {
  const store = new Map();
  const options = { shape: SHAPE, chunkShape: SHAPE, dtype: "int16", fillValue: 0, codecs };
  const array = await zarr.create(zarr.root(store), options);
  store.set("/c/0/0", new Uint8Array(bytes));
  return Buffer.from(bytesInOrder(await zarr.get(array), Int16Array));
}

const expected = Buffer.from(CODES.buffer);
const bytesOf = (codes) => new Uint8Array(codes.buffer);

for (const [name, [codec, encode]] of Object.entries(COMPRESSORS)) {
  test(`codes, and differences of the last axis, in ${name}`, async () => {
    assert.deepEqual(await read([BYTES, codec], await encode(bytesOf(CODES))), expected);
    const once = differences(CODES);
    assert.deepEqual(await read([DELTA, BYTES, codec], await encode(bytesOf(once))), expected);
    const twice = biased(differences(once));
    assert.deepEqual(await read([DELTA, DELTA, BIAS, BYTES, codec], await encode(bytesOf(twice))), expected);
  });
}

test("bytes shuffled by numcodecs.shuffle", async () => {
  const bytes = bytesOf(biased(differences(CODES)));
  const shuffled = Uint8Array.from({ length: 24 }, (_, at) => bytes[(at % 12) * 2 + Math.floor(at / 12)]);
  const shuffle = { name: "numcodecs.shuffle", configuration: { elementsize: 2 } };
  assert.deepEqual(await read([DELTA, BIAS, BYTES, shuffle], shuffled), expected);
});

test("zarrita 0.7.5 adds up the wrong neighbours of a transposed chunk, so --readers zarrita leaves it out", async () => {
  const transposed = Int16Array.from({ length: 12 }, (_, at) => CODES[(at % 3) * 4 + Math.floor(at / 3)]);
  const transpose = { name: "transpose", configuration: { order: [1, 0] } };
  // A difference alone, of the first axis, is right; a second one behind it is not.
  assert.deepEqual(await read([transpose, DELTA, BYTES], bytesOf(differences(transposed))), expected);
  const rows = differences(CODES);
  const columns = Int16Array.from({ length: 12 }, (_, at) => rows[(at % 3) * 4 + Math.floor(at / 3)]);
  const both = [DELTA, { name: "cast_value", configuration: { data_type: "int16" } }, transpose, DELTA, BYTES];
  assert.notDeepEqual(await read(both, bytesOf(differences(columns))), expected);
});
