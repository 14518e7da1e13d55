// zarrita with the package reads the stores of the conformance vectors to the last bit.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";
import { exact, register, typedArray } from "../pkg/index.js";
import { bytesInOrder } from "./stores.js";

await register(zarr.registry);
const stores = new URL("../../conformance/stores/", import.meta.url);
const names = readdirSync(stores).filter((name) => globalThis.Float16Array || !isFloat16(name));

function isFloat16(name) {
  return JSON.parse(readFileSync(new URL(`${name}/expected.json`, stores))).data_type === "float16";
}

test("there are stores to read", () => assert.ok(names.length >= 85, `${names.length}`));

for (const name of names) {
  test(`${name} is read bit for bit`, async () => {
    const store = exact(new FileSystemStore(fileURLToPath(new URL(`${name}/array.zarr`, stores))));
    const array = await zarr.open(store, { kind: "array" });
    const found = bytesInOrder(await zarr.get(array), typedArray(array.dtype));
    assert.ok(found.equals(readFileSync(new URL(`${name}/expected.bin`, stores))), "the elements differ");
  });
}
