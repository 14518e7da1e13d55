from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

DataTypeName = Literal[
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "bfloat16",
    "float16",
    "float32",
    "float64",
]
DataTypeLike = DataTypeName | str | np.dtype[Any] | type[Any]
RoundingMode = Literal[
    "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"
]
OutOfRangeMode = Literal["clamp", "wrap"]
FloatOverflow = Literal["error", "infinity"]
FillCheck = Literal["create", "open", "report-only"]
Number = float | str | np.generic
ScalarMapEntries = Mapping[Any, Any] | Iterable[tuple[Any, Any]]

class _Codec(Protocol):
    def to_dict(self) -> dict[str, Any]: ...

__version__: str
DATA_TYPES: tuple[DataTypeName, ...]

def cast_array(
    arr: npt.ArrayLike,
    *,
    target_dtype: DataTypeLike,
    rounding_mode: RoundingMode,
    out_of_range_mode: OutOfRangeMode | None = None,
    scalar_map_entries: ScalarMapEntries | None = None,
) -> npt.NDArray[Any]: ...
def cast_array_into(
    arr: npt.ArrayLike,
    out: npt.NDArray[Any],
    *,
    rounding_mode: RoundingMode,
    out_of_range_mode: OutOfRangeMode | None = None,
    scalar_map_entries: ScalarMapEntries | None = None,
) -> None: ...
def scale_offset_encode(
    arr: npt.ArrayLike,
    *,
    offset: Number | None = None,
    scale: Number | None = None,
    float_overflow: FloatOverflow | None = None,
) -> npt.NDArray[Any]: ...
def scale_offset_encode_into(
    arr: npt.ArrayLike,
    out: npt.NDArray[Any],
    *,
    offset: Number | None = None,
    scale: Number | None = None,
    float_overflow: FloatOverflow | None = None,
) -> None: ...
def scale_offset_decode(
    arr: npt.ArrayLike,
    *,
    offset: Number | None = None,
    scale: Number | None = None,
    float_overflow: FloatOverflow | None = None,
) -> npt.NDArray[Any]: ...
def scale_offset_decode_into(
    arr: npt.ArrayLike,
    out: npt.NDArray[Any],
    *,
    offset: Number | None = None,
    scale: Number | None = None,
    float_overflow: FloatOverflow | None = None,
) -> None: ...

class Chain:
    def __new__(
        cls,
        data_type: DataTypeLike,
        codecs: str | Iterable[Mapping[str, Any] | _Codec],
        fill_value: Number | None = None,
        *,
        fill_check: FillCheck = "create",
        float_overflow: FloatOverflow | None = None,
    ) -> Chain: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def fill_value(self) -> np.generic | None: ...
    @property
    def encoded_dtype(self) -> np.dtype[Any]: ...
    @property
    def encoded_data_type(self) -> DataTypeName: ...
    @property
    def encoded_fill_value(self) -> np.generic | None: ...
    @property
    def codecs_json(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def encode(self, arr: npt.ArrayLike) -> npt.NDArray[Any]: ...
    def decode(self, arr: npt.ArrayLike) -> npt.NDArray[Any]: ...
    def encode_into(self, arr: npt.ArrayLike, out: npt.NDArray[Any]) -> None: ...
    def decode_into(self, arr: npt.ArrayLike, out: npt.NDArray[Any]) -> None: ...

class Surveyor:
    def __new__(
        cls,
        data_type: DataTypeLike,
        fill_value: Any,
        attributes: str,
        options_json: str,
        size: int,
    ) -> Surveyor: ...
    def survey(self, block: npt.NDArray[Any], *, whole: bool = False) -> Survey: ...

class Survey:
    def __new__(cls, json: str) -> Survey: ...
    def merge(self, other: Survey) -> Survey: ...

class Rounder:
    def __new__(
        cls, data_type: DataTypeLike, fill_value: Any, attributes: str, options_json: str
    ) -> Rounder: ...
    def round(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]: ...
    def tells_apart(self, block: npt.NDArray[Any]) -> bool: ...

class Advisor:
    def __new__(cls, recommendations: str, nodes: str) -> Advisor: ...

class SuggestFromBlocks:
    def __new__(
        cls,
        data_type: DataTypeLike,
        fill_value: Any,
        attributes: str,
        options_json: str,
        shape: tuple[int, ...],
        chunk: tuple[int, ...] | None,
        advisor: tuple[Advisor, str] | None,
    ) -> SuggestFromBlocks: ...
    def blocks(self) -> list[tuple[list[int], list[int]]]: ...
    def run(self, name: str, blocks: list[npt.NDArray[Any]]) -> tuple[str, str, str]: ...

class Choice:
    def __new__(cls, survey: Survey, options_json: str, refuted: int) -> Choice: ...
    @property
    def codecs_json(self) -> str: ...
    @property
    def storable_range(self) -> tuple[np.generic, np.generic] | None: ...
    @property
    def coarse(self) -> str | None: ...
    @property
    def beyond_valid(self) -> list[str]: ...
    def check(self, block: npt.NDArray[Any]) -> str | None: ...
    def round(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]: ...

def choose(
    survey: Survey, options_json: str, check: Callable[[Choice], str | None]
) -> Choice: ...
def codecs_from_cf(stored: DataTypeLike, attributes: str, decoded: DataTypeLike | None) -> str: ...
def as_array(object: Any) -> npt.NDArray[Any]: ...
def coordinates(nodes: str) -> list[str]: ...
def check_options(options_json: str) -> None: ...
def displaced(for_all: str, own: str) -> list[str]: ...
class Mounts:
    def mount(self, calls: Any, visibility: str | None, is_listable: bool) -> str: ...
    @property
    def is_interrupted(self) -> bool: ...

def run_job(
    request: str, mounts: Mounts, progress: Callable[[str, int, int], object] | None
) -> str: ...
def command(arguments: list[str]) -> int: ...
def scalar_from_json(data_type: DataTypeLike, value: Number) -> Any: ...
def scalar_to_json(data_type: DataTypeLike, value: Number) -> str: ...
def check_codec(json: str) -> None: ...
