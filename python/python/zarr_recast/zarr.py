"""``cast_value`` and ``scale_offset`` for zarr-python.

The classes take the place of those in ``zarr.codecs`` with the same arguments and the same JSON; see
`register`. Importing this module needs zarr-python 3.4 or later.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from ._core import DATA_TYPES, Chain, check_codec, scalar_from_json
from ._json import codec_json, scalar_json

try:
    from zarr.abc.codec import ArrayArrayCodec
    from zarr.core.buffer import cpu
    from zarr.core.config import config
    from zarr.core.dtype import data_type_registry, get_data_type_from_json
    from zarr.errors import ZarrUserWarning
    from zarr.registry import register_codec, register_ndbuffer
except ImportError as error:
    raise ImportError(
        "the codecs for zarr-python need zarr 3.4 or later; pip install 'zarr-recast[zarr]'"
    ) from error

if TYPE_CHECKING:
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import NDBuffer
    from zarr.core.dtype.wrapper import ZDType
    from zarr.core.metadata.v3 import ChunkGridMetadata

__all__ = ["CastValue", "ScaleOffset", "register"]

RoundingMode = Literal[
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"
]
OutOfRangeMode = Literal["clamp", "wrap"]
Scalar = int | float | str


def register() -> None:
    """Make zarr-python use these codecs; see `zarr_recast.register`."""
    _register_data_types()
    for name, codec in (("cast_value", CastValue), ("scale_offset", ScaleOffset)):
        register_codec(name, codec)
        config.set({f"codecs.{name}": f"{codec.__module__}.{codec.__qualname__}"})
    register_ndbuffer(NDBuffer)
    if config.get("ndbuffer") == "zarr.buffer.cpu.NDBuffer":  # the default
        config.set({"ndbuffer": f"{NDBuffer.__module__}.{NDBuffer.__qualname__}"})


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


@lru_cache(maxsize=256)
def _encoded_fill(dtype: np.dtype[Any], codec: str, fill: bytes, check: str) -> Any:
    """The encoded fill value; a fill value that does not come back raises, or warns."""
    chain = Chain(dtype, f"[{codec}]", np.frombuffer(fill, dtype)[0], fill_check=check)
    for diagnostic in chain.diagnostics:
        warnings.warn(diagnostic, ZarrUserWarning, stacklevel=5)
    return chain.encoded_fill_value


class NDBuffer(cpu.NDBuffer):
    """A block of memory into which chunks are decoded, without an array between.

    `register` makes zarr create results in it. It is ``zarr.buffer.cpu.NDBuffer`` otherwise.
    """

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set elements, given as an array, a scalar, or a chunk still to be decoded."""
        if not (isinstance(value, _Deferred) and value.decode_to(self._data, key)):
            super().__setitem__(key, value)


class _Deferred(NDBuffer):
    """A chunk on which codecs are still to be run, which is done when its elements are asked for.

    So codecs that follow each other run in one pass, without an array between them.
    """

    def __init__(self, array: Any) -> None:
        self._result: Any = array
        self.data_type = ""
        self.codecs: tuple[str, ...] = ()
        self.encodes = self.decodes = False

    @classmethod
    def of(
        cls,
        before: NDBuffer,
        data_type: str,
        codecs: tuple[str, ...],
        decoded: np.dtype[Any] | None,
        chunk_spec: ArraySpec,
    ) -> NDBuffer:
        """The chunk that comes of another one, by decoding it if there is a decoded data type."""
        chunk = cls(None)
        chunk.before, chunk.data_type, chunk.codecs = before, data_type, codecs
        chunk.encodes, chunk.decodes, chunk._decoded = decoded is None, decoded is not None, decoded
        if chunk_spec.prototype.nd_buffer in (cpu.NDBuffer, NDBuffer):
            return chunk
        return chunk_spec.prototype.nd_buffer.from_ndarray_like(chunk._data)

    @property
    def _data(self) -> Any:
        if self._result is None:
            chain = _chain(self.data_type, *self.codecs)
            array = self.before.as_ndarray_like()
            if self.encodes:
                self._result = chain.encode(array)
            else:
                decoded = np.empty(array.shape, self._decoded)
                chain.decode_into(array, decoded)
                self._result = decoded
            self.encodes = self.decodes = False
            del self.before
        return self._result

    def decode_to(self, array: Any, key: Any) -> bool:
        """Decode into a part of an array; false if the chunk has to be copied there instead."""
        if not (self.decodes and isinstance(array, np.ndarray) and _are_slices(key)):
            return False
        encoded, part = self.before.as_ndarray_like(), array[key]
        if part.shape != encoded.shape or part.dtype != self._decoded:
            return False
        _chain(self.data_type, *self.codecs).decode_into(encoded, part)
        return True

    def __getitem__(self, key: Any) -> Any:
        """A part of the chunk; all of it stays to be decoded."""
        if self.decodes and _are_slices(key):
            shape = self.before.shape
            if [part.indices(n) for part, n in zip(key, shape)] == [(0, n, 1) for n in shape]:
                return self
        return super().__getitem__(key)


def _are_slices(key: Any) -> bool:
    """Whether a key selects a view: slices, and at least one."""
    return isinstance(key, tuple) and key != () and all(isinstance(part, slice) for part in key)


@dataclass(frozen=True)
class _RecastCodec(ArrayArrayCodec):
    """What the two codecs share: all but their configuration."""

    is_fixed_size = True
    _name: ClassVar[str]

    # The metadata in JSON.
    _json: str = field(init=False, repr=False, compare=False)
    # What to do about a fill value that does not come back: a codec made for a new array enforces,
    # one read from metadata reports, as the data are there already.
    _fill_check: str = field(init=False, repr=False, compare=False, default="enforce")
    # The data type that reaches this codec in its array, once that is known.
    _source: str | None = field(init=False, repr=False, compare=False, default=None)
    # The last specification of a chunk, and what it becomes.
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
        codec = cls(**data.get("configuration", {}))
        codec._set(_fill_check="report")
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
        self._encode_fill(array_spec)
        if source == self._source:
            return self
        evolved = copy(self)
        evolved._set(_source=source)
        return evolved

    def validate(
        self,
        *,
        shape: tuple[int, ...],
        dtype: ZDType[Any, Any],
        chunk_grid: ChunkGridMetadata,
    ) -> None:
        """Check the configuration against a data type.

        Once the codec is bound, that is the data type it is bound to: zarr validates all codecs
        against the array's data type too, even those that another one reaches.
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
        try:
            fill_value = self._encode_fill(chunk_spec)
        except ValueError:
            # zarr tries the codecs inside a shard with 0 in place of the array's fill value, which
            # has been checked when they were bound.
            if chunk_spec.fill_value != chunk_spec.dtype.default_scalar():
                raise
            fill_value = target.default_scalar()
        resolved = replace(chunk_spec, dtype=target, fill_value=fill_value)
        self._set(_resolved=(chunk_spec, resolved))
        return resolved

    def _encode_fill(self, chunk_spec: ArraySpec) -> Any:
        native = chunk_spec.dtype.to_native_dtype().newbyteorder("=")
        fill = chunk_spec.fill_value
        if not isinstance(fill, np.generic):
            fill = chunk_spec.dtype.cast_scalar(fill)
        fill = np.asarray(fill, native).tobytes()
        return _encoded_fill(native, self._json, fill, self._fill_check)

    def _target(self, source: ZDType[Any, Any]) -> ZDType[Any, Any]:
        raise NotImplementedError

    def _encode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer | None:
        data_type, codecs = chunk_spec.dtype.to_json(zarr_format=3), (self._json,)
        if isinstance(chunk_array, _Deferred) and chunk_array.encodes:
            data_type, codecs = chunk_array.data_type, chunk_array.codecs + codecs
            chunk_array = chunk_array.before
        return _Deferred.of(chunk_array, data_type, codecs, None, chunk_spec)

    def _decode_sync(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        data_type, codecs = chunk_spec.dtype.to_json(zarr_format=3), (self._json,)
        if isinstance(chunk_array, _Deferred) and chunk_array.decodes:
            codecs += chunk_array.codecs
            chunk_array = chunk_array.before
        native = chunk_spec.dtype.to_native_dtype()
        return _Deferred.of(chunk_array, data_type, codecs, native, chunk_spec)

    # Batches too are done in place: a task for each chunk would cost as much as its elements.
    async def encode(
        self, chunks_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Encode a batch of chunks."""
        return [chunk if chunk is None else self._encode_sync(chunk, spec) for chunk, spec in chunks_and_specs]

    async def decode(
        self, chunks_and_specs: Iterable[tuple[NDBuffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Decode a batch of chunks."""
        return [chunk if chunk is None else self._decode_sync(chunk, spec) for chunk, spec in chunks_and_specs]

    async def _encode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer | None:
        return self._encode_sync(chunk_array, chunk_spec)

    async def _decode_single(self, chunk_array: NDBuffer, chunk_spec: ArraySpec) -> NDBuffer:
        return self._decode_sync(chunk_array, chunk_spec)


def _is_same(one: ArraySpec, other: ArraySpec) -> bool:
    """Whether two specifications are of chunks of one array, without comparing what they share."""
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
    """A parameter that is not given: the number that changes nothing, and not written."""


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
        self._set(_json=codec_json(self.to_dict()), _fill_check="enforce", _source=None)

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
        """As many bytes as there were."""
        return input_byte_length


@dataclass(frozen=True)
class CastValue(_RecastCodec):
    """Cast the elements to another data type, with choices for what does not fit.

    Parameters
    ----------
    data_type : str, dict or ZDType
        The data type of encoded arrays.
    rounding : str, optional
        ``nearest-even``, ``towards-zero``, ``towards-positive``, ``towards-negative`` or
        ``nearest-away``.
    out_of_range : str, optional
        ``clamp``, or ``wrap`` for an integer ``data_type``; without it a value out of range is a
        `zarr_recast.CastError`.
    scalar_map : mapping, optional
        ``encode`` and ``decode``, each pairs of input and output, or a mapping. The first pair whose
        input equals an element decides it.
    """

    _name = "cast_value"

    dtype: ZDType[Any, Any]
    rounding: RoundingMode
    out_of_range: OutOfRangeMode | None
    scalar_map: dict[str, tuple[tuple[Scalar, Scalar], ...]] | None = field(hash=False)

    def __init__(
        self,
        *,
        data_type: str | Mapping[str, Any] | ZDType[Any, Any],
        rounding: RoundingMode = "nearest-even",
        out_of_range: OutOfRangeMode | None = None,
        scalar_map: Mapping[str, Any] | None = None,
    ) -> None:
        if isinstance(data_type, Mapping):
            data_type = data_type["name"]
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
            scalar_map = {side: _pairs(side, pairs) for side, pairs in scalar_map.items()}
        self._set(dtype=dtype, rounding=rounding, out_of_range=out_of_range, scalar_map=scalar_map)
        self._set(_json=codec_json(self.to_dict()), _fill_check="enforce", _source=None)
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
        """As many elements as there were, of the other size."""
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
    return tuple((scalar_json(key, place), scalar_json(value, place)) for key, value in given)
