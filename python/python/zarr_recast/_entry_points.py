"""The entry points of this package for zarr's registry.

If a codec has two classes, zarr warns unless its configuration chooses one. So these names are this
package's classes only if the configuration chooses them, and otherwise zarr's own classes.
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
