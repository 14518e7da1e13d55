"""Codec configurations as JSON text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np


def scalar_json(value: object, place: str) -> int | float | str:
    """A number or a string as JSON has it: NaN and the infinities are strings.

    JSON gets the shortest decimal of a float, which is read exactly: of a large whole number, that may be
    another whole number. So such a float is given as an integer.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{place} must be a number or string, got {type(value).__name__}")
    if isinstance(value, float):
        return int(value) if _is_large(value) else _float_json(value)
    return value


def _float_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _is_large(value: float) -> bool:
    """Whether a float is a whole number of 64 bits of which its shortest decimal may be another."""
    return abs(value) >= 2**53 and -(2**63) <= value < 2**64


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
        return _float_json(value)
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


def as_written(codec: Mapping[str, Any]) -> dict[str, Any]:
    """A codec's metadata with integers for decimals that are read as large floats."""

    def number(text: str) -> int | float:
        return int(Decimal(text)) if _is_large(float(text)) else float(text)

    written: dict[str, Any] = json.loads(codec_json(codec), parse_float=number)
    return written


def codecs_json(codecs: Iterable[Any]) -> str:
    """The JSON text of a list of codecs."""
    if isinstance(codecs, Mapping) or hasattr(codecs, "to_dict"):
        codecs = [codecs]
    return f"[{', '.join(map(codec_json, codecs))}]"
