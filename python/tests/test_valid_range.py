"""Valid values stay valid: `valid_min`, `valid_max` and `valid_range` of xarray's attributes."""

import numpy as np
import pytest

import zarr_recast

xarray = pytest.importorskip("xarray")
zarr = pytest.importorskip("zarr")

LEAST, GREATEST = -1.8, 31.9


def field(dtype, least=LEAST, greatest=GREATEST):
    noise = np.random.default_rng(5).uniform(-0.15, 1.15, (40, 50)).clip(0, 1)
    return (least + (greatest - least) * noise).astype(dtype)


def assert_valid(before, after, least, greatest):
    for dtype in (before.dtype, np.dtype("f8")):  # as those who read the attribute in the type, and as all others
        low, high = (np.asarray(end).astype(dtype) for end in (least, greatest))
        inside = [(values >= low) & (values <= high) for values in (before, after)]
        assert not (inside[0] & ~inside[1]).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("share", [0.03, 0.0201, 1e-3])
@pytest.mark.parametrize("least, greatest", [(0, 1), (LEAST, GREATEST), (-60, -10)])
def test_decoded_values_stay_valid(tmp_path, dtype, share, least, greatest):
    before = field(dtype, least, greatest)
    bound = share * (greatest - least)
    array = xarray.DataArray(before, dims=("y", "x"), name="v", attrs={"valid_range": [least, greatest]})
    encoding = {"v": zarr_recast.encoding_for(array, max_abs_error=bound)}
    array.to_dataset().to_zarr(tmp_path / "encoded.zarr", encoding=encoding, zarr_format=3, consolidated=False)
    written = zarr.open_array(tmp_path / "encoded.zarr" / "v", mode="r")[...]
    zarr_recast.pack(array.to_dataset(), tmp_path / "packed.zarr", max_abs_error=bound)
    packed = zarr.open_array(tmp_path / "packed.zarr" / "v", mode="r")[...]
    rounded = zarr_recast.round_to(array, max_abs_error=bound).values
    for after in (written, packed, rounded):
        assert abs(after.astype("f8") - before).max() <= bound
        assert_valid(before, after, least, greatest)
        assert (after != before).any()


def test_the_valid_range_of_unpacked_integers_says_nothing_of_the_values():
    array = xarray.DataArray(field("float32"), dims=("y", "x"), attrs={"valid_range": [-180, 20]})
    array.encoding = {"scale_factor": 0.01, "dtype": "int16"}
    plain = xarray.DataArray(array.values, dims=("y", "x"))
    assert zarr_recast.round_to(array, max_abs_error=0.4).identical(
        zarr_recast.round_to(plain, max_abs_error=0.4).assign_attrs(array.attrs)
    )
    for attributes in ({"valid_min": True}, {"valid_range": "0 to 1"}, {"valid_max": ["a", "b"]}):
        other = plain.assign_attrs(attributes)
        encodings = [zarr_recast.encoding_for(one, max_abs_error=0.4) for one in (plain, other)]
        assert encodings[0]["filters"] == encodings[1]["filters"]


def test_valid_values_that_become_invalid_are_named():
    array = xarray.DataArray(np.linspace(0, 1, 99, dtype="f4"), dims="x", attrs={"valid_max": 1})
    with pytest.warns(UserWarning, match="1.0 decodes to 1.009.*, beyond the valid range by .*; limits="):
        zarr_recast.encoding_for(array, precision=0.0297)
