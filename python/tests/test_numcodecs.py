"""The codec for numcodecs."""

import pickle

import numpy as np
import pytest

import zarr_recast

numcodecs = pytest.importorskip("numcodecs")

from zarr_recast.numcodecs import FixedScaleOffset, register  # noqa: E402


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f4", "<f8", ">f8", "<i4", "|u1"])
@pytest.mark.parametrize("astype", ["|u1", "<i2", ">i2", "<u4", "<i8", "<f4", None])
@pytest.mark.parametrize(("offset", "scale"), [(0.5, 10), (10, 0.1), (3, 3), (0.1, 7.3)])
def test_elements_and_configuration_are_those_of_numcodecs(dtype, astype, offset, scale):
    parameters = {"offset": offset, "scale": scale, "dtype": dtype, "astype": astype}
    ours, theirs = FixedScaleOffset(**parameters), numcodecs.FixedScaleOffset(**parameters)
    assert ours.get_config() == theirs.get_config()
    elements = np.linspace(10, 24, 60).reshape(12, 5).astype(dtype)
    for layout in (elements, np.asfortranarray(elements)):
        expected = theirs.encode(layout)
        np.testing.assert_array_equal(ours.encode(layout), expected, strict=True)
        np.testing.assert_array_equal(ours.decode(expected), theirs.decode(expected), strict=True)
    out = np.zeros_like(elements)
    ours.decode(expected.tobytes(), out)
    theirs_out = np.zeros_like(elements)
    theirs.decode(expected.tobytes(), theirs_out)
    np.testing.assert_array_equal(out, theirs_out)


@pytest.mark.parametrize("element", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_an_error(element):
    codec = FixedScaleOffset(offset=0, scale=1, dtype="f4", astype="u1")
    with pytest.raises(zarr_recast.CastError) as raised:
        codec.encode(np.array([1, element], "float32"))
    assert raised.value.index == (1,)


def test_integers_wrap_as_in_numcodecs():
    codec = FixedScaleOffset(offset=0, scale=1, dtype="f4", astype="u1")
    assert codec.encode(np.array([300, -1], "float32")).tolist() == [44, 255]


def test_it_is_pickled_and_registered():
    codec = FixedScaleOffset(offset=0, scale=10, dtype="f4", astype="u1")
    codec.encode(np.ones(3, "float32"))
    assert pickle.loads(pickle.dumps(codec)) == codec
    try:
        register()
        assert type(numcodecs.get_codec(codec.get_config())) is FixedScaleOffset
    finally:
        numcodecs.register_codec(numcodecs.FixedScaleOffset)


def test_zarr_v2_arrays_are_read_and_written_through_it():
    zarr = pytest.importorskip("zarr", minversion="3.3.0")
    codec = FixedScaleOffset(offset=0.5, scale=10, dtype="<f4", astype="|u1")
    elements = (np.arange(60).reshape(12, 5) / 10 + 0.5).astype("float32")
    store = zarr.storage.MemoryStore()
    array = zarr.create_array(
        store, shape=(12, 5), chunks=(5, 3), dtype="float32", filters=[codec], zarr_format=2
    )
    array[:] = elements
    np.testing.assert_array_equal(array[:], elements)
    np.testing.assert_array_equal(zarr.open_array(store, mode="r")[:], elements)
