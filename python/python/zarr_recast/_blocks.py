"""Objects of xarray as stores of Zarr, whose chunks are computed when a job reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ._trees import datasets, is_tree

_DOCUMENT = "zarr.json"


class Blocks:
    """What `Calls` is for a store of zarr-python: the store that ``to_zarr`` would write, without ``encoding`` but that of times.

    Numbers are read block by block, by Dask or by the engine that opened the file; a job asks for each block two or three
    times. Indexes, and variables of other types, are written to memory once. An array that a job copies keeps the
    compression, which must cost little.
    """

    def __init__(self, obj: Any, *, consolidated: bool) -> None:
        self._objects: dict[str, bytes] = {}
        self._variables: dict[str, _Variable] = {}
        for path, dataset in _nodes(obj).items():
            self._add(path, dataset)
        if consolidated:
            # A job renews the copies.
            root = json.loads(self._objects[_DOCUMENT])
            root["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": {}}
            self._objects[_DOCUMENT] = json.dumps(root).encode()

    def _add(self, group: str, dataset: Any) -> None:
        plain = dataset.drop_encoding()
        for name, variable in plain.variables.items():
            if variable.dtype.kind in "mMO":
                variable.encoding = _of_times(dataset.variables[name].encoding)
        names = [name for name, variable in plain.variables.items() if _is_lazy(variable)]
        others = plain.drop_vars(names).compute()
        first = others.isel({dimension: slice(0, 1) for dimension in others.sizes})
        for name in names:
            variable = dataset.variables[name]
            one = np.zeros([1] * variable.ndim, variable.dtype)
            first[name] = (variable.dims, one, variable.attrs)
            first[name].encoding.update(_chunks_of(variable), compressors=(_fast(),))
        first = first.set_coords([name for name in names if name in plain.coords])
        outlines = _written(first, group)
        self._objects |= _written(others, group)
        for name in plain.variables:
            path = f"{group}/{name}".strip("/")
            key = f"{path}/{_DOCUMENT}"
            outline = json.loads(outlines[key])
            if name in names:
                variable = dataset.variables[name]
                self._variables[path] = _Variable(variable, outline)
                outline["shape"] = list(variable.shape)
                self._objects[key] = json.dumps(outline).encode()
            elif coordinates := outline["attributes"].get("coordinates"):
                document = json.loads(self._objects[key])
                document["attributes"]["coordinates"] = coordinates
                self._objects[key] = json.dumps(document).encode()
        root = f"{group}/{_DOCUMENT}".strip("/")
        self._objects[root] = outlines[root]

    def get(self, key: str, start: int, length: int | None) -> bytes | None:
        """The bytes of a key, from a place that counts from the end if it is negative; None if there is no such key."""
        value = self._value(key)
        if value is None or (start == 0 and length is None):
            return value
        return value[start:] if length is None else value[start : start + length]

    def size(self, key: str) -> int | None:
        """The number of bytes under a key."""
        value = self._value(key)
        return None if value is None else len(value)

    def size_below(self, prefix: str) -> int:
        """The number of bytes under all keys below a prefix; of chunks, those of their elements."""
        known = sum(len(value) for key, value in self._objects.items() if key.startswith(prefix))
        lazy = (one for path, one in self._variables.items() if f"{path}/".startswith(prefix))
        return known + sum(variable.nbytes for variable in lazy)

    def list(self, prefix: str) -> list[str]:
        """All keys below a prefix, in order."""
        keys = [*self._objects]
        for path, variable in self._variables.items():
            if f"{path}/".startswith(prefix) or prefix.startswith(f"{path}/"):
                keys += (f"{path}/{name}" for name in variable.keys())
        return sorted(key for key in keys if key.startswith(prefix))

    def list_dir(self, prefix: str) -> tuple[list[str], list[str]]:
        """The documents directly below a prefix, and the prefixes of everything else there."""
        names = [key.removeprefix(prefix) for key in self._objects if key.startswith(prefix)]
        folders = {f"{prefix}{name.partition('/')[0]}/" for name in names if "/" in name}
        return sorted(f"{prefix}{name}" for name in names if "/" not in name), sorted(folders)

    def _value(self, key: str) -> bytes | None:
        chunk = re.fullmatch(r"(.+)/c((?:/\d+)+)", key)
        if chunk is None or (variable := self._variables.get(chunk[1])) is None:
            return self._objects.get(key)
        return variable.stored(tuple(map(int, chunk[2].split("/")[1:])))


class _Variable:
    """A variable whose chunks are computed, and its metadata."""

    def __init__(self, variable: Any, outline: dict[str, Any]) -> None:
        self._variable = variable
        self._chunk = tuple(outline["chunk_grid"]["configuration"]["chunk_shape"])
        self._document = json.dumps({**outline, "shape": self._chunk}).encode()
        self.nbytes = int(variable.nbytes)

    def keys(self) -> Iterator[str]:
        """The keys of its chunks."""
        extents = zip(self._variable.shape, self._chunk, strict=True)
        for indices in product(*(range(-(-extent // length)) for extent, length in extents)):
            yield "/".join(map(str, ("c", *indices)))

    def stored(self, indices: tuple[int, ...]) -> bytes | None:
        """The bytes of a chunk, as zarr-python writes them; None if it has fill values only, or is outside the array."""
        import zarr
        from zarr.core.buffer import default_buffer_prototype

        places = zip(indices, self._chunk, self._variable.shape, strict=True)
        part = tuple(slice(i * n, min((i + 1) * n, extent)) for i, n, extent in places)
        expected = tuple(max(0, one.stop - one.start) for one in part)
        if 0 in expected:
            return None
        block = self._variable[part].to_numpy()
        if block.shape != expected:
            raise ValueError(f"block {indices} was computed with shape {block.shape}, not {expected}")
        held = {_DOCUMENT: default_buffer_prototype().buffer.from_bytes(self._document)}
        array = zarr.open_array(zarr.storage.MemoryStore(held), mode="r+")
        array[tuple(map(slice, block.shape))] = block
        return next((value.to_bytes() for key, value in held.items() if key != _DOCUMENT), None)


def _of_times(encoding: Any) -> dict[str, Any]:
    """The part with which times have the numbers of their source, fractions of a unit among them."""
    kept = {key: encoding[key] for key in ("units", "calendar") if key in encoding}
    is_float = np.dtype(encoding.get("dtype") or "i8").kind == "f"
    return kept | ({"dtype": encoding["dtype"]} if kept and is_float else {})


def _is_lazy(variable: Any) -> bool:
    """Whether a variable is computed block by block: indexes are at hand, and other types are few."""
    from xarray import IndexVariable

    is_number = variable.dtype.kind in "fiu" and variable.size > 0 and variable.ndim > 0
    return is_number and not isinstance(variable, IndexVariable)


def _nodes(obj: Any) -> dict[str, Any]:
    """The datasets of an object by their paths in it. The root of a part of a tree has what it inherits."""
    if not is_tree(obj):
        return {"": _dataset(obj)}
    root = PurePosixPath(obj.path)
    nodes = {PurePosixPath(path).relative_to(root): node for path, node in datasets(obj).items()}
    return {"": obj.to_dataset()} | {str(path): node for path, node in nodes.items() if path.name}


def _dataset(obj: Any) -> Any:
    """An array as a dataset; a dataset as it is. Where ``to_zarr`` names a variable with ``__``, which Zarr reserves, it is
    ``data``."""
    if hasattr(obj, "data_vars"):
        return obj
    own = "data"
    if obj.name is None:
        return obj.to_dataset(name=own)
    if obj.name in obj.coords or obj.name in obj.dims:
        return obj.to_dataset(name=own).assign_attrs(__xarray_dataarray_name__=obj.name)
    return obj.to_dataset()


def _chunks_of(variable: Any) -> dict[str, Any]:
    """The chunks for a variable: those of Dask, of the Zarr array or the file that it was read from, or else zarr's own."""
    import zarr

    if variable.chunks is not None:
        return {"chunks": tuple(map(max, variable.chunks))}
    encoding = variable.encoding
    of_shards = [encoding.get(key) for key in ("chunks", "shards")]
    # Of an array with other dimensions, the encoding says nothing of these.
    if all(shape is not None and len(shape) == variable.ndim for shape in of_shards):
        return dict(zip(("chunks", "shards"), of_shards, strict=True))
    preferred = encoding.get("preferred_chunks") or {}
    if all(dimension in preferred for dimension in variable.dims):
        return {"chunks": tuple(preferred[dimension] for dimension in variable.dims)}
    store = zarr.storage.MemoryStore()
    return {"chunks": zarr.create_array(store, shape=variable.shape, dtype=variable.dtype).chunks}


def _fast() -> Any:
    """A compression that costs little beside what computes a block."""
    from zarr.codecs import BloscCodec

    return BloscCodec(cname="lz4", clevel=5, shuffle="shuffle")


def _written(dataset: Any, group: str) -> dict[str, bytes]:
    """What ``to_zarr`` writes below a group."""
    from zarr.storage import MemoryStore

    held: dict[str, Any] = {}
    objects = [str(name) for name, one in dataset.variables.items() if one.dtype.kind == "O"]
    try:
        dataset.to_zarr(MemoryStore(held), group=group, zarr_format=3, consolidated=False, mode="a")
    except ValueError as error:
        if not objects:
            raise
        way = 'give arrays of Python objects a type, as array.astype("float32")'
        raise ValueError(f"{', '.join(objects)}: {error}; {way}") from error
    below = f"{group}/" if group else ""
    return {key: value.to_bytes() for key, value in held.items() if key.startswith(below)}
