"""What zarr's registry finds under this package's entry points.

Two classes for one codec make zarr warn unless its configuration chooses. So ours are there only if
it chooses them, and zarr's own classes, which it has already, stand in their place otherwise.
"""

from __future__ import annotations

from typing import Any

_CLASSES = {"cast_value": "CastValue", "scale_offset": "ScaleOffset"}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._zarr_version import require_zarr

    require_zarr()
    import zarr.codecs
    from zarr.core.config import config

    own = f"zarr_recast.zarr.{_CLASSES[name]}"
    if config.get(f"codecs.{name}", None) == own:
        from . import zarr as codecs

        return getattr(codecs, _CLASSES[name])
    return getattr(zarr.codecs, _CLASSES[name])
