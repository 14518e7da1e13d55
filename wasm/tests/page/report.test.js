// The pages of `--report` in Chromium: nothing is wider than the window, no labels of an axis touch, and nothing is loaded. The
// screenshots are for people to look at. Needs what page.test.js needs.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { writeArray } from "../stores.js";

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const recast = process.env.RECAST ?? `${repository}target/debug/recast`;
const root = `${repository}target/report_page`;
const array = `${repository}examples/data/oisst_sst.zarr`;
const group = `${root}/climate.zarr`;

/** The page of each command. */
const pages = {
  pack: ["pack", array, `${root}/packed.zarr`, "-e", "0.005"],
  group: ["pack", group, `${root}/group.zarr`, "--error-over-range", "0.001"],
  suggest: ["suggest", array],
};

/** A group with coordinates, even and uneven, ascending and descending, a long name, and an array without values. */
function writeGroup() {
  const [time, lev, lat] = [24, 12, 90];
  const coordinates = {
    time: [time, (at) => 6 * at, { units: "hours since 1900-01-01 00:00:00.0 in the standard calendar" }],
    lev: [lev, (at) => 1000 * 0.7 ** at, { units: "hPa", positive: "down" }],
    lat: [lat, (at) => 89 - 2 * at, { units: "degrees_north" }],
  };
  for (const [name, [length, number, attributes]] of Object.entries(coordinates)) {
    const elements = Float64Array.from({ length }, (_, at) => number(at));
    writeArray(`${group}/${name}`, { shape: [length], data_type: "float64", elements, attributes, dimension_names: [name] });
  }
  const arrays = {
    t: [["lev", "lat"], (at) => 280 + 20 * Math.sin(at / 40), { units: "K" }],
    pr: [["time", "lat"], (at) => 1e-5 * Math.cos(at / 70) ** 2, { units: "kg m-2 s-1" }],
    a_profile_with_a_name_that_is_longer_than_a_telephone_is_wide: [["lev"], (at) => 10 ** (at - 30), {}],
    empty: [["time", "lat"], () => Number.NaN, {}],
    "50%25 quantile ü": [["lat"], (at) => Math.sin(at / 9), {}],
  };
  for (const [name, [dimension_names, value, attributes]] of Object.entries(arrays)) {
    const shape = dimension_names.map((name) => coordinates[name][0]);
    const length = shape.reduce((product, extent) => product * extent);
    const elements = Float32Array.from({ length }, (_, at) => value(at));
    writeArray(`${group}/${name}`, { shape, data_type: "float32", elements, attributes, dimension_names, fill_value: "NaN" });
  }
  writeFileSync(`${group}/zarr.json`, '{ "zarr_format": 3, "node_type": "group" }');
}

let browser;

before(async () => {
  rmSync(root, { recursive: true, force: true });
  mkdirSync(root, { recursive: true });
  writeGroup();
  for (const [name, command] of Object.entries(pages)) {
    execFileSync(recast, [...command, "--quiet", "--report", `${root}/${name}.html`]);
  }
  const name =
    process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium || command -v google-chrome"], { encoding: "utf8" });
  browser = await chromium.launch({ executablePath: name.trim(), timeout: 120_000 });
});

after(() => browser?.close());

test("each link of the contents leads to the heading of its array", async () => {
  const page = await browser.newPage();
  await page.goto(`file://${root}/group.html`);
  const links = page.locator("nav a");
  const names = await links.allInnerTexts();
  assert.ok(names.length === 5 && names.includes("50%25 quantile ü"), `${names}`);
  for (let at = 0; at < names.length; at++) {
    await links.nth(at).click();
    assert.equal(await page.locator("h2:target").innerText(), names[at]);
  }
  await page.close();
});

for (const name of Object.keys(pages)) {
  for (const width of [1440, 400]) {
    for (const colorScheme of ["light", "dark"]) {
      test(`the page of ${name} fits ${width} pixels, ${colorScheme}`, async () => {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
        const page = await context.newPage();
        const requests = [];
        page.on("request", (request) => requests.push(request.url()));
        await page.goto(`file://${root}/${name}.html`);
        await page.screenshot({ path: `${root}/${name}-${width}-${colorScheme}.png`, fullPage: true });
        assert.deepEqual(
          requests.filter((url) => !url.startsWith("data:")),
          [`file://${root}/${name}.html`],
        );
        const { overflow, plots } = await page.evaluate(() => {
          const inside = (box, { left, right, top, bottom }) =>
            box.left >= left - 1 && box.right <= right + 1 && box.top >= top - 1 && box.bottom <= bottom + 1;
          const touch = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
          const plots = [...document.querySelectorAll("svg")].map((svg) => {
            const labels = [...svg.querySelectorAll("text")].map((text) => [text.textContent.trim(), text.getBoundingClientRect()]);
            const outside = labels.filter(([, box]) => !inside(box, svg.getBoundingClientRect())).map(([text]) => text);
            const touching = labels.flatMap(([text, box], at) =>
              labels.slice(at + 1).flatMap(([other, otherBox]) => (touch(box, otherBox) ? [`${text} | ${other}`] : [])),
            );
            return { labels: labels.length, outside, touching };
          });
          return { overflow: document.documentElement.scrollWidth - innerWidth, plots };
        });
        assert.ok(overflow <= 0, `${overflow} pixels too wide`);
        assert.ok(plots.length > 0 && plots.every(({ labels }) => labels > 4));
        for (const { outside, touching } of plots) {
          assert.deepEqual(outside, []);
          assert.deepEqual(touching, []);
        }
        await context.close();
      });
    }
  }
}
