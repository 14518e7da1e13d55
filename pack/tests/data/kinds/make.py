"""Writes kinds.zarr, a group of Zarr v2 with an array of each kind of type, and expected.json, with the type, fill value
and codecs that zarr-python 3.4.2 writes for the same arrays in Zarr v3. `pip install zarr==3.4.2`, then run this here."""

import json
import shutil
import warnings
from pathlib import Path

import numcodecs
import numpy as np
import zarr

warnings.simplefilter("ignore")

ZLIB = numcodecs.Zlib(1)
RECORD = [("a", "<i4"), ("b", "<f8"), ("c", "S3"), ("d", "<U2")]
# Name: elements, type, fill value.
KINDS = {
    "names": (np.array(["a", "bcd", "", "é€"], object), str, ""),
    "blobs": (np.array([b"a", b"b\0c", b"", b"xyz"], object), zarr.dtype.VariableLengthBytes(), b""),
    "fixed": (np.array(["a", "bcd", "", "é€"], "<U3"), "<U3", None),
    "fixed_big": (np.array(["a", "bcd", "", "é€"], ">U3"), ">U3", "zz"),
    "bytes": (np.array([b"a", b"bcd", b"", b"x"], "S3"), "S3", b"q"),
    "raw": (np.array([b"abc", b"def", b"\0\1\2", b"xyz"], "V3"), "V3", None),
    "times": (np.array([0, 1, -1, 5], "<M8[s]"), "<M8[s]", None),
    "days": (np.array([0, 1, -1, 5], ">M8[10D]"), ">M8[10D]", 7),
    "durations": (np.array([0, 1, -1, 5], "<m8[ns]"), "<m8[ns]", 7),
    "flags": (np.array([True, False, True, True]), "bool", True),
    "complex": (np.array([1j, 2, 3, 4 - 1j], ">c8"), ">c8", 1 + 2j),
    "records": (np.array([(1, 2.5, b"x", "y")] * 4, RECORD), RECORD, (7, 0.5, b"q", "é")),
    "integers": (np.array([1, 2, 0, 4], ">i2"), ">i2", 0),
    "field": (np.array([1.25, 2.5, np.nan, 4], "<f4"), "<f4", np.nan),
}


def write(path, zarr_format):
    group = zarr.open_group(path, mode="w", zarr_format=zarr_format)
    for name, (data, dtype, fill) in KINDS.items():
        if isinstance(fill, tuple):
            fill = np.array([fill], dtype)[0]
        keywords = {"attributes": {"_ARRAY_DIMENSIONS": ["x"]}, "compressors": ZLIB}
        if zarr_format == 3:
            keywords = {"dimension_names": ["x"], "compressors": zarr.codecs.numcodecs.Zlib(level=1)}
        array = group.create_array(
            name, shape=(6,), chunks=(4,), dtype=np.dtype(dtype) if isinstance(dtype, list) else dtype,
            fill_value=fill, **keywords,
        )  # fmt: skip
        array[:4] = data
    zarr.consolidate_metadata(path)


def main():
    here = Path(__file__).parent
    shutil.rmtree(here / "kinds.zarr", ignore_errors=True)
    write(here / "kinds.zarr", 2)
    write(here / "v3.zarr", 3)
    expected = {}
    for name in KINDS:
        document = json.loads((here / "v3.zarr" / name / "zarr.json").read_text())
        members = {member: document[member] for member in ("data_type", "fill_value", "codecs")}
        expected[name] = members
    (here / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    shutil.rmtree(here / "v3.zarr")


main()
