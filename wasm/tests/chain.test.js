// Chains on typed arrays, without zarrita.
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import { Chain, RecastError, init } from "../pkg/index.js";

// The module, whose memory a test looks at.
const module = await WebAssembly.compile(await readFile(new URL("../pkg/zarr_recast.wasm", import.meta.url)));
const { instantiate } = WebAssembly;
let memory;
WebAssembly.instantiate = async (...args) => {
  const instance = await instantiate(...args);
  ({ memory } = instance.exports);
  return instance;
};
await init(module);
WebAssembly.instantiate = instantiate;

const TENTHS = {
  data_type: "float32",
  fill_value: "NaN",
  codecs: [
    { name: "scale_offset", configuration: { offset: 5, scale: 10 } },
    {
      name: "cast_value",
      configuration: { data_type: "uint8", scalar_map: { encode: [["NaN", 255]], decode: [[255, "NaN"]] } },
    },
  ],
};

test("a chain encodes and decodes typed arrays", async () => {
  const chain = await Chain.create(TENTHS, { exists: false });
  const values = Float32Array.of(6.5, Number.NaN, 5);
  const codes = chain.encode(values);
  assert.deepEqual(codes, Uint8Array.of(15, 255, 0));
  assert.deepEqual(chain.decode(codes), values);
  assert.deepEqual([chain.decodedType, chain.encodedType, chain.encodedSize], ["float32", "uint8", 1]);
  assert.deepEqual(chain.encodedFillBytes, Uint8Array.of(255));
});

test("decodeInto fills a part of a larger array", async () => {
  const chain = await Chain.create(TENTHS);
  const all = new Float32Array(5).fill(-1);
  const part = chain.decodeInto(Uint8Array.of(15, 0), all.subarray(2, 4));
  assert.deepEqual(part, Float32Array.of(6.5, 5));
  assert.deepEqual(all, Float32Array.of(-1, -1, 6.5, 5, -1));
  assert.throws(() => chain.decodeInto(Uint8Array.of(1, 2), new Float32Array(3)), /2 elements do not fill a place for 3/);
  assert.throws(() => chain.decodeInto(Uint8Array.of(1), new Float64Array(1)), /belong into Float32Array/);
});

test("linear is what a shader computes", async () => {
  const chain = await Chain.create(TENTHS);
  assert.deepEqual(chain.linear, { scale: 10, offset: 5, map: [[255, Number.NaN]] });
  const { scale, offset, map } = chain.linear;
  const codes = Uint8Array.from({ length: 256 }, (_, code) => code);
  const computed = Float32Array.from(codes, (code) => new Map(map).get(code) ?? Math.fround(code / scale) + offset);
  assert.deepEqual(chain.decode(codes), computed);
  const other = await Chain.create({ data_type: "float32", codecs: [TENTHS.codecs[0]] });
  assert.equal(other.linear, null);
});

test("an element that cannot be encoded is an error with its index and value", async () => {
  const chain = await Chain.create(TENTHS);
  const values = new Float32Array(100_000).fill(6);
  values[70_001] = 300;
  assert.throws(
    () => chain.encode(values),
    (error) => error instanceof RecastError && error.index === 70_001 && error.value === "300.0",
  );
  assert.deepEqual(chain.encode(values.subarray(0, 2)), Uint8Array.of(10, 10));
});

test("metadata that are refused name the member", async () => {
  const codecs = [{ name: "cast_value", configuration: { data_type: "uint9" } }];
  await assert.rejects(Chain.create({ data_type: "float32", codecs }), /^RecastError: codecs\[0\]\.configuration\.data_type/);
  await assert.rejects(Chain.create({ data_type: "float32", codecs: [{ name: "gzip" }] }), /gzip/);
  await assert.rejects(Chain.create({ data_type: "uint8", fill_value: 300, codecs: [] }), /^RecastError: fill_value/);
  await assert.rejects(Chain.create({ data_type: "uint8" }), /^RecastError: metadata: missing field `codecs`/);
  await assert.rejects(Chain.create(null), /^RecastError: metadata: .*null, expected an object with data_type and codecs/);
  await assert.rejects(Chain.create("{"), /^RecastError: metadata: .*JSON/);
  const method = { name: "cast_value", configuration: () => {} };
  await assert.rejects(Chain.create({ data_type: "uint8", codecs: [method] }), /^RecastError: codecs\[0\]\.configuration/);
});

test("integers of 64 bits and their fill values keep every digit", async () => {
  const metadata = `{"data_type": "uint64", "fill_value": 18446744073709551615,
    "codecs": [{"name": "scale_offset", "configuration": {"offset": 9223372036854775809}}]}`;
  const chain = await Chain.create(metadata);
  assert.deepEqual(chain.encode(BigUint64Array.of(9223372036854775810n)), BigUint64Array.of(1n));
  assert.deepEqual(new BigUint64Array(chain.encodedFillBytes.buffer), BigUint64Array.of(9223372036854775806n));
  const typed = await Chain.create({
    data_type: "uint64",
    codecs: [{ name: "scale_offset", configuration: { offset: 9223372036854775809n } }],
  });
  assert.deepEqual(typed.decode(BigUint64Array.of(1n)), BigUint64Array.of(9223372036854775810n));
});

test("encoded elements may be big-endian", async () => {
  const codecs = [{ name: "cast_value", configuration: { data_type: "int16" } }];
  const chain = await Chain.create({ data_type: "float64", codecs }, { endian: "big" });
  assert.deepEqual(chain.encodeToBytes(Float64Array.of(258)), Uint8Array.of(1, 2));
  assert.deepEqual(chain.decode(Uint8Array.of(1, 2)), Float64Array.of(258));
});

test("a chunk of any length is converted as its elements are", async () => {
  const chain = await Chain.create(TENTHS);
  const table = chain.decode(Uint8Array.from({ length: 256 }, (_, code) => code));
  for (const length of [1, 32_767, 32_768, 32_769, 100_003]) {
    const codes = Uint8Array.from({ length }, (_, at) => (at * 40_503) >> 3);
    const values = chain.decode(codes);
    assert.deepEqual(values, Float32Array.from(codes, (code) => table[code]));
    assert.deepEqual(chain.encode(values), codes);
  }
});

test("the module's memory does not grow with the chunk", async () => {
  const chain = await Chain.create(TENTHS);
  chain.decode(new Uint8Array(100_000));
  const before = memory.buffer.byteLength;
  assert.equal(chain.decode(new Uint8Array(8 << 20)).length, 8 << 20);
  assert.equal(memory.buffer.byteLength, before);
});

test("codes in the buffer that decodeInto fills are read before they are overwritten", async () => {
  const chain = await Chain.create(TENTHS);
  const codes = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);
  const expected = chain.decode(codes);
  const both = new ArrayBuffer(400_000);
  const start = new Uint8Array(both, 0, codes.length);
  start.set(codes);
  assert.deepEqual(chain.decodeInto(start, new Float32Array(both)), expected);
});

test("elements come in their typed array, or as bytes", async () => {
  const codecs = [{ name: "cast_value", configuration: { data_type: "int16" } }];
  const chain = await Chain.create({ data_type: "float64", codecs });
  const codes = Int16Array.of(0, 258, 3);
  const shared = new SharedArrayBuffer(6);
  new Int16Array(shared).set(codes);
  for (const same of [codes, codes.buffer, shared, new DataView(codes.buffer), Buffer.from(codes.buffer)]) {
    assert.deepEqual(chain.decode(same), Float64Array.of(0, 258, 3));
  }
  assert.deepEqual(chain.decode(codes.subarray(1, 2)), Float64Array.of(258));
  for (const [other, kind] of [[[0, 258], "Array"], [Uint16Array.of(1), "Uint16Array"], [2, "Number"], [null, "Null"]]) {
    assert.throws(() => chain.decode(other), new RegExp(`int16 come as Int16Array or bytes, not as ${kind}`));
  }
  assert.throws(() => chain.encode(Float32Array.of(1)), /float64 come as Float64Array or bytes, not as Float32Array/);
  assert.throws(() => chain.decode(new Uint8Array(3)), /3 bytes are no whole number of int16, which has 2 bytes/);
  structuredClone(codes.buffer, { transfer: [codes.buffer] });
  assert.throws(() => chain.decode(codes), /detached/);
});

test("floats that overflow are an error, or infinite", async () => {
  const metadata = { data_type: "float32", codecs: [{ name: "scale_offset", configuration: { scale: 10 } }] };
  const strict = await Chain.create(metadata);
  assert.throws(() => strict.encode(Float32Array.of(1e38)), (error) => error.reason === "overflow");
  const ieee = await Chain.create(metadata, { floatOverflow: "infinity" });
  assert.deepEqual(ieee.encode(Float32Array.of(1e38)), Float32Array.of(Number.POSITIVE_INFINITY));
});

test("options that are no option are refused", async () => {
  await assert.rejects(Chain.create(TENTHS, { endian: "middle" }), /endian is "little" or "big", not "middle"/);
  await assert.rejects(Chain.create(TENTHS, { endian: "toString" }), /not "toString"/);
  await assert.rejects(Chain.create(TENTHS, { floatOverflow: "none" }), /floatOverflow is "error" or "infinity", not "none"/);
});

test("no elements are none", async () => {
  const chain = await Chain.create(TENTHS);
  assert.deepEqual(chain.decode(new Uint8Array(0)), new Float32Array(0));
});

test("a freed chain is refused, and its place is used again", async () => {
  const chain = await Chain.create(TENTHS);
  chain.free();
  chain.free();
  assert.throws(() => chain.decode(Uint8Array.of(1)), /freed/);
  const other = await Chain.create({ data_type: "int8", codecs: [] });
  assert.throws(() => chain.decode(Uint8Array.of(1)), /freed/);
  assert.deepEqual(other.decode(Int8Array.of(-1)), Int8Array.of(-1));
});

test("10,000 chunks and chains leave the module's memory as it was", async () => {
  const chain = await Chain.create(TENTHS);
  const codes = new Uint8Array(10_000).fill(15);
  const run = () => {
    chain.decode(codes);
    const other = new Chain(TENTHS);
    other.encode(other.decode(codes));
    assert.throws(() => other.encode(Float32Array.of(300)));
    other.free();
  };
  for (let warm = 0; warm < 100; warm++) run();
  const before = memory.buffer.byteLength;
  for (let chunk = 0; chunk < 10_000; chunk++) run();
  assert.equal(memory.buffer.byteLength, before);
});

test("a chain works in a worker", async () => {
  const code = `
    import { parentPort } from "node:worker_threads";
    const { Chain } = await import(${JSON.stringify(new URL("../pkg/index.js", import.meta.url))});
    const chain = await Chain.create(${JSON.stringify(TENTHS)});
    parentPort.postMessage(chain.decode(Uint8Array.of(15)));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [decoded] = await once(worker, "message");
  assert.deepEqual(decoded, Float32Array.of(6.5));
});
