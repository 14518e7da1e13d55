// zarrita with the package reads what zarr-python wrote, to the last bit.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { test } from "node:test";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";
import { exact, register, typedArray } from "../pkg/index.js";
import { bytesInOrder, cases, goldens, metadata, npy } from "./stores.js";

await register(zarr.registry);

/** Why a store cannot be read, or undefined. */
function unreadable(name) {
  const { data_type, fill_value } = JSON.parse(metadata(name));
  if (data_type === "float16" && !globalThis.Float16Array) return /dataType: float16/;
  if (fill_value === "0x7fc01234") return /0x7fc01234.* NaN whose bits JavaScript cannot keep/;
  return undefined;
}

const open = (name, options) =>
  zarr.open(exact(new FileSystemStore(fileURLToPath(new URL(`${name}/array.zarr`, goldens))), options), { kind: "array" });

for (const name of cases) {
  const reason = unreadable(name);
  if (reason) {
    test(`${name} is refused with the reason`, () => assert.rejects(open(name), reason));
    continue;
  }
  test(`${name} is read bit for bit`, async () => {
    const expected = npy(new URL(`${name}/decoded.npy`, goldens));
    for (const reuse of [false, true, true]) {
      const array = await open(name, { reuse });
      assert.deepEqual(array.shape, expected.shape);
      const found = bytesInOrder(await zarr.get(array), typedArray(array.dtype));
      assert.ok(found.equals(expected.bytes), "the elements differ");
    }
  });
}

test("stores are read bit for bit by the metadata that a group around them holds", async () => {
  const names = cases.filter((name) => !unreadable(name) && /"zarr_format": ?3/.test(metadata(name)));
  const members = names.map((name) => `"${name}/array.zarr": ${metadata(name)}`);
  const consolidated = `{"metadata": {${members}}}`;
  const group = `{"zarr_format": 3, "node_type": "group", "attributes": {}, "consolidated_metadata": ${consolidated}}`;
  const files = new FileSystemStore(fileURLToPath(goldens));
  const get = (key) => {
    assert.ok(key === "/zarr.json" || !key.endsWith("/zarr.json"), `${key} is read`);
    return key === "/zarr.json" ? new TextEncoder().encode(group) : files.get(key);
  };
  const store = { get, getRange: (key, range) => files.getRange(key, range) };
  const root = zarr.root(await zarr.withConsolidatedMetadata(exact(store), { format: "v3" }));
  for (const name of names) {
    const array = await zarr.open.v3(root.resolve(`${name}/array.zarr`), { kind: "array" });
    const found = bytesInOrder(await zarr.get(array), typedArray(array.dtype));
    assert.ok(found.equals(npy(new URL(`${name}/decoded.npy`, goldens)).bytes), name);
  }
  assert.ok(names.length > 20, `${names.length} stores`);
});

test("there are stores to read", () => {
  const read = cases.filter((name) => !unreadable(name));
  assert.equal(cases.length, 61);
  assert.equal(read.length, globalThis.Float16Array ? 60 : 55);
});

test("two Workers read all of them at the same time", async () => {
  const names = cases.filter((name) => !unreadable(name));
  const read = () =>
    new Promise((resolve, reject) => {
      const found = new Map();
      const worker = new Worker(new URL("worker.js", import.meta.url), { workerData: names });
      worker.on("error", reject);
      worker.on("message", (message) => (message === "done" ? resolve(found) : found.set(...message)));
    });
  for (const found of await Promise.all([read(), read()])) {
    assert.equal(found.size, names.length);
    for (const [name, bytes] of found) {
      const expected = npy(new URL(`${name}/decoded.npy`, goldens)).bytes;
      assert.ok(expected.equals(bytes), `${name}: the elements differ`);
    }
  }
});
