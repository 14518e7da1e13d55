"""Codecs that replace the attributes with which CF packs integers."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._encoding import VALID, scalars_json, value_codecs
from ._errors import outside
from ._trees import datasets, is_tree, path_of

# CF's packing attributes, which xarray moves into a variable's encoding when it decodes.
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


@dataclass(frozen=True)
class CfCodecs:
    """Codecs in place of CF's attributes; see `codecs_from_cf`.

    Attributes
    ----------
    codecs : tuple
        The value codecs of `zarr_recast.zarr`, as ``filters`` of `zarr.create_array`, or in front of the codec
        ``bytes`` in metadata.
    fill_value : numpy.floating
        The value of the code in ``_FillValue``, which is NaN; without that attribute, the value of code 0.
    dtype : numpy.dtype
        The type of the values: float32 or float64.
    attributes : dict
        The attributes that stay. ``valid_min``, ``valid_max`` and ``valid_range`` are decoded.
    differing_codes : int
        The number of codes that decode to other bits than CF's arithmetic in this type.
    compared_codes : int
        The number of codes that were compared: all for stored types of 8 and 16 bits, else some spread over the type.
    largest_difference : float
        The largest difference of a code's value from CF's, in the unit of the values.
    largest_ulps : int
        The same in units in the last place.
    warnings : tuple of str
        What is unusual in the attributes.
    """

    codecs: tuple[Any, ...]
    fill_value: np.floating[Any]
    dtype: np.dtype[Any]
    attributes: dict[str, Any]
    differing_codes: int
    compared_codes: int
    largest_difference: float
    largest_ulps: int
    warnings: tuple[str, ...]


CfCodecs.__module__ = "zarr_recast"


def codecs_from_cf(
    dtype: npt.DTypeLike, attributes: Mapping[str, Any], decoded_dtype: npt.DTypeLike | None = None
) -> CfCodecs:
    """Choose codecs that decode integers as CF's attributes say.

    For whoever writes metadata over chunks that exist, such as those of a netCDF file. The codecs are those of
    ``recast pack --from-cf``.

    Parameters
    ----------
    dtype : dtype
        The type of the stored integers, without ``_Unsigned``. Its byte order belongs to the codec ``bytes``.
    attributes : mapping
        The attributes of the variable: ``scale_factor``, ``add_offset``, ``_FillValue``, ``missing_value``,
        ``_Unsigned`` and any others.
    decoded_dtype : dtype, optional
        The type of the values: float32 or float64. By default, the type in which codecs reproduce CF's arithmetic
        bit for bit. If both or neither do, float32 for integers of at most 16 bits whose attributes are numbers
        of float32, else float64. xarray chooses by the types of the attributes.

    Returns
    -------
    CfCodecs
        The codecs, and what else the metadata of the array need.

    Raises
    ------
    ImportError
        zarr-python is missing or older than the codecs.
    TypeError
        A type that is no number's.
    ValueError
        Elements that are not integers; attributes that are no numbers, or that no codecs can replace; none of the
        five attributes.

    Examples
    --------
    >>> import numpy as np, zarr_recast
    >>> cf = zarr_recast.codecs_from_cf("int16", {"scale_factor": 0.5, "_FillValue": -1, "units": "K"})
    >>> cf.dtype, cf.fill_value, cf.attributes, cf.differing_codes
    (dtype('float32'), np.float32(nan), {'units': 'K'}, 0)
    >>> zarr_recast.Chain(cf.dtype, cf.codecs, cf.fill_value).decode(np.array([3, -1], "int16"))
    array([1.5, nan], dtype=float32)
    """
    read = {key: _plain(attributes[key]) for key in (*_PACKING, *VALID) if key in attributes}
    decoded = None if decoded_dtype is None else np.dtype(decoded_dtype)
    chosen = json.loads(_core.codecs_from_cf(np.dtype(dtype), scalars_json(read), decoded))
    codes, data_type, kept = chosen["codes"], chosen["data_type"], chosen["attributes"]
    others = {key: value for key, value in attributes.items() if key not in read}
    return CfCodecs(
        codecs=value_codecs(chosen["codecs"]),
        fill_value=_core.scalar_from_json(data_type, chosen["fill_value"]),
        dtype=np.dtype(data_type),
        attributes=others | kept,
        differing_codes=codes["differing"],
        compared_codes=codes["compared"],
        largest_difference=codes["max_difference"],
        largest_ulps=codes["max_ulps"],
        warnings=tuple(chosen["warnings"]),
    )


def _plain(value: Any) -> Any:
    """An attribute without the bytes and truth values that some readers of netCDF give."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode("ascii", "replace")
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return value


def from_cf(ds: Any) -> dict[str, dict[str, Any]]:
    """Choose codecs that store a dataset's variables as the same integers as CF.

    The codecs are those of ``recast pack --from-cf``: for stored types of 8 and 16 bits, every code
    decodes to the bits of CF's arithmetic, if two codecs can do that.

    Parameters
    ----------
    ds : xarray.Dataset or xarray.DataTree
        A dataset, or a tree of them, that xarray has decoded: its variables keep ``scale_factor``, ``add_offset`` and the type
        of the stored integers in their ``encoding``.

    Returns
    -------
    dict
        For each variable that CF packed, ``filters``, ``dtype`` and ``fill_value`` for the ``encoding`` of
        `xarray.Dataset.to_zarr`; for a tree, such dictionaries for each group. They replace CF's attributes,
        which must not be written beside them: readers would scale twice.

    Warns
    -----
    UserWarning
        Some codes do not decode to the bits of CF's arithmetic in the variable's type.

    Raises
    ------
    ValueError
        A variable is not decoded; no codecs can replace its attributes.
    """
    if is_tree(ds):
        groups = {path: _encodings(one, path) for path, one in datasets(ds).items()}
        return {path: encodings for path, encodings in groups.items() if encodings}
    if not hasattr(ds, "variables"):
        raise TypeError(
            f"from_cf takes a Dataset or a DataTree that xarray has opened, and not a {type(ds).__name__}; of a DataArray, "
            "give da.to_dataset()"
        )
    return _encodings(ds, "")


def refuse_decoded(obj: Any, from_cf: Any) -> None:
    """Refuses an object of xarray whose variables are all decoded, where attributes are to become codecs."""
    groups = datasets(obj) if is_tree(obj) else {"": obj if hasattr(obj, "data_vars") else {obj.name or "": obj}}
    variables = {
        path_of(group, name): variable
        for group, ds in groups.items()
        for name, variable in getattr(ds, "variables", ds).items()
    }
    asked = [
        (name, variable)
        for name, variable in variables.items()
        if (from_cf.get(name) if isinstance(from_cf, Mapping) else from_cf)
    ]
    decoded = [name for name, variable in asked if is_packed(variable.encoding)]
    if decoded and not any(is_packed(variable.attrs) for _, variable in asked):
        raise ValueError(
            f"from_cf=True takes stored integers, and xarray has decoded {decoded[0] or 'the array'}; open it with mask_and_scale=False, "
            "or write it by ds.to_zarr(…, encoding=zarr_recast.from_cf(ds))"
        )


def is_packed(attributes: Mapping[str, Any]) -> bool:
    """Whether CF's attributes scale the values."""
    return any(key in attributes for key in ("scale_factor", "add_offset"))


def _encodings(ds: Any, group: str) -> dict[str, dict[str, Any]]:
    encodings = {}
    for variable_name, variable in ds.variables.items():
        name = path_of(group, variable_name)
        if is_packed(variable.attrs):
            raise ValueError(
                f"{name}: its attributes still say how it is packed; open it with mask_and_scale=True, "
                "or decode it with xarray.decode_cf"
            )
        if is_packed(variable.encoding):
            try:
                encodings[str(variable_name)] = _encoding(name, variable)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
    return encodings


def _encoding(name: str, variable: Any) -> dict[str, Any]:
    """The encoding for a variable that CF packed."""
    packed = variable.encoding
    attributes = {key: packed[key] for key in _PACKING if key in packed}
    if variable.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"xarray has decoded it to {variable.dtype}, because scale_factor is no float; to choose a type, open it with "
            "mask_and_scale=False, make scale_factor a numpy.float32 or a float, and decode it with xarray.decode_cf"
        )
    cf = codecs_from_cf(packed.get("dtype", "int16"), attributes, variable.dtype)
    if cf.differing_codes:
        warnings.warn(
            f"{name}: {cf.differing_codes} of {cf.compared_codes} codes decode to other last bits of {cf.dtype} "
            f"than CF's, by {cf.largest_difference:.4g} at most",
            UserWarning,
            stacklevel=outside(),
        )
    return {"filters": cf.codecs, "dtype": variable.dtype, "fill_value": float(cf.fill_value)}
