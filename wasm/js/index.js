// The Zarr codecs cast_value and scale_offset, for typed arrays and for zarrita.

/** @typedef {import("./index.js").DataType} DataType */

/** Why elements, metadata or codecs are refused. */
export class RecastError extends Error {
  name = "RecastError";

  constructor({ message, index, value, reason }) {
    super(message);
    this.index = index;
    this.value = value;
    this.reason = reason;
  }
}

// JavaScript has no arrays of the smaller types: their elements are bytes, or 16 bits.
const ARRAYS = {
  int2: Int8Array,
  int4: Int8Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bfloat16: Uint16Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  float16: globalThis.Float16Array ?? Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** The kind of typed array that holds elements of a type. */
export function typedArray(/** @type {DataType} */ dataType) {
  return ARRAYS[dataType] ?? Uint8Array;
}

/** What the module exports. @type {any} */
let wasm;
/** @type {Promise<void> | undefined} */
let loading;

/** Loads the module, once. Whatever else is given is what was loaded first. */
export function init(source = new URL("zarr_recast.wasm", import.meta.url)) {
  loading ??= load(source).catch((error) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function load(source) {
  wasm = (await instantiate(await source)).exports;
}

async function instantiate(source) {
  if (source instanceof WebAssembly.Module) return await WebAssembly.instantiate(source);
  if (source instanceof URL && source.protocol === "file:" && globalThis.process?.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    source = await readFile(source);
  }
  if (typeof source === "string" || source instanceof URL) source = await fetch(source);
  if (globalThis.Response && source instanceof Response) {
    if (!source.ok) throw new RecastError({ message: `${source.url}: ${source.status} ${source.statusText}` });
    // A server that does not know WebAssembly's media type.
    if (source.headers.get("Content-Type") === "application/wasm") {
      return (await WebAssembly.instantiateStreaming(source)).instance;
    }
    source = await source.arrayBuffer();
  }
  return (await WebAssembly.instantiate(source)).instance;
}

const text = new TextEncoder();

/** Writes bytes into the module's input. */
function give(/** @type {Uint8Array} */ bytes) {
  const address = wasm.reserve(bytes.byteLength) >>> 0;
  if (address === 0) throw new RecastError({ message: `no memory for ${bytes.byteLength} bytes` });
  new Uint8Array(wasm.memory.buffer, address, bytes.byteLength).set(bytes);
}

/** The module's output, in its memory: to be read before the next call. */
function taken() {
  return new Uint8Array(wasm.memory.buffer, wasm.output_address() >>> 0, wasm.output_length());
}

/** The output as text. A shared buffer is no concern: the module's memory is its own. */
const takenText = () => new TextDecoder().decode(taken());

/** Calls a function of the module that returns −1 when it fails. */
function call(name, ...args) {
  const result = wasm[name](...args);
  if (result < 0) throw new RecastError(JSON.parse(takenText()));
  return result;
}

const bytesOf = (/** @type {ArrayBufferView} */ view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** The name of a built-in class, whatever page or worker an object comes from. */
const kindOf = (object) => Object.prototype.toString.call(object).slice("[object ".length, -1);

/** Buffers and bytes, which hold elements of any type. */
const RAW = ["ArrayBuffer", "SharedArrayBuffer", "DataView", "Uint8Array"];

/** The bytes of elements of a type. */
function elementBytes(elements, /** @type {DataType} */ dataType) {
  const kind = kindOf(elements);
  const array = typedArray(dataType);
  const holdsBits = dataType === "float16" && kind === "Uint16Array";
  if (!RAW.includes(kind) && kind !== array.name && !holdsBits) {
    throw new RecastError({ message: `elements of ${dataType} come as ${array.name} or bytes, not as ${kind}` });
  }
  const bytes = ArrayBuffer.isView(elements) ? bytesOf(elements) : new Uint8Array(elements);
  if (bytes.length % array.BYTES_PER_ELEMENT !== 0) {
    const size = array.BYTES_PER_ELEMENT;
    throw new RecastError({ message: `${bytes.length} bytes are no whole number of ${dataType}, which has ${size} bytes` });
  }
  return bytes;
}

/** JSON of what array metadata hold: also of BigInt, and of floats as Zarr writes them. */
function json(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return `"${value}"`;
  if (Object.is(value, -0)) return "-0.0";
  if (Array.isArray(value)) return `[${value.map(json)}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${json(member)}`)}}`;
  }
  return JSON.stringify(value) ?? "null";
}

function isJson(/** @type {Uint8Array} */ bytes) {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
}

/** Text that is JSON, as it is. */
function checked(/** @type {string} */ text) {
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new RecastError({ message: `metadata: ${cause.message}` });
  }
  return text;
}

/** In JSON: whether elements are big-endian. Codecs of Zarr v2 say it themselves. */
const BIG = { little: false, big: true, codec: null };

/** Elements that pass through the module at once: few enough to stay in the processor's caches on their way. */
const BLOCK = 1 << 15;

const freed = new FinalizationRegistry((handle) => wasm.unbind(handle));

/** Codecs bound to a data type and a fill value. */
export class Chain {
  #handle;
  #description;

  /** Loads the module if need be, and binds the codecs of `metadata`. */
  static async create(metadata, options) {
    await init();
    return new Chain(metadata, options);
  }

  constructor(metadata, { endian = "little", exists = true, floatOverflow = "error" } = {}) {
    if (!Object.hasOwn(BIG, endian)) throw new RecastError({ message: `endian is "little" or "big", not ${json(endian)}` });
    if (!["error", "infinity"].includes(floatOverflow)) {
      throw new RecastError({ message: `floatOverflow is "error" or "infinity", not ${json(floatOverflow)}` });
    }
    if (wasm === undefined) throw new RecastError({ message: "call `await init()` first, or use Chain.create" });
    const members = typeof metadata === "string" ? checked(metadata) : json(metadata);
    const options = `"big_endian":${BIG[endian]},"exists":${Boolean(exists)},"float_overflow":"${floatOverflow}"`;
    const bytes = text.encode(`{"metadata":${members},${options}}`);
    give(bytes);
    this.#handle = call("bind", bytes.length);
    this.#description = JSON.parse(takenText());
    freed.register(this, this.#handle, this);
  }

  get decodedType() {
    return this.#description.decodedType;
  }

  get encodedType() {
    return this.#description.encodedType;
  }

  get encodedSize() {
    return this.#description.encodedSize;
  }

  get warnings() {
    return this.#description.warnings;
  }

  /** The bytes of the encoded fill value, in little-endian order; null if there is none. */
  get encodedFillBytes() {
    const hex = this.#description.encodedFill?.match(/../g).reverse();
    return hex ? Uint8Array.from(hex, (byte) => Number.parseInt(byte, 16)) : null;
  }

  /** `code / scale + offset`, but for the codes of the map; null where the chain does something else. */
  get linear() {
    const { linear } = this.#description;
    return linear && { ...linear, map: linear.map.map(([code, value]) => [Number(code), Number(value)]) };
  }

  /** A new typed array of decoded elements. */
  decode(encoded) {
    const bytes = elementBytes(encoded, this.encodedType);
    return this.#run("decode", bytes, new (typedArray(this.decodedType))(bytes.length / this.encodedSize));
  }

  /** Decodes into a typed array of as many elements; returns it. */
  decodeInto(encoded, decoded) {
    const expected = typedArray(this.decodedType);
    if (kindOf(decoded) !== expected.name) {
      throw new RecastError({ message: `elements of ${this.decodedType} belong into ${expected.name}` });
    }
    const bytes = elementBytes(encoded, this.encodedType);
    const elements = bytes.length / this.encodedSize;
    if (decoded.length !== elements) {
      throw new RecastError({ message: `${elements} elements do not fill a place for ${decoded.length}` });
    }
    // Blocks would overwrite codes that are yet to be read.
    return this.#run("decode", bytes.buffer === decoded.buffer ? bytes.slice() : bytes, decoded);
  }

  /** A new typed array of encoded elements. */
  encode(decoded) {
    const bytes = elementBytes(decoded, this.decodedType);
    const elements = bytes.length / typedArray(this.decodedType).BYTES_PER_ELEMENT;
    return this.#run("encode", bytes, new (typedArray(this.encodedType))(elements));
  }

  /** Encoded elements as bytes. */
  encodeToBytes(decoded) {
    return bytesOf(this.encode(decoded));
  }

  /** Frees what the module holds for the chain, which must not be used again. */
  free() {
    freed.unregister(this);
    if (this.#handle !== undefined) wasm.unbind(this.#handle);
    this.#handle = undefined;
  }

  #run(direction, source, target) {
    if (this.#handle === undefined) throw new RecastError({ message: "this chain is freed" });
    const to = bytesOf(target);
    const [from, into] = [source.length, to.length].map((bytes) => bytes / target.length);
    for (let first = 0; first < target.length; first += BLOCK) {
      const block = source.subarray(first * from, (first + BLOCK) * from);
      give(block);
      call(direction, this.#handle, block.length, first);
      to.set(taken(), first * into);
    }
    return target;
  }
}

// --- zarrita ---

/** What `exact` makes of filters of Zarr v2. */
const FILTER = "numcodecs.zarr-recast";

const OURS = ["scale_offset", "cast_value", "numcodecs.fixedscaleoffset", "numcodecs.astype", FILTER];

/** Member of metadata: the run of neighbouring codecs that the codecs before have begun. */
const RUN = Symbol("zarr-recast run");

/** Member of a configuration that `exact` has written: the texts of codec and fill value, and the store's `reuse`. */
const EXACT = "zarr-recast";

/** Registries that have the codecs: once more changes nothing. */
const registered = new WeakSet();

/**
 * Puts the codecs into zarrita's registry, and a `bytes` that decodes them in one pass.
 */
export async function register(registry) {
  const load = registry?.get?.("bytes");
  if (!load) throw new RecastError({ message: "this is not zarrita's registry, which has bytes: `register(zarr.registry)`" });
  await init();
  const theirs = await load();
  if (registered.has(registry)) return;
  registered.add(registry);
  for (const name of OURS) {
    registry.set(name, () => ({ fromConfig: (configuration, meta) => codec(name, configuration, meta) }));
  }
  registry.set("bytes", () => ({
    fromConfig(configuration, meta) {
      const run = meta[RUN];
      return run?.codecs ? bytesOfRun(run, configuration, meta) : theirs.fromConfig(configuration, meta);
    },
  }));
}

/** The codec at its place among the others, which zarrita tells only by the order in which it asks. */
function codec(name, configuration, meta) {
  if (meta.codecs.filter(({ name }) => name === "transpose").length > 1) {
    throw new RecastError({ message: "zarrita undoes only one transpose; open the array from exact(store)" });
  }
  const before = meta[RUN];
  const index = meta.codecs.findIndex(({ name }, at) => at > (before?.index ?? -1) && OURS.includes(name));
  const exact = configuration?.[EXACT];
  const itself = exact?.codec ?? rounded(name, configuration, meta);
  const endian = name === FILTER ? "codec" : undefined;
  const run = before?.codecs
    ? { ...before, index, endian, codecs: [...before.codecs, itself] }
    : { index, endian, codecs: [itself], dataType: meta.dataType, fill: before ? undefined : fillOf(exact, meta, index) };
  // Other codecs in front would read the chunk before `get` copies it.
  run.reuse = exact?.reuse && meta.codecs.slice(0, index + 1).every(({ name }) => OURS.includes(name));
  // All codecs work on each element alone, so a transposition between them changes nothing.
  const next = meta.codecs.slice(index + 1).find(({ name }) => name !== "transpose")?.name;
  if (next === "bytes" || OURS.includes(next)) {
    return {
      kind: "array_to_array",
      encode: (chunk) => chunk,
      decode: (chunk) => chunk,
      getEncodedMeta: (meta) => ({ ...meta, [RUN]: run }),
    };
  }
  const chain = bound(run);
  const chunks = new Chunks(chain, meta.shape, run.reuse);
  return {
    kind: "array_to_array",
    encode: ({ data, shape, stride }) => ({ data: chunks.encode(data), shape, stride }),
    decode: ({ data, shape, stride }) => chunks.decode(data, shape, stride),
    getEncodedMeta: (meta) => ({ ...meta, dataType: chain.encodedType, fillValue: null, [RUN]: { index } }),
  };
}

/** A codec as JSON that zarrita has parsed; refused where its numbers may not be those of the text. */
function rounded(name, configuration, meta) {
  const integers = [meta.dataType, configuration?.data_type].some((type) => /^u?int64$/.test(type));
  if (integers && hasRounded(configuration)) {
    throw new RecastError({
      message: `${name}: JavaScript may have rounded ${JSON.stringify(configuration)}; open the array from exact(store)`,
    });
  }
  return json({ name, configuration });
}

const hasRounded = (value) =>
  typeof value === "number"
    ? Number.isInteger(value) && !Number.isSafeInteger(value)
    : typeof value === "object" && value !== null && Object.values(value).some(hasRounded);

/** The JSON of the fill value in front of the first codec, if it is known to the last digit. */
function fillOf(exact, meta, index) {
  if (!meta.codecs.slice(0, index).every(({ name }) => name === "transpose")) return undefined;
  if (exact?.fillValue) return exact.fillValue;
  const fill = meta.fillValue;
  const rounded = typeof fill === "bigint" && !Number.isSafeInteger(Number(fill));
  return rounded || fill == null ? undefined : json(fill);
}

function bound({ codecs, dataType, fill, endian }, endianOfBytes = "little") {
  const fillValue = fill === undefined ? "" : `"fill_value":${fill},`;
  return new Chain(`{"data_type":${json(dataType)},${fillValue}"codecs":[${codecs}]}`, { endian: endian ?? endianOfBytes });
}

/** Bytes of chunks that an array keeps for those to come. */
const KEPT = 1 << 26;

/** The chunks of an array, each in new memory; or in that of chunks before, which zarrita has copied by then. */
class Chunks {
  #chain;
  #elements;
  #reuse;
  #free = [];

  constructor(chain, shape, reuse) {
    this.#chain = chain;
    this.#elements = shape.reduce((product, n) => product * n, 1);
    this.#reuse = reuse;
  }

  encode(data) {
    if (this.#reuse) {
      throw new RecastError({ message: "an array of exact(store, { reuse: true }) is not written; leave reuse out" });
    }
    return this.#chain.encode(data);
  }

  decode(bytes, shape, stride) {
    if (!this.#reuse) return { data: this.#chain.decode(bytes), shape, stride };
    const place = this.#free.pop() ?? new (typedArray(this.#chain.decodedType))(this.#elements);
    const decoded = this.#chain.decodeInto(bytes, place);
    let read = false;
    const giveBack = () => {
      if ((this.#free.length + 1) * decoded.byteLength <= KEPT) this.#free.push(decoded);
    };
    return {
      // `get` copies as soon as it has this, before any promise goes on.
      get data() {
        if (!read) queueMicrotask(giveBack);
        read = true;
        return decoded;
      },
      shape,
      stride,
    };
  }
}

/** The codec `bytes` behind a run: stored bytes to the elements in front of the run, and back. */
function bytesOfRun(run, configuration, { shape, codecs }) {
  const chain = bound(run, configuration?.endian);
  const chunks = new Chunks(chain, shape, run.reuse && codecs[run.index + 1].name === "bytes");
  const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, n) => product * n, 1));
  const elements = shape.reduce((product, n) => product * n, 1);
  return {
    kind: "array_to_bytes",
    encode: ({ data }) => bytesOf(chunks.encode(data)),
    decode(bytes) {
      if (bytes.byteLength !== elements * chain.encodedSize) {
        throw new RecastError({
          message: `a chunk of ${bytes.byteLength} bytes; ${elements} elements of ${chain.encodedType} are ${
            elements * chain.encodedSize
          }`,
        });
      }
      return chunks.decode(bytes, shape, stride);
    },
    computeEncodedSize: (size) => size,
  };
}

/** Member of the stores that `exact` returns, and of zarrita's extensions of them. */
const IS_EXACT = Symbol("zarr-recast exact");

/**
 * A store whose array metadata reach zarrita without loss: numbers of 64 bits, fill values written as bits, codecs in front of
 * shards, shards whose index is at the start, and filters of Zarr v2. Everything else is the store's. With `reuse`, chunks are
 * decoded into memory of chunks before, so that nothing but zarrita's `get` may read them.
 */
export function exact(store, { reuse = false } = {}) {
  if (store[IS_EXACT]) return store;
  if ("contents" in store) {
    throw new RecastError({
      message: "this store has parsed the metadata, and JavaScript rounds numbers: withConsolidatedMetadata(exact(store))",
    });
  }
  /** Folders of arrays whose shards begin with the index, which zarrita reads at the end. @type {Set<string>} */
  const indexFirst = new Set();
  /** Metadata of an array, or of a group with those of its arrays. */
  const note = (folder, { codecs = [], consolidated_metadata }) => {
    const shards = codecs.find(({ name }) => name === "sharding_indexed");
    if (shards?.configuration.index_location === "start") indexFirst.add(folder);
    for (const [path, array] of Object.entries(consolidated_metadata?.metadata ?? {})) note(`${folder}${path.replace(/^\//, "")}/`, array);
  };
  const own = {
    async get(key, options) {
      const bytes = await store.get(key, options);
      const [document] = key.match(/(?<=\/)(zarr\.json|\.zarray|\.zmetadata)$/) ?? [];
      // Some servers answer with a page where a file is missing; zarrita then looks for metadata of the other version.
      if (bytes === undefined || document === undefined || !isJson(bytes)) return bytes;
      await init();
      give(bytes);
      try {
        call("exact", bytes.byteLength, reuse);
      } catch (error) {
        error.message = `${key}: ${error.message}`;
        throw error;
      }
      note(key.slice(0, -document.length), JSON.parse(takenText()));
      return taken().slice();
    },
    getRange(key, range, options) {
      const first = "suffixLength" in range && [...indexFirst].some((folder) => key.startsWith(folder));
      return store.getRange(key, first ? { offset: 0, length: range.suffixLength } : range, options);
    },
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === IS_EXACT) return true;
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return own[name] ?? member.bind(target);
    },
  });
}
