"""Packing, checking and converting Zarr stores: the jobs of recast-pack, with reports as dataclasses."""

from __future__ import annotations

import html
import json
import operator
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeAlias, TypeVar

from ._cf import refuse_decoded
from ._errors import outside, with_parameters
from ._options import GOALS, by_path, for_all, number, of_one, options_json, own_of
from ._progress import Show
from ._recommendations import recommended
from ._stores import Job, Place
from ._trees import is_of_xarray

_T = TypeVar("_T")
# A setting for all arrays, or by the paths of arrays.
ByPath: TypeAlias = _T | Mapping[str, _T | None] | None


# A report prints at most this many lines.
_MOST_LINES = 10


@dataclass(frozen=True, repr=False)
class Report:
    """The report of a job, which prints as the command's. ``details`` has everything that ``recast … --json`` prints."""

    details: dict[str, Any]
    _text: str = field(default="", kw_only=True, compare=False)
    _html: str = field(default="", kw_only=True, compare=False)

    @classmethod
    def _of(cls, details: dict[str, Any], text: str = "", page: str = "", **own: Any) -> Self:
        names = {one.name for one in fields(cls)} - {"details", "_text", "_html", *own}
        own |= {name: details[name] for name in names}
        return cls(details, _text=with_parameters(text), _html=with_parameters(page), **own)

    def _headline(self) -> str | None:
        """What stands above the command's text."""
        return None

    def __repr__(self) -> str:
        lines = [line for line in (self._headline(), *self._text.splitlines()) if line]
        if len(lines) > _MOST_LINES:
            more = len(lines) - _MOST_LINES + 1
            lines[_MOST_LINES - 1 :] = [f"… {more} more lines, as in details"]
        return "\n".join(lines) or f"{type(self).__name__}({self.details!r})"

    def __str__(self) -> str:
        lines = [line for line in (self._headline(), self._text) if line]
        return "\n".join(lines).rstrip("\n") or repr(self)

    def _repr_html_(self) -> str:
        headline = self._headline()
        above = "" if headline is None else f"<p>{html.escape(headline)}</p>"
        below = self._html or f"<pre>{html.escape(self._text)}</pre>"
        return above + below


@dataclass(frozen=True, repr=False)
class PackReport(Report):
    """The report of packing an array.

    Attributes
    ----------
    input, output : str
        The arrays.
    shape : list of int
    source_data_type, data_type : str
        The types of the values and of the stored elements.
    compression : str
        How the stored codes are compressed, such as ``zstd:5`` or ``delta (axis 1) + 128, blosc:9 (shuffle)``.
    codecs : list
        All codecs, as in ``zarr.json``.
    range, storable_range : list or None
        Smallest and largest value of the array, and those that the codecs can store.
    decoded_range : list or None
        Smallest and largest decoded value, if one of them is outside the data.
    ratio : float or None
        The bytes of all elements divided by those of the stored chunks.
    counts, bytes, error : dict
        Counts of elements; sizes; the largest and the mean errors, and the bound.
    bound : str or None
        The bound of the error, in a sentence, and on which grid of values it holds, if not for all.
    grid : dict or None
        ``step`` (and ``origin``, unless it is 0) of the grid on which values must be to keep the bound.
    nan_kinds : dict or None
        The number of ``kinds`` of NaN (bit patterns), the first ``patterns``, and what they are ``decoded`` to, if some
        become one.
    coarse : dict or None
        The bound in units of the range and of the standard deviation of the values, if it exceeds a tenth of one.
    dry_run : bool
        Whether nothing was written.
    """

    input: str
    output: str
    shape: list[int]
    source_data_type: str
    data_type: str
    compression: str
    codecs: list[Any]
    range: list[Any] | None
    decoded_range: list[Any] | None
    storable_range: list[Any] | None
    ratio: float | None
    counts: dict[str, Any]
    bytes: dict[str, Any]
    error: dict[str, Any]
    bound: str | None
    grid: dict[str, float] | None
    nan_kinds: dict[str, Any] | None
    coarse: dict[str, float | None] | None
    dry_run: bool

    def _headline(self) -> str | None:
        # Values between those of the grid may be off by more than the bound.
        return None if self.grid is None else self.bound


@dataclass(frozen=True, repr=False)
class FromCfReport(Report):
    """The report of an array that CF's attributes packed.

    Attributes
    ----------
    input, output : str
        The arrays.
    shape : list of int
    stored_data_type, data_type : str
        The types of the stored elements and of the values.
    codecs : list
        All codecs, as in ``zarr.json``.
    bit_identical : bool
        Whether all values are those of CF's arithmetic, bit for bit.
    warnings : list of str
        Warnings for readers.
    dry_run : bool
        Whether nothing was written.
    """

    input: str
    output: str
    shape: list[int]
    stored_data_type: str
    data_type: str
    codecs: list[Any]
    bit_identical: bool
    warnings: list[str]
    dry_run: bool


@dataclass(frozen=True, repr=False)
class GroupReport(Report):
    """The report of packing a group.

    Attributes
    ----------
    input, output : str
        The groups.
    packed : dict
        By path, the `PackReport` or `FromCfReport` of each array that was packed.
    copied : dict
        By path, why an array was not packed.
    dry_run : bool
        Whether nothing was written.
    """

    input: str
    output: str
    packed: dict[str, PackReport | FromCfReport]
    copied: dict[str, str]
    dry_run: bool

    @property
    def coarse(self) -> dict[str, dict[str, float | None]]:
        """By path, the arrays of which the bound leaves little."""
        reports = self.packed.items()
        return {
            path: report.coarse
            for path, report in reports
            if isinstance(report, PackReport) and report.coarse is not None
        }


@dataclass(frozen=True, repr=False)
class VerifyReport(Report):
    """How far two arrays or groups differ.

    Attributes
    ----------
    failure : str or None
        Why the second is not within the tolerance, with the first and the worst element.
    """

    failure: str | None

    @property
    def passed(self) -> bool:
        """Whether all elements are within the tolerance."""
        return self.failure is None

    def _headline(self) -> str:
        return f"passed: {self.details['b']}" if self.failure is None else f"failed: {self.failure}"


@dataclass(frozen=True, repr=False)
class CompareReport(Report):
    """How far two arrays or groups differ; ``details`` has the counts and errors of each array.

    Attributes
    ----------
    a, b : str
        The original, and what is compared with it.
    """

    a: str
    b: str

    def _headline(self) -> str:
        return f"{self.b} compared with {self.a}"


# The parameters of `pack` that are no options for arrays.
_SETTINGS = {
    "source",
    "target",
    "recommendations",
    "repack",
    "overwrite",
    "dry_run",
    "threads",
    "max_memory",
    "no_outside_links",
    "into_group",
    "sync",
    "progress",
}

# The parameters of `verify` and `compare` that say what to keep.
_REQUIREMENTS = {*GOALS} - {"precision"} | {"lossless", "limits", "keep_sign"}


def _array_report(details: dict[str, Any], *shown: str) -> PackReport | FromCfReport:
    if "stored_data_type" in details:
        return FromCfReport._of(details, *shown)
    return PackReport._of(details, *shown)


def pack(
    source: Place,
    target: Place | None = None,
    *,
    max_abs_error: ByPath[float] = None,
    error_over_range: ByPath[float] = None,
    max_rel_error: ByPath[float] = None,
    max_mean_error: ByPath[float] = None,
    mean_error_over_range: ByPath[float] = None,
    max_mean_rel_error: ByPath[float] = None,
    lossless: ByPath[bool] = None,
    limits: ByPath[tuple[float | None, float | None]] = None,
    keep_sign: ByPath[bool] = None,
    precision: ByPath[float] = None,
    auto: ByPath[bool] = None,
    pow2: ByPath[bool] = None,
    grid: ByPath[bool] = None,
    data_type: ByPath[Any] = None,
    nan: ByPath[int | str] = "auto",
    missing: ByPath[float | Sequence[float]] = None,
    infinity: ByPath[bool] = None,
    allow_collisions: ByPath[bool] = None,
    allow_constant: ByPath[bool] = None,
    src_min: ByPath[float] = None,
    src_max: ByPath[float] = None,
    range: ByPath[tuple[float, float]] = None,  # noqa: A002, the command's name
    rounding: ByPath[str] = None,
    out_of_range: ByPath[str] = None,
    scale: ByPath[float] = None,
    offset: ByPath[float] = None,
    verify: ByPath[bool] = None,
    compressor: ByPath[str] = None,
    readers: ByPath[str | Sequence[str]] = None,
    shard_codecs: ByPath[str] = None,
    from_cf: ByPath[bool] = None,
    decoded_type: ByPath[Any] = None,
    recommendations: bool | str | os.PathLike[str] | Any = False,
    repack: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    threads: int | None = None,
    max_memory: int | None = None,
    no_outside_links: bool = False,
    into_group: bool = False,
    sync: bool = False,
    progress: bool | Show = False,
) -> PackReport | FromCfReport | GroupReport:
    """Pack a stored Zarr array or group, as the command ``recast pack`` does.

    Every element is decoded and compared when it is written. The GIL is released. Ctrl-C ends the job
    and leaves nothing behind.

    Each parameter from ``max_abs_error`` to ``decoded_type`` is the flag of ``recast pack`` with this name. For a
    group, each may be a dictionary by the paths of arrays, without patterns; an array's own bound of any kind replaces the one
    for all.

    Parameters
    ----------
    source, target : str or path, zarr.Array, Group, Store or StorePath
        The array or group to read, of any version of Zarr, and the one to write. Paths are directories, or ``source`` a
        zip file; URLs are those of the command. A zarr object is read and written by its own store, whatever that is. The
        output is complete in a temporary directory before the store gets any of it: first chunks, and metadata last. In a
        session of Icechunk it is not committed. A dry run needs no target, and does not look at it.
        ``source`` may be an object of xarray, without its encoding: its blocks are computed as they are read, up to three
        times. The output is consolidated, as that of its ``to_zarr``.
    max_abs_error, error_over_range, max_rel_error, precision : float, optional
        What to keep; see `encoding_for`. All bounds that are given hold.
    max_mean_error, mean_error_over_range, max_mean_rel_error : float, optional
        The largest mean of ``|decoded - original|``: as it is, in units of each array's range, or in units of the mean of
        ``|original|``, so that 0 stays 0, too.
    lossless : bool, optional
        Keep every bit, -0.0 and kinds of NaN included.
    limits : tuple, optional
        Decoded values lie between these where the original ones do; None for an open end: ``(0, None)``.
    keep_sign : bool, optional
        0 stays 0, and no other value changes its sign. Without it that is so where it takes no larger type.
    auto, data_type : bool and data type, optional
        Spread the values over the whole range of ``data_type``. Without ``auto``, only the type of stored elements.
    pow2 : bool, optional
        Use a power-of-two scale.
    grid : bool, optional
        False for arrays that will grow: the bound holds for values between those at hand, too. By default, values
        that are all multiples of a step get codes for such multiples only, and the report's ``grid`` says so.
    nan : int, "auto", "min", "max" or None
        The stored value of NaN. With None, NaN is an error.
    missing : float or sequence, optional
        Values that mean "missing"; ``"0x7f800001"`` is a kind of NaN, which comes back bit for bit.
    infinity, allow_collisions, allow_constant : bool, optional
        Give infinities codes of their own; allow valid values to share a code with missing ones; allow a bound that
        leaves one value of an array that has several.
    src_min, src_max : float, optional
        Clamp values outside, and count them.
    range : tuple, optional
        The least and the greatest value that will ever be written.
    rounding, out_of_range : str, optional
        As in ``cast_value``.
    scale, offset : float, optional
        Given instead of chosen.
    verify : bool, optional
        Read the output again at the end.
    compressor : str, optional
        ``"auto"`` unless given; also ``"smallest"``, ``"none"``, ``"zstd:5"``, ``"gzip:6"``, ``"blosc:5"``.
    readers : str or sequence, optional
        Programs that must be able to read it: ``"zarr-python"``, ``"zarrs"``, ``"zarrita"``, ``"gdal"``, or ``"any"``:
        values stay plain numbers, rounded within the bound.
    shard_codecs : str, optional
        ``"auto"``, ``"inside"`` or ``"outside"`` of shards.
    from_cf, decoded_type : bool and data type, optional
        Turn CF's attributes into codecs over the same stored integers.
    recommendations : bool, path or object
        True for what the package compression-recommendations recommends for each array, by its names and levels; or the path
        of a file of its kind, or its ``Recommendations``. Goals for all arrays hold, too. Arrays for which nothing is
        recommended are copied, unless a bound is given. Arguments for single arrays hold in place of it.
    repack : bool
        Whether to pack packed arrays of a group, too: their decoded values, with an error that comes on top of the one
        that they have. A single array is packed in any case.
    overwrite : bool
        Whether to replace an array or a group at ``target``, once the new one is complete.
    dry_run : bool
        Whether to write nothing and report what would be written.
    threads : int, optional
        Threads to work with; by default one for each processor.
    max_memory : int, optional
        Bytes that the chunks being processed may take.
    no_outside_links : bool
        Whether to refuse a source with a link that leads out of it. Otherwise the details of the report name such links.
    into_group : bool
        Whether to add ``target`` to a group that ``source`` is in. Otherwise that is an error: readers of the group may
        lack the codecs.
    sync : bool
        Whether to wait until the disk has a target in a directory before it replaces anything, so that a power cut leaves
        the new array or group, or the old one.
    progress : bool or callable
        Whether to show a bar of tqdm; or a function that gets the name of a pass, the units that are done, and their number.

    Returns
    -------
    PackReport, FromCfReport or GroupReport

    Raises
    ------
    FileNotFoundError
        Nothing at ``source``, with the nearest names.
    FileExistsError
        Something at ``target``, without ``overwrite``. Both are ValueErrors, too: `NotFoundError` and `ExistsError`.
    ValueError
        Invalid options; a path without an array; an array that cannot be read or kept within the bound; an output
        that cannot be written. The text names the place and a way out. An exception of a store is the cause.
    """
    options = {name: by_path(value) for name, value in locals().items() if name not in _SETTINGS}
    if target is None and not dry_run:
        raise TypeError("pack needs a target, unless it is a dry run")
    if is_of_xarray(source):
        refuse_decoded(source, options["from_cf"])
    request = {
        "job": "pack",
        **_by_array(options),
        "recommendations": recommended(recommendations),
        **_flags(
            repack=repack,
            overwrite=overwrite,
            dry_run=dry_run,
            no_outside_links=no_outside_links,
            into_group=into_group,
            sync=sync,
        ),
        "threads": _threads(threads),
        "max_memory": None if max_memory is None else _bytes(max_memory),
    }
    job = Job()
    request["target"] = "" if target is None else job.target(target)
    request["source"] = job.source(source)
    answer = job.run(request, progress)
    details, shown = answer["report"], (answer["text"], answer["html"])
    if "arrays" not in details:
        report = _array_report(details, *shown)
        _warn_of_grids({"": report}, options)
        return report
    entries = details["arrays"]
    texts = answer["texts"]
    packed = {
        one["array"]: _array_report(one["report"], texts[one["array"]])
        for one in entries
        if "report" in one
    }
    _warn_of_grids(packed, options)
    copied = {one["array"]: with_parameters(one["reason"]) for one in entries if "reason" in one}
    return GroupReport._of(details, *shown, packed=packed, copied=copied)


def _by_array(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options for all arrays, and those for single ones by their paths, as recast-pack takes them."""
    names = {name for value in options.values() if isinstance(value, Mapping) for name in value}
    return {
        "options": json.loads(options_json(**for_all(options))),
        "rules": {name: json.loads(options_json(**own_of(name, options))) for name in names},
    }


def _warn_of_grids(
    reports: Mapping[str, PackReport | FromCfReport], options: Mapping[str, Any]
) -> None:
    """Warns once of bounds that values between those at hand would not keep, unless ``grid`` asks for that."""
    said = {path: of_one(path, options).get("grid") for path in reports}
    sentences = {
        path: report.bound
        for path, report in reports.items()
        if isinstance(report, PackReport) and report.grid is not None and not said[path]
    }
    if not sentences:
        return
    path, sentence = next(iter(sentences.items()))
    where = f"{path}: " if path else ""
    more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    text = f"{where}{sentence}{more}; grid=False is for arrays that will grow, and grid=True silences this warning"
    warnings.warn(text, UserWarning, stacklevel=outside())


def verify(
    a: Place,
    b: Place,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    max_abs_error: ByPath[float] = None,
    error_over_range: ByPath[float] = None,
    max_rel_error: ByPath[float] = None,
    max_mean_error: ByPath[float] = None,
    mean_error_over_range: ByPath[float] = None,
    max_mean_rel_error: ByPath[float] = None,
    lossless: ByPath[bool] = None,
    limits: ByPath[tuple[float | None, float | None]] = None,
    keep_sign: ByPath[bool] = None,
    missing: ByPath[float | Sequence[float]] = None,
    recommendations: bool | str | os.PathLike[str] | Any = False,
    metrics: bool = False,
    threads: int | None = None,
    progress: bool | Show = False,
) -> VerifyReport:
    """Compare two stored arrays or groups, as the command ``recast verify`` does.

    The report prints what was reached of each requirement; ``details["requirements"]`` has it, for groups of each array.

    Parameters
    ----------
    a, b : str or path, zarr.Array, Group, Store or StorePath, or object of xarray
        The original, and the one that is compared with it; see `pack`.
    atol, rtol : float, optional
        |b − a| may be ``atol + rtol · |a|`` at most; NaN must be NaN, and missing values the same. Without anything that is
        required, ``b`` must keep what its attribute ``recast`` records; if there is none, it must equal ``a``.
    max_abs_error, error_over_range, max_rel_error : float, optional
        The largest error of any element; see `pack`. All that is given must hold. For groups, these and the next ones may be
        dictionaries by the paths of arrays, as in `pack`.
    max_mean_error, mean_error_over_range, max_mean_rel_error : float, optional
        The largest mean error.
    lossless, limits, keep_sign : bool, tuple and bool, optional
        Every bit is the same; values of ``b`` lie within these where those of ``a`` do; 0 is 0 in both, and no value has
        another sign.
    missing : float or sequence, optional
        Values that mean "missing", besides NaN and those that attributes name.
    recommendations : bool, path or object
        What is recommended for each array of ``a``, as in `pack`; arrays for which nothing is recommended are compared as
        without it.
    metrics : bool
        As in `compare`.
    threads : int, optional
        Threads to work with; by default one for each processor.
    progress : bool or callable
        As in `pack`.

    Returns
    -------
    VerifyReport
        With ``passed`` and ``failure``.

    Raises
    ------
    FileNotFoundError
        Nothing at ``a`` or ``b``.
    ValueError
        An array or group that cannot be read or compared.
    """
    required = {name: value for name, value in locals().items() if name in _REQUIREMENTS}
    options = {**required, "missing": missing}
    tolerance = None
    if atol is not None or rtol is not None:
        if recommendations or any(value is not None for value in required.values()):
            raise ValueError(
                "atol and rtol are one bound, and cannot be used with others; use max_abs_error"
            )
        parts = {"atol": atol, "rtol": rtol}
        tolerance = [_tolerance(name, 0.0 if one is None else one) for name, one in parts.items()]
    request = {"tolerance": tolerance, "judges": True, "metrics": metrics, "threads": threads}
    answer = _compared(a, b, options, recommendations, request, progress)
    failure = answer["failure"]
    failure = None if failure is None else with_parameters(failure)
    return VerifyReport._of(answer["report"], answer["text"], answer["html"], failure=failure)


def compare(
    a: Place,
    b: Place,
    *,
    max_abs_error: ByPath[float] = None,
    error_over_range: ByPath[float] = None,
    max_rel_error: ByPath[float] = None,
    max_mean_error: ByPath[float] = None,
    mean_error_over_range: ByPath[float] = None,
    max_mean_rel_error: ByPath[float] = None,
    lossless: ByPath[bool] = None,
    limits: ByPath[tuple[float | None, float | None]] = None,
    keep_sign: ByPath[bool] = None,
    missing: ByPath[float | Sequence[float]] = None,
    recommendations: bool | str | os.PathLike[str] | Any = False,
    metrics: bool = False,
    threads: int | None = None,
    progress: bool | Show = False,
) -> CompareReport:
    """Measure how far two stored arrays or groups differ, as the command ``recast compare`` does.

    Of bounds, limits and signs that are given, the report says what is reached of each, and how many elements break one;
    `verify` judges them.

    Parameters
    ----------
    a, b : str or path, zarr.Array, Group, Store or StorePath, or object of xarray
        The original, and the one that is compared with it; see `pack`.
    max_abs_error, error_over_range, max_rel_error : float, optional
        As in `verify`.
    max_mean_error, mean_error_over_range, max_mean_rel_error : float, optional
        As in `verify`.
    lossless, limits, keep_sign, missing : optional
        As in `verify`.
    recommendations : bool, path or object
        As in `verify`.
    metrics : bool
        Whether to measure how well ``b`` keeps the pattern of ``a``, too, in ``details["metrics"]``: Pearson's
        ``correlation``, the largest error of the gradient along each dimension (``gradients``), and ``dssim``, the similarity
        of two-dimensional fields (Baker et al. 2024; ldcpy takes 0.9995 as enough).
    threads : int, optional
        Threads to work with; by default one for each processor.
    progress : bool or callable
        As in `pack`.

    Returns
    -------
    CompareReport
        With ``details["error"]`` and ``details["requirements"]`` for two arrays, and ``details["arrays"]`` for two groups.

    Raises
    ------
    FileNotFoundError
        Nothing at ``a`` or ``b``.
    ValueError
        An array or group that cannot be read or compared.
    """
    required = {name: value for name, value in locals().items() if name in _REQUIREMENTS}
    options = {**required, "missing": missing}
    request = {"tolerance": None, "judges": False, "metrics": metrics, "threads": threads}
    answer = _compared(a, b, options, recommendations, request, progress)
    return CompareReport._of(answer["report"], answer["text"], answer["html"])


def _tolerance(argument: str, value: float) -> float:
    tolerance = number(argument, value)
    if tolerance < 0:
        raise ValueError(f"{argument} is {value!r}; it must not be negative")
    return tolerance


def _flags(**flags: bool) -> dict[str, bool]:
    """Arguments that are true or false."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} is {flag!r}; it must be True or False")
    return flags


def _whole(name: str, number: Any) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}; it must be a whole number") from None


def _bytes(max_memory: int) -> int:
    number = _whole("max_memory", max_memory)
    if number < 0:
        raise ValueError(f"max_memory is {number}; it must not be negative")
    return number


def _threads(threads: int | None) -> int | None:
    if threads is not None and not 1 <= _whole("threads", threads) <= 1024:
        raise ValueError(f"threads is {threads!r}; it must be from 1 to 1024")
    return threads


def _compared(
    a: Place,
    b: Place,
    options: dict[str, Any],
    recommendations: Any,
    request: dict[str, Any],
    progress: bool | Show,
) -> dict[str, Any]:
    """Runs a comparison; ``options`` has the arguments that say what to keep, and what is missing."""
    request |= {
        "job": "compare",
        **_by_array({name: by_path(value) for name, value in options.items()}),
        "recommendations": recommended(recommendations),
        "threads": _threads(request["threads"]),
    }
    job = Job()
    return job.run({"a": job.source(a), "b": job.source(b), **request}, progress)
