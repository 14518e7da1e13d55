"""Fixtures of several files."""

import numpy as np
import pytest

VALUES = np.random.default_rng(1).uniform(250, 300, (6, 10)).astype("float32")


@pytest.fixture
def source(tmp_path):
    """The path of an array with `VALUES`, written by zarr-python."""
    zarr = pytest.importorskip("zarr", minversion="3.3.0")
    path = tmp_path / "in.zarr"
    zarr.create_array(path, data=VALUES, chunks=(3, 10))
    return path
