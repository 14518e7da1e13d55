"""The exception for an element that cannot be converted, and errors of recast-pack in Python's words."""

from __future__ import annotations

import re
import sys
from typing import Any


class CastError(ValueError):
    """The first element of an array, in C order, that cannot be converted.

    Attributes
    ----------
    index : tuple of int
        Its place in the array.
    value : int or float
        The element, exactly.
    source : str
        The Zarr name of the array's data type.
    target : str
        The Zarr name of the data type of the step that failed.
    reason : str
        ``nan``, ``infinite``, ``out-of-range``, ``overflow`` or ``inexact-division``.
    """

    def __init__(
        self,
        message: str,
        *,
        index: tuple[int, ...],
        value: float,
        source: str,
        target: str,
        reason: str,
    ) -> None:
        super().__init__(message)
        self.index = index
        self.value = value
        self.source = source
        self.target = target
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (str(self), dict(self.__dict__))


# The public module, which tracebacks show.
CastError.__module__ = "zarr_recast"


def _restore(message: str, details: dict[str, Any]) -> CastError:
    return CastError(message, **details)


# A flag, and a number or a name behind it.
_FLAG = re.compile(
    r"--([a-z][a-z0-9-]*)(?: (-?\d+(?:\.\d+)?(?:e-?\d+)?|any|gdal|zarrita|auto|inside|outside|clamp)\b)?"
)
# The flag of the largest error, and the limits.
_SHORT_FLAG = re.compile(r"(?<!\S)-e(?= \d)")
_LIMITS = re.compile(r"--limits (-?\d\S*|none) (-?\d\S*|none)(?!\S)")
_LIMITS_OF_TABLE = re.compile(r"limits = \[\"?([^],\"]+)\"?, \"?([^],\"]+)\"?\] in its table of --config")
# Flags whose names differ from Python's parameters.
_PARAMETERS = {"nan-to": "nan", "no-nan": "nan=None", "no-grid": "grid=False"}
# The parameters of `pack` that are true or false.
_SWITCHES = {
    "allow_collisions",
    "allow_constant",
    "auto",
    "dry_run",
    "from_cf",
    "grid",
    "infinity",
    "into_group",
    "keep_sign",
    "lossless",
    "no_outside_links",
    "overwrite",
    "pow2",
    "repack",
    "sync",
    "verify",
}
# Ways out that Python has no parameters for: there, bounds by paths say which arrays are packed.
_WAYS = [
    (re.compile(pattern), text)
    for pattern, text in (
        # The way out of the default here is the opposite of the flag.
        ("see --no-grid", "see grid=True"),
        ("--include packs integers, exactly", "a bound by its path, such as 0, packs it"),
        (r"--exclude \"[^\"]*\" or --keep-going leaves it as it is", "bounds by paths that leave it out keep it as it is"),
        (r"--exclude \S+ keeps it as it is", "bounds by paths that leave it out keep it as it is"),
        (r"a table for (\S+) is for groups", r"a dictionary with \1 is for groups"),
        (r"\(-e NAME=BOUND, --config\) or --exclude;", "(a dictionary by paths);"),
    )
]


def with_parameters(text: str) -> str:
    """A text of recast-pack, with Python's parameters instead of flags."""

    def parameter(flag: re.Match[str]) -> str:
        name = _PARAMETERS.get(flag[1], flag[1].replace("-", "_"))
        value = flag[2]
        if name in _SWITCHES:
            says_more = flag.string.startswith(" is ", flag.end())
            return name if says_more else f"{name}=True{flag[0].removeprefix(f'--{flag[1]}')}"
        if value is None:
            return name
        return f'{name}="{value}"' if value.isalpha() else f"{name}={value}"

    for pattern, way in _WAYS:
        text = pattern.sub(way, text)
    text = _LIMITS_OF_TABLE.sub(lambda found: f"{_limits(found)} for its path", text)
    text = _SHORT_FLAG.sub("--max-abs-error", text)
    return _FLAG.sub(parameter, _LIMITS.sub(_limits, text))


def _limits(flag: re.Match[str]) -> str:
    least, greatest = (end.replace("none", "None") for end in flag.groups())
    return f"limits=({least}, {greatest})"


class NotFoundError(FileNotFoundError, ValueError):
    """There is no array, group or file at a place that is read."""


class ExistsError(FileExistsError, ValueError):
    """There is something at the place of the output."""


for _class in (NotFoundError, ExistsError):
    _class.__module__ = "zarr_recast"

_CLASSES = {"NotFoundError": NotFoundError, "ExistsError": ExistsError, "ValueError": ValueError}


def pack_error(text: str, name: str) -> ValueError:
    """An error of recast-pack, in Python's words, of the class with a name."""
    return _CLASSES[name](with_parameters(text))


def outside() -> int:
    """How many calls away the caller of this package is, as the stack level of a warning."""
    frame = sys._getframe(1)
    count = 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, count = frame.f_back, count + 1
    return count
