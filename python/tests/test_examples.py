"""The examples in the documentation run."""

import doctest
from pathlib import Path

import pytest

import zarr_recast


def test_module():
    assert doctest.testmod(zarr_recast).failed == 0


def test_readme_and_encoding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("zarr", minversion="3.4.2")
    pytest.importorskip("xarray")
    import zarr_recast._encoding
    import zarr_recast.numcodecs

    for module in (zarr_recast._encoding, zarr_recast.numcodecs):
        assert doctest.testmod(module).failed == 0
    readme = Path(__file__).parent.parent / "README.md"
    results = doctest.testfile(str(readme), module_relative=False)
    assert results.failed == 0 and results.attempted > 10
