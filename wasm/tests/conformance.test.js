// Chains give what conformance/vectors ask for: all files, all lines.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Chain, RecastError, init } from "../pkg/index.js";

await init();

/** The lines of a file behind its header: as text, for JavaScript rounds long numbers. */
function texts(kind) {
  const file = readFileSync(new URL(`../../conformance/vectors/${kind}.jsonl`, import.meta.url), "utf8");
  const [header, ...rest] = file.trimEnd().split("\n");
  assert.deepEqual(JSON.parse(header), { format: "zarr-recast conformance vectors", version: 1, kind });
  assert.ok(rest.length > 0);
  return rest;
}

const lines = (kind) => texts(kind).map((line) => JSON.parse(line));

/** The bytes of elements, which the vectors write with the most significant first. */
const bytes = (elements) => Buffer.concat(elements.map((hex) => Buffer.from(hex, "hex").reverse()));

/** Runs what passes at once and repeated, so that vectors are filled, and each failure behind it. */
function compare(chain, direction, cases, what) {
  const passing = cases.filter(([, result]) => typeof result === "string");
  const repeated = [...passing, ...passing, ...passing, ...passing];
  const input = bytes(repeated.map(([element]) => element));
  const output = chain[direction](input);
  const found = Buffer.from(output.buffer, output.byteOffset, output.byteLength);
  assert.ok(found.equals(bytes(repeated.map(([, result]) => result))), what);
  for (const [element, failure] of cases) {
    if (typeof failure === "string") continue;
    const error = caught(() => chain[direction](Buffer.concat([input, bytes([element])])), what);
    assert.equal(error.index, repeated.length, what);
    assert.equal(error.reason, failure.error, what);
  }
  return cases.length;
}

function caught(f, what) {
  try {
    f();
  } catch (error) {
    assert.ok(error instanceof RecastError, `${what}: ${error}`);
    return error;
  }
  assert.fail(`${what}: nothing is refused`);
}

/** A list of results of one rounding and mode, of the vectors' casts. */
function inMode(cases, rounding, mode) {
  return cases.map(([element, results]) => {
    const result = Array.isArray(results) ? results[rounding] : results;
    if (typeof result === "string" || result.error) return [element, result];
    return [element, result[mode] ?? { error: "out-of-range" }];
  });
}

const ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"];

test("cast.jsonl", () => {
  let count = 0;
  for (const { source, target, cases } of lines("cast")) {
    for (const [at, rounding] of ROUNDINGS.entries()) {
      for (const out_of_range of [undefined, "clamp", "wrap"]) {
        if (out_of_range === "wrap" && /float/.test(target)) continue;
        const configuration = { data_type: target, rounding, out_of_range };
        const chain = new Chain({ data_type: source, codecs: [{ name: "cast_value", configuration }] });
        count += compare(chain, "encode", inMode(cases, at, out_of_range), JSON.stringify([source, configuration]));
        chain.free();
      }
    }
  }
  assert.ok(count > 100_000, `${count} comparisons`);
});

/** An element as JSON: an integer, or the bits of a float. */
function scalar(dataType, hex) {
  if (/float/.test(dataType)) return `0x${hex}`;
  const bits = BigInt(`0x${hex}`);
  return dataType.startsWith("u") ? bits : BigInt.asIntN(4 * hex.length, bits);
}

test("scale_offset.jsonl", () => {
  let infinite = 0;
  for (const { data_type, offset, scale, encode, decode } of lines("scale_offset")) {
    const configuration = {};
    if (offset !== undefined) configuration.offset = scalar(data_type, offset);
    if (scale !== undefined) configuration.scale = scalar(data_type, scale);
    for (const floatOverflow of ["error", "infinity"]) {
      const chain = new Chain({ data_type, codecs: [{ name: "scale_offset", configuration }] }, { floatOverflow });
      for (const [direction, cases] of Object.entries({ encode, decode })) {
        const overflows = ({ ieee }) => (floatOverflow === "infinity" ? ieee : { error: "overflow" });
        const expected = cases.map(([element, result]) => [element, result.ieee ? overflows(result) : result]);
        infinite += cases.filter(([, result]) => result.ieee).length;
        compare(chain, direction, expected, `${data_type}, ${offset}, ${scale}, ${floatOverflow}, ${direction}`);
      }
      chain.free();
    }
  }
  assert.ok(infinite > 0, "no vector overflows");
});

test("scalars.jsonl", () => {
  for (const { data_type, json, bits } of lines("scalars")) {
    const text = `{"data_type":"${data_type}","fill_value":${json},"codecs":[]}`;
    if (bits === undefined) {
      caught(() => new Chain(text), text);
    } else {
      assert.deepEqual(Buffer.from(new Chain(text).encodedFillBytes), bytes([bits]), text);
    }
  }
});

test("chains.jsonl", () => {
  for (const line of texts("chains")) {
    const { encoded_data_type, encoded_fill_value, encode, decode } = JSON.parse(line);
    const chain = new Chain(line, { exists: false });
    assert.equal(chain.encodedType, encoded_data_type);
    assert.deepEqual(Buffer.from(chain.encodedFillBytes), bytes([encoded_fill_value]), line);
    for (const [direction, { input, output, failing }] of Object.entries({ encode, decode })) {
      const passing = input.map((element, at) => [element, output[at]]);
      compare(chain, direction, [...passing, ...failing], `${direction} of ${line}`);
    }
    chain.free();
  }
});

test("invalid.jsonl", () => {
  for (const line of texts("invalid")) {
    const { field } = JSON.parse(line);
    const { message } = caught(() => new Chain(line, { exists: false }), line);
    assert.ok(message.startsWith(field) && /^[:.[]/.test(message.slice(field.length)), `${line}: ${message}`);
  }
});
