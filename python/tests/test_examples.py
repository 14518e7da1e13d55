"""The examples in the documentation run."""

import doctest
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import zarr_recast


def test_module():
    assert doctest.testmod(zarr_recast).failed == 0


def test_readme_and_encoding(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("zarr", minversion="3.3.0")
    pytest.importorskip("xarray")
    import zarr_recast._encoding
    import zarr_recast.numcodecs

    for module in (zarr_recast._encoding, zarr_recast.numcodecs):
        assert doctest.testmod(module).failed == 0
    readme = Path(__file__).parent.parent / "README.md"
    results = doctest.testfile(str(readme), module_relative=False)
    assert results.failed == 0 and results.attempted > 10


@pytest.mark.filterwarnings("default")  # of Dask's worker processes
def test_where_your_data_are(tmp_path, monkeypatch):
    """The examples of docs/stores.md; that of virtual arrays is in the README."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("zarr", minversion="3.3.0")
    for name in ("xarray", "distributed", "fsspec", "icechunk", "obstore"):
        pytest.importorskip(name)
    page = Path(__file__).parents[2] / "docs/stores.md"
    folder = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
        Thread(target=server.serve_forever).start()
        try:
            results = doctest.testfile(
                str(page),
                module_relative=False,
                globs={"server": f"http://127.0.0.1:{server.server_port}"},
                optionflags=doctest.ELLIPSIS,
            )
        finally:
            server.shutdown()
    assert results.failed == 0 and results.attempted > 30
