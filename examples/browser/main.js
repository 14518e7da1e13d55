// The page: reads what its query names, and shows it.
import { init, register } from "zarr-recast";
import { registry } from "zarrita";
import { MapFigure, make } from "./map.js";
import { compare, count, digits, milliseconds, range, size, unit, written } from "./numbers.js";
import { MOST, Problem, open, read } from "./read.js";

const DEFAULTS = { packed: "../../sst_packed.zarr", original: "../data/oisst_sst.zarr" };

const $ = (selector) => document.querySelector(selector);
const form = $("form");
const query = new URLSearchParams(location.search);
for (const [name, path] of Object.entries(DEFAULTS)) {
  form.elements[name].value = query.get(name) ?? new URL(path, location.href).pathname;
}

function url(name) {
  const { value } = form.elements[name];
  if (URL.canParse(value, location.href)) return new URL(value, location.href).href;
  throw new Problem({ title: "Not a URL", place: value, reason: "it cannot be parsed", advice: "Paths begin with a slash." });
}

/** Times of what is done once, in milliseconds. */
const once = {};
async function timed(name, work) {
  const began = performance.now();
  const result = await work();
  once[name] = performance.now() - began;
  return result;
}

const figures = [
  new MapFigure("values", "Decoded values", point),
  new MapFigure("codes", "Stored codes", point),
  new MapFigure("errors", "Error against the original", point),
];
const [valuesMap, codesMap, errorsMap] = figures;
$("#maps").append(...figures.map(({ figure }) => figure));

const told = (error) =>
  error instanceof Problem
    ? error
    : new Problem({ title: "The page failed", place: location.href, reason: `${error.stack}`, advice: "" });

/** Text with commands between backticks. */
const commands = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", { textContent: part }) : part));

function paragraphs({ title, place, reason, advice }) {
  return [
    make("h2", { textContent: title }),
    make("p", { className: "place", textContent: place }),
    make("p", { className: "reason", textContent: reason }),
    make("p", { className: "advice" }, ...commands(advice)),
  ];
}

function fail(error) {
  console.error(error);
  $("main").hidden = true;
  $("#status").hidden = true;
  $("#problem").hidden = false;
  $("#problem").replaceChildren(...paragraphs(told(error)));
  document.body.dataset.state = "failed";
}

// --- What is shown ---

let packed;
/** An opened array, why there is none, or undefined if none is asked for. */
let original;
let shown;

/** An index along the leading axes, inside the array. */
function indexOf(array, text) {
  const given = (text ?? "").split(",").map(Number);
  return array.shape.slice(0, -2).map((length, axis) => Math.max(0, Math.min(length - 1, Math.trunc(given[axis]) || 0)));
}

const nameOfAxis = (axis) => packed.array.dimensionNames?.[axis] ?? `axis ${axis}`;

/** A slider for each leading axis. */
function sliders(index) {
  $("#index").hidden = index.length === 0;
  const labels = index.map((start, axis) => {
    const value = make("output", { value: `${start} of 0–${packed.array.shape[axis] - 1}` });
    const slider = make("input", {
      type: "range",
      min: 0,
      max: packed.array.shape[axis] - 1,
      value: start,
      name: `axis-${axis}`,
    });
    slider.addEventListener("input", () => {
      index[axis] = Number(slider.value);
      value.value = `${slider.value} of 0–${slider.max}`;
      refresh(index);
    });
    return make("label", {}, `${nameOfAxis(axis)} `, slider, value);
  });
  $("#index").replaceChildren(...labels);
}

let wanted;
let busy = false;

/** Reads and draws the plane at an index; while one is being read, the last index that comes waits. */
async function refresh(index) {
  wanted = [...index];
  if (busy) return;
  busy = true;
  document.body.dataset.state = "loading";
  try {
    while (wanted) {
      const next = wanted;
      wanted = undefined;
      if (next.length > 0) {
        query.set("index", next.join(","));
        history.replaceState(null, "", `?${query}`);
      }
      const plane = await read(packed, next);
      draw(next, plane, await readOriginal(next));
    }
    document.body.dataset.state = "shown";
  } catch (error) {
    fail(error);
  } finally {
    busy = false;
  }
}

/** The plane of the original, why it is not there, or undefined if none is asked for. */
async function readOriginal(index) {
  if (original === undefined || original instanceof Problem) return original;
  const [ours, theirs] = [packed.array.shape, original.array.shape];
  if (ours.join() !== theirs.join()) {
    return new Problem({
      title: "Another shape",
      place: original.url,
      reason: `the packed array has the shape ${ours.join(" × ")}, this one ${theirs.join(" × ")}`,
      advice: "Give the URL of the array that was packed, or none.",
    });
  }
  return await read(original, index).catch(told);
}

function draw(index, plane, other) {
  const began = performance.now();
  const [rows, columns] = plane.shape;
  const [first, second] = packed.array.shape.length < 2 ? [-1, 0] : [index.length, index.length + 1];
  const axis = (at, { start, stop }) => ({
    name: packed.array.shape[at] === undefined ? "" : `${nameOfAxis(at)} (index)`,
    first: start,
    last: stop - 1,
  });
  const axes = [axis(first, plane.rows), axis(second, plane.columns)];
  // Latitudes usually rise from row to row; a map has the north at the top.
  const upwards = query.has("upwards") ? query.get("upwards") === "1" : /^lat/i.test(axes[0].name);
  const units = unit(packed.attributes.units);
  const missing = Uint8Array.from(plane.values, (value) => (value === value ? 0 : 1));
  const common = { shape: plane.shape, axes, upwards };
  $("main").hidden = false;
  $("#status").hidden = true;
  $("#problem").hidden = true;
  valuesMap.show({
    ...common,
    elements: plane.values,
    missing,
    range: range(plane.values, missing),
    units,
    subtitle: `${packed.attributes.long_name ?? packed.attributes.standard_name ?? "Elements"}, ${packed.array.dtype}`,
  });
  if (plane.codes) {
    const bits = packed.chain.encodedType === packed.codes.dtype ? "" : `, as bits in ${packed.codes.dtype}`;
    codesMap.show({
      ...common,
      elements: plane.codes,
      missing,
      range: range(plane.codes, missing),
      units: packed.chain.encodedType,
      subtitle: `On disk, ${packed.chain.encodedType}${bits}`,
    });
  } else if (packed.noCodes) {
    codesMap.refuse("Not shown", ...paragraphs(packed.noCodes));
  } else {
    const isPlain = packed.metadata !== undefined;
    const why = isPlain
      ? "This array stores its values as they are."
      : "Those of Zarr v2 arrays are not shown; `recast migrate` makes Zarr v3 of them.";
    codesMap.refuse(isPlain ? "There are none" : "Not shown", make("p", {}, ...commands(why)));
  }
  const bound = packed.attributes.recast?.max_abs_error;
  let found;
  if (other === undefined) {
    errorsMap.refuse("No original to compare with", make("p", {}, "Give the URL of the array that was packed."));
  } else if (other instanceof Problem) {
    errorsMap.refuse("Not compared", ...paragraphs(other));
  } else {
    found = compare(plane.values, other.values);
    const nowhere = Uint8Array.from(found.errors, (error) => (error === error ? 0 : 1));
    const finite = range(found.errors, nowhere);
    const end = Math.max(-finite.low, finite.high) || bound || 1;
    errorsMap.show({
      ...common,
      elements: found.errors,
      missing: nowhere,
      range: { low: -end, high: end },
      units,
      subtitle: "Decoded − original; white is 0",
    });
  }
  const drawing = performance.now() - began;
  shown = { plane, other, found, units, index };
  facts(bound);
  details(other, drawing);
  const at = found?.at ?? (rows >> 1) * columns + (columns >> 1);
  point(Math.floor(at / columns), at % columns);
}

function fact(id, heading, number, ...rest) {
  return make(
    "article",
    { id },
    make("h2", { textContent: heading }),
    make("strong", { textContent: number }),
    ...rest.map((text) => make("p", {}, text)),
  );
}

function facts(bound) {
  const { plane, found, units, other } = shown;
  const elements = plane.values.length;
  const raw = plane.inChunks * bytesOfElement(packed.array.dtype);
  const ratio = raw / plane.fetched;
  const compared = ratio < 1 ? `${written(1 / ratio, 3)} times larger` : `${written(ratio, 3)} times smaller`;
  const tiles = [
    fact(
      "smaller",
      "Size",
      plane.fetched === 0 ? "Only the fill value" : compared,
      `${size(plane.fetched)} fetched for ${size(raw)} of ${packed.array.dtype}`,
    ),
  ];
  if (found) {
    const kept = bound === undefined || found.largest <= bound;
    const promise =
      bound === undefined
        ? "The array names no bound"
        : `${kept ? "Within" : "Over"} the bound of ${written(bound)} ${units}`.trim();
    const tile = fact(
      "largest",
      "Largest error",
      `${written(found.largest)} ${units}`,
      `${promise}; ${count(elements)} elements compared`,
    );
    if (found.lost > 0) tile.append(make("p", { textContent: `Elements that are NaN on one side only: ${count(found.lost)}` }));
    tile.className = bound === undefined ? "" : kept ? "good" : "bad";
    tiles.push(tile);
  } else {
    tiles.push(fact("largest", "Largest error", "unknown", other ? "The original cannot be compared" : "No original is given"));
  }
  if (packed.chain) {
    const { linear, encodedType, decodedType } = packed.chain;
    const number = (value) => digits(value, plane.values).replace("-", "−");
    const map = (linear?.map ?? []).map(([code, value]) => `${code}`.replace("-", "−") + ` is ${value}`);
    const offset = linear?.offset ? ` ${linear.offset < 0 ? "−" : "+"} ${number(Math.abs(linear.offset))}` : "";
    const formula = linear ? `code ÷ ${number(linear.scale)}${offset}` : "by several codecs";
    tiles.push(fact("codecs", "From codes to values", `${encodedType} → ${decodedType}`, [formula, ...map].join("; ")));
  }
  const alone = plane.converting ? `; ${written(plane.converting, 2)} ms of these in its value codecs` : "";
  tiles.push(fact("decoding", "Decoding", milliseconds(plane.decoding), `${count(elements)} elements, with zarrita${alone}`));
  $("#facts").replaceChildren(...tiles);
}

const bytesOfElement = (dtype) => Number(dtype.match(/\d+$/)?.[0] ?? 8) / 8;

function details(other, drawing) {
  const { plane } = shown;
  const times = [
    ["The module: fetch, compile, start", once.module],
    ["Open the packed array", once.packed],
    [`Fetch its chunks, ${size(plane.fetched)}`, plane.fetching],
    ["Decode them", plane.decoding],
  ];
  if (other && !(other instanceof Problem)) {
    times.push(
      ["Open the original", once.original],
      [`Fetch its chunks, ${size(other.fetched)}`, other.fetching],
      ["Decode them", other.decoding],
    );
  }
  times.push(["Draw", drawing]);
  const most = Math.max(...times.map(([, time]) => time));
  const rows = times.map(([what, time]) => {
    const bar = make("i");
    bar.style.width = `${(time / most) * 100}%`;
    return make(
      "tr",
      {},
      make("th", { scope: "row", textContent: what }),
      make("td", {}, bar),
      make("td", { textContent: milliseconds(time) }),
    );
  });
  const { array, metadata } = packed;
  const codecs = (metadata?.codecs ?? []).map((codec) => [codec.name ?? codec, configured(codec.configuration)]);
  const cut = array.shape.slice(-2).some((length) => length > MOST);
  const about = [
    [
      "Shape",
      array.shape
        .map((length, at) => `${length}${array.dimensionNames?.[at] ? ` ${array.dimensionNames[at]}` : ""}`)
        .join(" × ") || "no axes",
    ],
    ["Chunks", array.chunks.join(" × ")],
    ...(cut ? [["Shown", `the middle ${plane.shape.join(" × ")} elements of ${array.shape.slice(-2).join(" × ")}`]] : []),
    ...(packed.attributes.source ? [["Source", packed.attributes.source]] : []),
    ...codecs,
  ];
  const terms = about.flatMap(([term, text]) => [make("dt", { textContent: term }), make("dd", { textContent: text })]);
  $("#details").replaceChildren(
    make("article", { id: "times" }, make("h2", { textContent: "Times" }), make("table", {}, make("tbody", {}, ...rows))),
    make("article", {}, make("h2", { textContent: "The packed array" }), make("dl", {}, ...terms)),
  );
}

/** A configuration on one line. */
function configured(configuration) {
  // An integer beyond 2^53, with its digits.
  if (configuration?.rawJSON) return configuration.rawJSON;
  if (Array.isArray(configuration)) return `[${configuration.map(configured).join(", ")}]`;
  if (typeof configuration !== "object" || configuration === null) return `${configuration ?? "–"}`;
  return Object.entries(configuration)
    .map(
      ([name, value]) =>
        `${name} ${typeof value === "object" && !Array.isArray(value) ? `(${configured(value)})` : configured(value)}`,
    )
    .join(", ");
}

/** Shows the numbers of one element, in C order of the array. */
function point(row, column) {
  for (const figure of figures) figure.mark(row, column);
  const { plane, other, found, units } = shown;
  const at = row * plane.shape[1] + column;
  const place = [...shown.index, plane.rows.start + row, plane.columns.start + column].slice(-packed.array.shape.length || 3);
  const names = packed.array.dimensionNames;
  const parts = [
    ["element", `[${place.join(", ")}]${names ? ` of ${names.join(" × ")}` : ""}`],
    ["value", `${digits(plane.values[at], plane.values)} ${units}`],
  ];
  if (plane.codes) parts.push(["code", digits(plane.codes[at], plane.codes)]);
  if (found) {
    parts.push(
      ["original", `${digits(other.values[at], other.values)} ${units}`],
      ["error", `${written(found.errors[at], 4)} ${units}`],
    );
  }
  $("#readout").replaceChildren(
    ...parts.map(([name, text]) =>
      make("span", { className: name }, make("b", { textContent: name }), ` ${text.replace(/^-/, "−").trim()}`),
    ),
  );
}

try {
  await timed("module", () => init()).catch(({ message }) => {
    const advice =
      "`bash wasm/build.sh` builds it. The browser must know WebAssembly's vector instructions, as all do since 2023.";
    throw new Problem({ title: "The module cannot be loaded", place: "wasm/pkg/zarr_recast.wasm", reason: message, advice });
  });
  await register(registry);
  packed = await timed("packed", () => open(url("packed"))).catch((error) => {
    if (!query.has("packed") && error.title === "No array") {
      error.advice =
        "Make it in the root of the repository: `recast pack examples/data/oisst_sst.zarr sst_packed.zarr --max-abs-error 0.005`";
    }
    throw error;
  });
  if (form.elements.original.value) original = await timed("original", () => open(url("original")).catch(told));
  const index = indexOf(packed.array, query.get("index"));
  sliders(index);
  await refresh(index);
} catch (error) {
  fail(error);
}
