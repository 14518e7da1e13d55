// The page of examples/browser in Chromium, on the server that its README starts: what it shows is compared, by numbers, with
// what `recast` decodes. Needs `recast` (in RECAST, or in target/debug), Python, and Chromium (in CHROMIUM, or on the path).
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { bytesInOrder, cases, goldens, metadata, npy, writeArray } from "../stores.js";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const recast = process.env.RECAST ?? `${repository}target/debug/recast`;
const example = `${repository}examples/data/oisst_sst.zarr`;
/** What is served: the folders of the repository that the page names, and arrays that the tests make. */
const root = `${repository}target/page`;

let server;
let address;
let browser;
/** Pages of one context share what they have fetched. */
let context;
/** The page with the example. */
let page;

before(async () => {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  for (const folder of ["examples", "wasm", "zarrs"]) symlinkSync(repository + folder, `${root}/${folder}`);
  execFileSync(recast, ["pack", example, `${root}/sst_packed.zarr`, "--max-abs-error", "0.005"]);
  server = spawn("python3", ["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", root], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  for await (const line of createInterface({ input: server.stdout })) {
    address = line.match(/http:\/\/[\d.:]+/)[0];
    break;
  }
  const name =
    process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium || command -v google-chrome"], { encoding: "utf8" });
  const patience = { timeout: 120_000 };
  browser = await chromium.launch({ executablePath: name.trim(), args: ["--force-color-profile=srgb"], ...patience });
  context = await browser.newContext({ viewport: { width: 1440, height: 900 }, deviceScaleFactor: 2 });
  context.setDefaultTimeout(patience.timeout);
  page = await show();
});

after(async () => {
  await browser?.close();
  server?.kill();
});

/** The page, when it has shown its arrays or said why not. */
async function show(query = {}, state = "shown", path = "/examples/browser/") {
  const page = await context.newPage();
  await page.goto(`${address}${path}?${new URLSearchParams(query)}`);
  await page.waitForSelector("body:is([data-state=shown], [data-state=failed])");
  const problem = await page.locator("#problem").innerText();
  assert.equal(await page.evaluate(() => document.body.dataset.state), state, problem);
  return page;
}

/** The decoded elements of an array of float32. */
function decoded(path) {
  const bytes = execFileSync(recast, ["cat", path], { maxBuffer: 1 << 28 });
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** What the example's codes must be, from its values and the two numbers of its metadata. */
function codesOf(values) {
  const { codecs } = JSON.parse(readFileSync(`${root}/sst_packed.zarr/zarr.json`, "utf8"));
  const { offset, scale } = codecs[0].configuration;
  return values.map((value) => (Number.isNaN(value) ? -32768 : Math.round((value - offset) * scale)));
}

const errorsOf = (values, original) => Array.from(values, (value, at) => value - original[at]);
const largestOf = (errors) =>
  errors.reduce((largest, error) => Math.max(largest, Number.isNaN(error) ? 0 : Math.abs(error)), 0);

/** A number as the page writes it, back. */
function number(text) {
  const digit = (superscript) => "⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(superscript);
  const [mantissa, power] = text
    .replaceAll("−", "-")
    .match(/-?[\d.]+(×10⁻?[⁰-⁹¹²³]+)?/)[0]
    .split("×10");
  if (power === undefined) return Number(mantissa);
  const exponent = [...power.replace("⁻", "")].map(digit).join("");
  return Number(`${mantissa}e${power.startsWith("⁻") ? "-" : ""}${exponent}`);
}

/** Writes an array to what is served. */
const write = (name, array) => writeArray(`${root}/${name}`, array);

test("the example is shown with its size, its bound and its largest error", async (t) => {
  const [values, original] = [decoded(`${root}/sst_packed.zarr`), decoded(example)];
  const largest = await page.locator("#largest").innerText();
  assert.match(largest, /Within the bound of 0\.005 °C; 16\s200 elements compared/);
  const found = largestOf(errorsOf(values, original));
  assert.equal(number(largest), Number(found.toPrecision(4)));
  assert.ok(found > 0 && found <= 0.005);
  const stored = ["0/0", "0/1", "1/0", "1/1"].reduce(
    (sum, chunk) => sum + readFileSync(`${root}/sst_packed.zarr/c/${chunk}`).length,
    0,
  );
  const sizes = await page.locator("#smaller").innerText();
  assert.ok(sizes.includes(`${(stored / 1024).toFixed(1)} KiB fetched for 63.3 KiB of float32`), sizes);
  assert.equal(number(sizes), Number((original.byteLength / stored).toPrecision(3)));
  assert.match(await page.locator("#codecs").innerText(), /int16 → float32\s+code ÷ 100 \+ 16\.12; −32768 is NaN/);
  const times = await page.locator("#times tr").allInnerTexts();
  assert.equal(times.length, 8);
  t.diagnostic(times.map((row) => row.replace(/\s+/g, " ")).join("; "));
});

test("what the page reads is what recast decodes, bit for bit", async () => {
  const read = await page.evaluate(async () => {
    const { open, read } = await import("./read.js");
    const plane = await read(await open(new URL("/sst_packed.zarr", location).href), []);
    const bytes = ({ buffer }) => Array.from(new Uint8Array(buffer));
    return { values: bytes(plane.values), codes: bytes(plane.codes) };
  });
  const values = decoded(`${root}/sst_packed.zarr`);
  assert.deepEqual(new Uint8Array(read.values), new Uint8Array(values.buffer));
  assert.deepEqual(new Uint8Array(read.codes), new Uint8Array(Int16Array.from(codesOf(values)).buffer));
});

test("each element has the colour of its value, of its code and of its error in the screenshot", async () => {
  // For people to look at.
  await page.screenshot({ path: `${root}/screenshot.png`, fullPage: true });
  await page.addStyleTag({ content: ".cross { visibility: hidden }" });
  const screenshot = (await page.screenshot({ fullPage: true })).toString("base64");
  const [rows, columns] = [90, 180];
  const values = decoded(`${root}/sst_packed.zarr`);
  const errors = errorsOf(values, decoded(example));
  for (const [kind, expected] of Object.entries({ values, codes: codesOf(values), errors })) {
    const { colours, missing, pixels } = await page.evaluate(
      async ({ screenshot, kind, rows, columns }) => {
        const { COLOURS, MISSING } = await import("./map.js");
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${screenshot}`)).blob());
        const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
        context.drawImage(image, 0, 0);
        const { data, width } = context.getImageData(0, 0, image.width, image.height);
        const box = document.querySelector(`#${kind} canvas`).getBoundingClientRect();
        const pixels = [];
        for (let row = 0; row < rows; row++) {
          for (let column = 0; column < columns; column++) {
            const x = Math.floor((box.left + scrollX + ((column + 0.5) / columns) * box.width) * devicePixelRatio);
            const y = Math.floor((box.top + scrollY + ((row + 0.5) / rows) * box.height) * devicePixelRatio);
            pixels.push(`${data.slice((y * width + x) * 4, (y * width + x) * 4 + 3)}`);
          }
        }
        return { colours: COLOURS[kind].map(String), missing: `${MISSING}`, pixels };
      },
      { screenshot, kind, rows, columns },
    );
    assert.ok(new Set(colours).size >= 250 && !colours.includes(missing));
    const finite = Array.from(expected).filter((_, at) => !Number.isNaN(values[at]));
    let [low, high] = [Math.min(...finite), Math.max(...finite)];
    if (kind === "errors") [low, high] = [-largestOf(errors), largestOf(errors)];
    const step = (high - low) / 255;
    pixels.forEach((pixel, at) => {
      // The latitudes rise from row to row, and the north is at the top.
      const element = (rows - 1 - Math.floor(at / columns)) * columns + (at % columns);
      if (Number.isNaN(values[element])) return assert.equal(pixel, missing, `${kind}, element ${element}`);
      // A few neighbouring levels have the same colour.
      const levels = [colours.indexOf(pixel), colours.lastIndexOf(pixel)];
      assert.ok(levels[0] >= 0 && levels[1] - levels[0] <= 1, `${kind}, element ${element}: ${pixel} is no colour of the map`);
      const [first, last] = levels.map((level) => low + level * step);
      const beyond = Math.max(first - expected[element], expected[element] - last);
      assert.ok(beyond <= step * 0.5001, `${kind}, element ${element}: ${beyond / step} steps off`);
    });
  }
});

test("pointing at an element, or moving to it with the keys, shows all its numbers", async () => {
  const [values, original] = [decoded(`${root}/sst_packed.zarr`), decoded(example)];
  const codes = codesOf(values);
  const readout = async (name) => number(await page.locator(`#readout .${name}`).innerText());
  const check = async (row, column) => {
    const at = row * 180 + column;
    assert.match(await page.locator("#readout .element").innerText(), new RegExp(`\\[${row}, ${column}\\] of lat × lon$`));
    assert.equal(Math.fround(await readout("value")), values[at]);
    assert.equal(await readout("code"), codes[at]);
    assert.equal(Math.fround(await readout("original")), original[at]);
    assert.equal(await readout("error"), Number((values[at] - original[at]).toPrecision(4)));
  };
  const box = await page.locator("#codes .plot").boundingBox();
  await page.mouse.move(box.x + (100.5 / 180) * box.width, box.y + (59.5 / 90) * box.height);
  await check(30, 100);
  await page.locator("#codes .plot").press("ArrowUp");
  await page.locator("#codes .plot").press("ArrowRight");
  await check(31, 101);
});

test("sliders choose the index along the leading axes", async () => {
  const shape = [3, 4, 5, 6];
  const elements = Float32Array.from({ length: 360 }, (_, at) => Math.sin(at) * 10);
  const original = write("deep.zarr", { shape, data_type: "float32", elements });
  execFileSync(recast, ["pack", original, `${root}/deep_packed.zarr`, "--max-abs-error", "0.01"]);
  const page = await show({ packed: "/deep_packed.zarr", original: "/deep.zarr", index: "1,3" });
  const values = decoded(`${root}/deep_packed.zarr`);
  const check = async (first, second) => {
    const plane = (first * 4 + second) * 30;
    assert.match(await page.locator("#readout .element").innerText(), new RegExp(`\\[${first}, ${second}, `));
    const largest = largestOf(errorsOf(values, elements).slice(plane, plane + 30));
    assert.equal(number(await page.locator("#largest").innerText()), Number(largest.toPrecision(4)));
  };
  await check(1, 3);
  await page.locator("#index input").first().fill("2");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("index") === "2,3");
  await page.waitForSelector("body[data-state=shown]");
  await check(2, 3);
});

test("errors over the bound, and elements that are NaN on one side only, are told", async () => {
  const attributes = { recast: { max_abs_error: 0.5 } };
  const shape = [2, 2];
  write("far.zarr", { shape, data_type: "float32", elements: Float32Array.of(1, 2, 3, 5), attributes });
  write("near.zarr", { shape, data_type: "float32", elements: Float32Array.of(1, 2, 3, 4) });
  write("lost.zarr", { shape, data_type: "float32", elements: Float32Array.of(1, Number.NaN, 3, 4) });
  const far = await show({ packed: "/far.zarr", original: "/near.zarr" });
  assert.match(await far.locator("#largest.bad").innerText(), /1\s+Over the bound of 0\.5/);
  const lost = await show({ packed: "/far.zarr", original: "/lost.zarr" });
  assert.match(
    await lost.locator("#largest.bad").innerText(),
    /∞\s+Over the bound of 0\.5[^]*Elements that are NaN on one side only: 1/,
  );
});

test("arrays of one axis and of none are shown", async () => {
  write("line.zarr", { shape: [7], data_type: "int32", elements: Int32Array.of(5, 1, 2, 3, 4, 9, 7) });
  const line = await show({ packed: "/line.zarr", original: "" });
  assert.match(await line.locator("#readout").innerText(), /element \[3\]\s+value 3/);
  write("number.zarr", { shape: [], data_type: "float64", elements: Float64Array.of(0.1) });
  const one = await show({ packed: "/number.zarr", original: "/number.zarr" });
  assert.match(await one.locator("#readout").innerText(), /value 0\.1/);
});

test("of more elements than a map has room for, those in the middle are read", async () => {
  const elements = Int32Array.from({ length: 3 * 2100 }, (_, at) => at);
  write("wide.zarr", { shape: [3, 2100], data_type: "int32", elements });
  const page = await show({ packed: "/wide.zarr", original: "/wide.zarr" });
  // The first of those shown, because all errors are 0.
  assert.match(await page.locator("#readout").innerText(), /element \[0, 26\]\s+value 26\s/);
  assert.match(await page.locator("#details").innerText(), /the middle 3 × 2048 elements of 3 × 2100/);
});

test("without the package, the page says how to build it", async () => {
  mkdirSync(`${root}/bare`);
  symlinkSync(`${repository}examples`, `${root}/bare/examples`);
  const page = await show({}, "failed", "/bare/examples/browser/");
  assert.match(await page.locator("#problem").innerText(), /modules cannot be loaded[^]*bash wasm\/build\.sh/);
});

test("a URL without an array is told, with the command that makes one", async () => {
  const page = await show({ packed: "/nowhere.zarr" }, "failed");
  const problem = await page.locator("#problem").innerText();
  assert.ok(problem.includes(`${address}/nowhere.zarr`), problem);
  assert.match(problem, /No array[^]*neither zarr\.json nor \.zarray[^]*recast pack/);
  assert.ok(!(await page.locator("main").isVisible()));
});

test("a server that does not answer, a group, and what is no metadata are told apart", async () => {
  const absent = await show({ packed: "http://127.0.0.1:9/array.zarr" }, "failed");
  assert.match(await absent.locator("#problem").innerText(), /No answer\s+http:\/\/127\.0\.0\.1:9\/array\.zarr[^]*server runs/);
  mkdirSync(`${root}/group.zarr`);
  writeFileSync(`${root}/group.zarr/zarr.json`, '{ "zarr_format": 3, "node_type": "group" }');
  const group = await show({ packed: "/group.zarr" }, "failed");
  assert.match(await group.locator("#problem").innerText(), /A group, not an array[^]*the path of one of its arrays/);
  mkdirSync(`${root}/html.zarr`);
  writeFileSync(`${root}/html.zarr/zarr.json`, "<html>");
  const html = await show({ packed: "/html.zarr" }, "failed");
  assert.match(await html.locator("#problem").innerText(), /No Zarr metadata[^]*html\.zarr\/zarr\.json[^]*not JSON/);
});

test("what is no URL, and an array without elements, are told", async () => {
  const page = await show({ packed: "http://" }, "failed");
  assert.match(await page.locator("#problem").innerText(), /Not a URL\s+http:\/\//);
  write("empty.zarr", { shape: [0, 3], data_type: "uint8", elements: new Uint8Array(0) });
  const empty = await show({ packed: "/empty.zarr" }, "failed");
  assert.match(await empty.locator("#problem").innerText(), /Nothing to draw[^]*an array of 0 × 3 elements/);
});

test("a codec that nobody has is named", async () => {
  write("unknown.zarr", {
    shape: [2, 2],
    data_type: "uint8",
    elements: new Uint8Array(4),
    codecs: [{ name: "numcodecs.pcodec" }],
  });
  const page = await show({ packed: "/unknown.zarr" }, "failed");
  const problem = await page.locator("#problem").innerText();
  assert.match(
    problem,
    /An unknown codec[^]*unknown\.zarr\s+neither zarrita nor zarr-recast has numcodecs\.pcodec[^]*--readers zarrita/,
  );
});

test("an original of another shape is told beside the maps of the packed array", async () => {
  write("small.zarr", { shape: [2, 2], data_type: "float32", elements: new Float32Array(4) });
  const page = await show({ original: "/small.zarr" });
  const errors = await page.locator("#errors").innerText();
  assert.match(errors, /Another shape[^]*small\.zarr\s+the packed array has the shape 90 × 180, this one 2 × 2/);
  assert.ok(await page.locator("#values canvas").isVisible());
  assert.match(await page.locator("#largest").innerText(), /unknown/);
});

test("a chunk that cannot be decoded is named, with the element and its value, and the others can be chosen", async () => {
  const codecs = [{ name: "cast_value", configuration: { data_type: "int16" } }];
  const chunks = [Int16Array.of(1, 2, 3, 4, 5, 6), Int16Array.of(1, 2, 3, 4, 300, 6)];
  write("broken.zarr", { shape: [2, 2, 3], data_type: "uint8", chunks, codecs });
  const page = await show({ packed: "/broken.zarr", original: "", index: "1" }, "failed");
  const problem = await page.locator("#problem").innerText();
  assert.match(problem, /broken\.zarr, chunk 1\/0\/0 \(indices 1–1 of axis 0, 0–1 of axis 1, 0–2 of axis 2\)/);
  assert.match(problem, /element 4: int16 300 is out of range for uint8/);
  await page.locator("#index input").fill("0");
  await page.waitForSelector("body[data-state=shown]");
  assert.ok(!(await page.locator("#problem").isVisible()));
  assert.match(await page.locator("#readout").innerText(), /\[0, 1, 1\]\s+value 5\s+code 5/);
});

test("a damaged file is named", async () => {
  cpSync(`${root}/sst_packed.zarr`, `${root}/damaged.zarr`, { recursive: true });
  truncateSync(`${root}/damaged.zarr/c/1/0`, 100);
  const page = await show({ packed: "/damaged.zarr" }, "failed");
  const problem = await page.locator("#problem").innerText();
  assert.match(problem, /damaged\.zarr, chunk 1\/0 \(indices 45–89 of lat, 0–89 of lon\)[^]*may be damaged/);
});

test("the stores that zarr-python wrote are read bit for bit in Chromium, and so are their codes", async () => {
  let read = 0;
  for (const name of cases) {
    const found = await page.evaluate(async (url) => {
      const [zarr, { typedArray }, { open, read }] = [
        await import("zarrita"),
        await import("zarr-recast"),
        await import("./read.js"),
      ];
      try {
        const opened = await open(new URL(url, location).href);
        const { array, chain } = opened;
        const result = await zarr.get(array);
        const plane = await read(
          opened,
          array.shape.slice(2).map(() => 0),
        );
        const bits = (elements) => `${new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength)}`;
        const codesDecode = chain && bits(chain.decode(plane.codes)) === bits(plane.values);
        // A number where there are no axes.
        const scalar = () => ({ data: new (typedArray(array.dtype))([result]), shape: [], stride: [] });
        const { data, shape, stride } = typeof result === "object" ? result : scalar();
        return { bytes: Array.from(new Uint8Array(data.buffer)), size: data.BYTES_PER_ELEMENT, shape, stride, codesDecode };
      } catch (error) {
        return { refused: error.message };
      }
    }, `/zarrs/tests/goldens/${name}/array.zarr`);
    if (metadata(name).includes("0x7fc01234")) {
      assert.match(found.refused, /0x7fc01234.* NaN whose bits JavaScript cannot keep/);
      continue;
    }
    assert.equal(found.refused, undefined, name);
    const expected = npy(new URL(`${name}/decoded.npy`, goldens));
    const Bits = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array }[found.size];
    const data = new Bits(Uint8Array.from(found.bytes).buffer);
    assert.ok(bytesInOrder({ data, shape: found.shape, stride: found.stride }, Bits).equals(expected.bytes), name);
    // Codes are shown for Zarr v3.
    assert.equal(found.codesDecode, name.startsWith("v2_") ? undefined : true, `the codes of ${name}`);
    read += 1;
  }
  assert.equal(read, 60);
});

test("the module is fetched once, and compiled while it is fetched", async (t) => {
  const { fetched, times } = await page.evaluate(async () => {
    const fetched = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/zarr_recast.wasm")).length;
    const times = [];
    for (let repeat = 0; repeat < 5; repeat++) {
      const before = performance.now();
      // Refuses an answer of another media type than WebAssembly's.
      await WebAssembly.compileStreaming(fetch("../../wasm/pkg/zarr_recast.wasm"));
      times.push(performance.now() - before);
    }
    return { fetched, times };
  });
  assert.equal(fetched, 1);
  t.diagnostic(`fetching and compiling the module: ${times.map((time) => `${time.toFixed(1)} ms`).join(", ")}`);
});
