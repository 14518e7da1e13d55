"""`encoding_for`: the codecs of `recast pack`, for every kind of array that holds the same values."""

import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zarr_recast
from zarr_recast import encoding_for

zarr = pytest.importorskip("zarr", minversion="3.3.0")


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


def temperatures(dtype="float32", shape=(40, 30)):
    data = np.random.default_rng(1).uniform(-40, 45, shape).astype(dtype)
    data[::7, ::5] = np.nan
    return data


def codecs(encoding):
    return [codec.to_dict() for codec in encoding["filters"]]


def round_trip(encoding, data):
    chain = zarr_recast.Chain(encoding["dtype"], encoding["filters"], encoding["fill_value"])
    return chain.decode(chain.encode(data))


@pytest.mark.filterwarnings("ignore:the bound .* is ")
@settings(max_examples=300, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from(["float16", "float32", "float64"]),
        st.integers(1, 30),
        elements=st.floats(-1e4, 1e4, width=16) | st.just(float("nan")),
    ),
    st.floats(1e-4, 1e3),
)
def test_the_bound_holds_for_every_element(data, bound):
    try:
        encoding = encoding_for(data, max_abs_error=bound)
    except ValueError:
        return
    read = round_trip(encoding, data)
    np.testing.assert_array_equal(np.isnan(read), np.isnan(data))
    error = abs(read.astype("longdouble") - data.astype("longdouble"))
    assert not (error > bound).any()


def test_nan_has_a_code_also_where_none_was_seen():
    data = np.linspace(0, 1, 100, dtype="float32")
    encoding = encoding_for(data, max_abs_error=0.01)
    assert np.isnan(encoding["fill_value"])
    assert np.isnan(round_trip(encoding, np.array([np.nan, 0.5], "float32"))[0])
    none = encoding_for(data, max_abs_error=0.01, nan=None)
    assert "scalar_map" not in str(codecs(none))
    named = encoding_for(data, max_abs_error=0.01, nan=127, data_type="int8")
    assert named["filters"][-1].scalar_map["encode"] == (("NaN", 127),)


def test_a_range_has_room_for_what_was_not_seen():
    data = np.linspace(0, 1, 100, dtype="float32")
    encoding = encoding_for(data, max_abs_error=0.01, range=(-5, 5))
    later = np.linspace(-5, 5, 1001, dtype="float32")
    np.testing.assert_allclose(round_trip(encoding, later), later, rtol=0, atol=0.01)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
@pytest.mark.parametrize("bound", [{"max_abs_error": 0.5}, {"precision": 2}])
def test_a_type_and_a_range_need_no_data(dtype, bound):
    encoding = encoding_for(dtype=dtype, range=(-40, 60), **bound)
    empty = encoding_for(np.empty(0, dtype), range=(-40, 60), **bound)
    assert str(encoding) == str(empty) and encoding["dtype"] == dtype
    values = np.linspace(-40, 60, 1001).astype(dtype)
    most = bound.get("max_abs_error", 1)
    np.testing.assert_allclose(round_trip(encoding, values), values, rtol=0, atol=most)
    with pytest.raises(zarr_recast.CastError):
        round_trip(encoding, np.array([9000], dtype))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({}, TypeError, "no values; give an array or a dataset, or dtype= and range="),
        ({"range": (0, 1)}, TypeError, "no values; give an array or a dataset, or dtype= and range="),
        ({"dtype": "float32"}, ValueError, "no values and no range; give range="),
        ({"dtype": "float32", "range": {"t": (0, 1)}}, TypeError, "once for each variable"),
        ({"dtype": {"t": "float32"}, "range": (0, 1)}, TypeError, "once for each variable"),
        ({"dtype": "float32", "range": (1, 0)}, ValueError, "smaller number"),
        ({"dtype": "float32", "range": (0, np.inf)}, ValueError, "range"),
        ({"dtype": "U3", "range": (0, 1)}, TypeError, "not supported|no data type|U3"),
        ({"obj": np.ones(3), "dtype": "float32"}, TypeError, "data_type is the type of stored elements"),
    ],
)
def test_what_is_not_promised_or_promised_beside_data_is_an_error(arguments, error, match):
    with pytest.raises(error, match=match):
        encoding_for(**arguments, max_abs_error=0.1)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint32"])
def test_integers_are_kept_exactly_in_the_narrowest_type(dtype):
    data = np.arange(100, 300).astype(dtype)
    encoding = encoding_for(data)
    assert encoding["filters"][-1].data_type.to_native_dtype().itemsize == 1
    np.testing.assert_array_equal(round_trip(encoding, data), data)
    array = zarr.create_array({}, shape=300, **encoding)
    array[:200] = data
    np.testing.assert_array_equal(array[:200], data)
    # Those of the narrowest type already need no codecs.
    assert encoding_for(np.arange(256, dtype="uint8"))["filters"] == ()


def test_elements_of_one_byte_are_stored_in_several():
    values = np.linspace(-400, 400, 500).astype(ml_dtypes.float8_e4m3fn)
    encoding = encoding_for(values, max_abs_error=0.5)
    array = zarr.create_array({}, shape=values.shape, **encoding)
    assert encoding["filters"][-1].data_type.to_native_dtype() == "int16"
    array[:] = values
    assert abs(array[:].astype("float64") - values.astype("float64")).max() <= 0.5
    assert "serializer" not in encoding_for(values, max_abs_error=16)


def test_missing_values_come_back_bit_for_bit():
    data = temperatures()
    data[3], data[4] = -9999.0, 1e20
    encoding = encoding_for(data, max_abs_error=0.1, missing=[-9999, 1e20])
    read = round_trip(encoding, data)
    np.testing.assert_array_equal(read[3:5], data[3:5])
    np.testing.assert_allclose(read, data, rtol=0, atol=0.1)


@pytest.mark.parametrize("marker", [2.0**60, np.float64(2**60), 2**60])
def test_large_floats_mark_the_whole_number_that_they_are(marker):
    xr = pytest.importorskip("xarray")
    data = np.array([1, 2, 2**60, 4])
    for obj, missing in [(data, marker), (xr.DataArray(data, attrs={"_FillValue": marker}), None)]:
        encoding = encoding_for(obj, max_abs_error=0, missing=missing)
        assert encoding["filters"][-1].data_type.to_native_dtype().itemsize == 1
        np.testing.assert_array_equal(round_trip(encoding, data), data)


def test_masked_elements_are_what_filled_makes_of_them():
    data = np.ma.masked_invalid(temperatures())
    encoding = encoding_for(data, max_abs_error=0.1)
    assert encoding["fill_value"] == np.float32(1e20)
    array = zarr.create_array({}, shape=data.shape, **encoding)
    array[...] = data.filled()
    read = np.ma.masked_values(array[...], 1e20)
    np.testing.assert_array_equal(read.mask, data.mask)
    assert abs(read - data).max() <= 0.1


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_masked_dask_arrays_get_the_codecs_of_masked_arrays(dtype):
    da = pytest.importorskip("dask.array")
    data = np.ma.masked_array(np.array([1, 2, 63, 127], dtype), [False, True, False, False])
    lazy = da.from_array(data, chunks=2)
    expected = encoding_for(data, max_abs_error=0.4)
    found = encoding_for(lazy, max_abs_error=0.4)
    assert codecs(found) == codecs(expected)
    np.testing.assert_array_equal(found["fill_value"], expected["fill_value"])
    assert zarr_recast.suggest(lazy).details["known"]["range"] == [1, 127]


def test_a_mask_that_dask_does_not_know_of_is_an_error_that_says_what_to_do():
    da = pytest.importorskip("dask.array")
    data = np.ma.masked_array(np.array([1, 2, 63, 127]), [False, True, False, False])
    plain = np.empty(0, data.dtype)
    unknown = da.from_array(data, chunks=2).map_blocks(np.copy, subok=True, meta=plain)
    with pytest.raises(ValueError, match="give it meta=np.ma.empty"):
        encoding_for(unknown, max_abs_error=0)
    narrow = da.from_array(data.astype("int8"), chunks=2)
    with pytest.raises(ValueError, match="fill value 999999 is not of type int8"):
        encoding_for(narrow, max_abs_error=0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "float16", ml_dtypes.bfloat16])
def test_masked_elements_of_types_without_numpys_fill_value_get_one_that_no_element_has(dtype):
    data = np.ma.masked_array(np.array([1, 2, 63, 127], dtype), [False, True, False, False])
    encoding = encoding_for(data, max_abs_error=0, grid=True)
    fill = encoding["fill_value"]
    read = round_trip(encoding, data.filled(fill))
    np.testing.assert_array_equal(read[~data.mask], data.compressed())
    assert (read[1] == fill or np.isnan(fill) and np.isnan(read[1])) and fill not in (1, 63, 127)
    assert zarr_recast.suggest(data).details["known"]["range"] == [1, 127]


def test_a_masked_array_whose_elements_take_all_numbers_needs_a_wider_type():
    data = np.ma.masked_array(np.arange(257) % 256, np.arange(257) == 256, dtype="uint8")
    with pytest.raises(ValueError, match="fill value 999999 is not of type uint8, .* no element has"):
        encoding_for(data, max_abs_error=0)


def test_attributes_name_missing_values():
    xr = pytest.importorskip("xarray")
    data = np.where(np.isnan(temperatures()), np.float32(-32768), temperatures())
    for name, value in [("missing_value", -32768), ("_FillValue", np.float32(-32768)),
                        ("missing_value", np.array([-32768.0, -999]))]:  # fmt: skip
        da = xr.DataArray(data, dims=("y", "x"), attrs={name: value})
        read = round_trip(encoding_for(da, max_abs_error=0.1), data)
        np.testing.assert_array_equal(read == -32768, data == -32768)
        np.testing.assert_allclose(read, data, rtol=0, atol=0.1)


LAYOUTS = {
    "C": lambda data: data,
    "Fortran": np.asfortranarray,
    "strided": lambda data: np.repeat(data, 2, axis=1)[:, ::2],
    "big-endian": lambda data: data.astype(data.dtype.newbyteorder(">")),
    "read-only": lambda data: np.frombuffer(data.tobytes(), data.dtype).reshape(data.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_memory_layout_is_surveyed(layout):
    data = LAYOUTS[layout](temperatures())
    encoding = encoding_for(data, max_abs_error=0.05)
    assert encoding["dtype"] == np.float32 and encoding["dtype"].isnative
    np.testing.assert_allclose(round_trip(encoding, data), data, rtol=0, atol=0.05)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_empty_and_single_arrays_have_codecs(shape):
    data = np.full(shape, 2.5, "float32")
    encoding = encoding_for(data, max_abs_error=0.1, range=(0, 10))
    later = np.linspace(0, 10, 50, dtype="float32")
    np.testing.assert_allclose(round_trip(encoding, later), later, rtol=0, atol=0.1)


def stored(path, data, chunks, **options):
    array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, chunks=chunks, **options)
    array[...] = data
    return array


def test_arrays_with_the_same_chunks_have_the_same_codecs(tmp_path):
    da = pytest.importorskip("dask.array")
    xr = pytest.importorskip("xarray")
    data, chunks = temperatures(shape=(100, 90)), (30, 25)
    array = stored(tmp_path / "a.zarr", data, chunks, fill_value=np.nan, dimension_names=["y", "x"])
    expected = codecs(encoding_for(array, max_abs_error=0.01))
    assert codecs(encoding_for(da.from_array(data, chunks), max_abs_error=0.01)) == expected
    group = zarr.create_group(tmp_path / "g.zarr")
    stored(group.store_path / "v", data, chunks, fill_value=np.nan, dimension_names=["y", "x"])
    with xr.open_zarr(tmp_path / "g.zarr", chunks=None, consolidated=False) as lazy:
        assert codecs(encoding_for(lazy["v"], max_abs_error=0.01)) == expected
        # Read in pieces, and not kept.
        assert not lazy["v"].variable._in_memory
    with xr.open_zarr(tmp_path / "g.zarr", consolidated=False) as lazy:
        assert codecs(encoding_for(lazy["v"], max_abs_error=0.01)) == expected


class Counting:
    """An array that is read like a file, and remembers what of it was asked for."""

    def __init__(self, data):
        self.data, self.dtype, self.shape, self.asked = data, data.dtype, data.shape, []

    def __getitem__(self, key):
        part = self.data[key]
        self.asked.append(part.nbytes)
        return part


def test_lazy_arrays_without_chunks_are_read_in_pieces():
    lazy = Counting(np.linspace(0, 1, 10 << 20, dtype="float32").reshape(10, 1024, 1024))
    encoding = encoding_for(lazy, max_abs_error=0.01)
    assert max(lazy.asked) <= 16 << 20 < lazy.data.nbytes
    np.testing.assert_allclose(round_trip(encoding, lazy.data), lazy.data, rtol=0, atol=0.01)


def test_surveys_go_to_other_processes_and_add_up_there():
    from zarr_recast._core import Surveyor, choose

    data = temperatures().ravel()
    options = '{"max-abs-error": 0.05}'
    surveyor = pickle.loads(pickle.dumps(Surveyor("float32", np.nan, "{}", options, data.size)))
    parts = [surveyor.survey(part) for part in np.split(data, 4)]
    there = [pickle.loads(pickle.dumps(part)) for part in parts]

    def merged(surveys):
        first, *others = surveys
        for other in others:
            first = first.merge(other)
        return first

    asked = []

    def refute_two(choice):
        assert pickle.loads(pickle.dumps(choice)).codecs_json == choice.codecs_json
        asked.append(choice.codecs_json)
        return "not right" if len(asked) < 3 else choice.check(data)

    choice = choose(merged(there), options, lambda choice: choice.check(data))
    backwards = choose(merged(parts[::-1]), options, lambda choice: choice.check(data))
    assert choice.codecs_json == backwards.codecs_json
    again = choose(merged(parts), options, refute_two)
    assert pickle.loads(pickle.dumps(again)).codecs_json == again.codecs_json
    least, greatest = again.storable_range
    assert least <= np.nanmin(data) and greatest >= np.nanmax(data)


def test_a_dask_array_of_unknown_size_is_an_error_that_says_what_to_do():
    da = pytest.importorskip("dask.array")
    unknown = da.from_array(np.arange(10.0), chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        encoding_for(unknown[unknown > 3], max_abs_error=0.1)


@pytest.mark.parametrize(
    ("data", "options", "error", "match"),
    [
        (np.array([1, np.inf]), {"max_abs_error": 1}, ValueError, "Infinity"),
        (np.array([0, 1e300]), {"max_abs_error": 1e-3}, ValueError, "larger max_abs_error"),
        (np.array([0.1, 1e20]), {"max_abs_error": 1e-3}, ValueError, "looks like missing.* missing 1"),
        (np.array([1.0]), {"max_abs_error": np.nan}, ValueError, "finite"),
        (np.array([1.0]), {"max_abs_error": "1"}, TypeError, "max_abs_error is '1'"),
        (np.array([1.0]), {"max_abs_error": -1}, ValueError, "max_abs_error is -1"),
        (np.array([1.0]), {"max_abs_error": {"t": 1}}, TypeError, "variables of a dataset"),
        (np.array([1.0]), {}, ValueError, "max_abs_error, error_over_range, max_rel_error, max_mean_error"),
        (np.array([]), {"max_mean_error": 1}, ValueError, "max_mean_error bounds a mean"),
        (np.array([1.0]), {"max_abs_error": 1, "precision": 1}, ValueError, "cannot be used with"),
        (np.array([1.0]), {"max_abs_error": 1, "range": 3}, ValueError, "range is 3"),
        (np.array([1.0]), {"max_abs_error": 1, "range": (3, 2)}, ValueError, "smaller number"),
        (np.array([1.0]), {"max_abs_error": 1, "nan": 1.5}, TypeError, "nan is 1.5"),
        (np.array([1.0]), {"max_abs_error": 1, "data_type": "int7"}, ValueError, "int7"),
        (np.array(["a"]), {"max_abs_error": 1}, TypeError, "not supported|no data type|U1"),
    ],
)
def test_what_cannot_be_packed_is_an_error_in_pythons_words(data, options, error, match):
    with pytest.raises(error, match=match) as caught:
        encoding_for(data, **options)
    assert "--" not in str(caught.value)
