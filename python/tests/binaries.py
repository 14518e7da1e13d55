"""The Rust programs beside the package, for tests that zarr-python reads what they write, with its own value codecs and with
ours. A module that imports this
is skipped without them, or without zarr-python and its own codecs.

RECAST_BINARIES names the folder of `recast` and of `examples/rewrite`, as `cargo build --bin recast
--example rewrite` leaves them.
"""

import os
import subprocess
from pathlib import Path

import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
pytest.importorskip("cast_value_rs")

BINARIES = os.environ.get("RECAST_BINARIES")
if BINARIES is None:
    pytest.skip("RECAST_BINARIES is not set", allow_module_level=True)

# zarr-python's own codecs, for zarr.config.
OWN_CODECS = {"cast_value": "zarr.codecs.cast_value.CastValue",
              "scale_offset": "zarr.codecs.scale_offset.ScaleOffset"}  # fmt: skip


CODECS = {
    "zarr-python": OWN_CODECS,
    "zarr-recast": {"cast_value": "zarr_recast.zarr.CastValue",
                    "scale_offset": "zarr_recast.zarr.ScaleOffset"},
}  # fmt: skip


def codecs_of(whose):
    """A context in which zarr-python uses these codecs."""
    zarr_recast.register()
    return zarr.config.set({f"codecs.{name}": path for name, path in CODECS[whose].items()})


@pytest.fixture(params=CODECS)
def codecs(request):
    """Whose codecs zarr-python uses."""
    with codecs_of(request.param):
        yield request.param


def run(name, *arguments):
    """What a program writes; subprocess.CalledProcessError if it fails."""
    command = [Path(BINARIES, name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, check=True).stdout
