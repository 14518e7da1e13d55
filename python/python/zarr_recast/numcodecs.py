"""A faster ``FixedScaleOffset`` for numcodecs, and so for the filters of Zarr v2.

Importing this module needs numcodecs, which comes with zarr-python.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numcodecs
import numpy as np
from numcodecs.compat import ensure_ndarray, ndarray_copy

from ._core import Chain
from ._json import codec_json

__all__ = ["FixedScaleOffset", "register"]


def register() -> None:
    """Make numcodecs, and zarr-python for arrays of Zarr v2, use this codec."""
    numcodecs.register_codec(FixedScaleOffset)


class FixedScaleOffset(numcodecs.FixedScaleOffset):  # type: ignore[misc]
    """``numcodecs.FixedScaleOffset`` with the same parameters, configuration and elements.

    From floats to integers and back, it runs in one pass without intermediate arrays; numcodecs itself
    handles other data types. As in numcodecs, values out of range for the encoded type wrap. But a NaN
    or an infinity, for which numcodecs stores some number, raises `zarr_recast.CastError`.

    Examples
    --------
    >>> import numpy as np
    >>> from zarr_recast.numcodecs import FixedScaleOffset
    >>> codec = FixedScaleOffset(offset=1000, scale=10, dtype="f8", astype="u1")
    >>> codec.encode(np.array([1000.0, 1000.5, 1001.0]))
    array([ 0,  5, 10], dtype=uint8)
    """

    @cached_property
    def _chain(self) -> Chain | None:
        if (self.dtype.kind, self.astype.kind) not in {("f", "i"), ("f", "u")}:
            return None
        configuration = {key: value for key, value in self.get_config().items() if key != "id"}
        codec = {"name": "numcodecs.fixedscaleoffset", "configuration": configuration}
        return Chain(self.dtype, f"[{codec_json(codec)}]")

    def encode(self, buf: Any) -> Any:
        """Encode elements: ``(x - offset) * scale``, to the nearest integer."""
        if self._chain is None:
            return super().encode(buf)
        decoded = ensure_ndarray(buf).view(self.dtype).reshape(-1, order="A")
        encoded = np.empty(decoded.shape, self.astype)
        self._chain.encode_into(decoded, encoded)
        return encoded

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Decode elements: ``x / scale + offset``."""
        if self._chain is None:
            return super().decode(buf, out)
        encoded = ensure_ndarray(buf).view(self.astype).reshape(-1, order="A")
        decoded = np.empty(encoded.shape, self.dtype)
        self._chain.decode_into(encoded, decoded)
        return ndarray_copy(decoded, out)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_chain"}
