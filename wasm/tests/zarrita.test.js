// What the codecs do inside zarrita besides reading.
import assert from "node:assert/strict";
import { test } from "node:test";
import * as zarr from "zarrita";
import { RecastError, exact, register } from "../pkg/index.js";

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
  const codecs = [{ name: "cast_value", configuration: { data_type: "float8_e4m3" } }, { name: "bytes" }];
  const array = await create(store, codecs, { fillValue: 0 });
  await zarr.set(array, null, { data: Float32Array.of(0, 1, -2, 240), shape: [4], stride: [1] });
  assert.deepEqual([...store.get("/c/0")], [0, 0x38, 0xc0, 0x77]);
  assert.deepEqual((await zarr.get(array)).data, Float32Array.of(0, 1, -2, 240));
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

test("a transposition in front of shards, which zarrita skips, is refused", async () => {
  const sharding = { name: "sharding_indexed", configuration: { chunk_shape: [2], codecs: [{ name: "bytes" }], index_codecs: [{ name: "bytes" }] } };
  const store = new Map();
  const shards = create(store, [{ name: "transpose", configuration: { order: [0] } }, ...PACKED, sharding]);
  // zarrita reads no shards from a Map, but has written the metadata.
  await assert.rejects(shards, /getRange/);
  await assert.rejects(zarr.open(exact(store), { kind: "array" }), /zarrita skips transpose in front of sharding_indexed/);
});
