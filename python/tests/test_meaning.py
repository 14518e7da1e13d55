"""Families of arrays through the jobs that change metadata: xarray and zarr-python judge what the numbers mean
afterwards."""

import base64
import json
import os
import random
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from binaries import run

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xarray = pytest.importorskip("xarray")

pytestmark = pytest.mark.filterwarnings("ignore")

# RECAST_TEST_STRIDE=1 takes all.
STRIDE = int(os.environ.get("RECAST_TEST_STRIDE", "5"))

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
    names = {} if zarr_format == 3 else {"_ARRAY_DIMENSIONS": ["t"]}
    root = zarr.open_group(group, mode="w", zarr_format=zarr_format)
    array = root.create_array(
        "x", shape=values.shape, chunks=(values.size // 4,), dtype=values.dtype, fill_value=fill,
        attributes=attributes | names, dimension_names=["t"] if zarr_format == 3 else None,
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
    """What a judge has against each case, or a share of these."""
    cases = random.Random(1).sample(cases, len(cases) // STRIDE)

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


SPELLINGS = [
    "NaN", "nan", "Nan", "-nan", "inf", "+inf", "-inf", "Infinity", "-Infinity", "INFINITY", "-999.0", "-999", "1e20",
    "+5", ".5", "5.", "007", " 3 ", "none", "", "1,5", "0x10", ".", "-", -999, -999.0, 0, None,
]  # fmt: skip


def spelling_failure(dtype, spelling, folder):
    """Packs a group of Zarr v2 with this fill value; says what zarr-python reads otherwise of the new group."""
    before, after = folder / "before.zarr", folder / "after.zarr"
    write(before, np.arange(8, dtype="f4"), [], zarr_format=2)
    zarr.open_group(before).create_array("odd", shape=(8,), chunks=(8,), dtype=dtype, fill_value=0)
    document = json.loads((before / "odd" / ".zarray").read_text())
    (before / "odd" / ".zarray").write_text(json.dumps(document | {"fill_value": spelling}))
    try:
        expected = zarr.open_array(before, path="odd", mode="r").fill_value
    except (TypeError, ValueError, OverflowError):
        expected = "unreadable"
    try:
        report = json.loads(run("recast", "pack", "--json", "-e", "0.1", before, after))
    except subprocess.CalledProcessError as error:
        text = error.stderr.decode()
        is_named = "odd" in text and "fill value" in text and not after.exists()
        return None if expected == "unreadable" and is_named else text
    if expected == "unreadable":
        # An array of integers is not packed; it is named, or has the fill value that the text says.
        if "odd" in zarr.open_group(after, mode="r"):
            return None if zarr.open_array(after, path="odd").fill_value == float(spelling) else "another number"
        reason = next(one["reason"] for one in report["arrays"] if one["array"] == "odd")
        return None if "stays Zarr v2" in reason and "fill value" in reason else reason
    group = zarr.open_group(after, mode="r")
    if "odd" not in group:
        return "not in the new group"
    got = group["odd"].fill_value
    return None if spelling is None or np.array_equal(got, expected, equal_nan=True) else f"{got} for {expected}"


def test_fill_values_of_zarr_v2_are_what_zarr_python_reads(tmp_path):
    cases = [(dtype, spelling) for dtype in ("<f4", ">f8", "<i2") for spelling in SPELLINGS]
    assert failures(spelling_failure, cases, tmp_path) == {}


MARKER = base64.b64encode(struct.pack("<d", -9999)).decode()
FORMS = [-9999.0, -9999, "-9999.0", "-9999", [-9999.0], MARKER]
JOBS = [
    ["pack", "-e", "0.01", "--readers", "any"], ["unpack"], ["migrate"], ["migrate", "--reencode"], ["pack and to cf"],
]  # fmt: skip


def form_failure(dtype, zarr_format, form, job, folder):
    """A job over an array whose `_FillValue` has this form; says what xarray reads otherwise."""
    before, after = folder / "before.zarr", folder / "after.zarr"
    values = (np.arange(16) % 5).astype(dtype)
    values[3] = -9999
    write(before, values, [], zarr_format)
    if zarr_format == 2:
        document = json.loads((before / "x" / ".zarray").read_text())
        (before / "x" / ".zarray").write_text(json.dumps(document | {"fill_value": None}))
    zarr.open_array(before, path="x").attrs["_FillValue"] = form
    try:
        if JOBS[job] == ["pack and to cf"]:
            packed = folder / "packed.zarr"
            run("recast", "pack", "-e", "0.01", before, packed)
            run("recast", "unpack", "--to-cf", packed, after)
        elif JOBS[job] == ["unpack"]:
            after.mkdir()
            run("recast", "unpack", before / "x", after / "x")
        else:
            run("recast", *JOBS[job], before, after)
        if not (after / "zarr.json").exists():
            (after / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
        got = opened(after)["x"].values
    except subprocess.CalledProcessError as error:
        return error.stderr.decode()
    except TypeError as error:
        return repr(error)
    expected = np.where(values == -9999, np.nan, values)
    return None if np.allclose(got, expected, rtol=0, atol=0.01, equal_nan=True) else str(got)


def test_xarray_opens_what_is_written_and_masks_the_fill_value(tmp_path):
    cases = [
        (dtype, zarr_format, FORMS[form] if not isinstance(FORMS[form], list) else tuple(FORMS[form]), job)
        for dtype in ("float32", "float64")
        for zarr_format in (2, 3)
        for form in range(len(FORMS))
        for job in range(len(JOBS))
        # There is nothing to migrate in Zarr v3.
        if not (zarr_format == 3 and JOBS[job][0] == "migrate")
    ]
    assert failures(form_failure, cases, tmp_path) == {}


VALID = [
    {"valid_min": -10.0, "valid_max": 40.0},
    {"valid_range": [-10.0, 40.0]},
    {"valid_range": [-10.5, 40]},
    {"valid_min": -10, "valid_max": 40.0},
    {"valid_range": [-40_000, 40_000]},
    {"valid_min": -10_000, "valid_max": 32_000},
    {"valid_range": [-10_000, 32_000]},
]


@pytest.mark.parametrize("valid", VALID, ids=str)
def test_a_valid_range_means_the_same_elements(valid, tmp_path):
    codes = np.arange(-10_000, 32_000, 1000, dtype="i2")
    root = zarr.open_group(tmp_path / "before.zarr", mode="w", zarr_format=3)
    attributes = {"scale_factor": 0.001, **valid}
    root.create_array("x", data=codes, attributes=attributes, dimension_names=["t"])
    expected = opened(tmp_path / "before.zarr")["x"].values
    run("recast", "pack", "--from-cf", tmp_path / "before.zarr", tmp_path / "after.zarr")
    after = zarr.open_group(tmp_path / "after.zarr", mode="r")["x"].attrs
    least, greatest = after.get("valid_range", [after.get("valid_min"), after.get("valid_max")])
    assert least <= expected.min() and expected.max() <= greatest
