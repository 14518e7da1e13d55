// What the codecs do inside zarrita besides reading.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import Blosc from "numcodecs/blosc";
import Zstd from "numcodecs/zstd";
import * as zarr from "zarrita";
import { RecastError, exact, register } from "../pkg/index.js";
import { bytesInOrder } from "./stores.js";

await register(zarr.registry);

const PACKED = [
  { name: "scale_offset", configuration: { offset: 5, scale: 10 } },
  {
    name: "cast_value",
    configuration: { data_type: "uint8", scalar_map: { encode: [["NaN", 255]], decode: [[255, "NaN"]] } },
  },
];

function create(store, codecs, options = {}) {
  return zarr.create(zarr.root(store), {
    shape: [4],
    chunkShape: [4],
    dtype: "float32",
    fillValue: Number.NaN,
    codecs,
    ...options,
  });
}

test("arrays are written and read", async () => {
  for (const endian of ["little", "big"]) {
    const store = new Map();
    const codecs = [
      ...PACKED.slice(0, 1),
      { name: "cast_value", configuration: { data_type: "int16", scalar_map: { encode: [["NaN", -1]], decode: [[-1, "NaN"]] } } },
      { name: "bytes", configuration: { endian } },
    ];
    const array = await create(store, codecs);
    const data = Float32Array.of(5, 6.5, Number.NaN, 30.7);
    await zarr.set(array, null, { data, shape: [4], stride: [1] });
    const chunk = new DataView(store.get("/c/0").buffer);
    const codes = [0, 2, 4, 6].map((at) => chunk.getInt16(at, endian === "little"));
    assert.deepEqual(codes, [0, 15, -1, 257]);
    const again = await zarr.get(await zarr.open(exact(store), { kind: "array" }));
    assert.deepEqual(again.data, data);
  }
});

test("stored types that JavaScript has no array for are read", async () => {
  const store = new Map();
  for (const [dataType, greatest, code] of [["float8_e4m3", 240, 0x77], ["float8_e4m3fn", 448, 0x7e]]) {
    const codecs = [{ name: "cast_value", configuration: { data_type: dataType } }, { name: "bytes" }];
    const array = await create(store, codecs, { fillValue: 0 });
    await zarr.set(array, null, { data: Float32Array.of(0, 1, -2, greatest), shape: [4], stride: [1] });
    assert.deepEqual([...store.get("/c/0")], [0, 0x38, 0xc0, code]);
    assert.deepEqual((await zarr.get(array)).data, Float32Array.of(0, 1, -2, greatest));
  }
});

test("a chunk that cannot be decoded rejects with the element's index and value", async () => {
  const store = new Map();
  const array = await create(store, [{ name: "cast_value", configuration: { data_type: "float64" } }, { name: "bytes" }]);
  store.set("/c/0", new Uint8Array(Float64Array.of(1, 2, 1e300, 3).buffer));
  const error = await zarr.get(array).then(assert.fail, (error) => error.cause);
  assert.ok(error instanceof RecastError);
  assert.deepEqual([error.index, error.value, error.reason], [2, "1e300", "out-of-range"]);
  assert.match(error.message, /element 2: float64 1e300 is out of range for float32/);
});

test("a chunk of another length is refused", async () => {
  const store = new Map();
  const array = await create(store, [...PACKED, { name: "bytes" }]);
  store.set("/c/0", new Uint8Array(3));
  const error = await zarr.get(array).then(assert.fail, (error) => error.cause);
  assert.match(error.message, /a chunk of 3 bytes; 4 elements of uint8 are 4/);
});

test("numbers that JSON may have rounded are refused without exact", async () => {
  const codecs = [{ name: "scale_offset", configuration: { offset: 2 ** 60 } }, { name: "bytes" }];
  const array = await create(new Map(), codecs, { dtype: "int64", fillValue: 0 });
  const value = { data: new BigInt64Array(4), shape: [4], stride: [1] };
  await assert.rejects(zarr.set(array, null, value), /may have rounded.*exact\(store\)/);
});

test("registering again changes nothing", async () => {
  const before = zarr.registry.get("bytes");
  await register(zarr.registry);
  assert.equal(zarr.registry.get("bytes"), before);
});

test("a registry that is registered twice at once has the codecs once", async () => {
  let loads = 0;
  const registry = new Map([["bytes", async () => ({ fromConfig: () => `theirs ${++loads}` })]]);
  await Promise.all([register(registry), register(registry)]);
  const bytes = await registry.get("bytes")();
  assert.equal(bytes.fromConfig({}, {}), "theirs 1");
  assert.ok(registry.has("cast_value"));
});

/** An array whose chunk `n` is codes of n. */
async function chunks(number, codecs) {
  const store = new Map();
  await create(store, codecs, { shape: [4 * number], chunkShape: [4] });
  for (let at = 0; at < number; at++) store.set(`/c/${at}`, new Uint8Array(4).fill(at));
  return await zarr.open(exact(store, { reuse: true }), { kind: "array" });
}

test("memory of chunks is used again, and get reads the same", async () => {
  const array = await chunks(200, [...PACKED, { name: "bytes" }]);
  const expected = Float32Array.from({ length: 800 }, (_, at) => Math.fround((at >> 2) / 10) + 5);
  for (let repeat = 0; repeat < 3; repeat++) {
    assert.deepEqual((await zarr.get(array)).data, expected);
    assert.deepEqual((await zarr.get(array, [zarr.slice(2, 790, 3)])).data, expected.subarray(2, 790).filter((_, at) => at % 3 === 0));
  }
  const buffers = new Set();
  for (let chunk = 0; chunk < 100; chunk++) buffers.add((await array.getChunk([chunk])).data.buffer);
  assert.ok(buffers.size < 100, "each chunk has memory of its own");
});

test("chunks that are not read yet share no memory", async () => {
  const array = await chunks(3, [...PACKED, { name: "bytes" }]);
  const first = await array.getChunk([0]);
  // Read twice, given back once.
  assert.equal(first.data, first.data);
  const [second, third] = await Promise.all([array.getChunk([1]), array.getChunk([2])]);
  assert.notEqual(second.data.buffer, third.data.buffer);
});

test("an array whose chunks share memory is not written", async () => {
  const array = await chunks(2, [...PACKED, { name: "bytes" }]);
  await assert.rejects(zarr.set(array, null, 6), ({ cause }) => /reuse: true.*is not written/.test(cause.message));
});

test("a transposed chunk has memory of its own, for zarrita reads it before get does", async () => {
  const transpose = { name: "transpose", configuration: { order: [0] } };
  for (const codecs of [[transpose, ...PACKED], [PACKED[0], transpose, PACKED[1]], [...PACKED, transpose]]) {
    const array = await chunks(50, [...codecs, { name: "bytes" }]);
    const buffers = new Set();
    for (let chunk = 0; chunk < 50; chunk++) buffers.add((await array.getChunk([chunk])).data.buffer);
    assert.equal(buffers.size, 50);
  }
});

test("what is no registry is refused", async () => {
  for (const other of [undefined, {}, new Map()]) {
    await assert.rejects(register(other), /^RecastError: this is not zarrita's registry/);
  }
});

test("compressed chunks are read", async () => {
  const codes = new Uint8Array(1000).map((_, at) => at % 250);
  const compressors = {
    gzip: [{ level: 1 }, gzipSync],
    zstd: [{ level: 1, checksum: false }, (bytes) => new Zstd(1).encode(bytes)],
    blosc: [
      { cname: "lz4", clevel: 5, shuffle: "noshuffle", typesize: 1, blocksize: 0 },
      (bytes) => new Blosc(5, "lz4", 0, 0).encode(bytes),
    ],
  };
  for (const [name, [configuration, compress]] of Object.entries(compressors)) {
    const store = new Map();
    const codecs = [...PACKED, { name: "bytes" }, { name, configuration }];
    const array = await create(store, codecs, { shape: [1000], chunkShape: [1000] });
    store.set("/c/0", new Uint8Array(await compress(codes)));
    assert.deepEqual((await zarr.get(array)).data, Float32Array.from(codes, (code) => Math.fround(code / 10) + 5), name);
  }
});

const json = (text) => new TextEncoder().encode(text);

// Numbers that JavaScript rounds, so JSON as text.
const OFFSET = "9223372036854775809";
const FILL = "18446744073709551615";
const uint64 = (codecs) => `{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint64", "fill_value": ${FILL},
  "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
  "codecs": [${codecs}{"name": "scale_offset", "configuration": {"offset": ${OFFSET}}}, {"name": "bytes"}], "attributes": {}}`;
const READ = BigUint64Array.of(9223372036854775810n, 9223372036854775814n, BigInt(FILL), BigInt(FILL));

test("consolidated metadata are read without loss", async () => {
  const transposed = uint64(`{"name": "transpose", "configuration": {"order": [0]}}, {"name": "sharding_indexed"}, `);
  const group = `{"zarr_format": 3, "node_type": "group", "attributes": {"n": ${FILL}}, "consolidated_metadata":
    {"kind": "inline", "must_understand": false, "metadata": {"a": ${uint64("")}, "b": ${transposed}}}}`;
  const store = new Map([["/zarr.json", json(group)], ["/b/zarr.json", json(transposed)]]);
  store.set("/a/c/0", new Uint8Array(BigUint64Array.of(1n, 5n).buffer));
  const root = await zarr.open(await zarr.withConsolidatedMetadata(exact(store)), { kind: "group" });
  const array = await zarr.open(root.resolve("a"), { kind: "array" });
  assert.deepEqual((await zarr.get(array)).data, READ);
  await assert.rejects(zarr.open(root.resolve("b"), { kind: "array" }), /zarrita skips transpose/);
});

test("metadata that are refused are named", async () => {
  const store = new Map([["/a/zarr.json", json(uint64("").replace(FILL, "-1"))]]);
  const array = zarr.open(zarr.root(exact(store)).resolve("a"), { kind: "array" });
  await assert.rejects(array, /^RecastError: \/a\/zarr\.json: fill_value: -1/);
});

test("from a server that answers with a page where a file is missing, Zarr v2 is read", async () => {
  const array = `{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "fill_value": 0, "order": "C",
    "compressor": null, "filters": null}`;
  const files = new Map([["/.zarray", json(array)], ["/.zattrs", json("{}")], ["/0", Uint8Array.of(1, 2)]]);
  const server = { get: async (key) => files.get(key) ?? json("<!doctype html>") };
  const opened = await zarr.open(exact(server), { kind: "array" });
  assert.deepEqual((await zarr.get(opened)).data, Uint8Array.of(1, 2));
});

test("a store is exact once, also behind zarrita's extensions", async () => {
  const store = new Map([["/zarr.json", json(uint64(""))], ["/c/0", new Uint8Array(BigUint64Array.of(1n, 5n).buffer)]]);
  const once = exact({ get: async (key) => store.get(key) });
  assert.equal(exact(once), once);
  const twice = exact(zarr.withByteCaching(once));
  assert.deepEqual((await zarr.get(await zarr.open(twice, { kind: "array" }))).data, READ);
});

test("metadata of Zarr v2, also consolidated, are read without loss", async () => {
  const filter = `{"id": "fixedscaleoffset", "offset": 0, "scale": 1, "dtype": "<u8", "astype": "<u8"}`;
  const array = `{"zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<u8", "fill_value": ${FILL}, "order": "C",
    "compressor": null, "filters": [${filter}]}`;
  const attributes = `{"filters": 5, "dtype": "<u8"}`;
  const group = `{"zarr_consolidated_format": 1, "metadata":
    {".zgroup": {"zarr_format": 2}, "a/.zarray": ${array}, "a/.zattrs": ${attributes}}}`;
  const store = new Map([["/.zmetadata", json(group)], ["/.zgroup", json(`{"zarr_format": 2}`)]]);
  store.set("/a/.zarray", json(array));
  store.set("/a/.zattrs", json(attributes));
  store.set("/a/0", new Uint8Array(BigUint64Array.of(1n, 5n).buffer));
  for (const source of [exact(store), await zarr.withConsolidatedMetadata(exact(store), { format: "v2" })]) {
    const array = await zarr.open.v2(zarr.root(source).resolve("a"), { kind: "array" });
    assert.deepEqual(array.attrs, JSON.parse(attributes));
    assert.deepEqual((await zarr.get(array)).data, BigUint64Array.of(1n, 5n, BigInt(FILL), BigInt(FILL)));
  }
});

test("a store that has parsed consolidated metadata is refused", async () => {
  const group = `{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"metadata": {}}}`;
  const store = new Map([["/zarr.json", json(group)]]);
  const parsed = await zarr.withConsolidatedMetadata(store);
  assert.throws(() => exact(parsed), /^RecastError: .*withConsolidatedMetadata\(exact\(store\)\)/);
});

test("a transposition in front of shards, which zarrita skips, is refused", async () => {
  const sharding = { name: "sharding_indexed", configuration: { chunk_shape: [2], codecs: [{ name: "bytes" }], index_codecs: [{ name: "bytes" }] } };
  const store = new Map();
  const shards = create(store, [{ name: "transpose", configuration: { order: [0] } }, ...PACKED, sharding]);
  // zarrita reads no shards from a Map, but has written the metadata.
  await assert.rejects(shards, /getRange/);
  await assert.rejects(zarr.open(exact(store), { kind: "array" }), /zarrita skips transpose in front of sharding_indexed/);
});

const transpose = (...order) => ({ name: "transpose", configuration: { order } });
const cast = (data_type) => ({ name: "cast_value", configuration: { data_type } });

/** An array of 2 × 3 × 4 elements, of which the chunk is given. */
function cube(codecs, dtype, chunk) {
  const metadata = {
    zarr_format: 3,
    node_type: "array",
    shape: [2, 3, 4],
    data_type: dtype,
    chunk_grid: { name: "regular", configuration: { chunk_shape: [2, 3, 4] } },
    chunk_key_encoding: { name: "default" },
    fill_value: 0,
    codecs: [...codecs, { name: "bytes", configuration: { endian: "little" } }],
    attributes: {},
  };
  return new Map([["/zarr.json", json(JSON.stringify(metadata))], ["/c/0/0/0", new Uint8Array(chunk.buffer)]]);
}

/** Elements in C order, and as axes in these orders, one after another, leave them. */
function transposed(orders) {
  let shape = [2, 3, 4];
  const elements = Array.from({ length: 24 }, (_, at) => at);
  let index = elements.map((at) => [Math.floor(at / 12), Math.floor(at / 4) % 3, at % 4]);
  for (const order of orders) {
    index = index.map((axes) => order.map((axis) => axes[axis]));
    shape = order.map((axis) => shape[axis]);
  }
  const stored = new Float64Array(24);
  for (const at of elements) stored[(index[at][0] * shape[1] + index[at][1]) * shape[2] + index[at][2]] = at;
  return stored;
}

test("several transpose are read, wherever they stand", async () => {
  const [a, b, c] = [[1, 2, 0], [0, 2, 1], [2, 1, 0]];
  const scale = { name: "scale_offset", configuration: { offset: 1 } };
  const lists = [
    [[a, b], [transpose(...a), transpose(...b), cast("float64"), scale]],
    [[a, b], [transpose(...a), scale, transpose(...b), cast("float64")]],
    [[b, a, c], [scale, transpose(...b), cast("float64"), transpose(...a), transpose(...c)]],
    [[c, c, a], [transpose(...c), transpose(...c), transpose(...a), scale]],
    [[a], [transpose(...a), scale]],
  ];
  for (const [orders, codecs] of lists) {
    const store = cube(codecs, "float64", transposed(orders).map((value) => value - 1));
    const array = await zarr.open(exact(store), { kind: "array" });
    const read = bytesInOrder(await zarr.get(array), Float64Array);
    assert.deepEqual(read, Buffer.from(Float64Array.from({ length: 24 }, (_, at) => at).buffer), JSON.stringify(codecs));
    if (orders.length > 1) {
      const inexact = await zarr.open(store, { kind: "array" });
      await assert.rejects(zarr.get(inexact), /only one transpose.*exact\(store\)/);
    }
  }
});

test("differences in front of a transpose are refused, and axes that are none", async () => {
  const delta = { name: "numcodecs.delta", configuration: { dtype: "<f8" } };
  const refused = async (codecs, why) =>
    await assert.rejects(zarr.open(exact(cube(codecs, "float64", new Float64Array(24))), { kind: "array" }), why);
  const order = transpose(1, 2, 0);
  await refused([delta, cast("float64"), order], /zarrita reads numcodecs.delta in front of transpose wrongly/);
  await refused([order, delta, cast("float64"), order], /zarrita reads numcodecs.delta in front of transpose wrongly/);
  await refused([order, transpose(0, 3, 1), cast("float64")], /several transpose of different shapes/);
  await refused([order, { name: "transpose" }, cast("float64")], /transpose: missing field/);
});
