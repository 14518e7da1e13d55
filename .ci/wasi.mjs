// Runs a WebAssembly program of the target wasm32-wasip1 under node, with its arguments, the environment and its exit
// status: `node --no-warnings .ci/wasi.mjs PROGRAM ARGUMENTS`.
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, env: process.env });
const program = await WebAssembly.compile(await readFile(args[0]));
process.exitCode = wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject()));
