"""Codec configurations as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def scalar_json(value: object, place: str) -> int | float | str:
    """A number or a string as JSON text, in which NaN and the infinities are strings."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{place} must be a number or string, got {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _default(value: object) -> object:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return scalar_json(value, "a codec's parameter")
    raise TypeError(f"{value!r} is neither a codec nor JSON")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return scalar_json(value, "a codec's parameter")
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(member) for member in value]
    if hasattr(value, "to_dict"):
        return _finite(value.to_dict())
    return value


def codec_json(codec: Any) -> str:
    """The JSON text of a codec's metadata, or of a codec with ``to_dict``."""
    return json.dumps(_finite(codec), default=_default, allow_nan=False)


def codecs_json(codecs: Iterable[Any]) -> str:
    """The JSON text of a list of codecs."""
    if isinstance(codecs, Mapping) or hasattr(codecs, "to_dict"):
        codecs = [codecs]
    return f"[{', '.join(map(codec_json, codecs))}]"
