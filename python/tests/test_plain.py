"""`round_to` and `readers="any"`: plain numbers within the bound, which every reader opens."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import zarr_recast
from zarr_recast import encoding_for, round_to

BOUND = 0.01


def values(dtype="float32", shape=(60, 50)):
    data = np.random.default_rng(3).normal(280, 9, shape).astype(dtype)
    data[::7, ::5] = np.nan
    return data


def assert_rounded(after, before, bound=BOUND):
    after, before = np.asarray(after), np.asarray(before)
    assert after.dtype == before.dtype
    np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
    assert np.nanmax(abs(after.astype("f8") - before.astype("f8"))) <= bound
    step = 2.0 ** np.floor(np.log2(2 * bound))
    rest = np.mod(after.astype("f8"), step)
    assert (rest[~np.isnan(rest)] == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numpy_arrays_of_any_layout_are_rounded(dtype, order):
    data = values(dtype).copy(order)
    for one in (data, data[::2, ::-3], data.astype(data.dtype.newbyteorder())):
        assert_rounded(round_to(one, max_abs_error=BOUND), one.astype(dtype))
    assert_rounded(round_to(data[0, 1], max_abs_error=BOUND), data[0, 1])
    assert round_to(data[:0], max_abs_error=BOUND).shape == (0, 50)


def test_a_relative_bound_and_a_precision():
    data = values()
    after = round_to(data, max_rel_error=1e-3)
    assert np.nanmax(abs(after - data) / data) <= 1e-3
    assert (after.view("u4")[~np.isnan(after)] & 0x3FFF == 0).all()
    np.testing.assert_array_equal(round_to(data, precision=0.25), np.round(data * 4) / 4)
    with pytest.raises(ValueError, match="precision=0.01 is not a power of two"):
        round_to(data, precision=0.01)
    with pytest.raises(ValueError, match="what to keep"):
        round_to(data)


def test_missing_values_stay_and_masked_arrays_stay_masked():
    data = np.array([-9999.5, -9999.51, 1.003, np.inf], "float32")
    after = round_to(data, max_abs_error=BOUND, missing=-9999.5)
    np.testing.assert_array_equal(after == -9999.5, [True, False, False, False])
    assert after[3] == np.inf
    masked = np.ma.masked_values(data, -9999.5)
    after = round_to(masked, max_abs_error=BOUND)
    np.testing.assert_array_equal(after.mask, masked.mask)
    assert after.fill_value == masked.fill_value


def test_dask_arrays_stay_lazy_and_give_the_same():
    dask_array = pytest.importorskip("dask.array")
    data = values()

    def fail(block):
        raise AssertionError("computed")

    lazy = dask_array.from_array(data, chunks=(13, 50)).map_blocks(fail, dtype=data.dtype)
    assert round_to(lazy, max_abs_error=BOUND).chunks == lazy.chunks
    rounded = round_to(dask_array.from_array(data, chunks=(13, 50)), max_abs_error=BOUND)
    np.testing.assert_array_equal(rounded.compute(), round_to(data, max_abs_error=BOUND))


def test_masked_dask_arrays_stay_masked():
    dask_array = pytest.importorskip("dask.array")
    data = np.float32([1.53, 5, 9999, 2.25])
    for options in ({"fill_value": -7}, {}):
        masked = np.ma.masked_array(data, [False, True, True, False], **options)
        rounded = round_to(dask_array.from_array(masked, chunks=2), max_abs_error=BOUND)
        found, expected = rounded.compute(), round_to(masked, max_abs_error=BOUND)
        np.testing.assert_array_equal(found.mask, masked.mask)
        np.testing.assert_array_equal(found.compressed(), expected.compressed())
        np.testing.assert_array_equal(found.filled(), expected.filled())
        assert found.filled()[1] == np.float32(masked.fill_value)
        assert isinstance(rounded._meta, np.ma.MaskedArray)


def test_masked_arrays_of_a_type_without_numpys_fill_value_stay_masked():
    dask_array = pytest.importorskip("dask.array")
    masked = np.ma.masked_array(np.array([1, 5, 99, 2], "int8"), [False, True, True, False])
    lazy = round_to(dask_array.from_array(masked, chunks=4), max_abs_error=0.25)
    for rounded in (round_to(masked, max_abs_error=0.25), lazy.compute()):
        np.testing.assert_array_equal(rounded.mask, masked.mask)
        assert rounded.compressed().tolist() == [1, 2]


def test_rounders_can_be_sent_to_other_processes():
    from zarr_recast._core import Rounder

    rounder = Rounder("float32", "NaN", "{}", json.dumps({"max-abs-error": BOUND}))
    again = pickle.loads(pickle.dumps(rounder))
    np.testing.assert_array_equal(again.round(values()), rounder.round(values()))


def dataset():
    xarray = pytest.importorskip("xarray")
    t = xarray.DataArray(values(), dims=("y", "x"), attrs={"units": "K"})
    return xarray.Dataset({"t": t, "n": ("y", np.arange(60))}, {"y": np.linspace(0, 1, 60)})


def test_datasets_and_their_variables():
    ds = dataset()
    rounded = round_to(ds, max_abs_error=BOUND)
    assert_rounded(rounded.t, ds.t)
    assert rounded.t.attrs == {"units": "K"}
    assert rounded[["n", "y"]].identical(ds[["n", "y"]])
    assert round_to(ds, max_abs_error={"t": BOUND}).identical(rounded)
    assert round_to(ds.t, max_abs_error=BOUND).identical(rounded.t)


def test_lazy_datasets_stay_lazy_and_give_the_same():
    pytest.importorskip("dask.array")
    rounded = round_to(dataset().chunk(y=20), max_abs_error=BOUND)
    assert rounded.t.chunks == ((20, 20, 20), (50,))
    assert rounded.identical(round_to(dataset(), max_abs_error=BOUND))


def test_no_value_becomes_what_xarray_writes_for_nan(tmp_path):
    ds = dataset()[["t"]]
    ds.t.encoding["_FillValue"] = np.float32(280)
    rounded = round_to(ds, max_abs_error=5)
    assert not (rounded.t == 280).any() and (rounded.t == 288).any()


# Reads arrays without any package of ours.
READ = """
import importlib.metadata, json, sys
installed = importlib.metadata.entry_points()
def entry_points(**which):
    ours = lambda entry: entry.value.split(".")[0] == "zarr_recast"
    others = importlib.metadata.EntryPoints(entry for entry in installed if not ours(entry))
    return others.select(**which)
importlib.metadata.entry_points = entry_points
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("zarr_recast", "cast_value_rs"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
import numpy as np, zarr
array = zarr.open_array(sys.argv[1], mode="r")
np.save(sys.argv[2], array[...])
print(json.dumps([codec.to_dict()["name"] for codec in array.metadata.codecs]))
"""


def read_by_zarr_alone(path, folder):
    # What `register` leaves for processes.
    others = {name: value for name, value in os.environ.items() if "ZARR_CODECS" not in name}
    command = [sys.executable, "-W", "ignore", "-c", READ, str(path), str(folder / "read.npy")]
    names = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, env=others).stdout
    )
    return names, np.load(folder / "read.npy")


def test_zarr_python_reads_what_is_packed_without_our_packages(tmp_path):
    zarr = pytest.importorskip("zarr", minversion="3.3.0")
    data = values()
    zarr.create_array(tmp_path / "in.zarr", data=data, chunks=(20, 50))
    report = zarr_recast.pack(
        tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=BOUND, readers="any"
    )
    assert report.details["rounded"] == {"multiples_of": 2.0**-6}
    names, read = read_by_zarr_alone(tmp_path / "out.zarr", tmp_path)
    assert set(names) <= {"bytes", "zstd", "gzip", "blosc"}
    assert_rounded(read, data)
    np.testing.assert_array_equal(read, round_to(data, max_abs_error=BOUND))


def test_the_encoding_beside_rounded_values_has_no_filters(tmp_path):
    pytest.importorskip("zarr", minversion="3.3.0")
    ds = dataset()
    encoding = encoding_for(ds, max_abs_error=BOUND, readers="any")
    assert encoding["t"]["filters"] == ()
    rounded = round_to(ds, max_abs_error=BOUND)
    rounded.to_zarr(tmp_path / "out.zarr", encoding=encoding, consolidated=False)
    names, read = read_by_zarr_alone(tmp_path / "out.zarr/t", tmp_path)
    assert not {"cast_value", "scale_offset"} & set(names)
    np.testing.assert_array_equal(read, rounded.t)
    with pytest.raises(ValueError, match="data_type is for stored codes"):
        encoding_for(ds, max_abs_error=BOUND, readers="any", data_type="int16")


def test_netcdf_files_shrink_and_netcdf4_reads_them(tmp_path):
    netcdf = pytest.importorskip("netCDF4")
    ds = dataset()
    encoding = {"t": {"zlib": True, "shuffle": True}}
    ds.to_netcdf(tmp_path / "all.nc", engine="netcdf4", encoding=encoding)
    rounded = round_to(ds, max_abs_error=BOUND)
    rounded.to_netcdf(tmp_path / "plain.nc", engine="netcdf4", encoding=encoding)
    assert (tmp_path / "plain.nc").stat().st_size < 0.9 * (tmp_path / "all.nc").stat().st_size
    with netcdf.Dataset(tmp_path / "plain.nc") as file:
        assert_rounded(np.ma.filled(file["t"][...], np.nan), ds.t)


def test_a_bound_that_leaves_one_value_of_several_is_refused():
    xr = pytest.importorskip("xarray")
    rain = np.random.default_rng(0).gamma(0.3, 1e-5, (20, 30)).astype("float32")
    rain[3] = 0
    ds = xr.Dataset({"t": (("y", "x"), rain * 1e7 + 280), "rain": (("y", "x"), rain)})
    ds.rain.attrs["_FillValue"] = np.float32(-9999)
    rain[0, 0] = -9999
    with pytest.raises(ValueError, match="rain: max_abs_error=0.01 leaves one value of several"):
        round_to(ds, max_abs_error=BOUND)
    assert (round_to(ds, max_abs_error=BOUND, allow_constant=True).rain[1:] == 0).all()
    round_to(ds, max_abs_error={"t": BOUND, "rain": 1e-7})
    round_to(np.full(3, 1e-5), max_abs_error=BOUND)
