"""The entry points of this package for zarr's registry.

If a codec has two classes, zarr warns unless its configuration chooses one. So these names are this
package's classes only if the configuration chooses them, and otherwise zarr's own classes. zarr loads a
buffer for every array, so that one also costs the import of the codecs only if it is chosen.
"""

from __future__ import annotations

from typing import Any

from ._zarr_version import require_zarr

# The keys by which zarr's configuration chooses a class, and this package's classes.
_CLASSES = {
    "cast_value": ("codecs.cast_value", "CastValue"),
    "scale_offset": ("codecs.scale_offset", "ScaleOffset"),
    "ndbuffer": ("ndbuffer", "NDBuffer"),
}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name != "ndbuffer":  # which zarr-python asks for also if it is too old for the codecs
        require_zarr()
    from zarr.core.config import config

    key, cls = _CLASSES[name]
    if config.get(key, None) == f"zarr_recast.zarr.{cls}":
        from . import zarr as own

        return getattr(own, cls)
    import zarr.codecs
    from zarr.core.buffer import cpu

    return getattr(cpu if name == "ndbuffer" else zarr.codecs, cls)
