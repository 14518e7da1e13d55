// zarrita with the package reads what zarr-python wrote, to the last bit.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
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

const open = (name) =>
  zarr.open(exact(new FileSystemStore(fileURLToPath(new URL(`${name}/array.zarr`, goldens)))), { kind: "array" });

for (const name of cases) {
  const reason = unreadable(name);
  if (reason) {
    test(`${name} is refused with the reason`, () => assert.rejects(open(name), reason));
    continue;
  }
  test(`${name} is read bit for bit`, async () => {
    const expected = npy(new URL(`${name}/decoded.npy`, goldens));
    const array = await open(name);
    assert.deepEqual(array.shape, expected.shape);
    const found = bytesInOrder(await zarr.get(array), typedArray(array.dtype));
    assert.ok(found.equals(expected.bytes), "the elements differ");
  });
}

test("there are stores to read", () => {
  const read = cases.filter((name) => !unreadable(name));
  assert.equal(cases.length, 61);
  assert.equal(read.length, globalThis.Float16Array ? 60 : 55);
});
