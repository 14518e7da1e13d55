/** The data types that the codecs convert. */
export type DataType =
  | "int2" | "int4" | "int8" | "int16" | "int32" | "int64"
  | "uint2" | "uint4" | "uint8" | "uint16" | "uint32" | "uint64"
  | "float4_e2m1fn" | "float6_e2m3fn" | "float6_e3m2fn"
  | "float8_e3m4" | "float8_e4m3" | "float8_e4m3b11fnuz" | "float8_e4m3fn" | "float8_e4m3fnuz"
  | "float8_e5m2" | "float8_e5m2fnuz" | "float8_e8m0fnu"
  | "bfloat16" | "float16" | "float32" | "float64";

/** Elements: types that JavaScript has no array for are bytes, or 16 bits in a `Uint16Array`. Elements of any type may also
 * come as bytes: in a `Uint8Array`, a `DataView`, an `ArrayBuffer` or a `SharedArrayBuffer`. */
export type TypedArray =
  | Int8Array | Int16Array | Int32Array | BigInt64Array
  | Uint8Array | Uint16Array | Uint32Array | BigUint64Array
  | Float32Array | Float64Array;

export type TypedArrayConstructor = { new (length: number): TypedArray; readonly BYTES_PER_ELEMENT: number };

/** Members of an array's metadata, named as in `zarr.json`. */
export interface Metadata {
  data_type: DataType;
  /** Left out, no fill value is checked. */
  fill_value?: number | bigint | string;
  /** `cast_value`, `scale_offset`, `numcodecs.fixedscaleoffset` or `numcodecs.astype`, in their order. */
  codecs: readonly { name: string; configuration?: object }[];
}

export interface ChainOptions {
  /** The byte order of encoded elements; `"little"` by default. */
  endian?: "little" | "big";
  /**
   * Whether the array exists already, so that a fill value which does not come back is a warning instead of an error;
   * `true` by default.
   */
  exists?: boolean;
  /** What a finite float is that scale or offset make too large: an error, by default, or infinite as IEEE 754 says. */
  floatOverflow?: "error" | "infinity";
}

/** How a code becomes a value: `code / scale + offset`, but for the codes of `map`. */
export interface Linear {
  scale: number;
  offset: number;
  map: [code: number, value: number][];
}

/** Why an element, metadata or a codec is refused. */
export class RecastError extends Error {
  /** The index of the first element that cannot be converted. */
  readonly index?: number;
  /** Its value, as text. */
  readonly value?: string;
  readonly reason?: "nan" | "infinite" | "out-of-range" | "overflow" | "inexact-division";
}

/**
 * Loads the WebAssembly module, once; `zarr_recast.wasm` beside this file by default.
 *
 * @throws if it cannot be fetched, or the engine has no `simd128`.
 */
export function init(source?: string | URL | Response | BufferSource | WebAssembly.Module | Promise<Response>): Promise<void>;

/** The kind of typed array that holds elements of a type. */
export function typedArray(dataType: DataType): TypedArrayConstructor;

/** Codecs bound to a data type and a fill value. */
export class Chain {
  /** Loads the module if need be, and binds.
   *
   * @example
   * const chain = await Chain.create({
   *   data_type: "float32",
   *   codecs: [
   *     { name: "scale_offset", configuration: { offset: 5, scale: 10 } },
   *     { name: "cast_value", configuration: { data_type: "uint8" } },
   *   ],
   * });
   * chain.decode(new Uint8Array([15])); // Float32Array [6.5]
   */
  static create(metadata: Metadata | string, options?: ChainOptions): Promise<Chain>;
  /** Binds; the module must be loaded. Of metadata that are JSON text, numbers are read to the last digit.
   *
   * @throws {RecastError} metadata that are refused: the message names the member. */
  constructor(metadata: Metadata | string, options?: ChainOptions);
  readonly decodedType: DataType;
  readonly encodedType: DataType;
  /** Bytes of an encoded element. */
  readonly encodedSize: number;
  /** What users of the array should know. */
  readonly warnings: string[];
  /** For those who decode in a shader; `null` where the codecs do something else. */
  readonly linear: Linear | null;
  /** The bytes of the encoded fill value, in little-endian order; `null` if there is none. */
  readonly encodedFillBytes: Uint8Array | null;
  /** A new array of decoded elements.
   *
   * @throws {RecastError} the first element that cannot be decoded, with its index and value. */
  decode(encoded: ArrayBufferView | ArrayBufferLike): TypedArray;
  /** Decodes into an array of as many elements, and returns it; what it holds after an error is not specified. Both may be
   * parts of one buffer. */
  decodeInto<T extends TypedArray>(encoded: ArrayBufferView | ArrayBufferLike, decoded: T): T;
  /** A new array of encoded elements.
   *
   * @throws {RecastError} the first element that cannot be encoded, with its index and value. */
  encode(decoded: ArrayBufferView | ArrayBufferLike): TypedArray;
  /** Encoded elements as bytes, in the byte order of the options. */
  encodeToBytes(decoded: ArrayBufferView | ArrayBufferLike): Uint8Array;
  /** Frees the memory of the chain at once; without it, that happens when the chain is collected. */
  free(): void;
}

/** What this package needs of zarrita's registry. */
export interface Registry {
  get(name: string): (() => any) | undefined;
  set(name: string, load: () => any): unknown;
}

/**
 * Puts the codecs into zarrita's registry. Neighbouring codecs run in one pass, together with `bytes` behind them.
 *
 * @throws {RecastError} a registry that has no `bytes`, so is not zarrita's.
 *
 * @example
 * import * as zarr from "zarrita";
 * import { exact, register } from "zarr-recast";
 * await register(zarr.registry);
 * const array = await zarr.open(exact(new zarr.FetchStore(url)), { kind: "array" });
 */
export function register(registry: Registry): Promise<void>;

/**
 * The store, whose array metadata reach zarrita without loss: integers of 64 bits, fill values written as bits, and codecs
 * in front of shards; also those that a group holds of its arrays.
 *
 * With `reuse: true`, chunks are decoded into memory that chunks before were in. zarrita's `get` has copied those by then. The
 * `data` of `array.getChunk` must be copied before the next `await`, and such arrays are not written.
 *
 * @throws {RecastError} a store that `withConsolidatedMetadata` returned: `withConsolidatedMetadata(exact(store))` is read.
 */
export function exact<Store extends object>(store: Store, options?: { reuse?: boolean }): Store;
