"""Random groups, written by zarr-python: trees of arrays of its types with attributes, filters and compressors."""

import base64
import json
import warnings

import numcodecs
import numpy as np
import zarr
from zarr.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

LETTERS = list("abcxyzäöé€😀 \t\"")
UNITS = ["ns", "us", "ms", "s", "m", "h", "D", "25s"]


def text(g, most=6):
    return "".join(g.choice(LETTERS, g.integers(0, most + 1)))


def elements(g, dtype, shape):
    """Elements of a NumPy type, or of `str` and `bytes` for those of any length."""
    count = int(np.prod(shape))
    if dtype in (str, bytes):
        one = (lambda: text(g, 20)) if dtype is str else (lambda: g.bytes(g.integers(0, 20)))
        flat = np.empty(count, object)
        flat[:] = [one() for _ in range(count)]
        return flat.reshape(shape)
    dtype = np.dtype(dtype)
    if dtype.names:
        array = np.empty(shape, dtype)
        for name in dtype.names:
            array[name] = elements(g, dtype[name], shape)
        return array
    if dtype.kind == "U":
        return np.array([text(g, dtype.itemsize // 4) for _ in range(count)], dtype).reshape(shape)
    if dtype.kind == "b":
        return g.random(shape) < 0.5
    if dtype.kind == "f":
        # Few digits, as bitround and quantize would drop others.
        values = np.round(g.normal(scale=8, size=shape) * 4) / 4
        return np.where(g.random(shape) < 0.05, np.nan, values).astype(dtype)
    if dtype.kind == "c":
        parts = [elements(g, f"f{dtype.itemsize // 2}", shape) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(dtype)
    if dtype.kind in "mM":
        numbers = g.integers(-(10**6), 10**6, shape).astype("i8")
        return np.where(g.random(shape) < 0.1, np.iinfo("i8").min, numbers).astype(dtype)
    if dtype.kind in "iu":
        return g.integers(0, 100, shape).astype(dtype)
    return np.frombuffer(g.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()


def data_type(g, zarr_format, depth=0):
    order = g.choice(["<", ">"]) if zarr_format == 2 else "<"
    kinds = ["f4", "f8", "i2", "i4", "u4", "i8", "u8", "f2", "i1", "u1", "b1", "c8", "c16", "U", "S",
             "V", "M", "m"]  # fmt: skip
    kind = str(g.choice(kinds + ["str", "bytes", "struct"] * 2 if depth == 0 else kinds))
    if kind in ("str", "bytes"):
        return {"str": str, "bytes": bytes}[kind]
    if kind == "struct":
        fields = [(f"field {n}", data_type(g, zarr_format, 1)) for n in range(g.integers(1, 5))]
        if zarr_format == 2:
            # zarr-python cannot compress such fields.
            fields = [(name, "<i8" if kind.kind in "mM" else kind) for name, kind in fields]
        # In Zarr v3 all fields have one order.
        is_mixed = g.random() < 0.2
        return np.dtype(fields) if is_mixed else np.dtype(fields).newbyteorder(order)
    if kind in "USV":
        return np.dtype(f"{order if kind == 'U' else '|'}{kind}{g.integers(1, 7)}")
    if kind in "Mm":
        return np.dtype(f"{order}{kind}8[{g.choice(UNITS)}]")
    return np.dtype(kind).newbyteorder(order)


def filters(g, dtype):
    """Filters of Zarr v2 that keep every value of `elements`."""
    if dtype in (str, bytes) or g.random() < 0.5:
        return None
    text = dtype.str
    chosen = []
    if dtype.kind in "iu" and g.random() < 0.6:
        wide = f"{text[0] if dtype.itemsize > 1 else '<'}i8"
        chosen.append(g.choice([
            numcodecs.Delta(dtype=text), numcodecs.Delta(dtype=text, astype=wide),
            numcodecs.AsType(encode_dtype=wide, decode_dtype=text),
        ]))  # fmt: skip
    elif dtype.kind == "f" and g.random() < 0.6:
        # Delta would lose what follows a NaN, integers would lose the NaN, and bitround is for one byte order.
        chosen.append(g.choice([
            *([] if text[0] == ">" else [numcodecs.BitRound(9 if dtype.itemsize == 2 else 12)]),
            numcodecs.Quantize(2, text),
            numcodecs.FixedScaleOffset(offset=0, scale=4, dtype=text, astype=text),
        ]))  # fmt: skip
    elif dtype.kind == "b" and g.random() < 0.6:
        chosen.append(numcodecs.PackBits())
    if dtype.kind not in "mMV" and g.random() < 0.5:
        chosen.append(g.choice([
            numcodecs.Shuffle(dtype.itemsize), numcodecs.CRC32(), numcodecs.Adler32(),
            numcodecs.Zlib(1), numcodecs.Fletcher32(), numcodecs.CRC32C(),
        ]))  # fmt: skip
    return chosen or None


def compressor(g):
    return g.choice([
        None, numcodecs.Blosc("zstd", 3, int(g.integers(0, 3))), numcodecs.Blosc("lz4", 5, -1),
        numcodecs.Zstd(1), numcodecs.GZip(1), numcodecs.Zlib(1), numcodecs.BZ2(1), numcodecs.LZ4(),
        numcodecs.LZMA(),
    ])  # fmt: skip


def attributes(g, depth=0):
    """Attributes as JSON has them."""
    kinds = [lambda: text(g), lambda: float(g.normal()), lambda: int(g.integers(-(2**62), 2**62)),
             lambda: None, lambda: bool(g.random() < 0.5), lambda: [1, text(g), 0.1]]  # fmt: skip
    if depth < 2:
        kinds.append(lambda: attributes(g, depth + 1))
    names = {text(g) or "name" for _ in range(g.integers(0, 4))}
    return {name: kinds[g.integers(len(kinds))]() for name in sorted(names)}


def default(g, dtype):
    """A fill value; `None` for none, or the default."""
    if g.random() < 0.5:
        return None
    value = elements(g, dtype, (1,))[0]
    return value if dtype in (str, bytes) else np.array([value], dtype)[0]


def of_zarr(dtype):
    if dtype is bytes:
        return zarr.dtype.VariableLengthBytes()
    return dtype


def array(g, group, name, zarr_format, dtype):
    # zarr-python cannot write a scalar of bytes.
    rank = int(g.integers(dtype is bytes, 4))
    shape = tuple(int(extent) for extent in g.choice([0, 1, 2, 3, 5, 7], rank, p=[0.05, 0.15, 0.2, 0.2, 0.2, 0.2]))
    chunks = tuple(int(g.integers(1, max(extent, 1) + 1)) for extent in shape)
    dimensions = [f"{name} {axis}" for axis in range(rank)]
    given = attributes(g)
    options = {"fill_value": default(g, dtype), "chunks": chunks}
    if zarr_format == 2:
        given["_ARRAY_DIMENSIONS"] = dimensions
        options |= {"filters": filters(g, dtype), "compressors": compressor(g),
                    "order": str(g.choice(["C", "F"])),
                    "chunk_key_encoding": {"name": "v2", "separator": str(g.choice([".", "/"]))}}  # fmt: skip
        if dtype in (str, bytes):
            # zarr-python adds the codec of the objects.
            options.pop("filters")
    else:
        options |= {"dimension_names": dimensions or None, "compressors": g.choice([
            None, ZstdCodec(level=1), GzipCodec(level=1), Crc32cCodec(),
            BloscCodec(typesize=4, cname="lz4"), numcodec("LZMA"), numcodec("LZ4"),
        ])}  # fmt: skip
        if rank and g.random() < 0.3 and 0 not in shape:
            options["shards"] = tuple(2 * extent for extent in chunks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        created = group.create_array(
            name, shape=shape, dtype=of_zarr(dtype), attributes=given, **options
        )
        data = elements(g, dtype, shape)
        if shape and shape[0] > 1 and g.random() < 0.3:
            # Some chunks are missing.
            created[: shape[0] // 2] = data[: shape[0] // 2]
        else:
            created[...] = data
    return created


def numcodec(name):
    import zarr.codecs.numcodecs

    return getattr(zarr.codecs.numcodecs, name)()


def write(g, path, zarr_format, count=12):
    """Writes a group with an array that is always packed."""
    root = zarr.open_group(path, mode="w", zarr_format=zarr_format, attributes=attributes(g))
    groups = [root]
    for number in range(count):
        group = groups[g.integers(len(groups))]
        name = f"{number}{g.choice(['', ' b', '-é'])}"
        if g.random() < 0.2:
            groups.append(group.create_group(name, attributes=attributes(g)))
        else:
            array(g, group, name, zarr_format, data_type(g, zarr_format))
    field = root.create_array("field", shape=(9, 4), chunks=(4, 4), dtype="f4", fill_value=np.nan)
    field[...] = g.normal(size=(9, 4))
    if g.random() < 0.5:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(path)


def object_array(path, filters, dtype="|O", fill=None):
    """An array of Zarr v2 whose metadata Zarr v3 cannot express; zarr-python cannot read some of them either."""
    path.mkdir()
    metadata = {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": dtype, "fill_value": fill,
                "order": "C", "compressor": {"id": "zlib", "level": 1}, "filters": filters}  # fmt: skip
    (path / ".zarray").write_text(json.dumps(metadata))
    (path / ".zattrs").write_text(json.dumps({"_ARRAY_DIMENSIONS": ["x"]}))
    for key in "01":
        (path / key).write_bytes(base64.b64decode("eJxLTEpOSU0DAAgyAlc=") + key.encode())
