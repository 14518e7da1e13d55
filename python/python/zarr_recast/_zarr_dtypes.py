"""The data types that zarr-python lacks, on those of ``ml_dtypes``."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import ml_dtypes
import numpy as np
from zarr.core.dtype.common import HasEndianness, HasItemSize
from zarr.core.dtype.npy.common import endianness_to_numpy_str
from zarr.core.dtype.wrapper import ZDType
from zarr.errors import DataTypeValidationError

from ._core import DATA_TYPES, scalar_from_json, scalar_to_json

if TYPE_CHECKING:
    from zarr.core.common import ZarrFormat


@dataclass(frozen=True, kw_only=True)
class _MlDataType(ZDType[Any, Any], HasItemSize):
    """A data type of one byte, or a part of one."""

    _native: ClassVar[np.dtype[Any]]

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if cls._check_native_dtype(dtype):
            return cls()
        raise DataTypeValidationError(f"Invalid data type: {dtype}. Expected {cls._native}")

    def to_native_dtype(self) -> np.dtype[Any]:
        return self._native

    @property
    def item_size(self) -> int:
        return self._native.itemsize

    # TensorStore gives these types the same names in Zarr v2; the specification has none.
    @classmethod
    def _from_json_v2(cls, data: Any) -> Self:
        return cls._from_json_v3(data["name"] if isinstance(data, dict) else data)

    @classmethod
    def _from_json_v3(cls, data: Any) -> Self:
        if data == cls._zarr_v3_name:
            return cls()
        raise DataTypeValidationError(f"Invalid data type: {data!r}, not {cls._zarr_v3_name!r}")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        # numcodecs, which compresses the chunks of Zarr v2, takes no array of ml_dtypes.
        raise ValueError(f"{self._zarr_v3_name} is only read in Zarr v2, not written; use zarr_format=3")

    def _check_scalar(self, data: object) -> bool:
        try:
            self.cast_scalar(data)
        except (TypeError, ValueError):
            return False
        return True

    def cast_scalar(self, data: object) -> Any:
        return scalar_from_json(self._zarr_v3_name, data)

    def default_scalar(self) -> Any:
        return np.zeros((), np.uint8).view(self._native)[()]

    def from_json_scalar(self, data: Any, *, zarr_format: ZarrFormat) -> Any:
        return scalar_from_json(self._zarr_v3_name, data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> Any:
        return json.loads(scalar_to_json(self._zarr_v3_name, data))


@dataclass(frozen=True, kw_only=True)
class BFloat16(_MlDataType, HasEndianness):
    """The data type ``bfloat16``, which has two bytes and so an order of them."""

    _native = np.dtype(ml_dtypes.bfloat16)
    dtype_cls = type(_native)
    _zarr_v3_name = "bfloat16"

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        if cls._check_native_dtype(dtype):
            # Elements are in native byte order whatever the dtype's, because ml_dtypes does not swap the bytes of a fill
            # value. Those of stored elements have the order of the codec `bytes`.
            return cls(endianness=sys.byteorder)
        raise DataTypeValidationError(f"Invalid data type: {dtype}. Expected {cls._native}")

    def to_native_dtype(self) -> np.dtype[Any]:
        return self._native.newbyteorder(endianness_to_numpy_str(self.endianness))

    def default_scalar(self) -> Any:
        return np.zeros((), np.uint16).view(self._native)[()]


def _one_byte(name: str) -> type[_MlDataType]:
    native = np.dtype(getattr(ml_dtypes, name))
    members = {
        "_native": native,
        "dtype_cls": type(native),
        "_zarr_v3_name": name,
        "__doc__": f"The data type ``{name}``.",
        "__module__": __name__,
    }
    cls = type(name, (_MlDataType,), members)
    globals()[name] = cls  # found there when it is unpickled
    return cls


_NUMPYS = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)}

CLASSES: tuple[type[_MlDataType], ...] = (
    *(_one_byte(name) for name in DATA_TYPES if name not in _NUMPYS and name != "bfloat16"),
    BFloat16,
)
