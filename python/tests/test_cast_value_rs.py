"""The same results as ``cast_value_rs``, whose functions these take the place of."""

import itertools

import numpy as np
import pytest

import zarr_recast as zr

cast_value_rs = pytest.importorskip("cast_value_rs")

TYPES = [f"{k}{b}" for k in ("int", "uint", "float") for b in (8, 16, 32, 64) if k + str(b) != "float8"]
ROUNDINGS = [
    "nearest-even",
    "towards-zero",
    "towards-positive",
    "towards-negative",
    "nearest-away",
]


def values(name):
    numbers = [0, -0.0, 0.5, 1, 1.5, 2.5, -0.5, -1, -2.5, 127, 127.5, 128, 255.5, 256, 40000, 1e5]
    numbers += [65504, 65520, 2**24 + 1, 2**31, 2**53 + 1, 1e20, 1e39, -1e39, np.nan, np.inf, -np.inf]
    if name.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array(numbers, "float64").astype(name)
    info = np.iinfo(name)
    whole = {int(n) for n in numbers if np.isfinite(n) and info.min <= n <= info.max}
    return np.array(sorted(whole | {info.min, info.max, info.max - 1}), name)


def outcome(function, array, **options):
    try:
        return function(array, **options)
    except ValueError:
        return ValueError


@pytest.mark.parametrize("source", TYPES)
@pytest.mark.parametrize("target", TYPES)
def test_every_pair(source, target):
    # It rounds these two ways of float64 -> float16 twice.
    twice = (source, target) == ("float64", "float16")
    array = values(source)
    for rounding, mode in itertools.product(ROUNDINGS, [None, "clamp", "wrap"]):
        if mode == "wrap" and target.startswith("float"):
            continue
        options = dict(target_dtype=target, rounding_mode=rounding, out_of_range_mode=mode)
        for entries in [None, {array[0].item(): 1}]:
            for one in array.reshape(-1, 1):
                ours = outcome(zr.cast_array, one, scalar_map_entries=entries, **options)
                theirs = outcome(cast_value_rs.cast_array, one, scalar_map_entries=entries, **options)
                if ours is ValueError or theirs is ValueError:
                    assert ours is theirs, (one, options)
                elif not (twice and "nearest" in rounding):
                    np.testing.assert_array_equal(ours, theirs, str((one, options)))
                    assert np.signbit(ours) == np.signbit(theirs) or np.isnan(ours)


def test_cast_array_into_takes_the_same_arguments():
    array, ours, theirs = np.array([1.5, np.nan]), np.zeros(2, "i1"), np.zeros(2, "i1")
    options = dict(
        rounding_mode="nearest-away", out_of_range_mode=None, scalar_map_entries=[(np.nan, -1)]
    )
    assert zr.cast_array_into(array, ours, **options) is None
    cast_value_rs.cast_array_into(array, theirs, **options)
    assert ours.tolist() == theirs.tolist() == [2, -1]
