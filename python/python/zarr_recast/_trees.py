"""Objects of xarray, and trees of datasets."""

from __future__ import annotations

from typing import Any


def is_of_xarray(obj: Any) -> bool:
    """Whether an object is an xarray.DataArray, Dataset or DataTree."""
    return hasattr(obj, "to_zarr") and hasattr(obj, "dims") and hasattr(obj, "coords")


def is_tree(obj: Any) -> bool:
    """Whether an object is an xarray.DataTree."""
    return hasattr(obj, "subtree") and hasattr(obj, "to_dataset")


def datasets(tree: Any) -> dict[str, Any]:
    """The datasets of a tree by their paths, without what they inherit."""
    return {node.path: node.to_dataset(inherit=False) for node in tree.subtree}
