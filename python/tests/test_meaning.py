"""Families of arrays through the jobs that change metadata: xarray and zarr-python judge what the numbers mean
afterwards."""

import base64
import json
import struct
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from binaries import run

zarr = pytest.importorskip("zarr", minversion="3.4.2")
xarray = pytest.importorskip("xarray")

pytestmark = pytest.mark.filterwarnings("ignore")

# Name: missing values, and whether NaN is one, too.
MISSING = {
    "one marker": ([-9999.0], False),
    "a marker of netCDF": ([9.969209968386869e36], False),
    "two markers": ([-9999.0, 1e20], False),
    "NaN": ([], True),
    "a marker and NaN": ([-9999.0], True),
    "two markers and NaN": ([-9999.0, -32768.5], True),
    "a marker among the values": ([50.0], False),
}

# How an array is packed, and the error that this allows.
WAYS = [
    (["-e", "1e-6"], 1e-6),
    (["-e", "0.01"], 0.01),
    (["--scale", "1000", "--data-type", "int32"], 5.1e-4),
    (["--scale", "1000", "--offset", "-7", "--data-type", "uint32"], 5.1e-4),
    (["--scale", "1e6", "--data-type", "int64"], 5.1e-7),
    (["--scale", "100", "--data-type", "int16"], 5.1e-3),
]


def write(group, values, missing, zarr_format=3, fill=0.0):
    """An array `x` in a group, whose attributes name the missing values."""
    attributes = {}
    if missing:
        attributes["_FillValue"] = base64.b64encode(struct.pack("<d", missing[0])).decode()
    if missing[1:]:
        attributes["missing_value"] = missing[1:]
    root = zarr.open_group(group, mode="w", zarr_format=zarr_format)
    array = root.create_array(
        "x", shape=values.shape, chunks=(values.size // 4,), dtype=values.dtype, fill_value=fill,
        attributes=attributes, dimension_names=["t"],
    )  # fmt: skip
    array[...] = values


def opened(group):
    return xarray.open_zarr(group, consolidated=False)


def to_cf_failure(dtype, kind, way, fill, folder):
    """Packs an array and turns its codecs into attributes; says what xarray reads otherwise."""
    (missing, has_nan), (flags, bound) = MISSING[kind], WAYS[way]
    g = np.random.default_rng([list(MISSING).index(kind), way])
    values = np.round(g.random(400) * 100, 3).astype(dtype)
    values[::40] = 0
    gone = [*missing, *[np.nan] * has_nan]
    values[[5, 50, 200, 399]] = np.resize(gone, 4)
    before, packed, after = (folder / name for name in ("before.zarr", "packed.zarr", "after.zarr"))
    write(before, values, missing, fill=fill)
    expected = np.where(np.isin(values, np.array(missing, dtype)), np.nan, values.astype("f8"))
    try:
        run("recast", "pack", before, packed, "-q", *flags)
        run("recast", "unpack", "--to-cf", "-q", packed, after)
        got = opened(after)["x"].values.astype("f8")
    except subprocess.CalledProcessError as error:
        return error.stderr.decode()
    if (np.isnan(expected) != np.isnan(got)).any():
        return f"{got[np.isnan(expected) != np.isnan(got)]}"
    off = np.nanmax(np.abs(got - expected))
    return None if off <= bound + np.spacing(values.dtype.type(100)) else f"off by {off}"


def failures(judge, cases, tmp_path):
    """What a judge has against each case."""

    def one(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        return judge(*cases[number], folder)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(len(cases))))
    return {case: text for case, text in zip(cases, found, strict=True) if text}


@pytest.mark.parametrize("fill", [0.0, float("nan")])
def test_missing_values_stay_missing_in_cf(fill, tmp_path):
    cases = [
        (dtype, kind, way, fill)
        for dtype in ("float32", "float64")
        for kind in MISSING
        for way in range(len(WAYS))
    ]
    assert failures(to_cf_failure, cases, tmp_path) == {}
