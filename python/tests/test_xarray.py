"""xarray and Dask: arrays packed within an error bound."""

import os
import signal
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.4.2")
xr = pytest.importorskip("xarray")


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


def temperatures(dtype="float32", with_nan=True):
    data = np.random.default_rng(1).uniform(-40, 45, (40, 30)).astype(dtype)
    if with_nan:
        data[::7, ::5] = np.nan
    return xr.DataArray(data, dims=("y", "x"), name="temperature", attrs={"units": "degC"})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("with_nan", [True, False])
@pytest.mark.parametrize(("bound", "stored"), [(0.2, "uint8"), (0.001, "uint16"), (1e-4, "uint32")])
def test_round_trip_within_the_bound(tmp_path, dtype, with_nan, bound, stored):
    da = temperatures(dtype, with_nan)
    encoding = zarr_recast.encoding_for(da, max_abs_error=bound)
    da.to_dataset().to_zarr(
        tmp_path / "a.zarr", encoding={"temperature": encoding}, zarr_format=3, consolidated=False
    )
    array = zarr.open_array(tmp_path / "a.zarr" / "temperature")
    assert array.metadata.codecs[1].dtype.to_native_dtype() == stored
    with xr.open_zarr(tmp_path / "a.zarr", consolidated=False) as ds:
        read = ds["temperature"].load()
    assert read.dtype == dtype and read.attrs["units"] == "degC"
    np.testing.assert_array_equal(np.isnan(read), np.isnan(da))
    error = abs(read.values.astype("float64") - da.values.astype("float64"))
    assert np.nanmax(error) <= bound


@settings(max_examples=300, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from(["float32", "float64"]),
        st.integers(1, 30),
        elements=st.floats(-1e4, 1e4, width=32) | st.just(float("nan")),
    ),
    st.floats(1e-4, 1e3),
)
def test_the_bound_holds_for_every_element(data, bound):
    try:
        encoding = zarr_recast.encoding_for(data, max_abs_error=bound)
    except ValueError:
        return
    chain = zarr_recast.Chain(data.dtype, encoding["filters"], encoding["fill_value"])
    read = chain.decode(chain.encode(data))
    np.testing.assert_array_equal(np.isnan(read), np.isnan(data))
    error = abs(read.astype("longdouble") - data.astype("longdouble"))
    assert not (error > bound).any()


def test_stored_values_for_nan():
    da = temperatures()
    encoding = zarr_recast.encoding_for(da, max_abs_error=0.2, nan=254)
    assert encoding["filters"][1].scalar_map["encode"] == (("NaN", 254),)
    wider = zarr_recast.encoding_for(da, max_abs_error=0.2, nan=1000)
    assert wider["filters"][1].dtype.to_native_dtype() == np.uint16
    with pytest.raises(ValueError, match="do not fit"):
        zarr_recast.encoding_for(da, max_abs_error=0.2, nan=3)  # an element may become 3
    none = zarr_recast.encoding_for(da, max_abs_error=0.2, nan=None)
    assert none["filters"][1].scalar_map is None


@pytest.mark.parametrize(
    ("data", "bound", "error", "match"),
    [
        (np.arange(3), 1, TypeError, "int64"),
        (np.array([1, np.inf]), 1, ValueError, "infinities"),
        (np.array([np.nan]), 1, ValueError, "no range"),
        (np.array([1e9, 2e9], "float32"), 1e-3, ValueError, "must be greater than"),
        (np.array([0, 1e9]), 1e-3, ValueError, "do not fit"),
        (np.array([1.0]), 0, ValueError, "must be greater"),
        (np.array([1.0]), np.nan, ValueError, "must be greater"),
    ],
)
def test_what_cannot_be_packed(data, bound, error, match):
    with pytest.raises(error, match=match):
        zarr_recast.encoding_for(data, max_abs_error=bound)


def test_lazy_arrays_give_the_same_encoding():
    pytest.importorskip("dask.array")
    da = temperatures()
    lazy = zarr_recast.encoding_for(da.chunk({"y": 16}), max_abs_error=0.05)
    assert lazy["filters"] == zarr_recast.encoding_for(da, max_abs_error=0.05)["filters"]


@pytest.mark.filterwarnings("default")
def test_two_worker_processes_write_what_one_process_writes(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.array

    def slow(block):
        time.sleep(0.1)
        return block

    data = np.random.default_rng(2).uniform(-40, 45, (64, 48)).astype("float32")
    data[::9, ::4] = np.nan
    encoding = zarr_recast.encoding_for(data, max_abs_error=0.01)
    options = {"shape": data.shape, "chunks": (8, 16), "compressors": None, **encoding}
    alone = zarr.create_array(tmp_path / "alone.zarr", **options)
    alone[:] = data

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_worker_callbacks(zarr_recast.register)
        assert len(client.scheduler_info()["workers"]) == 2
        together = zarr.create_array(tmp_path / "together.zarr", **options)
        chunks = dask.array.from_array(data, chunks=together.chunks)
        dask.array.store(chunks, together, lock=False)
        read = dask.array.from_zarr(tmp_path / "together.zarr").compute()
        np.testing.assert_array_equal(read, alone[:])

        # A worker dies while chunks are read: the other one, or its successor, does its part.
        again = dask.array.from_zarr(tmp_path / "together.zarr").map_blocks(slow).persist()
        victim = next(iter(client.run(os.getpid).values()))
        os.kill(victim, signal.SIGKILL)
        np.testing.assert_array_equal(again.compute(), read)

        # A failure keeps its details on the way between processes.
        bad = dask.array.full((8, 16), 1e6, dtype="float32", chunks=(8, 16))
        refused = zarr.create_array(tmp_path / "bad.zarr", **{**options, "shape": (8, 16)})
        with pytest.raises(zarr_recast.CastError) as caught:
            dask.array.store(bad, refused, lock=False)
        assert caught.value.index == (0, 0) and caught.value.value == 1e6

    def files(name):
        folder = tmp_path / name
        return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    assert files("alone.zarr") == files("together.zarr")
    assert len(files("alone.zarr")) == 1 + 8 * 3

