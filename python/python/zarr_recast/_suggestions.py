"""Suggests error bounds for arrays: what bounds from coarse to fine would cost and lose."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._cf import _PACKING, is_packed
from ._core import Advisor, SuggestFromBlocks, check_options, coordinates
from ._encoding import _is_float, _regular_chunks, _Values, scalars_json
from ._errors import with_parameters
from ._options import options_json
from ._recommendations import recommended
from ._stores import opened
from ._trees import Node, coordinates_of, datasets, is_tree, nodes_of, path_of, variable_node


@dataclass(frozen=True)
class Rung:
    """A bound, with what it costs and loses.

    Attributes
    ----------
    max_abs_error : float
        The bound.
    bits : int
        The bits that the values need with steps of twice the bound, or of their grid.
    data_type : str
        The type of the stored elements.
    stored_bytes : int
        The estimated bytes of the stored chunks.
    ratio : float
        The bytes of all elements divided by those.
    largest_error : float
        The largest difference between an element that was read and its decoded value.
    error_over_range : float
        The same divided by the range of the values.
    snr_db : float or None
        Signal to noise in dB; None without an error.
    information : float or None
        The share of the information that it keeps, from 0 to 1; None if it is not known.
    mark, reason : str or None
        What makes it stand out, such as ``"loses nothing"``, ``"99.9 %"`` or ``"recommended"``, and that in words.
    """

    max_abs_error: float
    bits: int
    data_type: str
    stored_bytes: int
    ratio: float
    largest_error: float
    error_over_range: float
    snr_db: float | None
    information: float | None
    mark: str | None
    reason: str | None


@dataclass(frozen=True)
class Suggestion:
    """What bounds for an array would cost and lose. It prints as the table of ``recast suggest``, with calls of
    `encoding_for` in place of commands. ``grid=True`` there says that nothing else will be written than values on the
    grid of these.

    Attributes
    ----------
    rows : tuple of Rung
        The bounds, coarse to fine; empty if there is nothing to choose.
    recommended : Rung or None
        The bound that a recommendation comes to; else the one that the values suggest: that of their own steps, or the one
        that keeps 99.9 % of their information. None if there is none.
    notes : tuple of str
        What to know before the rows.
    details : dict
        Everything that ``recast suggest --json`` prints, such as ``"advice"``: what is recommended, and by whom.
    """

    rows: tuple[Rung, ...]
    recommended: Rung | None
    notes: tuple[str, ...]
    details: dict[str, Any] = field(repr=False)
    _text: str = field(repr=False)
    _html: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html

    def _line(self) -> str:
        """The suggestion in one line."""
        if _keeps_cf(self.details):
            return self.notes[0]
        if self.recommended is None:
            why = self.details["no_information"] or next(iter(self.notes), "its rows say more")
            return f"no bound stands out: {why}"
        found = self.recommended
        ratio = found.ratio
        size = f"{ratio:.2f} times smaller" if ratio >= 1 else f"{1 / ratio:.2f} times larger"
        return f"max_abs_error={found.max_abs_error!r}: {found.mark}, {size}"


def _visible(name: str) -> str:
    """A name on one line, in which characters that a terminal would obey are escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


class Suggestions(Mapping[str, Suggestion]):
    """The suggestions for the arrays of a dataset or group, by name. It prints as a line for each array.

    Attributes
    ----------
    errors : dict of str
        The arrays for which nothing can be suggested, such as one with infinities, with the reason.
    """

    def __init__(
        self, suggestions: Mapping[str, Suggestion], errors: Mapping[str, str] | None = None
    ) -> None:
        self._suggestions = dict(suggestions)
        self.errors = dict(errors or {})

    def __getitem__(self, name: str) -> Suggestion:
        return self._suggestions[name if name in self._suggestions else name.strip("/")]

    def __iter__(self) -> Iterator[str]:
        return iter(self._suggestions)

    def __len__(self) -> int:
        return len(self._suggestions)

    def __str__(self) -> str:
        if not self and not self.errors:
            return "nothing to suggest: no floating-point arrays but coordinates"
        lines = {_visible(name): one._line() for name, one in self.items()}
        lines |= {_visible(name): f"nothing to suggest: {why}" for name, why in self.errors.items()}
        width = max(map(len, lines), default=0)
        return "\n".join(f"{name:{width}}  {line}" for name, line in lines.items())

    def __repr__(self) -> str:
        return f"Suggestions({self._suggestions!r}, {self.errors!r})"

    def _repr_html_(self) -> str:
        parts = (
            f"<details><summary>{html.escape(f'{_visible(name)}: {one._line()}')}</summary>{one._repr_html_()}</details>"
            for name, one in self.items()
        )
        errors = (
            f"<p>{html.escape(f'{_visible(name)}: nothing to suggest: {why}')}</p>"
            for name, why in self.errors.items()
        )
        return "".join([*parts, *errors])


def suggest(
    obj: Any,
    *,
    missing: Any = None,
    infinity: bool | None = None,
    compressor: str | None = None,
    readers: Any = None,
    recommendations: bool | str | os.PathLike[str] | Any = False,
) -> Suggestion | Suggestions:
    """Show what error bounds from coarse to fine would cost and lose, as ``recast suggest`` does.

    An array of up to 16 MiB is read whole. Of a longer one some 8 MiB are read, in blocks that are spread over it; a Dask
    array computes the chunks in which they lie, and other lazy arrays read only these blocks. Sizes are those of a dry run of
    ``recast pack``, in the array's own chunks; the chunks of shards count as chunks.

    Parameters
    ----------
    obj : xarray.Dataset, DataTree or DataArray, zarr.Array or Group, dask array, numpy.ndarray or masked array
        The values, or a path, URL or zarr Store where `zarr.open` finds them. Of a dataset or group, the floating-point
        arrays that are no coordinates.
    missing : float or sequence, optional
        Values that mean "missing", besides NaN and those that the attributes ``_FillValue`` and ``missing_value`` name.
    infinity : bool, optional
        Keep infinities as they are, as `pack` with ``infinity=True`` does.
    compressor, readers : str or sequence, optional
        How the chunks would be compressed, and programs that must be able to read them; see `pack`.
    recommendations : bool, path or object
        What is recommended for each array, as in `pack`; the row that it comes to has the mark ``"recommended"``. If nothing
        is recommended for an array, ``notes`` say why.

    Returns
    -------
    Suggestion or Suggestions
        For a dataset or group, a mapping of names, or paths, to suggestions. Its ``errors`` are the arrays that would raise
        alone, with the reason.

    Raises
    ------
    TypeError
        The array does not hold integers or floating-point numbers.
    ValueError
        Infinities; options that are not valid; a Dask array with chunks of unknown sizes. The text says what to change.

    Examples
    --------
    >>> import numpy as np, zarr_recast
    >>> suggestion = zarr_recast.suggest(np.arange(3000, dtype="float32") % 700 / 20)
    >>> suggestion.recommended.mark, suggestion.details["known"]["grid"]["step"]
    ('loses nothing', 0.05)
    """
    options = options_json(
        missing=missing, infinity=infinity, compressor=compressor, readers=readers
    )
    check_options(options)
    obj = opened(obj)
    by = recommended(recommendations)
    arrays, nodes = _arrays(obj)
    advisor = None if by is None else Advisor(json.dumps(by), json.dumps(nodes))
    if arrays is None:
        return _suggestion(obj, options, advisor, nodes[0][0])
    found: dict[str, Suggestion] = {}
    errors: dict[str, str] = {}
    for name, array in arrays.items():
        try:
            found[name] = _suggestion(array, options, advisor, name)
        except Exception as error:  # stores and codecs of other packages raise anything
            errors[name] = str(error) or type(error).__name__
    return Suggestions(found, errors)


def _arrays(obj: Any) -> tuple[dict[str, Any] | None, list[Node]]:
    """The floating-point arrays of a dataset, tree or group that are no coordinates, None for an array; and all nodes, of an array
    itself and then its coordinates."""
    if is_tree(obj) or hasattr(obj, "data_vars"):
        groups = datasets(obj) if is_tree(obj) else {"/": obj}
        variables = {
            path_of(group, name): variable
            for group, ds in groups.items()
            for name, variable in ds.data_vars.items()
        }
        exact = coordinates_of(groups)
        arrays = {
            name: one
            for name, one in variables.items()
            if _is_data(one) and name not in exact
        }
        return arrays, nodes_of(groups, as_written=True)
    if hasattr(obj, "members"):  # of zarr
        members = dict(obj.members(max_depth=None))
        nodes = [_node(path, node) for path, node in {"": obj, **members}.items()]
        exact = set(coordinates(json.dumps(nodes)))
        arrays = {
            path: node
            for path, node in sorted(members.items())
            if hasattr(node, "shape") and path not in exact and _is_data(node)
        }
        return arrays, nodes
    if hasattr(obj, "store_path"):
        # The root of a store has the store's name.
        path = (obj.name or "").strip("/") or str(obj.store_path).rstrip("/")
        return None, [_node(path.rpartition("/")[2], obj)]
    if hasattr(obj, "coords"):  # of xarray
        path = "" if obj.name is None else str(obj.name)
        return None, [
            variable_node(path, obj),
            *(variable_node(str(name), one) for name, one in obj.coords.items()),
        ]
    return None, [("", [], {})]


def _is_data(array: Any) -> bool:
    """Whether an array has values with a bound, or integers that stand for such values by CF's attributes."""
    return _is_float(array.dtype) or array.dtype.kind in "iu" and is_packed(array.attrs)


def _node(path: str, node: Any) -> Node:
    """An array or a group of zarr."""
    attributes = {key: value for key, value in node.attrs.items() if isinstance(value, str)}
    names = None
    if hasattr(node, "shape"):
        names = getattr(node.metadata, "dimension_names", None)
        names = [str(name) for name in names or node.attrs.get("_ARRAY_DIMENSIONS", ())]
    return path, names, attributes


def _suggestion(obj: Any, options: str, advisor: Advisor | None, path: str) -> Suggestion:
    """The suggestion for an array, which has a path among the nodes of an advisor."""
    values = _Values(obj, "auto")
    if any(length != length for length in values.shape):  # NaN
        raise ValueError(
            "the chunks of the Dask array have unknown sizes; call its compute_chunk_sizes() first"
        )
    attrs = getattr(obj, "attrs", {})
    packing = {key: attrs[key] for key in _PACKING if key in attrs}
    attributes = scalars_json({**packing, **values.attributes})
    chunks = _compressed_chunks(obj, values)
    asked = SuggestFromBlocks(
        values.dtype,
        values.fill_value,
        attributes,
        options,
        values.shape,
        chunks,
        None if advisor is None else (advisor, path),
    )
    details, text, page = asked.run(_name(obj), _blocks(values, asked.blocks()))
    report = json.loads(details)
    rows = tuple(
        Rung(**rung | {"reason": rung["reason"] and with_parameters(rung["reason"])})
        for rung in report["ladder"]
    )
    lines = [with_parameters(text).rstrip("\n"), *_calls(report, rows)]
    best = report["recommended"]
    return Suggestion(
        rows=rows,
        recommended=None if best is None else rows[best],
        notes=tuple(map(with_parameters, report["notes"])),
        details=report,
        _text="\n".join(lines),
        _html=with_parameters(page),
    )


def _calls(report: dict[str, Any], rows: tuple[Rung, ...]) -> list[str]:
    """Lines to copy, one for what is recommended, and one for each marked bound."""
    if _keeps_cf(report):
        return ["", "pack(…, from_cf=True)  # keeps the stored integers and what they stand for"]
    calls = []
    if "advice" in report:
        advice = report["advice"]
        asked = [_argument(one["kind"], one.get("value", True)) for one in advice["requirements"]]
        if "missing" in advice:
            asked.append(f"missing={advice['missing']!r}")
        calls.append(f"pack(…, {', '.join(asked)})  # recommended by {advice['by']}")
    is_float = "float" in report["data_type"]
    for rung in rows:
        if rung.mark is None or rung.mark == "recommended":
            continue
        # Only codes for the grid of these values keep floats exactly.
        grid = ", grid=True" if is_float and rung.max_abs_error == 0 else ""
        kept = f"keeps {rung.mark} of the information" if "%" in rung.mark else rung.mark
        calls.append(f"encoding_for(…, max_abs_error={rung.max_abs_error!r}{grid})  # {kept}")
    return ["", *calls] if calls else []


def _keeps_cf(report: dict[str, Any]) -> bool:
    """Whether the array is best packed by its CF attributes."""
    return any("--from-cf" in one["arguments"] for one in report["suggestions"])


def _argument(kind: str, value: Any) -> str:
    """A requirement as an argument."""
    if kind == "limits":
        value = tuple(None if end == "none" else end for end in value)
    return f"{kind.replace('-', '_')}={value!r}"


def _name(obj: Any) -> str:
    """What reports and errors call an array."""
    if hasattr(obj, "store_path"):  # of zarr
        return str(obj.store_path)
    if hasattr(obj, "variable") and obj.name is not None:  # of xarray
        return str(obj.name)
    return f"{type(obj).__module__.partition('.')[0]} {type(obj).__name__}"


def _compressed_chunks(obj: Any, values: _Values) -> tuple[int, ...] | None:
    """The shape of the chunks that are compressed by themselves: those inside shards; None if there are none."""
    encoding = getattr(getattr(obj, "variable", obj), "encoding", None) or {}
    chunks = (
        encoding.get("chunks")
        or getattr(values.data, "chunksize", None)  # of Dask
        or _regular_chunks(obj, "chunks")
    )
    # Anything else is no regular grid.
    is_grid = isinstance(chunks, (tuple, list)) and len(chunks) == len(values.shape)
    if is_grid and all(isinstance(extent, int) and extent for extent in chunks):
        return tuple(chunks)
    return None


def _blocks(
    values: _Values, places: list[tuple[list[int], list[int]]]
) -> list[np.ndarray[Any, Any]]:
    """The elements of some blocks, each C-ordered."""
    keys = [
        tuple(slice(start, start + length) for start, length in zip(origin, shape, strict=True))
        for origin, shape in places
    ]
    data = values.data
    if sum(int(np.prod(shape, dtype=np.int64)) for _, shape in places) == np.prod(values.shape):
        # All of it, read at once.
        (data,) = _read(data, [...])
    parts = _read(data, keys)
    return [np.ascontiguousarray(values.block(part)) for part in parts]


def _read(data: Any, keys: list[Any]) -> list[Any]:
    """Parts of an array; those of a Dask array are computed together."""
    parts = [data[key] for key in keys]
    if not hasattr(data, "dask"):
        return parts
    import dask

    return list(dask.compute(*parts))
