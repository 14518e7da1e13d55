"""Places of arrays and groups: paths, URLs, and objects of zarr-python in any of its stores."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import wait
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar
from zipfile import BadZipFile

from ._blocks import Blocks
from ._core import Mounts, run_job
from ._errors import NotFoundError
from ._progress import shown
from ._trees import is_of_xarray

# A path or a URL, or an object of zarr-python.
Place: TypeAlias = Any
# What holds the objects of a place, and the path in it.
_Whereabouts: TypeAlias = tuple[Any, PurePath]
_T = TypeVar("_T")

# Names that are no child of a node.
_DOCUMENTS = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}
# Seconds between two looks at whether the job is interrupted.
_PATIENCE = 0.1


class Job:
    """A job, and the stores that it uses."""

    def __init__(self) -> None:
        self._mounts = Mounts()
        # What reports call the places that only this job knows.
        self._names: dict[str, str] = {}
        self._mounted: list[tuple[Any, str]] = []
        # The places that are read, and those that are written.
        self._known: tuple[list[_Whereabouts], list[_Whereabouts]] = ([], [])
        # Whether an object of xarray is written with consolidated metadata, as its `to_zarr` does.
        self._consolidates = True

    def source(self, place: Any) -> str:
        """The path or URL of a place that is read."""
        if is_of_xarray(place):
            return self._computed(place)
        return self._place(place, is_written=False)

    def target(self, place: Any) -> str:
        """The path or URL of a place that is written."""
        return self._place(place, is_written=True)

    def run(self, request: dict[str, Any], progress: Any) -> dict[str, Any]:
        """Do a request; returns the report."""
        with shown(progress) as show:
            try:
                report = run_job(json.dumps(request), self._mounts, show)
            except ValueError as error:
                error.args = tuple(self._named(str(text)) for text in error.args)
                raise
        return json.loads(self._named(report, lambda name: json.dumps(name)[1:-1]))

    def _place(self, place: Any, *, is_written: bool) -> str:
        self._refuse_overlap(_whereabouts(place), is_written)
        if isinstance(place, (str, os.PathLike)):
            return os.fspath(place)
        store, path = _store_and_path(place)
        if is_written:
            if store.read_only:
                raise ValueError(
                    f"{_name(store)} is read-only; open it for writing, or write to another store"
                )
            self._consolidates = store.supports_consolidated_metadata
        if _is_local(store):
            return os.path.join(store.root, path) if path else os.fspath(store.root)
        return f"{self._url(store)}/{path}".rstrip("/")

    def _refuse_overlap(self, new: _Whereabouts, is_written: bool) -> None:
        """Refuse a place that is written and read by different objects, whose overlap the job does not see."""
        for known in self._known[not is_written]:
            (source, read), (target, written) = (known, new) if is_written else (new, known)
            if source != target:
                continue
            if written == read:
                raise ValueError("OUTPUT is INPUT; write to another place")
            if written.is_relative_to(read):
                raise ValueError("OUTPUT lies inside INPUT; write to another place")
            if read.is_relative_to(written):
                raise ValueError("INPUT lies inside OUTPUT; write to another place")
        self._known[is_written].append(new)

    def _computed(self, obj: Any) -> str:
        """The URL of an object of xarray."""
        blocks = Blocks(obj, consolidated=self._consolidates)
        url = self._mounts.mount(blocks, None, True)
        self._names[url] = f"xarray {type(obj).__name__}"
        return url

    def _url(self, store: Any) -> str:
        """The URL of a store; the same one for the same store, so that overlaps are seen."""
        for other, url in self._mounted:
            if _is_same(store, other):
                return url
        calls = Calls(store, lambda: self._mounts.is_interrupted)
        url = self._mounts.mount(calls, _visibility(store), store.supports_listing)
        self._names[url] = _name(store)
        self._mounted.append((store, url))
        return url

    def _named(self, text: str, quoted: Callable[[str], str] = str) -> str:
        """A text with names in place of what only this job knows."""
        if not self._names:
            return text
        known = "|".join(map(re.escape, self._names))
        return re.sub(rf"({known})(?!\d)", lambda place: quoted(self._names[place[0]]), text)


def opened(place: Any) -> Any:
    """The array or group at a path, or in a store of zarr-python; any other object as it is."""
    is_path = isinstance(place, (str, os.PathLike))
    if not is_path and not _is_store(place):
        return place
    import zarr

    try:
        archive = _archive(place) if is_path else None
        if archive is None:
            return zarr.open(place, mode="r")
        inside = PurePath(place).relative_to(archive).as_posix().removeprefix(".")
        return zarr.open(zarr.storage.ZipStore(str(archive), mode="r"), path=inside, mode="r")
    except BadZipFile as error:
        raise ValueError(f"{place}: not a readable zip file: {error}") from error
    except FileNotFoundError as error:
        raise NotFoundError(f"{place}: {_no_node(place) if is_path else _NO_NODE}") from error


_NO_NODE = "no array or group of Zarr here"


def _no_node(path: Any) -> str:
    """That zarr-python has no node at a path."""
    if os.path.isfile(path) and _archive(path) is None:
        return "a file, and not Zarr; xarray.open_dataset opens netCDF files"
    is_nowhere = "://" not in os.fspath(path) and not os.path.exists(_archive(path) or path)
    return "no such file or directory" if is_nowhere else f"{_NO_NODE}; name one below"


def _archive(path: Any) -> PurePath | None:
    """The zip file of a path that leads to one, or into one."""
    path = PurePath(path)
    above = (one for one in (path, *path.parents) if one.suffix.lower() == ".zip")
    return next((one for one in above if os.path.isfile(one)), None)


def _is_store(place: Any) -> bool:
    """Whether an object is a store of zarr-python, or a path in one."""
    zarr = sys.modules.get("zarr")
    return zarr is not None and isinstance(place, (zarr.abc.store.Store, zarr.storage.StorePath))


def _store_and_path(place: Any) -> tuple[Any, str]:
    """The store of an object of zarr-python, and the path in it."""
    zarr = sys.modules.get("zarr")
    if zarr is not None:
        if isinstance(place, (zarr.Array, zarr.Group, zarr.AsyncArray, zarr.AsyncGroup)):
            place = place.store_path
        if isinstance(place, zarr.storage.StorePath):
            return place.store, place.path
        if isinstance(place, zarr.abc.store.Store):
            return place, ""
    raise TypeError(
        "an array or a group is given as a path, a URL, a zarr Array, Group, Store or StorePath, or, to be read, as an "
        "object of xarray, and not as a "
        f"{type(place).__module__.partition('.')[0]} {type(place).__name__}"
    )


def _is_local(store: Any) -> bool:
    from zarr.storage import LocalStore

    return type(store) is LocalStore


def _whereabouts(place: Place) -> _Whereabouts:
    """Where a place is, whatever objects lead there."""
    if isinstance(place, (str, os.PathLike)):
        path = os.fspath(place).removeprefix("file://")
        return ("" if "://" in path else "file"), PurePath(os.path.realpath(path))
    from zarr.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore

    store, path = _store_and_path(place)
    while isinstance(store, WrapperStore):
        store = store._store
    if isinstance(store, LocalStore):
        return "file", PurePath(os.path.realpath(store.root / path))
    if isinstance(store, FsspecStore):
        path = f"{store.path}/{path}"
        files = getattr(store.fs, "sync_fs", store.fs)
        if "file" in files.protocol:
            return "file", PurePath(os.path.realpath(path))
        return files, PurePath("/", path)
    # The text of a store in memory says which dictionary it has.
    return (str(store) if isinstance(store, MemoryStore) else store), PurePath("/", path)


def _is_same(store: Any, other: Any) -> bool:
    """Whether another store has the same objects, and can be written to if this one can."""
    if store is other:
        return True
    if type(store) is not type(other):
        return False
    if store.read_only and not other.read_only:
        try:
            other = other.with_read_only(True)
        except NotImplementedError:
            return False
    # Stores in memory are equal if they hold the same, and their texts say which one each is.
    return str(store) == str(other) and bool(store == other)


def _name(store: Any) -> str:
    """What reports and errors call a store."""
    name = str(store)
    is_plain = "\n" not in name and not name.startswith("<")
    return name.rstrip("/") if is_plain else type(store).__name__


def _visibility(store: Any) -> str | None:
    """When readers of the store see what is written."""
    if store.read_only or not store.supports_writes or not store.supports_listing:
        return None
    if type(store).__module__.partition(".")[0] == "icechunk":
        return "on commit"
    return "at once" if store.supports_deletes else "forever"


class Calls:
    """What a job asks of a store. Each method waits for the store, whose coroutines run on zarr's own thread."""

    def __init__(self, store: Any, is_interrupted: Callable[[], bool]) -> None:
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.sync import sync

        self._store = store
        self._is_interrupted = is_interrupted
        self._prototype = default_buffer_prototype()
        self._loop = sync(_running_loop())

    def get(self, key: str, start: int, length: int | None) -> bytes | None:
        """The bytes of a key, from a place that counts from the end if it is negative; None if there is no such key."""
        from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

        part: Any = None
        if start < 0:
            part = SuffixByteRequest(-start)
        elif length is not None:
            part = RangeByteRequest(start, start + length)
        elif start:
            part = OffsetByteRequest(start)
        buffer = self._wait(self._store.get(key, self._prototype, part))
        return None if buffer is None else buffer.to_bytes()

    def size(self, key: str) -> int | None:
        """The number of bytes under a key."""
        try:
            return int(self._wait(self._store.getsize(key)))
        except FileNotFoundError:
            return None

    def size_below(self, prefix: str) -> int:
        """The number of bytes under all keys below a prefix."""
        return int(self._wait(self._store.getsize_prefix(prefix.rstrip("/"))))

    def list(self, prefix: str) -> list[str]:
        """All keys below a prefix, in order."""
        return sorted(self._wait(_collected(self._store.list_prefix, prefix)))

    def list_dir(self, prefix: str) -> tuple[list[str], list[str]]:
        """The documents directly below a prefix, and the prefixes of everything else there."""
        names = self._wait(_collected(self._store.list_dir, prefix.rstrip("/")))
        names = sorted(name.rstrip("/") for name in names)
        documents = [f"{prefix}{name}" for name in names if name in _DOCUMENTS]
        return documents, [f"{prefix}{name}/" for name in names if name not in _DOCUMENTS]

    def set(self, key: str, value: bytes) -> None:
        """Store bytes under a key."""
        self._wait(self._store.set(key, self._prototype.buffer.from_bytes(value)))

    def delete(self, key: str) -> None:
        """Remove a key."""
        self._wait(self._store.delete(key))

    def _wait(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """What a coroutine returns. An interruption of the job ends the wait."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        while not wait([future], timeout=_PATIENCE).done:
            if self._is_interrupted():
                future.cancel()
                raise InterruptedError("interrupted")
        return future.result()


async def _running_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


async def _collected(list_: Callable[[str], AsyncIterator[str]], prefix: str) -> list[str]:
    # Called here, on zarr's own thread: obstore begins to list at once.
    return [key async for key in list_(prefix)]
