// Arrays that `recast pack --readers any` writes, read by zarrita alone. Needs `recast`, in RECAST or in target/debug.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const recast = process.env.RECAST ?? `${repository}target/debug/recast`;
const input = `${repository}examples/data/oisst_sst.zarr`;
const folder = mkdtempSync(`${tmpdir()}/plain-`);
after(() => rmSync(folder, { recursive: true }));

for (const compressor of ["auto", "smallest", "none", "zstd:5", "gzip:6", "blosc:5"]) {
  for (const goal of [["-e", "0.005"], ["--max-rel-error", "0.001"]]) {
    test(`zarrita reads ${compressor} with ${goal.join(" ")}, without codecs of ours`, async () => {
      const output = `${folder}/${compressor.replace(":", "")}${goal[0]}.zarr`;
      const options = ["--readers", "any", "--compressor", compressor];
      execFileSync(recast, ["pack", input, output, ...goal, ...options]);
      const array = await zarr.open.v3(new FileSystemStore(output), { kind: "array" });
      const { data } = await zarr.get(array);
      const expected = execFileSync(recast, ["cat", output], { maxBuffer: 1 << 28 });
      assert.equal(expected.length, data.byteLength);
      assert.deepEqual(Buffer.from(data.buffer, data.byteOffset, data.byteLength), expected);
    });
  }
}
