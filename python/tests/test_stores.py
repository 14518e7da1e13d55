"""Jobs on objects of zarr-python do what they do on paths, in any store."""

import asyncio
import os
import signal
from pathlib import Path

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")

from zarr.core.buffer import default_buffer_prototype  # noqa: E402
from zarr.core.sync import sync  # noqa: E402
from zarr.storage import (  # noqa: E402
    LocalStore,
    MemoryStore,
    StorePath,
    WrapperStore,
    ZipStore,
)

BOUND = 0.01


def objects(store):
    async def read():
        keys = [key async for key in store.list()]
        found = {key: await store.get(key, default_buffer_prototype()) for key in keys}
        return {key: buffer.to_bytes() for key, buffer in found.items()}

    return sync(read())


def filled(store):
    values = (285 + np.random.default_rng(1).normal(size=(120, 90))).astype("f4")
    group = zarr.create_group(store)
    for name, data in {"t": values, "sub/u": values * 2, "n": np.arange(4)}.items():
        chunks = tuple(min(extent, 50) for extent in data.shape)
        group.create_array(name, shape=data.shape, chunks=chunks, dtype=data.dtype)[...] = data
    return store


@pytest.fixture
def source():
    return filled(MemoryStore())


class Failing(WrapperStore):
    """Raises when a method is called for the nth time."""

    def __init__(self, store, allowed, method="set"):
        super().__init__(store)
        self.allowed, self.method = allowed, method

    def _with_store(self, store):
        return type(self)(store, self.allowed, self.method)

    def count(self, method):
        if method == self.method:
            self.allowed -= 1
            if self.allowed < 0:
                raise OSError("the bucket is full")

    async def set(self, key, value):
        self.count("set")
        await super().set(key, value)

    async def get(self, *arguments, **named):
        self.count("get")
        return await super().get(*arguments, **named)

    async def delete(self, key):
        self.count("delete")
        await super().delete(key)

    async def list_prefix(self, prefix):
        self.count("list_prefix")
        async for key in super().list_prefix(prefix):
            yield key

    async def list_dir(self, prefix):
        self.count("list_dir")
        async for key in super().list_dir(prefix):
            yield key


def test_a_memory_store_and_a_folder_get_the_same_bytes(source, tmp_path):
    filled(LocalStore(tmp_path / "in"))
    target = MemoryStore()
    zarr_recast.pack(source, target, max_abs_error=BOUND)
    zarr_recast.pack(tmp_path / "in", tmp_path / "out", max_abs_error=BOUND)
    assert objects(target) == objects(LocalStore(tmp_path / "out"))


def test_every_kind_of_object_is_a_place(source):
    target = MemoryStore()
    array = zarr.open_array(source, path="t", mode="r")
    report = zarr_recast.pack(array, StorePath(target, "t"), max_abs_error=BOUND)
    assert (report.input, report.output) == (f"{source}/t", f"{target}/t")
    packed = zarr.open_array(target, path="t", mode="r")
    assert zarr_recast.verify(array, packed, atol=BOUND).passed
    assert 0 < zarr_recast.compare(array, packed).details["error"]["max"] <= BOUND
    whole = MemoryStore()
    zarr_recast.pack(zarr.open_group(source, mode="r"), whole, max_abs_error=BOUND)
    assert zarr_recast.verify(source, whole, atol=BOUND).passed
    assert not zarr_recast.verify(source, whole, atol=0).passed
    with pytest.raises(TypeError, match="and not as a builtins int"):
        zarr_recast.pack(3, target, max_abs_error=BOUND)


def test_objects_of_xarray_are_sources():
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    computed = []

    def block(values, block_info=None):
        computed.append(block_info[0]["array-location"])
        return values

    values = (285 + np.random.default_rng(2).normal(size=(60, 90))).astype("f4")
    values[3, 4] = np.nan
    days = np.arange("2026-01-01", "2026-03-02", dtype="M8[D]").astype("M8[ns]")
    ds = xr.Dataset({"t": (("time", "x"), values)}, {"time": days}, {"title": "a field"})
    ds.t.encoding = {"dtype": "int16", "scale_factor": 0.1, "_FillValue": -1}
    lazy = ds.chunk({"time": 20})
    lazy["t"] = lazy.t.copy(data=lazy.t.data.map_blocks(block, dtype="f4", meta=np.empty((0, 0))))
    for source in [ds, lazy, lazy.t, xr.DataTree.from_dict({"/": ds, "/deep/er": ds * 2})]:
        target = MemoryStore()
        report = zarr_recast.pack(source, target, max_abs_error=BOUND)
        assert report.input == f"xarray {type(source).__name__}"
        back = xr.open_zarr(target, consolidated=False)
        assert float(abs(back.t - ds.t).max()) <= BOUND
        assert np.isnan(back.t.values[3, 4]) and np.array_equal(back.time, ds.time)
        if not isinstance(source, xr.DataTree):
            assert zarr_recast.verify(source, target, atol=BOUND).passed
            assert not zarr_recast.verify(source, target, atol=0).passed
    # For a dataset and an array, each of three blocks: three times to pack it, and two to verify it, twice.
    assert len(computed) == 2 * 3 * (3 + 2 * 2)
    chunks = xr.open_zarr(target, consolidated=False).t.encoding["chunks"]
    stored = xr.open_zarr(target, consolidated=False, chunks=None)
    zarr_recast.pack(stored, other := MemoryStore(), max_abs_error=BOUND)
    assert zarr.open_array(other, path="t").chunks == chunks


def test_suggest_opens_what_zarr_opens(source, tmp_path):
    filled(LocalStore(tmp_path))
    expected = str(zarr_recast.suggest(zarr.open_group(source, mode="r")))
    for place in [source, StorePath(source), tmp_path, str(tmp_path)]:
        assert str(zarr_recast.suggest(place)) == expected
    assert zarr_recast.suggest(StorePath(source, "t")).rows == zarr_recast.suggest(source)["t"].rows
    with pytest.raises(FileNotFoundError):
        zarr_recast.suggest(tmp_path / "nothing")


def test_a_store_that_fails_at_any_write_keeps_nothing_and_is_the_cause(source):
    for allowed in range(1000):
        target = MemoryStore()
        try:
            zarr_recast.pack(source, Failing(target, allowed), max_abs_error=BOUND)
        except ValueError as error:
            assert "the bucket is full" in str(error)
            assert isinstance(error.__cause__, OSError)
            assert objects(target) == {}
        else:
            break
    # Two are marks of an unfinished output: one before the work begins, one while it is written.
    assert allowed == len(objects(target)) + 2


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("method", ["get", "list_prefix", "list_dir", "delete"])
def test_any_call_of_a_store_may_fail_and_what_is_there_then_is_whole(source, side, method):
    for allowed in range(1000):
        target = MemoryStore()
        try:
            if side == "source":
                zarr_recast.pack(Failing(source, allowed, method), target, max_abs_error=BOUND)
            else:
                zarr_recast.pack(source, Failing(target, allowed, method), max_abs_error=BOUND)
        except ValueError as error:
            assert "the bucket is full" in str(error)
            assert isinstance(error.__cause__, OSError)
            mark = ".recast-unfinished"
            if left := set(objects(target)):  # of which only the mark is too much
                assert mark in left and mark in str(error)
            if left > {mark}:
                assert "written, but .recast-unfinished could not be removed" in str(error)
                assert zarr_recast.verify(source, target, atol=BOUND).passed
        else:
            break
    assert zarr_recast.verify(source, target, atol=BOUND).passed
    assert allowed > 0 or (side, method) in {("source", "delete"), ("target", "list_dir")}


def test_places_that_cannot_be_written(source):
    with pytest.raises(ValueError, match="is read-only; open it for writing"):
        zarr_recast.pack(source, MemoryStore(read_only=True), max_abs_error=BOUND)
    with pytest.raises(ValueError, match="OUTPUT lies inside INPUT"):
        zarr_recast.pack(source, StorePath(source, "sub/x"), max_abs_error=BOUND)
    target = filled(MemoryStore())
    before = objects(target)
    with pytest.raises(ValueError, match="exists; overwrite=True replaces it"):
        zarr_recast.pack(source, target, max_abs_error=BOUND)
    assert objects(target) == before
    zarr_recast.pack(source, target, max_abs_error=BOUND, overwrite=True)
    assert zarr_recast.verify(source, target, atol=BOUND).passed
    assert zarr.open_array(target, path="t").filters


class Named(LocalStore):
    """A store in a folder that is no plain LocalStore."""


def of_fsspec(url, **options):
    pytest.importorskip("fsspec")
    from zarr.storage import FsspecStore

    return FsspecStore.from_url(url, storage_options=options)


def in_memory(tmp_path):
    return of_fsspec(f"memory://{tmp_path.name}/some/in.zarr")


# Each gives the input, and an output that is the same place by way of another object.
TWICE = {
    "a subclass of LocalStore": lambda path: (path / "in.zarr", Named(path / "in.zarr")),
    "a link": lambda path: (path / "link.zarr", Named(path / "in.zarr")),
    "a URL of a file": lambda path: (
        path / "in.zarr",
        of_fsspec(f"file://{path}/in.zarr", auto_mkdir=True),
    ),
    "another root": lambda path: (
        of_fsspec(f"memory://{path.name}/some/in.zarr"),
        StorePath(of_fsspec(f"memory://{path.name}"), "some/in.zarr"),
    ),
    "a wrapper": lambda path: (source := MemoryStore(), WrapperStore(source)),
    "a wrapper that is read": lambda path: (WrapperStore(LocalStore(path / "in.zarr")), path / "in.zarr"),
    "another store over a dictionary": lambda path: (
        source := MemoryStore(),
        type("Other", (MemoryStore,), {})(source._store_dict),
    ),
}


@pytest.mark.parametrize("way", TWICE)
def test_an_output_that_is_the_input_by_another_object_is_refused(way, tmp_path):
    (tmp_path / "link.zarr").symlink_to("in.zarr")
    source, target = TWICE[way](tmp_path)
    stored = LocalStore(tmp_path / "in.zarr") if isinstance(source, Path) else source
    before = objects(filled(stored))
    with pytest.raises(ValueError, match="OUTPUT is INPUT; write to another place"):
        zarr_recast.pack(source, target, max_abs_error=BOUND, overwrite=True)
    inside = zarr.open_group(target).store_path / "new"
    with pytest.raises(ValueError, match="OUTPUT lies inside INPUT; write to another place"):
        zarr_recast.pack(source, inside, max_abs_error=BOUND)
    array = zarr.open_group(source, mode="r")["t"]
    with pytest.raises(ValueError, match="INPUT lies inside OUTPUT; write to another place"):
        zarr_recast.pack(array, target, max_abs_error=BOUND, overwrite=True)
    assert objects(stored) == before
    zarr_recast.pack(array, zarr.open_group(target).store_path / "beside", max_abs_error=BOUND)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"atol": np.nan}, "atol is nan; it must be a finite number"),
        ({"rtol": np.inf}, "rtol is inf; it must be a finite number"),
        ({"atol": -1}, "atol is -1; it must not be negative"),
        ({"threads": 0}, "threads is 0; it must be from 1 to 1024"),
        ({"threads": 70_000}, "threads is 70000; it must be from 1 to 1024"),
    ],
)
def test_numbers_that_the_command_refuses_are_refused(options, match, source):
    jobs = [zarr_recast.verify]
    if "threads" in options:
        jobs += [zarr_recast.compare, lambda a, b, **own: zarr_recast.pack(a, MemoryStore(), max_abs_error=1, **own)]
    for job in jobs:
        with pytest.raises(ValueError, match=match):
            job(source, source, **options)


def test_a_zip_store(source, tmp_path):
    with ZipStore(tmp_path / "out.zip", mode="w") as target:
        zarr_recast.pack(source, target, max_abs_error=BOUND)
        with pytest.raises(ValueError, match="can remove nothing"):
            zarr_recast.pack(source, target, max_abs_error=BOUND, overwrite=True)
    assert zarr_recast.verify(source, tmp_path / "out.zip", atol=BOUND).passed


def test_ctrl_c_ends_the_wait_for_a_store(source):
    class Stuck(WrapperStore):
        async def get(self, key, *arguments, **named):
            if "/c/" in key:
                # A second signal might come while the first one is on its way out.
                if not is_sent:
                    is_sent.append(True)
                    os.kill(os.getpid(), signal.SIGINT)
                await asyncio.Event().wait()
            return await super().get(key, *arguments, **named)

    is_sent, target = [], MemoryStore()
    # A process started in the background inherits that the signal is ignored, and would wait for ever.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            zarr_recast.pack(Stuck(source), target, max_abs_error=BOUND)
    finally:
        signal.signal(signal.SIGINT, before)
    assert objects(target) == {}


def test_progress_is_told(source):
    seen = []
    target = MemoryStore()
    zarr_recast.pack(
        source, target, max_abs_error=BOUND, progress=lambda *told: seen.append(told)
    )
    assert seen and all(0 <= done <= total for _, done, total in seen)


def test_stores_of_fsspec_and_obstore(source, tmp_path):
    def of_obstore():
        obstore = pytest.importorskip("obstore")
        from zarr.storage import ObjectStore

        return ObjectStore(obstore.store.MemoryStore())

    expected = MemoryStore()
    zarr_recast.pack(source, expected, max_abs_error=BOUND)
    for new in (lambda: of_fsspec(f"memory://{tmp_path.name}/some"), of_obstore):
        target = new()
        zarr_recast.pack(source, target, max_abs_error=BOUND)
        assert objects(target) == objects(expected)
        assert zarr_recast.verify(source, target, atol=BOUND).passed
        assert zarr_recast.verify(target, expected).passed
        with pytest.raises(ValueError, match="exists; overwrite=True replaces it"):
            zarr_recast.pack(source, target, max_abs_error=BOUND)
        zarr_recast.pack(source, target, max_abs_error=0.5, overwrite=True)
        assert not zarr_recast.verify(source, target, atol=BOUND).passed


def test_a_group_of_the_source_gets_nothing_unless_asked(source, tmp_path):
    filled(LocalStore(tmp_path / "in"))
    array = zarr.open_array(source, path="t", mode="r")
    for origin, target in [
        (tmp_path / "in/t", tmp_path / "in/packed"),
        (array, StorePath(source, "packed")),
    ]:
        with pytest.raises(ValueError, match="lies in the group .*into_group"):
            zarr_recast.pack(origin, target, max_abs_error=BOUND)
        zarr_recast.pack(origin, target, max_abs_error=BOUND, into_group=True)
        assert zarr_recast.verify(origin, target, atol=BOUND).passed


def test_a_path_with_a_slash_names_the_same_array(tmp_path):
    group = zarr.create_group(tmp_path / "in.zarr")
    group.create_array("t", data=np.arange(3000, dtype="float32"))
    report = zarr_recast.pack(
        tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error={"/t": 0.01}, grid={"t/": True}
    )
    assert report.packed["t"].grid["step"] == 1
