"""The Zarr codecs ``cast_value`` and ``scale_offset``: exact, and at memory speed.

>>> import numpy as np, zarr_recast
>>> zarr_recast.cast_array(
...     np.array([1.5, np.nan, 300], "float32"),
...     target_dtype="uint8",
...     rounding_mode="nearest-even",
...     out_of_range_mode="clamp",
...     scalar_map_entries={np.nan: 0},
... )
array([  2,   0, 255], dtype=uint8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import (
    DATA_TYPES,
    Chain,
    __version__,
    cast_array,
    cast_array_into,
    scale_offset_decode,
    scale_offset_decode_into,
    scale_offset_encode,
    scale_offset_encode_into,
)
from ._errors import CastError

if TYPE_CHECKING:
    from ._encoding import encoding_for

__all__ = [
    "DATA_TYPES",
    "CastError",
    "Chain",
    "__version__",
    "cast_array",
    "cast_array_into",
    "encoding_for",
    "register",
    "scale_offset_decode",
    "scale_offset_decode_into",
    "scale_offset_encode",
    "scale_offset_encode_into",
]


def register() -> None:
    """Make zarr-python use these codecs for ``cast_value`` and ``scale_offset``.

    Also makes the 15 data types known that zarr-python lacks, if ``ml_dtypes`` is installed, and zarr
    create results as `zarr_recast.zarr.NDBuffer`, into which chunks are decoded without a copy, unless
    its configuration names another buffer than the default. The choice holds for this process; to make
    it by environment instead, set
    ``ZARR_CODECS__CAST_VALUE=zarr_recast.zarr.CastValue`` and
    ``ZARR_CODECS__SCALE_OFFSET=zarr_recast.zarr.ScaleOffset``.

    Raises
    ------
    ImportError
        zarr-python is not installed, or older than 3.4.
    """
    from .zarr import register

    register()


def __getattr__(name: str) -> Any:
    # Not imported above, so that casting needs nothing but NumPy.
    if name == "encoding_for":
        from ._encoding import encoding_for

        return encoding_for
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
