// Opens arrays at URLs with zarrita and zarr-recast, and reads planes of them: decoded, and as stored codes.
import { Chain, RecastError, exact, init, typedArray } from "zarr-recast";
import * as zarr from "zarrita";

/** A plane has at most this many rows and columns; of larger ones, the middle is read. */
export const MOST = 2048;

/** What went wrong, for the person in front of the page: what, where, why, and what to do. */
export class Problem extends Error {
  constructor({ title, place, reason, advice }) {
    super(`${title}: ${reason}`);
    Object.assign(this, { title, place, reason, advice });
  }
}

/** Fetches everything once until the next `restart`; counts bytes, and the milliseconds with a request under way. */
class Downloads {
  restart() {
    this.answers = new Map();
    this.bytes = 0;
    this.milliseconds = 0;
  }

  constructor() {
    this.underWay = 0;
    this.restart();
  }

  /** What zarrita's store calls. */
  fetch = async (request) => {
    const range = request.headers.get("Range")?.match(/^bytes=(\d+)-(\d+)$/);
    const whole = `${request.method} ${request.url}`;
    const key = this.answers.has(whole) ? whole : `${whole} ${range?.[0] ?? ""}`.trim();
    if (!this.answers.has(key)) this.answers.set(key, this.#answer(request));
    const { status, headers, body } = await this.answers.get(key);
    if (!range || status !== 200) return new Response(status === 404 ? null : body, { status, headers });
    // The server sends whole files, as Python's does: the next parts of this one are not asked for.
    this.answers.set(whole, this.answers.get(key));
    return new Response(body.slice(Number(range[1]), Number(range[2]) + 1), { status: 206 });
  };

  async #answer(request) {
    const began = performance.now();
    if (this.underWay++ === 0) this.since = began;
    try {
      const response = await fetch(request);
      const body = await response.arrayBuffer();
      if (response.ok) this.bytes += body.byteLength;
      return { status: response.status, headers: response.headers, body };
    } catch (error) {
      throw new Problem({
        title: "No answer",
        place: request.url,
        reason: error.message,
        advice: "Check that the server runs. On another server than this page's, it must allow cross-origin requests (CORS).",
      });
    } finally {
      if (--this.underWay === 0) this.milliseconds += performance.now() - this.since;
    }
  }
}

/** JSON whose integers beyond 2^53 keep their digits, to be written again. */
function parse(text) {
  const isRounded = (value) => Number.isInteger(value) && !Number.isSafeInteger(value);
  return JSON.parse(text, (_, value, context) => (isRounded(value) && JSON.rawJSON ? JSON.rawJSON(context.source) : value));
}

/** A document of JSON in a store; undefined if it is not there. */
async function documentOf(store, key) {
  const bytes = await store.get(key);
  if (bytes === undefined) return undefined;
  try {
    return parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new Problem({
      title: "No Zarr metadata",
      place: `${store.url}${key}`,
      reason: `the file is not JSON (${error.message})`,
      advice: "Some servers answer with a page of HTML where a file is missing: check the URL.",
    });
  }
}

/** numcodecs decompresses a blosc chunk that is cut off to garbage, without an error. */
const blosc = zarr.registry.get("blosc");
zarr.registry.set("blosc", async () => {
  const theirs = await blosc();
  return {
    fromConfig(configuration) {
      const codec = theirs.fromConfig(configuration);
      return {
        kind: "bytes_to_bytes",
        encode: (bytes) => codec.encode(bytes),
        decode(bytes) {
          const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
          const length = bytes.byteLength < 16 ? "at least 16" : header.getUint32(12, true);
          if (length !== bytes.byteLength) throw new RangeError(`${bytes.byteLength} bytes of blosc, which must be ${length}`);
          return codec.decode(bytes);
        },
      };
    },
  };
});

const VALUE_CODECS = ["scale_offset", "cast_value", "numcodecs.fixedscaleoffset", "numcodecs.astype"];
const nameOf = (codec) => codec.name ?? codec;

/** Divides codecs, also those inside shards, into the value codecs at their beginning and all others. */
function divide(codecs) {
  const length = codecs.findIndex((codec) => ![...VALUE_CODECS, "transpose"].includes(nameOf(codec)));
  const isValue = (codec) => VALUE_CODECS.includes(nameOf(codec));
  const value = codecs.slice(0, length).filter(isValue);
  const transposed = codecs.slice(0, length).filter((codec) => !isValue(codec));
  const [first, ...rest] = codecs.slice(length);
  if (nameOf(first) !== "sharding_indexed") return { value, others: [...transposed, first, ...rest] };
  const inner = divide(first.configuration.codecs);
  const shards = { ...first, configuration: { ...first.configuration, codecs: inner.others } };
  return { value: [...value, ...inner.value], others: [...transposed, shards, ...rest] };
}

/** The same chunks without the value codecs: what is stored, as an array; and the chain of these codecs. */
async function openCodes(store, metadata) {
  const { value, others } = divide(metadata.codecs);
  if (value.length === 0) return {};
  const { data_type, fill_value } = metadata;
  const chain = new Chain(JSON.stringify({ data_type, fill_value, codecs: value }));
  const Codes = typedArray(chain.encodedType);
  const [fill] = new Codes(chain.encodedFillBytes?.buffer ?? 1);
  const stored = {
    ...metadata,
    // Codes of types without an array of their own are shown as integers of the same size.
    data_type: Codes.name.replace(/Big|Array/g, "").toLowerCase(),
    fill_value: "FILL",
    codecs: others,
  };
  const number = typeof fill === "bigint" || Number.isFinite(fill) ? `${fill}` : `"${fill}"`;
  const text = JSON.stringify(stored).replace('"FILL"', number);
  const codes = {
    get: async (key, options) => (key === "/zarr.json" ? new TextEncoder().encode(text) : store.get(key, options)),
    getRange: (...range) => store.getRange(...range),
  };
  return { chain, codes: await zarr.open.v3(exact(codes), { kind: "array" }) };
}

/**
 * Opens the array at a URL: `array` decodes; `codes` are its stored codes and `chain` its value codecs, both undefined if it
 * has none, or if they cannot be shown: then `noCodes` says why. `register` of zarr-recast must have been called.
 *
 * @throws {Problem}
 */
export async function open(url) {
  await init();
  const downloads = new Downloads();
  try {
    const store = new zarr.FetchStore(url, { fetch: downloads.fetch, overrides: { cache: "no-cache" } });
    const metadata = await documentOf(store, "/zarr.json");
    if (metadata?.node_type === "group" || (!metadata && (await store.get("/.zgroup")))) throw group(url, metadata);
    const opened = { url, downloads, attributes: {}, metadata };
    if (metadata) {
      opened.array = await zarr.open.v3(exact(store), { kind: "array" });
      Object.assign(opened, await openCodes(store, metadata).catch((error) => ({ noCodes: problem(error, url) })));
    } else if (await store.get("/.zarray")) {
      opened.array = await zarr.open.v2(exact(store), { kind: "array" });
    } else {
      throw new Problem({
        title: "No array",
        place: url,
        reason: "there is neither zarr.json nor .zarray",
        advice:
          "Check the URL, and that the server serves this folder. `recast pack INPUT OUTPUT --max-abs-error E` makes a packed array.",
      });
    }
    opened.attributes = opened.array.attrs;
    const { shape, dtype } = opened.array;
    if (!/^(u?int|float)\d+$/.test(dtype) || shape.includes(0)) {
      throw new Problem({
        title: "Nothing to draw",
        place: url,
        reason: shape.includes(0) ? `an array of ${shape.join(" × ")} elements` : `elements of ${dtype}`,
        advice: "This page shows arrays of integers and floating-point numbers.",
      });
    }
    return opened;
  } catch (error) {
    throw problem(error, url);
  }
}

function group(url, metadata) {
  const members = Object.entries(metadata?.consolidated_metadata?.metadata ?? {});
  const arrays = members.filter(([, member]) => member.node_type === "array").map(([path]) => path);
  return new Problem({
    title: "A group, not an array",
    place: url,
    reason: "the metadata are those of a group",
    advice:
      arrays.length > 0
        ? `Add one of its arrays to the URL: ${arrays.join(", ")}.`
        : "Add the path of one of its arrays to the URL.",
  });
}

/** The reasons of an error, outermost first. */
const reasons = (error) => (error ? [error.message, ...reasons(error.cause)] : []);

function problem(error, url) {
  if (error instanceof Problem) return error;
  if (zarr.isZarritaError(error, "UnknownCodecError")) {
    return new Problem({
      title: "An unknown codec",
      place: url,
      reason: `neither zarrita nor zarr-recast has ${error.codec}`,
      advice: "`recast pack … --readers zarrita` uses only codecs that are known here.",
    });
  }
  return new Problem({
    title: "This array cannot be read here",
    place: url,
    reason: reasons(error).join(": "),
    advice: "`recast info` explains its codecs; `recast unpack` writes it with plain values.",
  });
}

/** The part of an axis that is read. */
function middle(length) {
  const start = Math.max(0, Math.floor((length - MOST) / 2));
  return { start, stop: Math.min(length, start + MOST) };
}

/** What a plane is: its place in the array, and the elements of the chunks that hold it. */
function planeOf(array, index) {
  const leading = Math.max(0, array.shape.length - 2);
  const parts = array.shape.map((length, axis) =>
    axis < leading ? { start: index[axis] ?? 0, stop: (index[axis] ?? 0) + 1 } : middle(length),
  );
  const [rows, columns] = [{ start: 0, stop: 1 }, { start: 0, stop: 1 }, ...parts].slice(-2);
  const inChunks = parts.reduce((product, { start, stop }, axis) => {
    const chunk = array.chunks[axis];
    const end = Math.min(array.shape[axis], Math.ceil(stop / chunk) * chunk);
    return product * (end - Math.floor(start / chunk) * chunk);
  }, 1);
  const selection = parts.map(({ start, stop }, axis) => (axis < leading ? start : zarr.slice(start, stop)));
  return { parts, selection, rows, columns, inChunks };
}

/** A plane in C order. */
async function elements(array, { selection, rows, columns }) {
  const result = await zarr.get(array, selection);
  const shape = [rows.stop - rows.start, columns.stop - columns.start];
  if (typeof result !== "object") return { data: typedArray(array.dtype).of(result), shape };
  const { data, stride } = result;
  const [across = 0, along = 1] = stride.length < 2 ? [0, ...stride] : stride;
  if (along === 1 && (across === shape[1] || shape[0] < 2)) return { data, shape };
  const ordered = new data.constructor(data.length);
  for (let at = 0, row = 0; row < shape[0]; row++) {
    for (let column = 0; column < shape[1]; column++) ordered[at++] = data[row * across + column * along];
  }
  return { data: ordered, shape };
}

/**
 * Reads the plane of the last two axes at an index along the others: elements `values` and, if there are any, `codes`, in C order;
 * `fetched` bytes, and times in milliseconds. `decoding` is that of a second read, with all chunks in memory; `converting` that
 * of the value codecs alone.
 *
 * @throws {Problem}
 */
export async function read({ url, array, codes, chain, downloads }, index) {
  downloads.restart();
  const plane = planeOf(array, index);
  try {
    await elements(array, plane);
    const { bytes: fetched, milliseconds: fetching } = downloads;
    const began = performance.now();
    const { data: values, shape } = await elements(array, plane);
    const decoding = performance.now() - began;
    const stored = codes && (await elements(codes, plane)).data;
    return {
      ...plane,
      shape,
      values,
      codes: stored,
      fetched,
      fetching,
      decoding,
      converting: stored && converting(chain, stored),
    };
  } catch (error) {
    throw (await unreadableChunk(url, array, plane, error)) ?? problem(error, url);
  }
}

/** The milliseconds in which the value codecs turn these codes into values: a mean, because browsers' clocks are coarse. */
function converting(chain, codes) {
  const values = new (typedArray(chain.decodedType))(codes.length);
  const began = performance.now();
  let [runs, passed] = [0, 0];
  while (passed < 5) {
    chain.decodeInto(codes, values);
    runs += 1;
    passed = performance.now() - began;
  }
  return passed / runs;
}

/** The first chunk of a plane that cannot be decoded, for zarrita does not say which it was. */
async function unreadableChunk(url, array, { parts }, error) {
  if (!zarr.isZarritaError(error, "CodecPipelineError")) return undefined;
  const chunks = parts.reduce(
    (before, { start, stop }, axis) => {
      const [first, end] = [Math.floor(start / array.chunks[axis]), Math.ceil(stop / array.chunks[axis])];
      const along = Array.from({ length: end - first }, (_, at) => first + at);
      return before.flatMap((coordinates) => along.map((at) => [...coordinates, at]));
    },
    [[]],
  );
  for (const chunk of chunks) {
    try {
      await array.getChunk(chunk);
    } catch (cause) {
      const covers = chunk.map((at, axis) => {
        const from = at * array.chunks[axis];
        return `${from}–${Math.min(from + array.chunks[axis], array.shape[axis]) - 1} of ${array.dimensionNames?.[axis] ?? `axis ${axis}`}`;
      });
      const isElement = cause.cause instanceof RecastError && cause.cause.index !== undefined;
      return new Problem({
        title: "A chunk that cannot be decoded",
        place: `${url}, chunk ${chunk.join("/")} (indices ${covers.join(", ")})`,
        reason: reasons(cause).join(": "),
        advice: isElement
          ? "The codes do not fit the codecs: pack the array again, or mend its metadata."
          : "The file may be damaged: copy it again, and see whether `recast verify` can read the array.",
      });
    }
  }
  return undefined;
}
