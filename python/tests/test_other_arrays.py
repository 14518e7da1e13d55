"""Arrays of other packages, and types without numbers."""

import numpy as np
import pytest

import zarr_recast

VALUES = np.random.default_rng(0).normal(280, 5, (50, 60)).astype("float32")


class WithArray:
    """As PyTorch's tensors are: shape and type are not NumPy's, and `__array__` gives an array."""

    shape = (50, 60)
    dtype = "float32 of a package"

    def __array__(self, dtype=None, copy=None):
        return VALUES


class OfDlpack:
    """Only what the array API standard asks for."""

    device = (1, 0)

    def __dlpack__(self, **options):
        return VALUES.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


class OnDevice(OfDlpack):
    device = (2, 0)
    shape = VALUES.shape
    dtype = VALUES.dtype

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("copied without a word")


FUNCTIONS = {
    "encoding_for": lambda values: zarr_recast.encoding_for(values, max_abs_error=0.01),
    "suggest": lambda values: zarr_recast.suggest(values).rows,
    "round_to": lambda values: zarr_recast.round_to(values, max_abs_error=0.01),
    "cast_array": lambda values: zarr_recast.cast_array(
        values, target_dtype="float16", rounding_mode="nearest-even"
    ),
    "Chain": lambda values: zarr_recast.Chain("float32", []).encode(values),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_other_packages(name):
    if name in ("encoding_for", "suggest"):
        pytest.importorskip("zarr", minversion="3.3.0")
    function = FUNCTIONS[name]
    expected = function(VALUES)
    for other in (WithArray(), OfDlpack()):
        found = function(other)
        # NaN, the fill value of an encoding, is not equal to itself.
        assert np.array_equal(found, expected) or str(found) == str(expected)
    with pytest.raises(TypeError, match="OnDevice: the elements are in the memory of a device"):
        function(OnDevice())


@pytest.mark.parametrize("dtype", ["S3", "U3", "M8[s]", "c8", "?", "V3", [("a", "i4")]], ids=str)
def test_types_without_numbers_are_named(dtype):
    pytest.importorskip("zarr", minversion="3.3.0")
    for function in FUNCTIONS.values():
        with pytest.raises(TypeError, match="is not supported(, because it is not one number)?; "):
            function(np.zeros(3, dtype))
