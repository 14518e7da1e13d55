"""What a new user gets wrong is told in Python's words, with a way out."""

import inspect
import re
import warnings
from shutil import make_archive

import numpy as np
import pytest

import zarr_recast
from zarr_recast._errors import _SWITCHES, with_parameters

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")


@pytest.fixture
def places(tmp_path):
    """A group that CF packed, and a place for an output."""
    ds = xr.Dataset({"t": ("x", np.linspace(270, 300, 1000, dtype="float32"))})
    packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": -32768}
    ds.to_zarr(tmp_path / "cf.zarr", encoding={"t": packing}, consolidated=False)
    return tmp_path / "cf.zarr", tmp_path / "out.zarr"


@pytest.mark.parametrize("from_cf", [True, {"t": True}], ids=str)
def test_from_cf_of_decoded_variables_names_the_way_to_the_integers(places, from_cf):
    source, target = places
    decoded = xr.open_zarr(source, consolidated=False)
    objects = [decoded] if from_cf is not True else [decoded, decoded["t"], xr.DataTree(decoded)]
    for obj in objects:
        with pytest.raises(ValueError, match="xarray has decoded t.*mask_and_scale=False.*from_cf"):
            zarr_recast.pack(obj, target, from_cf=from_cf)
    zarr_recast.pack(xr.open_zarr(source, consolidated=False, mask_and_scale=False), target, from_cf=from_cf)
    read = xr.open_zarr(target, consolidated=False)["t"]
    # xarray decodes to float64, and the codecs to float32.
    np.testing.assert_allclose(read, decoded["t"], rtol=1e-7)
    with pytest.raises(zarr_recast.ExistsError, match="overwrite=True replaces it"):
        zarr_recast.pack(source, target, from_cf=from_cf)


def test_suggest_says_what_to_do_with_integers_of_cf_and_with_nothing(places):
    raw = xr.open_zarr(places[0], consolidated=False, mask_and_scale=False)
    for obj in (raw, places[0], xr.DataTree(raw)):
        assert str(zarr_recast.suggest(obj)).startswith("t  the integers are packed by scale_factor")
    assert "pack(…, from_cf=True)" in str(zarr_recast.suggest(raw["t"]))
    assert str(zarr_recast.suggest(xr.Dataset())).startswith("nothing to suggest: no floating-point")


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"readers": "netcdf"}, 'readers is ["netcdf"]; it must be one of "zarr-python", "zarrs", "zarrita", "gdal", "any"'),
     ({"shard_codecs": "in"}, 'shard_codecs is "in"; it must be one of "auto", "inside", "outside"'),
     ({"lossless": "x"}, 'lossless is "x"; it must be True or False')],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)  # fmt: skip
def test_wrong_values_are_told_with_the_right_ones(places, options, expected):
    with pytest.raises(ValueError) as error:
        zarr_recast.pack(*places, max_abs_error=0.1, **options)
    assert str(error.value) == expected


def test_arrays_of_objects_are_told_how_they_get_a_type(places):
    mixed = np.array([1.5, None, 3], dtype=object)
    for run in (zarr_recast.suggest, lambda obj: zarr_recast.round_to(obj, max_abs_error=1)):
        with pytest.raises(TypeError, match=r"astype\("):
            run(mixed)
    with pytest.raises(ValueError, match=r"^t: .*astype\("):
        zarr_recast.pack(xr.Dataset({"t": ("x", mixed)}), places[1], max_abs_error=1)


@pytest.mark.parametrize("call", [zarr_recast.encoding_for, zarr_recast.round_to])
def test_places_are_refused_where_values_are_needed(places, call):
    group = zarr.open_group(places[0], mode="r")
    for place in (places[0], str(places[0]), str(places[0] / "t"), "x.nc", group):
        for bound in (0.1, {"t": 0.1}):
            with pytest.raises(TypeError, match="^values are needed, and not .*xarray.open_dataset"):
                call(place, max_abs_error=bound)


@pytest.mark.parametrize("call", [zarr_recast.encoding_for, zarr_recast.round_to])
def test_a_missing_bound_names_parameters_that_there_are(call):
    with pytest.raises(ValueError, match="^nothing says what to keep; give ") as caught:
        call(np.zeros(3, "float32"))
    named = re.split(", | or ", str(caught.value).partition("give ")[2])
    assert len(named) > 5 and set(named) <= set(inspect.signature(call).parameters)


def test_encoding_for_keeps_infinities_as_its_error_says():
    values = np.array([1, np.inf, -np.inf, 2.5, np.nan], "float32")
    with pytest.raises(ValueError, match="is Infinity.*; infinity=True gives"):
        zarr_recast.encoding_for(values, max_abs_error=0.01)
    encoding = zarr_recast.encoding_for(values, max_abs_error=0.01, infinity=True)
    array = zarr.create_array({}, shape=values.shape, **encoding)
    array[...] = values
    np.testing.assert_allclose(array[...], values, atol=0.01, rtol=0)


def test_reports_and_errors_of_groups_name_no_flags_of_the_command(places):
    ds = xr.Dataset({"t": ("x", np.float32([1.3, 2.71, 3.14159])), "n": ("x", np.int32([7, 80, 900]))})
    report = zarr_recast.pack(ds, places[1], max_abs_error=0.1)
    assert report.copied["n"] == "int32: a bound by its path, such as 0, packs it"
    assert 'not netCDF (see readers="any")' in str(report)
    report = zarr_recast.pack(ds, places[1], max_abs_error={"t": 0.1, "n": 0}, overwrite=True, grid=True)
    assert report.packed["n"].data_type == "int16"
    with pytest.raises(ValueError, match="bounds by paths that leave it out keep it as it is") as caught:
        zarr_recast.pack(ds, places[1], max_abs_error=100, overwrite=True)
    assert "for this array alone (a dictionary by paths); allow_constant=True" in str(caught.value)
    for flag in ("exclude", "include", "keep_going", "config", "NAME"):
        assert flag not in str(caught.value)
    array = zarr.create_array(places[1] / "more", data=np.zeros(3, "f4"))
    with pytest.raises(ValueError, match="is not a group, and a dictionary with t is for groups"):
        zarr_recast.pack(array, max_abs_error={"t": 0.1}, dry_run=True)


def test_texts_have_the_words_of_python():
    for text, expected in [
        ('; limits = [0.5, "none"] in its table of --config forbids that', "; limits=(0.5, None) for its path forbids that"),
        ("with --readers any use --precision 0.25", 'with readers="any" use precision=0.25'),
        ("a is like data; --exclude a keeps it as it is", "a is like data; bounds by paths that leave it out keep it as it is"),
        ("--verify reads it again; --from-cf is for CF", "verify=True reads it again; from_cf is for CF"),
    ]:
        assert with_parameters(text) == expected


def test_the_switches_are_those_of_pack():
    kinds = zarr_recast.pack.__annotations__
    assert {name for name, kind in kinds.items() if kind in ("bool", "ByPath[bool]")} == _SWITCHES


def test_suggest_reads_zip_files_as_the_jobs_do(places):
    folder = places[0].parent
    deep = make_archive(folder / "deep", "zip", folder, "cf.zarr")
    flat = make_archive(folder / "flat", "zip", places[0])
    expected = str(zarr_recast.suggest(places[0]))
    for place in (flat, f"{deep}/cf.zarr"):
        assert str(zarr_recast.suggest(place)) == expected
    (folder / "broken.zip").write_bytes(b"PK")
    (folder / "x.nc").write_bytes(b"no Zarr")
    for place, error, text in [
        (deep, zarr_recast.NotFoundError, "no array or group of Zarr here; name one below"),
        (folder, zarr_recast.NotFoundError, "no array or group of Zarr here; name one below"),
        (folder / "x.nc", zarr_recast.NotFoundError, "a file, and not Zarr; xarray.open_dataset"),
        (folder / "no.zarr", zarr_recast.NotFoundError, "no such file or directory"),
        (folder / "broken.zip", ValueError, "not a readable zip file"),
    ]:
        with pytest.raises(error, match=re.escape(str(place)) + ": " + text):
            zarr_recast.suggest(place)


def test_from_cf_says_how_far_codes_are_off_and_takes_datasets(places):
    decoded = xr.open_zarr(places[0], consolidated=False)
    with pytest.raises(TypeError, match=r"not a DataArray; of a DataArray, give da.to_dataset\(\)"):
        zarr_recast.from_cf(decoded["t"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        zarr_recast.from_cf(decoded)
    for warning in caught:
        # A code that decodes to nearly 0 is off by 2**62 units in the last place, and by next to nothing.
        assert float(re.search(r"by (\S+) at most", str(warning.message))[1]) < 1e-9
    assert caught
