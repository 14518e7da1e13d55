"""xarray and Dask: arrays packed within an error bound, also by two processes."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
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
@pytest.mark.parametrize(("bound", "stored"), [(0.2, "int8"), (0.001, "int16"), (1e-4, "int32")])
def test_round_trip_within_the_bound(tmp_path, dtype, with_nan, bound, stored):
    da = temperatures(dtype, with_nan)
    encoding = zarr_recast.encoding_for(da, max_abs_error=bound)
    da.to_dataset().to_zarr(
        tmp_path / "a.zarr", encoding={"temperature": encoding}, zarr_format=3, consolidated=False
    )
    array = zarr.open_array(tmp_path / "a.zarr" / "temperature")
    codes = array.metadata.codecs[1].dtype.to_native_dtype()
    assert codes.itemsize == np.dtype(stored).itemsize
    with xr.open_zarr(tmp_path / "a.zarr", consolidated=False) as ds:
        read = ds["temperature"].load()
    assert read.dtype == dtype and read.attrs["units"] == "degC"
    np.testing.assert_array_equal(np.isnan(read), np.isnan(da))
    error = abs(read.values.astype("float64") - da.values.astype("float64"))
    assert np.nanmax(error) <= bound


def test_blocks_are_computed_once_with_a_promised_range_and_twice_with_a_survey(tmp_path):
    pytest.importorskip("dask")
    computed = []

    def block(values):
        computed.append(values.shape)
        return values

    data = temperatures(with_nan=False).chunk(y=10, x=10)
    lazy = data.copy(data=data.data.map_blocks(block, dtype="float32", meta=data.data._meta))

    def write(name, encoding):
        before = len(computed)
        lazy.to_dataset().to_zarr(
            tmp_path / name, encoding={"temperature": encoding}, zarr_format=3, consolidated=False
        )
        assert len(computed) == before + 12
        with xr.open_zarr(tmp_path / name, consolidated=False) as ds:
            assert float(abs(ds["temperature"] - data).max()) <= 0.01

    write("promised", zarr_recast.encoding_for(dtype=lazy.dtype, range=(-40, 45), max_abs_error=0.01))
    assert len(computed) == 12
    write("surveyed", zarr_recast.encoding_for(lazy, max_abs_error=0.01))
    assert len(computed) == 12 + 24


@pytest.mark.filterwarnings("default")
def test_two_worker_processes_write_what_one_process_writes(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.array

    def files(name):
        folder = tmp_path / name
        return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    def slow(block):
        time.sleep(0.1)
        return block

    data = np.random.default_rng(2).uniform(-40, 45, (64, 48)).astype("float32")
    data[::9, ::4] = np.nan
    chunks = dask.array.from_array(data, chunks=(8, 16))
    bound = {"max_abs_error": 0.01, "range": (-50, 50)}
    with dask.config.set(scheduler="synchronous"):
        encoding = zarr_recast.encoding_for(chunks, **bound)
    options = {"shape": data.shape, "chunks": (8, 16), "compressors": None, **encoding}
    alone = zarr.create_array(tmp_path / "alone.zarr", **options)
    alone[:] = data

    def whole(folder):
        """A dataset that is written in three ways: whole, by appending and by region."""
        time = np.arange(64)
        ds = xr.Dataset({"v": (("t", "x"), chunks)}, {"t": time})
        encoding = zarr_recast.encoding_for(ds, **bound)
        encoding["v"]["chunks"] = (8, 16)
        zarr_3 = {"zarr_format": 3, "consolidated": False}
        ds.isel(t=slice(32)).to_zarr(folder / "append.zarr", encoding=encoding, **zarr_3)
        ds.isel(t=slice(32, 64)).to_zarr(folder / "append.zarr", append_dim="t", consolidated=False)
        ds.to_zarr(folder / "region.zarr", encoding=encoding, compute=False, **zarr_3)
        for start in (32, 0, 48, 16):
            region = slice(start, start + 16)
            ds.isel(t=region).to_zarr(folder / "region.zarr", region={"t": region}, consolidated=False)

    with dask.config.set(scheduler="synchronous"):
        whole(tmp_path / "one")

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_worker_callbacks(zarr_recast.register)
        assert len(client.scheduler_info()["workers"]) == 2
        assert zarr_recast.encoding_for(chunks, **bound)["filters"] == encoding["filters"]
        # Also where every element has to be compared, which is done in the workers.
        tight = {"max_abs_error": 2e-5}
        alone_tight = zarr_recast.encoding_for(zarr.array(data, chunks=(8, 16), fill_value=np.nan), **tight)
        assert zarr_recast.encoding_for(chunks, **tight)["filters"] == alone_tight["filters"]
        whole(tmp_path / "two")
        for name in ("append.zarr", "region.zarr"):
            assert files(f"one/{name}") == files(f"two/{name}")
        with xr.open_zarr(tmp_path / "two" / "region.zarr", consolidated=False) as ds:
            np.testing.assert_allclose(ds["v"], data, rtol=0, atol=0.01)
        together = zarr.create_array(tmp_path / "together.zarr", **options)
        dask.array.store(chunks, together, lock=False)
        read = dask.array.from_zarr(tmp_path / "together.zarr").compute()
        np.testing.assert_array_equal(read, alone[:])

        # A worker dies while blocks are surveyed: the other one, or its successor, does its part.
        surveyed = chunks.map_blocks(slow, dtype="float32")
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(zarr_recast.encoding_for, surveyed, **bound)
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, signal.SIGKILL)
            assert found.result()["filters"] == encoding["filters"]
        client.wait_for_workers(2)

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

    assert files("alone.zarr") == files("together.zarr")
    assert len(files("alone.zarr")) == 1 + 8 * 3



@pytest.mark.filterwarnings("default")
def test_chunks_of_a_killed_worker_are_written_by_another(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask.array

    def files(name):
        folder = tmp_path / name
        return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}

    def dies_once(block, mark):
        """Kills its process, once."""
        try:
            os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os.kill(os.getpid(), signal.SIGKILL)

    def dataset(mark=None):
        values = dask.array.from_array(data, chunks=(8, 24))
        if mark is not None:
            values = values.map_blocks(dies_once, str(mark), dtype=values.dtype, meta=values._meta)
        return xr.Dataset({"v": (("t", "x"), values)})

    data = np.random.default_rng(3).uniform(-40, 45, (64, 48)).astype("float32")
    data[::9, ::4] = np.nan
    zarr_3 = {"zarr_format": 3, "consolidated": False}
    with dask.config.set(scheduler="synchronous"):
        encoding = zarr_recast.encoding_for(dataset(), max_abs_error=0.01)
        dataset().to_zarr(tmp_path / "one.zarr", encoding=encoding, **zarr_3)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.register_worker_callbacks(zarr_recast.register)
        survived = zarr_recast.encoding_for(dataset(tmp_path / "survey"), max_abs_error=0.01)
        assert survived["v"]["filters"] == encoding["v"]["filters"]
        dataset(tmp_path / "write").to_zarr(tmp_path / "two.zarr", encoding=survived, **zarr_3)
    assert (tmp_path / "survey").exists() and (tmp_path / "write").exists()
    assert files("one.zarr") == files("two.zarr")
