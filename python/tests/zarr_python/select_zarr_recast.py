"""A pytest plugin under which zarr-python's own tests run on the codecs of zarr_recast.

Tests import the classes from zarr.codecs, so they are exchanged there before any test is loaded.
"""

import zarr.codecs
import zarr.codecs.cast_value
import zarr.codecs.scale_offset
import zarr.registry

from zarr_recast.zarr import CastValue, ScaleOffset

zarr.codecs.CastValue = zarr.codecs.cast_value.CastValue = CastValue
zarr.codecs.ScaleOffset = zarr.codecs.scale_offset.ScaleOffset = ScaleOffset
# The only classes of their names, as zarr's fixtures reset the configuration that would choose.
for name, codec in (("cast_value", CastValue), ("scale_offset", ScaleOffset)):
    zarr.registry._codec_registries[name].clear()
    zarr.registry.register_codec(name, codec)
