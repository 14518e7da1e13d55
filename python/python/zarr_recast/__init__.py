"""The Zarr codecs ``cast_value`` and ``scale_offset``: exact, and close to the speed of memory.

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

from importlib import import_module
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
from ._errors import CastError, ExistsError, NotFoundError

if TYPE_CHECKING:
    from ._cf import CfCodecs, codecs_from_cf, from_cf
    from ._encoding import encoding_for
    from ._jobs import (
        CompareReport,
        FromCfReport,
        GroupReport,
        PackReport,
        VerifyReport,
        compare,
        pack,
        verify,
    )
    from ._rounding import round_to
    from ._suggestions import Rung, Suggestion, Suggestions, suggest

__all__ = [
    "DATA_TYPES",
    "CastError",
    "CfCodecs",
    "Chain",
    "CompareReport",
    "ExistsError",
    "FromCfReport",
    "GroupReport",
    "NotFoundError",
    "PackReport",
    "Rung",
    "Suggestion",
    "Suggestions",
    "VerifyReport",
    "__version__",
    "cast_array",
    "cast_array_into",
    "codecs_from_cf",
    "compare",
    "encoding_for",
    "from_cf",
    "pack",
    "register",
    "round_to",
    "scale_offset_decode",
    "scale_offset_decode_into",
    "scale_offset_encode",
    "scale_offset_encode_into",
    "suggest",
    "verify",
]

# Names that are imported on first use, so that casting needs only NumPy, and their modules.
_LATER = {
    "CfCodecs": "_cf",
    "codecs_from_cf": "_cf",
    "CompareReport": "_jobs",
    "compare": "_jobs",
    "encoding_for": "_encoding",
    "FromCfReport": "_jobs",
    "GroupReport": "_jobs",
    "from_cf": "_cf",
    "PackReport": "_jobs",
    "Rung": "_suggestions",
    "Suggestion": "_suggestions",
    "Suggestions": "_suggestions",
    "VerifyReport": "_jobs",
    "pack": "_jobs",
    "round_to": "_rounding",
    "suggest": "_suggestions",
    "verify": "_jobs",
}


def register(*, fast_reads: bool = False) -> None:
    """Make zarr-python use these codecs for ``cast_value`` and ``scale_offset``.

    Also adds the 16 data types that zarr-python lacks, if ``ml_dtypes`` is installed. The choice holds
    for this process and those that it starts, by the environment variables
    ``ZARR_CODECS__CAST_VALUE=zarr_recast.zarr.CastValue`` and
    ``ZARR_CODECS__SCALE_OFFSET=zarr_recast.zarr.ScaleOffset``. To make it without code, set them yourself.

    Parameters
    ----------
    fast_reads : bool
        Whether zarr creates results as `zarr_recast.zarr.NDBuffer`, into which chunks are decoded
        directly. An element that cannot be decoded then raises its error when its chunk is copied, and
        not in the codec. With zarr's ``FusedCodecPipeline``, a read of a part of a chunk decodes only the
        selected elements if this is set; with the default pipeline it always does. zarr refuses to read
        a part of a shard inside a shard into any buffer but its own. A buffer that zarr's configuration
        already names is kept. The default leaves zarr's buffer as it is.
        ``ZARR_NDBUFFER=zarr_recast.zarr.NDBuffer`` makes the same choice by environment variable.

    Raises
    ------
    ImportError
        zarr-python is not installed, or older than 3.3.0.
    """
    from .zarr import register

    register(fast_reads=fast_reads)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
