"""How people write datasets: whole, by region into a template, by appending; merged from files."""

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")
pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


def dataset(days=4, start=0, low=-10.0):
    """Two packed variables, an integer one, and coordinates."""
    g = np.random.default_rng(start)
    t = (low + 30 * g.random((days, 12, 10))).astype("float32")
    t[:, :3, 2] = np.nan
    p = (1e5 + 3000 * g.random((days, 12, 10))).astype("float64")
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), t, {"units": "degC"}),
            "p": (("time", "y", "x"), p),
            "count": (("time",), np.arange(start, start + days)),
        },
        coords={
            "time": pd.date_range("2026-01-01", periods=days) + pd.Timedelta(days=start),
            "lat": (("y",), np.linspace(-60, 60, 12)),
        },
    )


BOUND = {"t": 0.01, "p": 5.0}


def assert_close(read, ds):
    for name, bound in BOUND.items():
        np.testing.assert_allclose(read[name], ds[name], rtol=0, atol=bound)
    for name in ("count", "time", "lat"):
        np.testing.assert_array_equal(read[name], ds[name])


def stored_types(path):
    group = zarr.open_group(path, mode="r")
    codecs = {name: array.metadata.to_dict()["codecs"] for name, array in group.arrays()}
    return {
        name: [c["configuration"]["data_type"] for c in list_ if c["name"] == "cast_value"]
        for name, list_ in codecs.items()
    }


def test_a_dataset_in_one_call(tmp_path):
    ds = dataset()
    encoding = zarr_recast.encoding_for(ds, max_abs_error=BOUND)
    assert set(encoding) == {"t", "p"}
    ds.to_zarr(tmp_path / "a.zarr", encoding=encoding, zarr_format=3, consolidated=False)
    assert stored_types(tmp_path / "a.zarr") == {
        "t": ["int16"], "p": ["int16"], "count": [], "time": [], "lat": [],
    }  # fmt: skip
    with xr.open_zarr(tmp_path / "a.zarr", consolidated=False) as read:
        assert_close(read, ds)
        assert read["t"].attrs == {"units": "degC"}


def test_a_number_is_for_all_floating_point_data_variables():
    ds = dataset()
    assert set(zarr_recast.encoding_for(ds, max_abs_error=0.5)) == {"t", "p"}
    assert set(zarr_recast.encoding_for(ds, max_abs_error={"count": 0})) == {"count"}
    mixed = zarr_recast.encoding_for(ds, max_rel_error={"p": 1e-3}, max_abs_error=0.1)
    stored = {name: one["filters"][-1].data_type.to_native_dtype() for name, one in mixed.items()}
    assert stored == {"t": "int8", "p": "float16"}
    with pytest.raises(ValueError, match="'q', which is not a variable"):
        zarr_recast.encoding_for(ds, max_abs_error={"q": 1})
    with pytest.raises(ValueError, match="^p: .*max_abs_error"):
        zarr_recast.encoding_for(ds, max_abs_error={"t": 0.1, "p": 1e-30})


@pytest.mark.parametrize("shards", [None, (4, 12, 10)])
def test_what_is_not_yet_written_of_a_template_is_nan(tmp_path, shards):
    ds = dataset()
    encoding = zarr_recast.encoding_for(ds, max_abs_error=BOUND)
    for name in BOUND:
        encoding[name] |= {"chunks": (1, 6, 10)} | ({"shards": shards} if shards else {})
    path = tmp_path / "a.zarr"
    ds.chunk({"time": 1, "y": 6}).to_zarr(
        path, compute=False, encoding=encoding, zarr_format=3, consolidated=False, safe_chunks=False
    )
    with xr.open_zarr(path, consolidated=False) as read:
        assert np.isnan(read["t"]).all() and np.isnan(read["p"]).all()
    region = ds[["t", "p", "count"]].isel(time=slice(1, 2))
    region.drop_vars(["time", "lat"]).to_zarr(path, region={"time": slice(1, 2)}, consolidated=False)
    expected = ds.where(ds["time"] == ds["time"][1])
    with xr.open_zarr(path, consolidated=False) as read:
        for name, bound in BOUND.items():
            np.testing.assert_allclose(read[name], expected[name], rtol=0, atol=bound)


def test_appending_works_within_the_promised_range_and_keeps_nan(tmp_path):
    first, second = dataset(), dataset(start=4, low=-40.0)
    ranges = {"t": (-90, 60), "p": (5e4, 1.1e5)}
    path = tmp_path / "a.zarr"
    encoding = zarr_recast.encoding_for(first, max_abs_error=BOUND, range=ranges)
    first.to_zarr(path, encoding=encoding, zarr_format=3, consolidated=False)
    second.to_zarr(path, append_dim="time", consolidated=False)
    with xr.open_zarr(path, consolidated=False) as read:
        assert_close(read, xr.concat([first, second], "time", data_vars="minimal"))


def test_an_append_without_room_says_how_to_give_it(tmp_path):
    first, second = dataset(), dataset(start=4, low=-1e4)
    path = tmp_path / "a.zarr"
    encoding = zarr_recast.encoding_for(first, max_abs_error=BOUND)
    first.to_zarr(path, encoding=encoding, zarr_format=3, consolidated=False)
    with pytest.raises(zarr_recast.CastError, match=r"encoding_for\(…, range=") as caught:
        second.to_zarr(path, append_dim="time", consolidated=False)
    assert caught.value.reason == "out-of-range" and caught.value.source == "float32"
    # xarray has already made some variables longer. What was there is there, what could not be written reads
    # as missing, and the variables can be made as short as they were.
    group = zarr.open_group(path)
    assert np.isnan(group["t"][4:]).all()
    for name in ("t", "p", "count", "time"):
        group[name].resize((4, *group[name].shape[1:]))
    with xr.open_zarr(path, consolidated=False) as read:
        assert_close(read, first)


def test_files_that_are_merged_get_codecs_of_their_own(tmp_path):
    """`open_mfdataset` inherits the first file's filters; `encoding_for` takes their place."""
    parts = [dataset(start=0), dataset(start=4, low=-200.0)]
    for number, part in enumerate(parts):
        encoding = zarr_recast.encoding_for(part, max_abs_error=BOUND)
        part.to_zarr(
            tmp_path / f"{number}.zarr", encoding=encoding, zarr_format=3, consolidated=False
        )
    paths = [tmp_path / "0.zarr", tmp_path / "1.zarr"]
    with xr.open_mfdataset(
        paths, engine="zarr", consolidated=False, concat_dim="time", combine="nested",
        data_vars="minimal", coords="minimal", compat="override",
    ) as merged:  # fmt: skip
        encoding = zarr_recast.encoding_for(merged, max_abs_error={"t": 0.02, "p": 10.0})
        merged.to_zarr(
            tmp_path / "merged.zarr", encoding=encoding, zarr_format=3, consolidated=False
        )
    with xr.open_zarr(tmp_path / "merged.zarr", consolidated=False) as read:
        whole = xr.concat(parts, "time", data_vars="minimal")
        np.testing.assert_allclose(read["t"], whole["t"], rtol=0, atol=0.03)
