"""Objects of xarray, and trees of datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ._core import coordinates


def is_of_xarray(obj: Any) -> bool:
    """Whether an object is an xarray.DataArray, Dataset or DataTree."""
    return hasattr(obj, "to_zarr") and hasattr(obj, "dims") and hasattr(obj, "coords")


def is_tree(obj: Any) -> bool:
    """Whether an object is an xarray.DataTree."""
    return hasattr(obj, "subtree") and hasattr(obj, "to_dataset")


def datasets(tree: Any) -> dict[str, Any]:
    """The datasets of a tree by their paths, without what they inherit."""
    return {node.path: node.to_dataset(inherit=False) for node in tree.subtree}


def path_of(group: str, name: Any) -> str:
    """The path of a variable of a dataset in a group."""
    return f"{group.strip('/')}/{name}".strip("/")


# An array or a group: its path, the names of an array's dimensions, and its attributes that are text.
Node: TypeAlias = tuple[str, list[str] | None, dict[str, str]]


def coordinates_of(groups: Mapping[str, Any]) -> set[str]:
    """The paths of the coordinates of datasets, each in a group: a group of ``recast pack`` copies the same arrays."""
    return set(coordinates(json.dumps(nodes_of(groups))))


def nodes_of(groups: Mapping[str, Any], as_written: bool = False) -> list[Node]:
    """The nodes of datasets, each in a group; as xarray writes them, variables name their coordinates."""
    nodes: list[Node] = []
    for group, ds in groups.items():
        nodes.append((group.strip("/"), None, _texts(ds)))
        for name, variable in ds.variables.items():
            array = ds[name] if as_written else variable
            nodes.append(variable_node(path_of(group, name), array))
    return nodes


def variable_node(path: str, variable: Any) -> Node:
    """A variable at a path; a DataArray names its coordinates."""
    texts = _texts(variable)
    if hasattr(variable, "coords"):
        others = [str(name) for name in variable.coords if name not in variable.dims]
        texts = {"coordinates": " ".join(others)} | texts
    return path, [str(dimension) for dimension in variable.dims], texts


def _texts(obj: Any) -> dict[str, str]:
    """The attributes that are text, with those that xarray moves into the encoding when it decodes."""
    all_attributes = {**obj.encoding, **obj.attrs}
    return {key: value for key, value in all_attributes.items() if isinstance(value, str)}
