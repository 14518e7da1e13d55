"""What a new user gets wrong is told in Python's words, with a way out."""

import numpy as np
import pytest

import zarr_recast

pytest.importorskip("zarr", minversion="3.3.0")
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
