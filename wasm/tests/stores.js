// Reads the golden stores of zarrs/tests/goldens, and what is expected of them; writes arrays of other tests.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export const goldens = new URL("../../zarrs/tests/goldens/", import.meta.url);

/** The cases with our codecs: folders with an array and its decoded elements. */
export const cases = readdirSync(goldens)
  .filter((name) => existsSync(new URL(`${name}/case.json`, goldens)))
  .filter((name) => /"(name|id)":\s*"(scale_offset|cast_value|(numcodecs\.)?(fixedscaleoffset|astype))"/.test(metadata(name)))
  .sort();

/** The array metadata, as text. */
export function metadata(name) {
  const [v3, v2] = ["zarr.json", ".zarray"].map((file) => new URL(`${name}/array.zarr/${file}`, goldens));
  return readFileSync(existsSync(v3) ? v3 : v2, "utf8");
}

/** The bytes, in C order and little-endian, and the shape of a file of NumPy. */
export function npy(url) {
  const file = readFileSync(url);
  const long = file[6] > 1;
  const start = long ? 12 : 10;
  const length = long ? file.readUInt32LE(8) : file.readUInt16LE(8);
  const header = file.toString("latin1", start, start + length);
  const [, order, size] = header.match(/'descr': '([<>|])[a-z](\d+)'/);
  const shape = header.match(/'shape': \(([^)]*)\)/)[1].split(",").filter((n) => n.trim()).map(Number);
  const sizes = header.includes("'fortran_order': True") ? shape : [...shape].reverse();
  const strides = sizes.map((_, axis) => product(sizes.slice(0, axis)));
  if (sizes !== shape) strides.reverse();
  const bytes = inOrder(file.subarray(start + length), Number(size), shape, strides);
  if (order === ">") {
    for (let at = 0; at < bytes.length; at += Number(size)) bytes.subarray(at, at + Number(size)).reverse();
  }
  return { shape, bytes };
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** Elements of `size` bytes in C order. */
function inOrder(from, size, shape, stride) {
  const to = Buffer.alloc(product(shape) * size);
  const index = shape.map(() => 0);
  for (let at = 0; at < to.length; at += size) {
    const place = index.reduce((sum, i, axis) => sum + i * stride[axis], 0) * size;
    from.copy(to, at, place, place + size);
    for (let axis = shape.length - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
  }
  return to;
}

/** The bytes of what zarrita returns, in C order: a scalar, or a chunk with strides. */
export function bytesInOrder(result, TypedArray) {
  if (typeof result !== "object") return Buffer.from(new TypedArray([result]).buffer);
  const { data, shape, stride } = result;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  return inOrder(bytes, data.BYTES_PER_ELEMENT, shape, stride);
}

/** Writes an array of one uncompressed chunk, or of one for each of `chunks` along the first axis. */
export function writeArray(path, { shape, data_type, elements, chunks, codecs = [], fill_value = 0, attributes = {}, ...others }) {
  (chunks ?? [elements]).forEach((elements, at) => {
    const chunk = `${path}/${["c", ...shape.map((_, axis) => (axis === 0 ? at : 0))].join("/")}`;
    mkdirSync(dirname(chunk), { recursive: true });
    writeFileSync(chunk, new Uint8Array(elements.buffer));
  });
  const document = {
    zarr_format: 3,
    node_type: "array",
    shape,
    data_type,
    chunk_grid: { name: "regular", configuration: { chunk_shape: chunks ? [1, ...shape.slice(1)] : shape } },
    chunk_key_encoding: { name: "default", configuration: { separator: "/" } },
    fill_value,
    codecs: [...codecs, { name: "bytes", configuration: { endian: "little" } }],
    attributes,
    ...others,
  };
  writeFileSync(`${path}/zarr.json`, JSON.stringify(document));
  return path;
}
