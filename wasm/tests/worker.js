// A Worker: reads the golden stores that it is given with zarrita and the package, and posts their bytes.
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";
import { exact, register, typedArray } from "../pkg/index.js";
import { bytesInOrder, goldens } from "./stores.js";

await register(zarr.registry);
for (const name of workerData) {
  const store = exact(new FileSystemStore(fileURLToPath(new URL(`${name}/array.zarr`, goldens))));
  const array = await zarr.open(store, { kind: "array" });
  parentPort.postMessage([name, bytesInOrder(await zarr.get(array), typedArray(array.dtype))]);
}
parentPort.postMessage("done");
