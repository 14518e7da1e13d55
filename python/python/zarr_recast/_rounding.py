"""Rounds arrays within an error bound, so that plain numbers compress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._core import Choice, Rounder, Surveyor, choose
from ._encoding import (
    _MARKERS,
    NO_MEAN,
    _is_float,
    _native,
    known_attributes,
    refuse_place,
    scalars_json,
    with_blocks,
)
from ._options import GOALS, MEANS, by_name, options_json, refuse_if_given, refuse_without_goal
from ._trees import coordinates_of, is_tree

# The arguments for which all values must be known, and why others than means must.
_OF_ALL_VALUES = (*MEANS, "error_over_range", "limits")
_NOT_KNOWN = (
    "needs all values, to take finer steps if some are not kept; give an array in memory (compute() or load()), or use "
    "zarr_recast.pack"
)


def round_to(
    obj: Any,
    *,
    max_abs_error: Any = None,
    error_over_range: Any = None,
    max_rel_error: Any = None,
    max_mean_error: Any = None,
    mean_error_over_range: Any = None,
    max_mean_rel_error: Any = None,
    limits: Any = None,
    keep_sign: Any = None,
    precision: Any = None,
    missing: Any = None,
    allow_constant: Any = None,
) -> Any:
    """Round values within an error bound, so that they compress and every program can read them.

    With an absolute bound, values become multiples of the largest power of two that keeps it; with a relative one,
    they keep the fewest bits of the mantissa that do. Ties go to even. NaN, infinities and missing values come back bit
    for bit, and no other value becomes a missing one. These are the values that ``recast pack --readers any``
    writes.

    Parameters
    ----------
    obj : xarray.Dataset or DataArray, dask array, numpy.ndarray or masked array
        The values. For a dataset, a number as a bound applies to all floating-point data variables that are no coordinates
        by CF's attributes, and a dictionary to the variables that it names. Dask arrays stay lazy.
    max_abs_error : float, optional
        The largest allowed difference between an element and its rounded value.
    error_over_range : float, optional
        The same, in units of the array's range.
    max_rel_error : float, optional
        The largest allowed difference in proportion to the element, from 0 to below 1; integers stay.
    max_mean_error, mean_error_over_range, max_mean_rel_error : float, optional
        The largest mean difference; see `pack`. Like ``error_over_range`` and ``limits``, it needs all values, and is an error
        of arrays of Dask.
    limits : tuple, optional
        Values stay between these where they are; None for an open end: ``(0, None)``.
    keep_sign : bool, optional
        Rounding always keeps signs and zeros.
    precision : float, optional
        Values become multiples of this power of two.
    missing : float or sequence, optional
        Values that mean "missing", besides NaN and those that ``_FillValue`` and ``missing_value`` name, as attributes or
        in the encoding.
    allow_constant : bool, optional
        Allow a bound that leaves one value of an array that has several. Of Dask arrays, whose values are not known yet,
        it is allowed in any case.

    Returns
    -------
    xarray.Dataset or DataArray, dask array or numpy.ndarray
        An object of the same kind and type of values.

    Raises
    ------
    TypeError
        The array does not hold integers or floating-point numbers.
    ValueError
        A precision that is no power of two; no bound, or several; a bound that leaves one value of several, or that no rounding
        keeps.

    Examples
    --------
    >>> import numpy as np, zarr_recast
    >>> zarr_recast.round_to(np.array([271.253, np.nan], "float32"), max_abs_error=0.01)
    array([271.25,    nan], dtype=float32)
    """
    arguments = {name: value for name, value in locals().items() if name != "obj"}
    refuse_place(obj)
    if is_tree(obj):
        raise TypeError(
            "round_to takes no tree; use tree.map_over_datasets(zarr_recast.round_to, kwargs=…)"
        )
    if hasattr(obj, "data_vars"):
        coordinates = coordinates_of({"/": obj})
        floats = [
            name
            for name in obj.data_vars
            if _is_float(obj[name].dtype) and str(name) not in coordinates
        ]
        picked = by_name(obj.variables, floats, arguments)
        return obj.assign({name: _variable(obj[name], own) for name, own in picked.items()})
    mappings = [name for name, value in arguments.items() if isinstance(value, Mapping)]
    if mappings:
        raise TypeError(f"{mappings[0]} is a dictionary, which is for the variables of a dataset")
    if hasattr(obj, "variable"):
        return _variable(obj, arguments)
    return _rounded(obj, {}, None, arguments, "")


def _variable(array: Any, arguments: dict[str, Any]) -> Any:
    """A variable with rounded values."""
    # xarray moves these into the encoding when it decodes, and writes NaN as them again.
    is_unpacked = "scale_factor" in array.encoding
    missing = {} if is_unpacked else {key: array.encoding[key] for key in _MARKERS if key in array.encoding}
    attributes = {**missing, **known_attributes(array.attrs, array.encoding)}
    fill = array.encoding.get("fill_value")
    # Lazy variables that are no Dask arrays are read here, as by any arithmetic of xarray.
    where = "" if array.name is None else f"{array.name}: "
    rounded = array.copy(data=_rounded(array.data, attributes, fill, arguments, where))
    rounded.encoding = dict(array.encoding)
    return rounded


def _rounded(
    data: Any, attributes: dict[str, Any], fill: Any, arguments: dict[str, Any], where: str
) -> Any:
    data = with_blocks(data)
    dtype = np.dtype(data.dtype).newbyteorder("=")
    template = getattr(data, "_meta", data)  # of Dask
    is_masked = isinstance(template, np.ma.MaskedArray)
    if is_masked:
        attributes = {"_FillValue": template.fill_value, **attributes}
    if fill is None:
        fill = np.nan if _is_float(dtype) else 0
    if _is_float(dtype):
        refuse_without_goal(arguments)
    if any(arguments[name] is not None for name in _OF_ALL_VALUES):
        if hasattr(data, "dask"):
            refuse_if_given(MEANS, arguments, NO_MEAN)
            refuse_if_given(_OF_ALL_VALUES, arguments, _NOT_KNOWN)
        return _rounded_by_all(data, dtype, fill, scalars_json(attributes), arguments)
    rounder = Rounder(dtype, fill, scalars_json(attributes), options_json(**arguments))
    if hasattr(data, "dask"):
        meta = template.astype(dtype) if is_masked else np.empty((0,) * data.ndim, dtype)
        return data.map_blocks(_round_block, rounder, dtype, dtype=dtype, meta=meta)
    rounded = _round_block(data, rounder, dtype)

    def tells_apart(values: Any) -> bool:
        return rounder.tells_apart(_native(np.atleast_1d(np.ma.filled(values)), dtype))

    if not (arguments["allow_constant"] or tells_apart(rounded)) and tells_apart(data):
        bound = next(f"{goal}={arguments[goal]}" for goal in GOALS if arguments.get(goal) is not None)
        raise ValueError(
            f"{where}{bound} leaves one value of several; use a finer bound, of a dataset a dictionary by its variables, "
            "or allow_constant=True"
        )
    return rounded


def _rounded_by_all(
    data: Any, dtype: np.dtype[Any], fill: Any, attributes: str, arguments: dict[str, Any]
) -> Any:
    """Rounds values with goals that depend on all of them; each is compared."""
    options = options_json(**arguments, readers="any")
    values = _native(np.atleast_1d(np.ma.filled(data)), dtype)
    if not values.size:
        return np.array(data, dtype)
    survey = Surveyor(dtype, fill, attributes, options, values.size).survey(values, whole=True)
    choice = choose(survey, options, lambda choice: choice.check(values))
    return _round_block(data, choice, dtype)


def _round_block(block: Any, rounder: Rounder | Choice, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A rounded block; workers of Dask import this by name."""
    values = np.ma.getdata(block)
    rounded = rounder.round(_native(values, dtype) if np.ndim(values) else np.asarray(values, dtype))
    if not isinstance(block, np.ma.MaskedArray):
        return rounded
    masked = block.astype(dtype)
    np.ma.getdata(masked)[...] = rounded
    return masked
