"""Writes small Zarr v3 arrays with the elements that a reader must return, from the vectors in vectors/.

    python conformance/stores.py --write | --check

--check compares with what is committed, and ends with 1 if they differ. Needs Python alone, and no Zarr library:
the vectors come from an oracle, and chunks are written byte by byte. README.md says what is in a store.
"""

import filecmp
import itertools
import json
import math
import pathlib
import re
import shutil
import struct
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROUNDINGS = ["nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"]
FULL = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
SHORT = ["int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4", "float8_e4m3",
         "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "bfloat16"]
MOST = 96  # elements of an array


def lines(kind):
    header, *rest = (FOLDER / "vectors" / f"{kind}.jsonl").read_text().splitlines()
    assert json.loads(header)["kind"] == kind
    return [json.loads(line) for line in rest]


CASTS = {(line["source"], line["target"]): line["cases"] for line in lines("cast")}


def size(data_type):
    """Bytes of an element in memory: a whole number."""
    return max(int(re.search(r"[0-9]+", data_type)[0]) // 8, 1)


def decoded(source, target, rounding, out_of_range):
    """Elements of `source` that can be cast to `target`, and what they become."""
    for element, result in CASTS[source, target]:
        if isinstance(result, list):
            result = result[ROUNDINGS.index(rounding)]
        if isinstance(result, dict):
            result = result.get(out_of_range)
        if result is not None:
            yield element, result


def cast_value(data_type, **configuration):
    return {"name": "cast_value", "configuration": {"data_type": data_type, **configuration}}


def little(element):
    return bytes.fromhex(element)[::-1]


def chunk(elements, endian="little"):
    return b"".join(map(little if endian == "little" else bytes.fromhex, elements))


def bytes_codec(data_type, endian="little"):
    return {"name": "bytes", "configuration": {"endian": endian}} if size(data_type) > 1 else {"name": "bytes"}


class Stores:
    def __init__(self, folder):
        self.folder = folder

    def write(self, name, data_type, fill_value, codecs, shape, chunks, files, expected):
        """One store; `files` has the bytes of each chunk key, `expected` the elements in C order."""
        store = self.folder / name
        array = store / "array.zarr"
        array.mkdir(parents=True)
        metadata = {
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill_value, "codecs": codecs, "attributes": {},
        }
        (array / "zarr.json").write_text(json.dumps(metadata, indent=1, allow_nan=False) + "\n")
        for key, data in files.items():
            (array / key).parent.mkdir(parents=True, exist_ok=True)
            (array / key).write_bytes(data)
        (store / "expected.bin").write_bytes(chunk(expected))
        document = {"data_type": data_type, "shape": shape, "elements": expected}
        (store / "expected.json").write_text(json.dumps(document) + "\n")

    def line(self, name, data_type, stored_type, codecs, pairs, fill_value=0, endian="little"):
        """An array of one dimension and one chunk."""
        pairs = list(pairs)
        pairs = pairs[:: -(-len(pairs) // MOST)]
        assert len(pairs) >= 4, name
        codecs = [*codecs, bytes_codec(stored_type, endian)]
        stored, expected = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        self.write(name, data_type, fill_value, codecs, [len(pairs)], [len(pairs)], {"c/0": chunk(stored, endian)}, expected)


def zero(data_type):
    return 1 if data_type == "float8_e8m0fnu" else 0


def write(folder):
    stores = Stores(folder)
    # Every type, decoded to float64, which holds every value but long integers; those are rounded.
    for stored in [*FULL[:-1], *SHORT]:
        fill = zero(stored)
        stores.line(f"cast_{stored}_to_float64", "float64", stored, [cast_value(stored)],
                    decoded(stored, "float64", "nearest-even", None), fill)
    # Five roundings, and each way out of range.
    for target, stored, mode in [("int16", "float64", "clamp"), ("uint8", "float32", "clamp"), ("float16", "float32", "clamp"),
                                 ("float32", "int64", None), ("float32", "float64", None)]:
        for rounding in ROUNDINGS:
            options = {"rounding": rounding} | ({"out_of_range": mode} if mode else {})
            stores.line(f"cast_{stored}_to_{target}_{rounding}", target, stored, [cast_value(stored, **options)],
                        decoded(stored, target, rounding, mode))
    for target, stored in [("uint8", "int32"), ("int8", "uint64"), ("int16", "int64")]:
        stores.line(f"cast_{stored}_to_{target}_wrap", target, stored, [cast_value(stored, out_of_range="wrap")],
                    decoded(stored, target, "nearest-even", "wrap"))
    # scale_offset: (stored / scale) + offset in the array's own arithmetic.
    seen = {}
    for line in lines("scale_offset"):
        pairs = [case for case in line["decode"] if isinstance(case[1], str)]
        count = seen.get(line["data_type"], 0)
        if line["data_type"] not in FULL or "scale" not in line or "offset" not in line or len(pairs) < 8 or count == 2:
            continue
        seen[line["data_type"]] = count + 1
        configuration = {name: scalar(line["data_type"], line[name]) for name in ("offset", "scale")}
        stores.line(f"scale_offset_{line['data_type']}_{count}", line["data_type"], line["data_type"],
                    [{"name": "scale_offset", "configuration": configuration}], pairs, scalar(line["data_type"], pairs[0][1]))
    # Chains with maps, as implementations of the eleven common types read them.
    count = 0
    for line in lines("chains"):
        names = {line["data_type"], line["encoded_data_type"]}
        names |= {codec["configuration"]["data_type"] for codec in line["codecs"] if codec["name"] == "cast_value"}
        pairs = list(zip(line["decode"]["input"], line["decode"]["output"]))
        if names <= set(FULL) and len(pairs) >= 8 and count < 24:
            stores.line(f"chain_{count:02}", line["data_type"], line["encoded_data_type"], line["codecs"], pairs, line["fill_value"])
            count += 1
    # The rest of Zarr around the codecs: byte orders, edge chunks, missing chunks, shards.
    codec = cast_value("int16")
    pairs = [(struct.pack(">h", number).hex(), struct.pack(">f", number).hex()) for number in range(-30000, 30000, 2500)]
    for endian in ("little", "big"):
        stores.line(f"bytes_{endian}", "float32", "int16", [codec], pairs, endian=endian)
    for data_type, target in [("int32", "float64"), ("int64", "float32"), ("float32", "float64"), ("float64", "float32")]:
        stores.line(f"bytes_big_{data_type}", target, data_type, [cast_value(data_type)],
                    decoded(data_type, target, "nearest-even", None), endian="big")
    blocks(stores, codec)
    stored, expected = [pair[0] for pair in pairs[:20]], [pair[1] for pair in pairs[:20]]
    fill, fill_element = -10.0, "c1200000"
    padding = ["fff6"] * 4
    files = {"c/0": chunk(stored[:8]), "c/2": chunk(stored[16:20] + padding)}
    stores.write("missing_and_edge_chunks", "float32", fill, [codec, bytes_codec("int16")], [20], [8], files,
                 expected[:8] + [fill_element] * 8 + expected[16:20])
    shard = chunk(stored[:4]) + chunk(stored[8:12])
    missing = 2**64 - 1
    for location in ("start", "end"):
        first = 3 * 16 if location == "start" else 0
        entries = struct.pack("<6Q", first, 8, missing, missing, first + 8, 8)
        body = entries + shard if location == "start" else shard + entries
        want = expected[:4] + [fill_element] * 4 + expected[8:12]
        for place in ("inside", "outside"):
            sharding = {"name": "sharding_indexed", "configuration": {
                "chunk_shape": [4], "index_location": location,
                "codecs": [*([codec] if place == "inside" else []), bytes_codec("int16")],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}
            codecs = [*([codec] if place == "outside" else []), sharding]
            stores.write(f"shard_{place}_index_{location}", "float32", fill, codecs, [12], [12], {"c/0": body}, want)


def blocks(stores, codec):
    """Arrays of two and three dimensions, in both byte orders, by chunks and by shards, whose last ones are not whole."""
    for shape, sides in [([5, 7], [2, 4]), ([3, 4, 5], [2, 2, 3])]:
        dimensions = f"{len(shape)}d"
        numbers = {index: 331 * place - 9000 for place, index in enumerate(itertools.product(*map(range, shape)))}
        expected = [struct.pack(">f", number).hex() for number in numbers.values()]

        def inside(first, lengths):
            """The codes of a block in C order; those past the edge are 0."""
            cells = itertools.product(*(range(start, start + length) for start, length in zip(first, lengths)))
            return [struct.pack(">h", numbers.get(cell, 0)).hex() for cell in cells]

        for endian in ("little", "big"):
            grid = [range(-(-length // side)) for length, side in zip(shape, sides)]
            files = {"/".join(["c", *map(str, at)]): chunk(inside([i * side for i, side in zip(at, sides)], sides), endian)
                     for at in itertools.product(*grid)}
            stores.write(f"chunks_{dimensions}_{endian}", "float32", 0, [codec, bytes_codec("int16", endian)],
                         shape, sides, files, expected)
            # One shard with all chunks, each whole, in C order.
            around = [len(one) * side for one, side in zip(grid, sides)]
            parts = [inside([i * side for i, side in zip(at, sides)], sides) for at in itertools.product(*grid)]
            length = 2 * math.prod(sides)
            index = b"".join(struct.pack("<2Q", place * length, length) for place in range(len(parts)))
            sharding = {"name": "sharding_indexed", "configuration": {
                "chunk_shape": sides, "index_location": "end", "codecs": [bytes_codec("int16", endian)],
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}
            body = b"".join(chunk(part, endian) for part in parts) + index
            stores.write(f"shard_{dimensions}_{endian}", "float32", 0, [codec, sharding], shape, around,
                         {"/".join(["c", *("0" for _ in shape)]): body}, expected)


def scalar(data_type, element):
    """An element of one of the eleven common types, as metadata have it."""
    kind = {"float16": "e", "float32": "f", "float64": "d"}.get(data_type)
    if kind:
        number = struct.unpack(f">{kind}", bytes.fromhex(element))[0]
        return number if math.isfinite(number) else "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return int.from_bytes(bytes.fromhex(element), "big", signed=data_type.startswith("int"))


def same(one, other):
    names = filecmp.dircmp(one, other)
    if names.left_only or names.right_only:
        return False
    _, differing, unread = filecmp.cmpfiles(one, other, names.common_files, shallow=False)
    return not differing and not unread and all(same(one / name, other / name) for name in names.common_dirs)


def main():
    assert sys.argv[1:] in (["--write"], ["--check"]), __doc__
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "stores"
        write(made)
        if sys.argv[1] == "--write":
            shutil.rmtree(FOLDER / "stores", ignore_errors=True)
            shutil.copytree(made, FOLDER / "stores")
        elif not same(made, FOLDER / "stores"):
            sys.exit("conformance/stores: not what the vectors say; run `python conformance/stores.py --write`")
        print(f"{len(list(made.iterdir()))} stores")


if __name__ == "__main__":
    main()
