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
  if (wasm === undefined) throw new RecastError({ message: `call \`await init()\` first` });
  const result = wasm[name](...args);
  if (result < 0) throw new RecastError(JSON.parse(takenText()));
  return result;
}

function bytesOf(/** @type {ArrayBufferView | ArrayBuffer} */ data) {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
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
  return JSON.stringify(value);
}

/** In JSON: whether elements are big-endian. Codecs of Zarr v2 say it themselves. */
const BIG = { little: false, big: true, codec: null };

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

  constructor(metadata, { endian = "little", exists = true } = {}) {
    if (wasm === undefined) throw new RecastError({ message: "call `await init()` first, or use Chain.create" });
    const members = typeof metadata === "string" ? metadata : json(metadata);
    const bytes = text.encode(`{"metadata":${members},"big_endian":${BIG[endian]},"exists":${exists}}`);
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

  get diagnostics() {
    return this.#description.diagnostics;
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
    return copied(this.#run("decode", encoded), typedArray(this.decodedType));
  }

  /** Decodes into a typed array of as many elements; returns it. */
  decodeInto(encoded, decoded) {
    const expected = typedArray(this.decodedType);
    if (!(decoded instanceof expected)) {
      throw new RecastError({ message: `elements of ${this.decodedType} belong into ${expected.name}` });
    }
    const elements = bytesOf(encoded).byteLength / this.encodedSize;
    if (decoded.length !== elements) {
      throw new RecastError({ message: `${elements} elements do not fill a place for ${decoded.length}` });
    }
    bytesOf(decoded).set(this.#run("decode", encoded));
    return decoded;
  }

  /** A new typed array of encoded elements. */
  encode(decoded) {
    return copied(this.#run("encode", decoded), typedArray(this.encodedType));
  }

  /** Encoded elements as bytes. */
  encodeToBytes(decoded) {
    return this.#run("encode", decoded).slice();
  }

  /** Frees what the module holds for the chain, which must not be used again. */
  free() {
    freed.unregister(this);
    if (this.#handle !== undefined) wasm.unbind(this.#handle);
    this.#handle = undefined;
  }

  #run(direction, elements) {
    if (this.#handle === undefined) throw new RecastError({ message: "this chain is freed" });
    const bytes = bytesOf(elements);
    give(bytes);
    call(direction, this.#handle, bytes.byteLength);
    return taken();
  }
}

function copied(bytes, Type) {
  const elements = new Type(bytes.byteLength / Type.BYTES_PER_ELEMENT);
  bytesOf(elements).set(bytes);
  return elements;
}

// --- zarrita ---

/** What `exact` makes of filters of Zarr v2. */
const FILTER = "numcodecs.zarr-recast";

const OURS = ["scale_offset", "cast_value", "numcodecs.fixedscaleoffset", "numcodecs.astype", FILTER];

/** Member of metadata: the run of neighbouring codecs that the codecs before have begun. */
const RUN = Symbol("zarr-recast run");

/** Member of a configuration that `exact` has written: the texts of codec and fill value. */
const EXACT = "zarr-recast";

/** Registries that have the codecs: once more changes nothing. */
const registered = new WeakSet();

/**
 * Puts the codecs into zarrita's registry, and a `bytes` that decodes them in one pass.
 */
export async function register(registry) {
  await init();
  if (registered.has(registry)) return;
  const theirs = await registry.get("bytes")();
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
  const before = meta[RUN];
  const index = meta.codecs.findIndex(({ name }, at) => at > (before?.index ?? -1) && OURS.includes(name));
  const exact = configuration?.[EXACT];
  const itself = exact?.codec ?? rounded(name, configuration, meta);
  const endian = name === FILTER ? "codec" : undefined;
  const run = before?.codecs
    ? { ...before, index, endian, codecs: [...before.codecs, itself] }
    : { index, endian, codecs: [itself], dataType: meta.dataType, fill: before ? undefined : fillOf(exact, meta, index) };
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
  const converted = (direction) => ({ data, shape, stride }) => ({ data: chain[direction](data), shape, stride });
  return {
    kind: "array_to_array",
    encode: converted("encode"),
    decode: converted("decode"),
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

/** The codec `bytes` behind a run: stored bytes to the elements in front of the run, and back. */
function bytesOfRun(run, configuration, { shape }) {
  const chain = bound(run, configuration?.endian);
  const stride = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, n) => product * n, 1));
  const elements = shape.reduce((product, n) => product * n, 1);
  return {
    kind: "array_to_bytes",
    encode: ({ data }) => chain.encodeToBytes(data),
    decode(bytes) {
      if (bytes.byteLength !== elements * chain.encodedSize) {
        throw new RecastError({
          message: `a chunk of ${bytes.byteLength} bytes; ${elements} elements of ${chain.encodedType} are ${
            elements * chain.encodedSize
          }`,
        });
      }
      return { data: chain.decode(bytes), shape, stride };
    },
    computeEncodedSize: (size) => size,
  };
}

/**
 * A store whose array metadata reach zarrita without loss: numbers of 64 bits, fill values written as bits, codecs in front of
 * shards, shards whose index is at the start, and filters of Zarr v2. Everything else is the store's.
 */
export function exact(store) {
  /** Folders of arrays whose shards begin with the index, which zarrita reads at the end. @type {Set<string>} */
  const indexFirst = new Set();
  const own = {
    async get(key, options) {
      const bytes = await store.get(key, options);
      const [document] = key.match(/(?<=\/)(zarr\.json|\.zarray)$/) ?? [];
      if (bytes === undefined || document === undefined) return bytes;
      await init();
      give(bytes);
      call("exact", bytes.byteLength);
      const { codecs = [] } = JSON.parse(takenText());
      const shards = codecs.find(({ name }) => name === "sharding_indexed");
      if (shards?.configuration.index_location === "start") indexFirst.add(key.slice(0, -document.length));
      return taken().slice();
    },
    getRange(key, range, options) {
      const first = "suffixLength" in range && [...indexFirst].some((folder) => key.startsWith(folder));
      return store.getRange(key, first ? { offset: 0, length: range.suffixLength } : range, options);
    },
  };
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return own[name] ?? member.bind(target);
    },
  });
}
