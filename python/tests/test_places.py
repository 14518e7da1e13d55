"""Errors about places, and names of arrays with a leading slash."""

import pickle
import shlex
import subprocess
import sys

import numpy as np
import pytest
from conftest import VALUES

import zarr_recast
from zarr_recast import compare, encoding_for, pack, suggest, verify

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")


def test_a_source_that_is_missing_is_a_file_not_found_error(source, tmp_path):
    missing = tmp_path / "im.zarr"
    with pytest.raises(FileNotFoundError, match="the nearest name is in.zarr") as caught:
        pack(missing, tmp_path / "out.zarr", max_abs_error=1)
    # As before, it is a ValueError, too.
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is zarr_recast.NotFoundError and str(again) == str(caught.value)
    for judge in (compare, verify):
        with pytest.raises(zarr_recast.NotFoundError, match=r"im\.zarr"):
            judge(source, missing)
    with pytest.raises(zarr_recast.NotFoundError, match=r"im\.zarr"):
        suggest(missing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no array here"):
        pack(tmp_path / "empty", tmp_path / "out.zarr", max_abs_error=1)
    with pytest.raises(FileNotFoundError, match="memory:.*no array here"):
        pack(zarr.storage.MemoryStore(), tmp_path / "out.zarr", max_abs_error=1)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_target_that_is_there_is_a_file_exists_error(in_memory, source, tmp_path):
    target = zarr.storage.MemoryStore() if in_memory else tmp_path / "out.zarr"
    pack(source, target, max_abs_error=0.1)
    with pytest.raises(FileExistsError, match="exists; overwrite=True replaces it") as caught:
        pack(source, target, max_abs_error=0.1)
    assert type(caught.value) is zarr_recast.ExistsError and isinstance(caught.value, ValueError)


def test_other_errors_are_value_errors_alone(source, tmp_path):
    with pytest.raises(ValueError) as caught:
        pack(source, tmp_path / "out.zarr", max_abs_error=1, precision=1)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [("threads", "2"), ("threads", 1.5), ("max_memory", "1"), ("overwrite", "no"), ("sync", None)],
)
def test_an_argument_of_another_kind_is_named(argument, wrong, source, tmp_path):
    with pytest.raises(TypeError, match=f"{argument} is {wrong!r}; it must be"):
        pack(source, tmp_path / "out.zarr", max_abs_error=1, **{argument: wrong})


def test_every_public_name_is_listed():
    assert set(dir(zarr_recast)) == set(zarr_recast.__all__)


def test_the_failure_of_verify_names_pythons_parameters(source, tmp_path):
    zarr.create_array(tmp_path / "other", data=VALUES + 1)
    report = verify(source, tmp_path / "other", atol=0.25, rtol=1e-7)
    assert "differ by more than atol=0.25 and rtol=1e-7 allow" in report.failure
    assert "atol gives one" in verify(source, tmp_path / "other").failure


def test_paths_of_a_tree_name_its_arrays(tmp_path):
    ds = xr.Dataset({"t2m": (("y", "x"), VALUES)})
    tree = xr.DataTree.from_dict({"/": ds, "/surface": ds})
    plain = encoding_for(tree, max_abs_error={"surface/t2m": 0.1})
    by_path = encoding_for(tree, max_abs_error={"/surface/t2m": 0.1})
    # NaN equals nothing.
    assert repr(by_path) == repr(plain) != "{}"
    report = pack(tree, tmp_path / "out.zarr", max_abs_error={"/surface/t2m": 0.1})
    assert list(report.packed) == ["surface/t2m"]
    found = suggest(tree)
    assert found["/surface/t2m"] is found["surface/t2m"]
    with pytest.raises(KeyError):
        found["/surface/t3m"]
    # A variable may have a slash in its name.
    with pytest.raises(ValueError, match="the nearest are 't2m'"):
        encoding_for(ds, max_abs_error={"/t3m": 0.1})


@pytest.mark.parametrize("wrong", [None, int, {"nam": "int16"}, 5])
def test_cast_value_names_its_argument_that_is_no_data_type(wrong):
    from zarr_recast.zarr import CastValue

    with pytest.raises(TypeError, match=r"data_type is .*; it must be the name of a data type"):
        CastValue(data_type=wrong)
    with pytest.raises(TypeError, match="'data_type'"):
        CastValue()
    assert CastValue(data_type=np.dtype("int16")) == CastValue(data_type="int16")


def test_the_line_for_a_netcdf_file_writes_it_as_zarr(tmp_path):
    pytest.importorskip("netCDF4")
    ds = xr.Dataset({"t2m": (("y", "x"), VALUES)})
    ds.to_netcdf(tmp_path / "x.nc", engine="netcdf4")
    with pytest.raises(ValueError, match="not Zarr") as caught:
        pack(tmp_path / "x.nc", tmp_path / "out.zarr", max_abs_error=0.1)
    line = str(caught.value).partition("writes it as Zarr: ")[2]
    python, *arguments = shlex.split(line)
    assert python == "python"
    subprocess.run([sys.executable, *arguments], check=True)
    assert pack(tmp_path / "x.zarr", tmp_path / "out.zarr", max_abs_error=0.1).packed["t2m"]
