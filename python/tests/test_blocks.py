"""Objects of xarray are packed as their blocks come, without a copy. Judged by xarray's own `to_zarr`."""

import json
import tempfile

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")
pytestmark = pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part")

BOUND = 0.01


@pytest.fixture(autouse=True)
def no_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))


def weather():
    """Variables of all kinds: numbers, times, texts, flags, coordinates of two dimensions."""
    rng = np.random.default_rng(3)
    lat, lon = np.meshgrid(np.linspace(40, 50, 30), np.linspace(0, 20, 50), indexing="ij")
    t = (280 + rng.normal(size=(12, 30, 50))).astype("f4")
    t[2, 3, 4] = np.nan
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), t, {"units": "K"}),
            "count": (("time", "y"), rng.integers(0, 9, (12, 30))),
            "flag": (("y", "x"), lat > 45),
            "crs": ((), np.int32(4326)),
            "none": (("nothing",), np.zeros(0, "i2")),
        },
        {
            "time": np.arange("2026-01-01", "2026-01-13", dtype="M8[D]").astype("M8[ns]"),
            "lat": (("y", "x"), lat),
            "lon": (("y", "x"), lon),
            "station": ("y", [f"station {y}" for y in range(30)]),
        },
        {"title": "weather"},
    )


def check(packed, expected, names=("t",)):
    """A group has the values of a dataset, within the bound for some variables, and all else as `to_zarr` writes it."""
    with xr.open_zarr(packed) as found:
        found = found.load()
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=BOUND)
        found[name].attrs.pop("recast")
        assert found[name].dims == expected[name].dims and found[name].attrs == expected[name].attrs
    xr.testing.assert_identical(found.drop_vars(names), expected.drop_vars(names))


def test_a_dataset_in_memory(tmp_path):
    ds = weather()
    report = zarr_recast.pack(ds, tmp_path / "packed.zarr", max_abs_error=BOUND)
    assert report.packed.keys() == {"t"}
    check(tmp_path / "packed.zarr", ds)
    assert "consolidated_metadata" in json.loads((tmp_path / "packed.zarr/zarr.json").read_text())


@pytest.mark.filterwarnings("ignore:The specified chunks separate", "ignore:.*dtype=object")
@pytest.mark.parametrize("chunks", [None, {}, {"time": 5, "y": (7, 20, 3)}], ids=str)
@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "scipy"])
def test_a_file_of_netcdf(engine, chunks, tmp_path):
    for module in {"netcdf4": ["netCDF4"], "h5netcdf": ["h5netcdf", "h5py"], "scipy": ["scipy"]}[engine]:
        pytest.importorskip(module)
    if chunks is not None:
        pytest.importorskip("dask")
    ds = weather().drop_vars("none")
    encoding = {"t": {"dtype": "i2", "scale_factor": 0.5, "add_offset": 280.0, "_FillValue": -1}}
    if engine == "scipy":
        encoding = {}
        ds["count"] = ds["count"].astype("i4")
    else:
        encoding["count"] = {"chunksizes": (4, 30)}
    ds.to_netcdf(tmp_path / "x.nc", engine=engine, encoding=encoding)
    with xr.open_dataset(tmp_path / "x.nc", engine=engine, chunks=chunks) as opened:
        zarr_recast.pack(opened, tmp_path / "packed.zarr", max_abs_error=BOUND, grid=False)
        assert zarr_recast.verify(opened, tmp_path / "packed.zarr", atol=BOUND).passed
        opened.load()
        opened.t.attrs.pop("coordinates", None)
        check(tmp_path / "packed.zarr", opened)
    if chunks is None and engine != "scipy":
        assert zarr.open_array(tmp_path / "packed.zarr/count").chunks == (4, 30)


def test_arrays_and_trees(tmp_path):
    ds = weather()
    unnamed, coordinate = ds.t.rename(None), ds.t.rename("time")
    for number, array in enumerate([ds.t, unnamed, coordinate]):
        place = tmp_path / str(number)
        zarr_recast.pack(array, place, max_abs_error=BOUND)
        found = xr.open_dataarray(place, engine="zarr")
        assert found.name == (array.name or "data")
        np.testing.assert_allclose(found, array, rtol=0, atol=BOUND)
    own = {name: xr.Dataset(attrs={"name": name}) for name in ("/deep", "/deep/empty")}
    tree = xr.DataTree.from_dict({"/": ds[["time"]], "/deep/er": ds[["t"]] * 2, **own})
    zarr_recast.pack(tree, tmp_path / "tree", max_abs_error=BOUND)
    found = xr.open_datatree(tmp_path / "tree", engine="zarr")
    attributes = [{node.path: node.attrs for node in one.subtree} for one in (found, tree)]
    assert attributes[0] == attributes[1]
    np.testing.assert_allclose(found["/deep/er/t"], tree["/deep/er/t"], rtol=0, atol=BOUND)


def test_a_part_of_a_tree(tmp_path):
    ds = weather()[["t"]]
    tree = xr.DataTree.from_dict({"/": ds.coords.to_dataset(), "/a": ds, "/a/b/c": ds * 2})
    for path, place in {"/a": tmp_path / "1", "/a/b": tmp_path / "2"}.items():
        zarr_recast.pack(tree[path], place, max_abs_error=BOUND)
        found = xr.open_datatree(place, engine="zarr")
        assert {node.path for node in found.subtree} == {
            "/" + node.relative_to(tree[path]).strip(".") for node in tree[path].subtree
        }
        assert set(found.coords) == set(tree[path].coords)


def test_chunks_of_missing_values_alone(tmp_path):
    ds = weather()[["t"]]
    ds.t[3:9] = np.nan
    ds.t.encoding["preferred_chunks"] = {"time": 3, "y": 30, "x": 50}
    zarr_recast.pack(ds, tmp_path / "packed", max_abs_error=BOUND)
    assert zarr.open_array(tmp_path / "packed/t").chunks == (3, 30, 50)
    check(tmp_path / "packed", ds)


@pytest.mark.parametrize("encoding", [{"shards": (4, 30, 50)}, {"chunks": (2, 2), "shards": (4, 4)}])
def test_an_encoding_of_other_arrays_says_nothing(encoding, tmp_path):
    ds = weather()[["t"]]
    ds.t.encoding |= encoding
    zarr_recast.pack(ds, tmp_path / "packed", max_abs_error=BOUND)
    check(tmp_path / "packed", ds)


def test_shards_and_chunks_of_zarr_stay(tmp_path):
    ds = weather()[["t"]].drop_vars(["lat", "lon", "station"])
    encoding = {"t": {"chunks": (2, 10, 50), "shards": (4, 30, 50)}}
    ds.to_zarr(tmp_path / "raw", encoding=encoding, zarr_format=3)
    opened = xr.open_zarr(tmp_path / "raw", chunks=None)
    zarr_recast.pack(opened, tmp_path / "packed", max_abs_error=BOUND)
    packed = zarr.open_array(tmp_path / "packed/t")
    assert (packed.chunks, packed.shards) == ((2, 10, 50), (4, 30, 50))
    check(tmp_path / "packed", ds)


def test_a_block_of_another_shape_is_an_error(tmp_path):
    pytest.importorskip("dask")
    ds = weather()[["t"]].chunk(time=3)
    meta = np.empty((0, 0, 0), "f4")
    shorter = ds.t.data.map_blocks(lambda block: block[:2], dtype="f4", meta=meta)
    ds["t"] = ds.t.copy(data=shorter)
    with pytest.raises(ValueError, match=r"computed with shape \(2, 30, 50\), not \(3, 30, 50\)"):
        zarr_recast.pack(ds, tmp_path / "packed", max_abs_error=BOUND)


def test_an_error_of_a_block_is_the_cause(tmp_path):
    pytest.importorskip("dask")

    def fail(block):
        raise RuntimeError("no such day")

    ds = weather()[["t"]].chunk(time=3)
    ds["t"] = ds.t.copy(data=ds.t.data.map_blocks(fail, dtype="f4", meta=np.empty((0, 0, 0), "f4")))
    with pytest.raises(ValueError, match="no such day") as raised:
        zarr_recast.pack(ds, tmp_path / "packed", max_abs_error=BOUND)
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert not (tmp_path / "packed").exists()


@pytest.mark.parametrize("units", ["days since 1900-01-01", "hours since 2000-01-01", "seconds since 1970-01-01"])
@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian"])
def test_times_keep_units_and_calendar(tmp_path, units, calendar):
    times = np.datetime64("2000-01-01", "ns") + np.arange(48) * np.timedelta64(6, "h")
    source = xr.Dataset({"t": ("time", np.sqrt(np.arange(48, dtype="f4")))}, {"time": times})
    source.time.encoding = {"units": units, "calendar": calendar, "dtype": "f8" if units.startswith("days") else "i8"}
    source.to_zarr(tmp_path / "in.zarr", zarr_format=3)
    opened = xr.open_zarr(tmp_path / "in.zarr")
    zarr_recast.pack(opened, tmp_path / "out.zarr", max_abs_error=0.01)
    found, expected = (zarr.open(tmp_path / name)["time"] for name in ["out.zarr", "in.zarr"])
    assert found.attrs.asdict() == expected.attrs.asdict()
    assert (found[:] == expected[:]).all()
    # Equal times pass, whichever side xarray has read, and others do not.
    assert zarr_recast.verify(opened, tmp_path / "out.zarr").passed
    assert zarr_recast.verify(tmp_path / "in.zarr", xr.open_zarr(tmp_path / "in.zarr")).passed
    later = opened.assign_coords(time=opened.time + np.timedelta64(365, "D"))
    assert not zarr_recast.verify(later, tmp_path / "out.zarr").passed
