"""9 ways of writing missing values: zarr-python reads every value within the bound and every missing element bit
for bit. `pack/tests/library/missing.rs` has 14 kinds of data for each way."""

import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from binaries import run

zarr = pytest.importorskip("zarr", minversion="3.3.0")

SIZE = 600

# Name: elements from places between 0 and 1 and a generator. Each leads to other codecs.
KINDS = {
    "temperature": lambda x, g: 285 + 20 * np.sin(7 * x) + g.normal(size=SIZE),
    "mixing ratio": lambda x, g: 1e-7 * (0.2 + g.random(SIZE)),
    "counts": lambda x, g: g.integers(0, 40, SIZE).astype("f8"),
    "constant": lambda x, g: np.full(SIZE, 3.25),
}

NC_FILL = 9.969209968386869e36
BASE64 = "AAAAAICHw8A="  # xarray's FillValueCoder.encode(-9999.0, np.dtype("float32"))

# Name: the missing values, fill_value, attributes, flags, the format of Zarr.
WAYS = {
    "none": ([], 0, {}, [], 3),
    "NaN, also as fill value": ([np.nan], np.nan, {}, [], 3),
    "NaN": ([np.nan], 0, {}, [], 3),
    "_FillValue 1e20": ([1e20], 0, {"_FillValue": 1e20}, [], 3),
    "_FillValue in base64": ([-9999.0], 0, {"_FillValue": BASE64}, [], 3),
    "missing_value -32768": ([-32768.0], 0, {"missing_value": -32768}, [], 3),
    "a list, and NaN": (
        [-999.0, np.nan, -888.5], np.nan, {"missing_value": [-999.0, -888.5]}, [], 3,
    ),
    "Zarr v2": ([-9999.0], -9999.0, {}, [], 2),
    "--missing": ([NC_FILL, 1e30], 0, {}, ["--missing", repr(NC_FILL), "1e30"], 3),
}  # fmt: skip


def failure(kind, way, dtype, share, folder, readers):
    """Packs one array; says what is wrong with it, if anything is."""
    missing, fill, attributes, flags, version = WAYS[way]
    generator = np.random.default_rng([list(KINDS).index(kind), list(WAYS).index(way)])
    values = KINDS[kind](np.linspace(0, 1, SIZE), generator).astype(dtype)
    is_missing = (generator.random(SIZE) < 0.15) & bool(missing)
    extent = np.ptp(values[~is_missing].astype("f8")) or 1.0
    bound = share * extent
    if missing:
        values[is_missing] = np.resize(np.array(missing, dtype), is_missing.sum())
    before, after = folder / "in.zarr", folder / "out.zarr"
    array = zarr.create_array(
        before, shape=values.shape, chunks=(200,), dtype=dtype, fill_value=fill,
        attributes=attributes, zarr_format=version, compressors=None,
    )  # fmt: skip
    array[...] = values
    try:
        run("recast", "pack", before, after, "-e", repr(float(bound)), "-q", *readers, *flags)
    except subprocess.CalledProcessError as error:
        return error.stderr.decode()
    packed = zarr.open_array(after, mode="r")
    if any(type(codec).__name__ == "CastValue" for codec in packed.metadata.codecs) == bool(readers):
        return "not packed" if not readers else "not plain"
    decoded = np.asarray(packed[...])
    bits = f"u{values.dtype.itemsize}"
    kept = np.where(np.isnan(values), np.isnan(decoded), values.view(bits) == decoded.view(bits))
    if not kept[is_missing].all():
        return "a missing element is another value"
    errors = np.abs(decoded.astype("f8") - values.astype("f8"))[~is_missing]
    if not (errors <= bound).all():
        return f"off by {errors.max()}, {bound} is allowed"
    if np.isin(decoded[~is_missing], np.array(missing, dtype)).any():
        return "a value became a missing one"
    return None


@pytest.mark.parametrize("readers", [(), ("--readers", "any")])
@pytest.mark.parametrize("share", [1e-2, 1e-3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_are_packed_and_read_back(dtype, share, readers, tmp_path):
    def one(case):
        folder = tmp_path / str(case)
        folder.mkdir()
        return failure(*cases[case], dtype, share, folder, readers)

    cases = [(kind, way) for kind in KINDS for way in WAYS]
    assert len(cases) == 4 * 9
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(one, range(len(cases))))
    assert {case: text for case, text in zip(cases, results, strict=True) if text} == {}
