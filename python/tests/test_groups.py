"""Groups through every command: what is not packed is the same to every reader, or the report names it."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest
from binaries import codecs_of, run

zarr = pytest.importorskip("zarr", minversion="3.3.0")
groups = pytest.importorskip("groups")

# zarr-python warns of types that have no specification, and of codecs that are not its own.
pytestmark = pytest.mark.filterwarnings("ignore")

# RECAST_TEST_STRIDE=1 takes all.
SEEDS = 60 // int(os.environ.get("RECAST_TEST_STRIDE", "5"))
MIGRATE = [["migrate"], ["migrate", "--copy"], ["migrate", "--reencode"], ["migrate", "--in-place"]]
PACK = ["pack", "-e", "0.01", "--include", "field"]


def perform(command, before, folder):
    """The output of a command and its report."""
    after = folder / "after.zarr"
    shutil.rmtree(after, ignore_errors=True)
    if "--in-place" in command:
        shutil.copytree(before, after)
        return after, json.loads(run("recast", *command, "--json", after))
    return after, json.loads(run("recast", *command, "--json", before, after))


def bits(array):
    """Elements as something that `==` compares bit by bit, whatever their byte order."""
    array = np.asarray(array)
    if array.dtype.kind in "OTS":
        return array.tolist()
    return array.astype(little(array.dtype)).tobytes()


def little(dtype):
    return dtype if dtype.kind == "T" else dtype.newbyteorder("<")


def all_arrays(group, prefix=""):
    for name, array in group.arrays():
        yield prefix + name, array
    for name, below in group.groups():
        yield from all_arrays(below, f"{prefix}{name}/")


def user_attributes(array):
    """Attributes without those in which Zarr v2 and v3 keep names and fill values."""
    special = {"_ARRAY_DIMENSIONS", "_FillValue", "missing_value", "recast"}
    return {name: value for name, value in array.attrs.items() if name not in special}


def failures(before, after, packed=()):
    """What readers get otherwise, of arrays that were not packed."""
    first = zarr.open_group(before, mode="r", use_consolidated=False)
    second = zarr.open_group(after, mode="r", use_consolidated=False)
    found = []
    expected, got = dict(all_arrays(first)), dict(all_arrays(second))
    for name, array in expected.items():
        if name not in got:
            found.append(f"{name}: not there")
            continue
        other = got[name]
        if user_attributes(array) != user_attributes(other):
            found.append(f"{name}: attributes")
        try:
            values = other[...]
        except Exception as error:  # whatever a reader says
            found.append(f"{name}: {error!r}")
            continue
        if little(array.dtype) != little(other.dtype):
            found.append(f"{name}: {array.dtype} is {other.dtype}")
        elif name not in packed and bits(array[...]) != bits(values):
            found.append(f"{name}: {array.dtype}: {array[...]!r} is {values!r}")
    if dict(first.attrs) != dict(second.attrs):
        found.append("the attributes of the group")
    return found


def outcome(report, name):
    return next(one for one in report["arrays"] if one["array"] == name)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_groups(seed, zarr_format, tmp_path):
    g = np.random.default_rng([seed, zarr_format])
    before = tmp_path / "before.zarr"
    groups.write(g, before, zarr_format)
    commands = [PACK, *(MIGRATE if zarr_format == 2 else [])]
    with codecs_of("zarr-python"):
        for command in commands:
            try:
                after, report = perform(command, before, tmp_path)
            except subprocess.CalledProcessError as error:
                # An array in place cannot be encoded again, and says so.
                assert "--in-place" in command and b"name an OUTPUT" in error.stderr, error.stderr
                continue
            packed = [one["array"] for one in report["arrays"] if one["outcome"] == "done"]
            assert not packed or "field" in packed
            named = [one["array"] for one in report["arrays"] if "stays Zarr v2" in one.get("reason", "")]
            found = failures(before, after, packed)
            for name in named:
                # Readers do not see it in the group, and see it by itself.
                found.remove(f"{name}: not there")
                first, second = (zarr.open_array(path / name, mode="r") for path in (before, after))
                assert first.metadata == second.metadata, name
                assert bits(first[...]) == bits(second[...]), name
            assert found == [], command
            # The bound, and what is missing.
            run("recast", "verify", "--atol", "0.01", before, after)
            if command == PACK:
                plain = tmp_path / "plain.zarr"
                shutil.rmtree(plain, ignore_errors=True)
                run("recast", "unpack", after, plain)
                assert failures(after, plain, packed) == []


def dataset(size=7):
    """Variables of all kinds that xarray writes."""
    xarray = pytest.importorskip("xarray")
    g = np.random.default_rng(1)
    ds = xarray.Dataset(attrs={"title": "all kinds", "number": 1.5})
    numbers = np.arange(size)
    texts = ["a", "bcd", "", "é€", "x" * 50, "zz", "q"]
    kinds = {
        "field": g.normal(size=size).astype("f4"),
        "with_missing": np.where(numbers == 2, np.nan, g.normal(size=size)),
        "integers": numbers.astype("i4"),
        "flags": numbers % 2 == 0,
        "objects": np.array(texts, object),
        "fixed": np.array([text[:5] for text in texts]),
        "bytes": np.array([text.encode()[:4] for text in texts]),
        "byte_objects": np.array([text.encode() + b"." for text in texts], object),
        "times": np.datetime64("2020-01-01", "ns") + numbers.astype("m8[D]"),
        "durations": numbers.astype("m8[s]").astype("m8[ns]"),
        "complex": (numbers + 1j).astype("c8"),
        "x": numbers / 4,
        "names": np.array(list("abcdefg")),
    }
    for name, data in kinds.items():
        ds[name] = ("x",), data
    ds["scalar"] = (), 3.5
    ds["text"] = (), "hello"
    ds["masked"] = ("x",), numbers.astype("f8")
    ds["masked"].encoding = {"dtype": "i2", "_FillValue": -1, "scale_factor": 0.5}
    return ds.set_coords(["names", "text"])


@pytest.mark.parametrize("place", ["directory", "zip"])
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_groups_as_xarray_writes_them(zarr_format, consolidated, place, tmp_path):
    xarray = pytest.importorskip("xarray")
    ds = dataset()
    before = tmp_path / "before.zarr"
    ds.to_zarr(before, zarr_format=zarr_format, consolidated=consolidated)
    ds["field"].to_dataset().to_zarr(
        before, group="inner", zarr_format=zarr_format, consolidated=consolidated
    )
    if consolidated:
        zarr.consolidate_metadata(before)
    source = before
    pack = [*PACK, "--include", "with_missing"]
    commands = [pack, *(MIGRATE if zarr_format == 2 else [])]
    if place == "zip":
        source = shutil.make_archive(tmp_path / "before.zarr", "zip", before)
        commands = [command for command in commands if "--in-place" not in command]
    expected = xarray.open_zarr(before, consolidated=consolidated).load()
    with codecs_of("zarr-python"):
        for command in commands:
            after, _ = perform(command, source, tmp_path)
            got = xarray.open_zarr(after, consolidated=consolidated).load()
            assert sorted(got.variables) == sorted(expected.variables), command
            for name in expected.variables:
                first, second = expected[name], got[name]
                assert first.dtype == second.dtype, (command, name)
                if command == pack and name in ("field", "with_missing"):
                    np.testing.assert_allclose(second, first, rtol=0, atol=0.01)
                else:
                    assert first.equals(second), (command, name, first.values, second.values)
            assert got.attrs == expected.attrs
            run("recast", "verify", "--atol", "0.01", source, after)
            if command == pack:
                plain = tmp_path / "plain.zarr"
                shutil.rmtree(plain, ignore_errors=True)
                run("recast", "unpack", after, plain)
                xarray.testing.assert_equal(
                    xarray.open_zarr(plain, consolidated=consolidated), got
                )


@pytest.mark.parametrize("command", [PACK, *MIGRATE])
def test_what_zarr_v3_cannot_express_stays_and_is_named(command, tmp_path):
    before = tmp_path / "before.zarr"
    groups.write(np.random.default_rng(5), before, 2, count=0)
    kept = {"json": [{"id": "json2"}], "pickled": [{"id": "pickle", "protocol": 5}],
            "arrays": [{"id": "vlen-array", "dtype": "<i4"}], "categories": [{"id": "categorize"}],
            "unknown": [{"id": "of the future"}]}  # fmt: skip
    for name, filters in kept.items():
        groups.object_array(before / name, filters)
    groups.object_array(before / "mixed", None, [["a", "<i4"], ["b", ">i4"]])
    groups.object_array(before / "several", None, [["a", "<i4", [2]]])
    original = {path: path.read_bytes() for path in before.rglob("*") if path.is_file()}
    after, report = perform(command, before, tmp_path)
    for name in [*kept, "mixed", "several"]:
        one = outcome(report, name)
        assert "stays Zarr v2" in one["reason"], one
        for path in (before / name).iterdir():
            assert (after / name / path.name).read_bytes() == original[path], path
    assert np.asarray(zarr.open_group(after, mode="r")["field"]).shape == (9, 4)
    run("recast", "verify", "--atol", "0.01", before, after)
    (after / "json" / "1").unlink()  # It may be a link.
    (after / "json" / "1").write_bytes(b"other")
    with pytest.raises(subprocess.CalledProcessError) as error:
        run("recast", "verify", "--atol", "0.01", before, after)
    assert b"json" in error.value.stderr


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_attributes_with_nan_stay_numbers_that_xarray_writes_again(tmp_path, zarr_format):
    xr = pytest.importorskip("xarray")
    attributes = {"missing_value": np.nan, "ends": [-np.inf, np.inf], "text": "NaN"}
    values = np.linspace(0, 1, 100, dtype="f4")
    before = xr.Dataset({name: ("x", values, attributes) for name in ["field", "kept"]})
    before.to_zarr(tmp_path / "before.zarr", zarr_format=zarr_format)
    expected = zarr.open(tmp_path / "before.zarr")["kept"].attrs.asdict()
    assert np.isnan(expected["missing_value"]) and expected["text"] == "NaN"
    run("recast", *PACK, tmp_path / "before.zarr", tmp_path / "packed.zarr")
    run("recast", "unpack", tmp_path / "packed.zarr", tmp_path / "unpacked.zarr")
    run("recast", "unpack", "--to-cf", tmp_path / "packed.zarr", tmp_path / "cf.zarr")
    outputs = {"packed": attributes, "unpacked": attributes, "cf": ["ends", "text"]}
    if zarr_format == 2:
        run("recast", "migrate", "--copy", tmp_path / "before.zarr", tmp_path / "migrated.zarr")
        outputs["migrated"] = attributes
    for name, kept in outputs.items():
        after = zarr.open(tmp_path / f"{name}.zarr")
        for array in ["field", "kept"]:
            found = after[array].attrs.asdict()
            assert {key: repr(found[key]) for key in kept} == {key: repr(expected[key]) for key in kept}
        with xr.open_zarr(tmp_path / f"{name}.zarr", consolidated=False) as opened:
            opened.load().to_zarr(tmp_path / f"{name}_again.zarr")
