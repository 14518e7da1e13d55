"""Codecs that replace the attributes with which CF packs integers."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from ._core import choose_for_cf
from ._encoding import scalars_json, value_codecs
from ._errors import outside
from ._trees import datasets, is_tree

# CF's packing attributes, which xarray moves into a variable's encoding when it decodes.
_PACKING = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")


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
        raise TypeError(f"from_cf takes a Dataset or a DataTree, and not a {type(ds).__name__}")
    return _encodings(ds, "")


def _encodings(ds: Any, group: str) -> dict[str, dict[str, Any]]:
    encodings = {}
    for variable_name, variable in ds.variables.items():
        name = f"{group.strip('/')}/{variable_name}".strip("/")
        if any(key in variable.attrs for key in ("scale_factor", "add_offset")):
            raise ValueError(
                f"{name}: its attributes still say how it is packed; open it with mask_and_scale=True, "
                "or decode it with xarray.decode_cf"
            )
        if any(key in variable.encoding for key in ("scale_factor", "add_offset")):
            try:
                encodings[str(variable_name)] = _encoding(name, variable)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from error
    return encodings


def _encoding(name: str, variable: Any) -> dict[str, Any]:
    """The encoding for a variable that CF packed."""
    packed = variable.encoding
    stored = np.dtype(packed.get("dtype", "int16"))
    if stored.kind not in "iu":
        raise ValueError(f"CF packed it as {stored}, and codecs are for integers")
    decoded = variable.dtype.name
    attributes = scalars_json({key: packed[key] for key in _PACKING if key in packed})
    chosen = json.loads(choose_for_cf(attributes, stored.name, decoded))
    codes = chosen["codes"]
    if codes["differing"]:
        warnings.warn(
            f"{name}: {codes['differing']} of {codes['compared']} codes decode to other last bits of {decoded} "
            f"than CF's, by {codes['max_ulps']} units in the last place at most",
            UserWarning,
            stacklevel=outside(),
        )
    return {
        "filters": value_codecs(chosen["codecs"]),
        "dtype": variable.dtype,
        "fill_value": float(chosen["fill_value"]),
    }
