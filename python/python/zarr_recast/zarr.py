"""``cast_value`` and ``scale_offset`` for zarr-python.

The classes replace those in ``zarr.codecs``, with the same arguments and the same JSON; see
`register`. Importing this module needs zarr-python 3.3.0 or later.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ._core import DATA_TYPES, Chain, check_codec, scalar_from_json
from ._json import as_written, codec_json, scalar_json

from ._errors import CastError
from ._zarr_version import require_zarr

require_zarr()

from zarr.abc.codec import ArrayArrayCodec
from zarr.core.buffer import cpu
from zarr.core.config import config
from zarr.core.dtype import ZDType, data_type_registry, get_data_type_from_json
from zarr.errors import ZarrUserWarning
from zarr.registry import register_codec, register_ndbuffer

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import NDBuffer
    from zarr.core.metadata.v3 import ChunkGridMetadata

__all__ = ["CastValue", "ScaleOffset", "register"]

RoundingMode = Literal[
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"
]
OutOfRangeMode = Literal["clamp", "wrap"]
Scalar = int | float | str


def register(*, fast_reads: bool = False) -> None:
    """Make zarr-python use these codecs; see `zarr_recast.register`."""
    _register_data_types()
    for name, codec in (("cast_value", CastValue), ("scale_offset", ScaleOffset)):
        register_codec(name, codec)
        _choose(f"codecs.{name}", codec)
    register_ndbuffer(NDBuffer)
    if fast_reads and config.get("ndbuffer") == "zarr.buffer.cpu.NDBuffer":  # the default
        _choose("ndbuffer", NDBuffer)


def _choose(key: str, cls: type) -> None:
    """Name a class in zarr's configuration, here and in processes that this one starts."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    config.set({key: name})
    os.environ[f"ZARR_{key.replace('.', '__').upper()}"] = name


def _register_data_types() -> None:
    try:
        from ._zarr_dtypes import CLASSES
    except ModuleNotFoundError as error:
        if error.name != "ml_dtypes":
            raise
        return
    for cls in CLASSES:
        if cls._zarr_v3_name not in data_type_registry.contents:
            data_type_registry.register(cls._zarr_v3_name, cls)


@lru_cache(maxsize=256)
def _chain(data_type: str, *codecs: str) -> Chain:
    return Chain(data_type, f"[{','.join(codecs)}]")


def _check_fill(dtype: np.dtype[Any], codecs: tuple[str, ...], fill: bytes, check: str) -> None:
    """Raise an error for a fill value that does not survive the codecs, or warn of it."""
    for message in _fill_warnings(dtype, codecs, fill, check):
        warnings.warn(message, ZarrUserWarning, stacklevel=4)


@lru_cache(maxsize=256)
def _fill_warnings(
    dtype: np.dtype[Any], codecs: tuple[str, ...], fill: bytes, check: str
) -> tuple[str, ...]:
    value = np.frombuffer(fill, dtype)[0]
    return tuple(Chain(dtype, f"[{','.join(codecs)}]", value, fill_check=check).warnings)


@lru_cache(maxsize=256)
def _encoded_fill(dtype: np.dtype[Any], data_type: str, codec: str, fill: bytes) -> Any:
    return _chain(data_type, codec).encode(np.frombuffer(fill, dtype))[0]


@dataclass(frozen=True)
class _Before:
    """The codecs of this module directly before one: the last of them, and the input of the first."""

    dtype: np.dtype[Any]
    fill: bytes
    codecs: tuple[str, ...]
    last: _RecastCodec


# The attribute of an `ArraySpec` in which a codec passes it on.
_BEFORE = "_zarr_recast_before"


def _encode(data_type: str, codecs: tuple[str, ...], array: Any) -> Any:
    try:
        return _chain(data_type, *codecs).encode(array)
    except CastError as error:
        raise _in_chunk(error, array.shape, error.reason == "out-of-range") from None


@dataclass(frozen=True)
class _Part:
    """The place of a part in its chunk, for errors: the shape of the chunk, and the selections that led here."""

    shape: tuple[int, ...]
    keys: tuple[Any, ...] = ()

    def then(self, key: Any) -> _Part:
        """The place of a part of this part."""
        return replace(self, keys=(*self.keys, key))

    def in_chunk(self, error: CastError) -> CastError:
        """The same error with the place of its element in the chunk."""
        places: Any = np.arange(prod(self.shape)).reshape(self.shape)
        for key in self.keys:
            places = places[key]
        place = np.asarray(places)[error.index]
        index = tuple(int(i) for i in np.unravel_index(place, self.shape))
        text = str(error).replace(f"element {error.index}", f"element {index}", 1)
        return _in_chunk(CastError(text, **error.__dict__ | {"index": index}), self.shape, False)


def _decode_into(
    data_type: str, codecs: tuple[str, ...], array: Any, decoded: Any, part: _Part
) -> None:
    try:
        _chain(data_type, *codecs).decode_into(array, decoded)
    except CastError as error:
        raise part.in_chunk(error) from None


def _in_chunk(error: CastError, shape: tuple[int, ...], has_no_room: bool) -> CastError:
    """The same error for a codec that knows only the shape of the chunk."""
    text = str(error).replace(": ", f" of a chunk of shape {shape}: ", 1)
    if has_no_room:
        text += (
            "; to give the next array room for values that are still to come, choose its codecs by "
            "zarr_recast.encoding_for(…, range=(least, greatest))"
        )
    return CastError(text, **error.__dict__)


class NDBuffer(cpu.NDBuffer):
    """A block of memory into which chunks are decoded directly.

    ``register(fast_reads=True)`` makes zarr create results in it. In all else it is
    ``zarr.buffer.cpu.NDBuffer``.
    """

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set elements, given as an array, a scalar, or a chunk still to be decoded."""
        if not (isinstance(value, _Deferred) and value.decode_to(self._data, key)):
            super().__setitem__(key, value)


class _Deferred(NDBuffer):
    """A chunk whose codecs run when its elements are needed.

    So successive codecs run in one pass, without intermediate arrays. Several threads may use it at
    once: each runs the codecs, and all see the same elements.
    """

    def __init__(self, array: Any) -> None:
        self._result: Any = array
        self.before: Any = None
        self.data_type = ""
        self.codecs: tuple[str, ...] = ()
        self._decoded: np.dtype[Any] | None = None
        self._part = _Part(())

    @classmethod
    def of(
        cls,
        before: NDBuffer,
        data_type: str,
        codecs: tuple[str, ...],
        decoded: np.dtype[Any] | None,
        part: _Part | None = None,
    ) -> _Deferred:
        """The result of a codec for a chunk or a part of one; it decodes if there is a decoded data type."""
        chunk = cls(None)
        chunk.before, chunk.data_type, chunk.codecs, chunk._decoded = before, data_type, codecs, decoded
        chunk._part = part or _Part(before.shape)
        return chunk

    @property
    def encodes(self) -> bool:
        """Whether codecs are still to encode."""
        return self._decoded is None and self._result is None

    @property
    def decodes(self) -> bool:
        """Whether codecs are still to decode."""
        return self._decoded is not None and self._result is None

    @property
    def _data(self) -> Any:
        before = self.before
        # It is released only after there is a result.
        if self._result is None:
            array = before.as_ndarray_like()
            if self._decoded is None:
                self._result = _encode(self.data_type, self.codecs, array)
            else:
                decoded = np.empty(array.shape, self._decoded)
                _decode_into(self.data_type, self.codecs, array, decoded, self._part)
                self._result = decoded
            self.before = None
        return self._result

    def decode_to(self, array: Any, key: Any) -> bool:
        """Decode into a part of an array; false if the chunk must be copied there instead."""
        before = self.before
        if before is None or self._decoded is None:
            return False
        if not (isinstance(array, np.ndarray) and _are_slices(key)):
            return False
        encoded, part = before.as_ndarray_like(), array[key]
        if part.shape != encoded.shape or part.dtype != self._decoded:
            return False
        _decode_into(self.data_type, self.codecs, encoded, part, self._part)
        return True

    def __getitem__(self, key: Any) -> Any:
        """A part of the chunk. It stays undecoded, and its elements are all that will be decoded."""
        before = self.before
        if before is None or self._decoded is None:
            return super().__getitem__(key)
        shape = before.shape
        if _are_slices(key) and [part.indices(n) for part, n in zip(key, shape)] == [(0, n, 1) for n in shape]:
            return self
        part = self._part.then(key)
        return _Deferred.of(before[key], self.data_type, self.codecs, self._decoded, part)


def _are_slices(key: Any) -> bool:
    """Whether a key selects a view: slices, and at least one."""
    return isinstance(key, tuple) and key != () and all(isinstance(part, slice) for part in key)


class _OfZarrV3:
    """The attribute by which zarr knows a codec of Zarr v2: it says that this is none, and what to do."""

    def __get__(self, codec: object, cls: type[_RecastCodec]) -> str:
        if codec is not None:
            raise AttributeError("codec_id")
        # zarr asks the class, and only for arrays of Zarr v2.
        raise TypeError(
            f"{cls._name} is a codec of Zarr v3; leave out zarr_format=2, or, for an array that must stay "
            "Zarr v2, use zarr_recast.numcodecs.FixedScaleOffset"
        )


@dataclass(frozen=True)
class _RecastCodec(ArrayArrayCodec):
    """The common part of the two codecs: everything but their configuration."""

    is_fixed_size = True
    codec_id = _OfZarrV3()
    _name: ClassVar[str]

    # The metadata in JSON.
    _json: str = field(init=False, repr=False, compare=False)
    # How to treat a fill value that does not survive: a codec for a new array enforces, one read from
    # metadata reports, because the data already exist.
    _fill_check: str = field(init=False, repr=False, compare=False, default="create")
    # The data type that reaches this codec in its array, once it is known.
    _source: str | None = field(init=False, repr=False, compare=False, default=None)
    # Whether codecs of this module come directly after and directly before.
    _is_followed: bool = field(init=False, repr=False, compare=False, default=False)
    _follows: bool = field(init=False, repr=False, compare=False, default=False)
    # The last specification of a chunk, and its encoded form.
    _resolved: tuple[ArraySpec, ArraySpec] | None = field(
        init=False, repr=False, compare=False, default=None
    )

    def _set(self, **attributes: object) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Create a codec from its JSON metadata."""
        check_codec(codec_json(data))
        codec = cls(**as_written(data).get("configuration", {}))
        codec._set(_fill_check="report-only")
        return codec

    def _check(self, data_type: ZDType[Any, Any]) -> str:
        """Check the configuration against the data type that reaches the codec."""
        name = data_type.to_json(zarr_format=3)
        if name not in DATA_TYPES:
            raise ValueError(
                f"The {self._name} codec only supports integer and floating-point data types. "
                f"Got {name}."
            )
        return name

    @staticmethod
    def _check_scalar(value: Scalar, data_type: str, place: str) -> Any:
        try:
            return scalar_from_json(data_type, value)
        except ValueError as error:
            problem = str(error).removeprefix("fill_value: ")
            raise ValueError(
                f"{place} {value!r} is not representable in dtype {data_type}: {problem}"
            ) from None

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Bind the codec to the data type and fill value that reach it."""
        source = self._check(array_spec.dtype)
        _chain(source, self._json)
        evolved = copy(self)
        before: _Before | None = getattr(array_spec, _BEFORE, None)
        evolved._set(_source=source, _follows=before is not None, _is_followed=False, _resolved=None)
        if before is None:
            native, fill = _native_fill(array_spec)
            _check_fill(native, (self._json,), fill, self._fill_check)
        else:
            # With the codecs before it, so that an error names the original fill value.
            before.last._set(_is_followed=True)
            codecs = (*before.codecs, self._json)
            _check_fill(before.dtype, codecs, before.fill, self._fill_check)
        return evolved

    def validate(
        self,
        *,
        shape: tuple[int, ...],
        dtype: ZDType[Any, Any],
        chunk_grid: ChunkGridMetadata,
    ) -> None:
        """Check the configuration against a data type.

        A bound codec uses the data type it is bound to: zarr validates all codecs against the array's
        data type, even if another type reaches them.
        """
        if self._source is None:
            _chain(self._check(dtype), self._json)

    def resolve_metadata(self, chunk_spec: ArraySpec) -> ArraySpec:
        """The data type and fill value for the next codec."""
        if self._resolved is not None:
            known, resolved = self._resolved
            if _is_same(known, chunk_spec):
                return resolved
        target = self._target(chunk_spec.dtype)
        native, fill = _native_fill(chunk_spec)
        try:
            data_type = chunk_spec.dtype.to_json(zarr_format=3)
            fill_value = _encoded_fill(native, data_type, self._json, fill)
        except ValueError:
            # zarr tests the codecs inside a shard with 0 instead of the array's fill value, which is
            # checked when they are bound.
            fill_value = target.default_scalar()
        resolved = replace(chunk_spec, dtype=target, fill_value=fill_value)
        if self._source is not None:
            before = getattr(chunk_spec, _BEFORE, None) or _Before(native, fill, (), self)
            before = replace(before, codecs=(*before.codecs, self._json), last=self)
            object.__setattr__(resolved, _BEFORE, before)
        self._set(_resolved=(chunk_spec, resolved))
        return resolved

    def _target(self, source: ZDType[Any, Any]) -> ZDType[Any, Any]:
        raise NotImplementedError

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer | None:
        data_type, codecs = chunk_spec.dtype.to_json(zarr_format=3), (self._json,)
        if isinstance(chunk_array, _Deferred) and (before := chunk_array.before) is not None:
            if chunk_array.encodes:
                data_type, codecs = chunk_array.data_type, chunk_array.codecs + codecs
                chunk_array = before
        if self._is_followed:
            return _Deferred.of(chunk_array, data_type, codecs, None)
        # The filters of numcodecs give zarr-python flat arrays.
        encoded = _encode(data_type, codecs, chunk_array.as_ndarray_like()).reshape(chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(encoded)

    def _decode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        return self._decode_later(chunk_array, chunk_spec, (NDBuffer,))

    def _decode_later(
        self, chunk_array: NDBuffer, chunk_spec: ArraySpec, buffers: tuple[type, ...]
    ) -> NDBuffer:
        """Decode a chunk, but only when its elements are needed if they go to one of some buffers."""
        data_type, codecs = chunk_spec.dtype.to_json(zarr_format=3), (self._json,)
        if isinstance(chunk_array, _Deferred) and (before := chunk_array.before) is not None:
            if chunk_array.decodes:
                codecs += chunk_array.codecs
                chunk_array = before
        native, buffer = chunk_spec.dtype.to_native_dtype(), chunk_spec.prototype.nd_buffer
        if self._follows or buffer in buffers:
            return _Deferred.of(chunk_array, data_type, codecs, native)
        array = chunk_array.as_ndarray_like()
        decoded = np.empty(array.shape, native)
        _decode_into(data_type, codecs, array, decoded, _Part(array.shape))
        return buffer.from_ndarray_like(decoded)

    # Batches are processed here too: a task for each chunk would cost as much as its elements.
    async def encode(
        self, chunks_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Encode a batch of chunks."""
        return [chunk if chunk is None else self._encode_sync(chunk, spec) for chunk, spec in chunks_and_specs]

    async def decode(
        self, chunks_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Decode a batch of chunks."""
        # The pipeline that calls this selects from the chunk in the same thread. The other one may call
        # `_decode_sync` in several threads and select in one, so that waiting would take the decoding there.
        buffers = (NDBuffer, cpu.NDBuffer)
        return [
            chunk if chunk is None else self._decode_later(chunk, spec, buffers)
            for chunk, spec in chunks_and_specs
        ]

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer | None:
        return self._encode_sync(chunk_array, chunk_spec)

    async def _decode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        return self._decode_sync(chunk_array, chunk_spec)


def _native_fill(spec: ArraySpec) -> tuple[np.dtype[Any], bytes]:
    """The data type of chunks in native byte order, and the bytes of their fill value."""
    native = spec.dtype.to_native_dtype().newbyteorder("=")
    fill = spec.fill_value
    if not isinstance(fill, np.generic):
        fill = spec.dtype.cast_scalar(fill)
    return native, np.asarray(fill, native).tobytes()


def _is_same(one: ArraySpec, other: ArraySpec) -> bool:
    """Whether two specifications are for chunks of one array, without comparing their common parts."""
    return one is other or (
        one.shape == other.shape
        and one.dtype is other.dtype
        and one.fill_value is other.fill_value
        and one.config is other.config
        and one.prototype == other.prototype
    )


def _is_zero(value: Scalar) -> bool:
    if isinstance(value, str):
        try:
            return (int(value, 16) if value.startswith("0x") else float(value)) == 0
        except ValueError:
            return False
    return value == 0


class _Absent(int):
    """A parameter that is not given: a neutral number that is not written."""


@dataclass(frozen=True)
class ScaleOffset(_RecastCodec):
    """Subtract an offset and multiply by a scale, in the arithmetic of the array's data type.

    Parameters
    ----------
    offset : int, float or str, optional
        Subtracted when encoding, added when decoding.
    scale : int, float or str, optional
        Multiplied by when encoding, divided by when decoding. Not 0.

    Notes
    -----
    A parameter that is not given is not computed and not written. An intermediate or final value
    that the data type cannot represent is a `zarr_recast.CastError`, also for floats.
    """

    _name = "scale_offset"

    offset: Scalar = _Absent(0)
    scale: Scalar = _Absent(1)

    def __init__(self, *, offset: object = _Absent(0), scale: object = _Absent(1)) -> None:
        self._set(offset=scalar_json(offset, "offset"), scale=scalar_json(scale, "scale"))
        self._set(_json=codec_json(self.to_dict()), _fill_check="create", _source=None)

    def to_dict(self) -> dict[str, Any]:
        """The JSON metadata."""
        parameters = {"offset": self.offset, "scale": self.scale}
        given = {key: value for key, value in parameters.items() if not isinstance(value, _Absent)}
        return {"name": "scale_offset", **({"configuration": given} if given else {})}

    def _check(self, data_type: ZDType[Any, Any]) -> str:
        name = super()._check(data_type)
        if _is_zero(self.scale):
            raise ValueError(f"scale_offset scale must be non-zero. Got {self.scale!r}.")
        for key, value in (("offset", self.offset), ("scale", self.scale)):
            if not isinstance(value, _Absent):
                self._check_scalar(value, name, f"scale_offset {key} value")
        return name

    def _target(self, source: ZDType[Any, Any]) -> ZDType[Any, Any]:
        return source

    def compute_encoded_size(self, input_byte_length: int, _chunk_spec: ArraySpec) -> int:
        """The same number of bytes."""
        return input_byte_length


@dataclass(frozen=True)
class CastValue(_RecastCodec):
    """Cast the elements to another data type, with choices for values that do not fit.

    Parameters
    ----------
    data_type : str, dtype, scalar type such as numpy.int16, dict or ZDType
        The data type of encoded arrays.
    rounding : str, optional
        ``nearest-even``, ``towards-zero``, ``towards-positive``, ``towards-negative`` or
        ``nearest-away``.
    out_of_range : str, optional
        ``clamp``, or ``wrap`` for an integer ``data_type``; without it a value out of range raises
        `zarr_recast.CastError`.
    scalar_map : mapping, optional
        ``encode`` and ``decode``, each pairs of input and output, or a mapping. The first pair whose
        input equals an element counts.
    """

    _name = "cast_value"

    dtype: ZDType[Any, Any]
    rounding: RoundingMode
    out_of_range: OutOfRangeMode | None
    scalar_map: dict[str, tuple[tuple[Scalar, Scalar], ...]] | None = field(hash=False)

    def __init__(
        self,
        *,
        data_type: str | type | np.dtype[Any] | Mapping[str, Any] | ZDType[Any, Any],
        rounding: RoundingMode = "nearest-even",
        out_of_range: OutOfRangeMode | None = None,
        scalar_map: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(data_type, Mapping):
            data_type = data_type.get("name", data_type)
        # Not Python's own types: the size of int is not the same everywhere.
        if isinstance(data_type, type) and np.dtype(data_type).type is data_type:
            data_type = np.dtype(data_type)
        if isinstance(data_type, np.dtype):
            data_type = data_type.name
        if not isinstance(data_type, (str, ZDType)):
            raise TypeError(
                f"data_type is {data_type!r}; it must be the name of a data type, such as 'int16', or a dtype"
            )
        if isinstance(data_type, str) and data_type in DATA_TYPES:
            _register_data_types()
        dtype = (
            get_data_type_from_json(data_type, zarr_format=3)
            if isinstance(data_type, str)
            else data_type
        )
        if dtype.to_json(zarr_format=3) not in DATA_TYPES:
            raise ValueError(
                f"Invalid target data type {data_type!r}. The cast_value codec only supports "
                f"integer and floating-point data types."
            )
        if scalar_map is not None:
            if not isinstance(scalar_map, Mapping):
                raise TypeError(
                    f"scalar_map is {scalar_map!r}; it must have 'encode', 'decode' or both, each with pairs of scalars"
                )
            scalar_map = {side: _pairs(side, pairs) for side, pairs in scalar_map.items()}
        self._set(dtype=dtype, rounding=rounding, out_of_range=out_of_range, scalar_map=scalar_map)
        self._set(_json=codec_json(self.to_dict()), _fill_check="create", _source=None)
        check_codec(self._json)

    @property
    def data_type(self) -> ZDType[Any, Any]:
        """The data type of encoded arrays."""
        return self.dtype

    def to_dict(self) -> dict[str, Any]:
        """The JSON metadata."""
        configuration: dict[str, Any] = {"data_type": self.dtype.to_json(zarr_format=3)}
        if self.rounding != "nearest-even":
            configuration["rounding"] = self.rounding
        if self.out_of_range is not None:
            configuration["out_of_range"] = self.out_of_range
        if self.scalar_map is not None:
            configuration["scalar_map"] = {
                side: list(pairs) for side, pairs in self.scalar_map.items()
            }
        return {"name": "cast_value", "configuration": configuration}

    def _check(self, data_type: ZDType[Any, Any]) -> str:
        source = super()._check(data_type)
        target = self.dtype.to_json(zarr_format=3)
        if self.out_of_range == "wrap" and "int" not in target:
            raise ValueError(
                "out_of_range='wrap' is only valid for integer target types. "
                f"Got target dtype {target}; use 'clamp', or leave it out."
            )
        for side, pairs in (self.scalar_map or {}).items():
            types = (source, target) if side == "encode" else (target, source)
            for pair in pairs:
                for value, name, role in zip(pair, types, ("key", "value"), strict=True):
                    self._check_scalar(value, name, f"scalar_map {side} {role}")
        return source

    def _target(self, source: ZDType[Any, Any]) -> ZDType[Any, Any]:
        return self.dtype

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """The same number of elements, with the other size."""
        name = chunk_spec.dtype.to_json(zarr_format=3)
        if name not in DATA_TYPES:
            raise ValueError(
                "cast_value codec only supports fixed-size integer and floating-point data types. "
                f"Got source dtype: {name}."
            )
        source = chunk_spec.dtype.to_native_dtype().itemsize
        return input_byte_length // source * self.dtype.to_native_dtype().itemsize


def _pairs(side: str, pairs: Iterable[Any] | Mapping[Any, Any]) -> tuple[tuple[Scalar, Scalar], ...]:
    """One direction of a scalar map, from a mapping or from pairs."""
    given = pairs.items() if isinstance(pairs, Mapping) else pairs
    place = f"a scalar_map {side} entry"
    try:
        given = [(key, value) for key, value in given]
    except (TypeError, ValueError):
        raise TypeError(
            f"scalar_map {side} is {pairs!r}; it must be a mapping, or a list of pairs of a scalar and its value"
        ) from None
    return tuple((scalar_json(key, place), scalar_json(value, place)) for key, value in given)
