"""Casts and scale_offset over arrays of any layout."""

import pickle
import threading
from functools import partial

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import zarr_recast as zr

NUMPYS = [f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)]
NUMPYS.remove("float8")


def dtype(name):
    return np.dtype(name if name in NUMPYS else getattr(ml_dtypes, name))


def cast(array, target, rounding="nearest-even", **options):
    return zr.cast_array(array, target_dtype=target, rounding_mode=rounding, **options)


def same_bits(left, right):
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    assert left.tobytes() == right.tobytes()


def test_there_are_27_data_types_and_each_casts_to_each():
    assert len(zr.DATA_TYPES) == len(set(zr.DATA_TYPES)) == 27
    for source in zr.DATA_TYPES:
        ones = cast(np.ones(3), source)
        assert ones.dtype == dtype(source)
        for target in zr.DATA_TYPES:
            out = cast(ones, target)
            assert out.dtype == dtype(target)
            assert (out.astype("float64") == 1).all()


@pytest.mark.parametrize(
    ("rounding", "expected"),
    [
        ("nearest-even", [2, 2, -2, -2]),
        ("nearest-away", [2, 3, -2, -3]),
        ("towards-zero", [1, 2, -1, -2]),
        ("towards-positive", [2, 3, -1, -2]),
        ("towards-negative", [1, 2, -2, -3]),
    ],
)
def test_rounding(rounding, expected):
    array = np.array([1.5, 2.5, -1.5, -2.5])
    assert cast(array, "int8", rounding).tolist() == expected


def test_range_and_map():
    array = np.array([np.nan, 300.0, -1.0, 7.0], "float32")
    options = {"scalar_map_entries": {np.nan: 99}}
    assert cast(array, "uint8", out_of_range_mode="clamp", **options).tolist() == [99, 255, 0, 7]
    assert cast(array, "uint8", out_of_range_mode="wrap", **options).tolist() == [99, 44, 255, 7]
    # The first pair that matches decides, and 0 is equal to -0.
    pairs = [(0, 1), ("NaN", 2), (-0.0, 3), (np.float32("nan"), 4)]
    assert cast(np.float32([-0.0, np.nan]), "int8", scalar_map_entries=pairs).tolist() == [1, 2]


def test_map_entries_of_64_bits_are_exact():
    large = np.array([2**53 + 1, 2**53, 2**64 - 1], "uint64")
    entries = {2**53 + 1: 1, 2**64 - 1: 2}
    assert cast(large, "uint8", out_of_range_mode="clamp", scalar_map_entries=entries).tolist() == [
        1,
        255,
        2,
    ]


def test_large_floats_are_the_whole_numbers_that_they_are():
    last = np.array([2**64 - 1], "uint64")
    assert zr.scale_offset_encode(last, offset=2.0**63, scale=1.0).tolist() == [2**63 - 1]
    zero = np.array([0], "int64")
    assert zr.scale_offset_decode(zero, offset=np.float64(2**60)).tolist() == [2**60]
    assert zr.scale_offset_decode(zero, offset=-(2.0**63)).tolist() == [-(2**63)]
    entries = {np.nan: 2.0**60, 1.0: -(2.0**63)}
    mapped = cast(np.array([np.nan, 1]), "int64", scalar_map_entries=entries)
    assert mapped.tolist() == [2**60, -(2**63)]
    keys = cast(np.array([2**60, 3]), "int8", scalar_map_entries={2.0**60: 1})
    assert keys.tolist() == [1, 3]


@pytest.mark.parametrize("target", [np.uint8, "uint8", "u1", np.dtype("uint8"), "|u1"])
def test_target_dtype_in_every_form(target):
    assert cast(np.array([3.0]), target).dtype == np.uint8


def test_target_dtype_with_a_byte_order():
    out = cast(np.array([1.0, 258.0]), ">i2")
    assert out.dtype == np.dtype(">i2")
    assert out.tobytes() == bytes([0, 1, 1, 2])


def layouts(array):
    """The same two-dimensional elements in every memory layout."""
    yield "C", np.ascontiguousarray(array)
    yield "F", np.asfortranarray(array)
    yield "strided", np.repeat(array, 2, axis=1)[:, ::2]
    yield "reversed", np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    yield "swapped", array.astype(array.dtype.newbyteorder(">"))
    yield "swapped F", np.asfortranarray(array.astype(array.dtype.newbyteorder(">")))
    read_only = array.copy()
    read_only.flags.writeable = False
    yield "read-only", read_only
    unaligned = np.zeros(array.nbytes + 1, "uint8")[1:].view(array.dtype).reshape(array.shape)
    unaligned[...] = array
    yield "unaligned", unaligned


@pytest.mark.parametrize("source", ["float32", "int16", "float64"])
@pytest.mark.parametrize("target", ["uint8", "float64", "bfloat16", "int32"])
@pytest.mark.parametrize("shape", [(5, 7), (300, 11), (1, 1), (0, 3)])
def test_no_layout_changes_the_result(source, target, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(source)
    expected = cast(array, target, out_of_range_mode="clamp")
    same_bits(expected.ravel(), cast(array.ravel(), target, out_of_range_mode="clamp"))
    for name, layout in layouts(array):
        out = cast(layout, target, out_of_range_mode="clamp")
        assert out.flags.c_contiguous, name
        same_bits(out, expected)
        for out_name, into in layouts(np.zeros(shape, dtype(target))):
            into.flags.writeable = True
            zr.cast_array_into(
                layout, into, rounding_mode="nearest-even", out_of_range_mode="clamp"
            )
            np.testing.assert_array_equal(into.astype("f8"), expected.astype("f8"), out_name)


@pytest.mark.parametrize("number", range(60))
def test_parts_of_arrays_are_cast_as_their_copies_are(number):
    """Rows of any length and distance, in any order, repeated, and beside the output."""
    random = np.random.default_rng(number)
    shape = random.integers(1, [2000, 300, 40, 12][random.integers(4)], random.integers(1, 5)) % 2000
    shape = np.maximum(1, shape[np.cumprod(shape) < 1 << 20])
    whole = random.uniform(0, 250, shape).astype(random.choice(["float32", "float64", "int16"]))
    part = whole[tuple(
        slice(*sorted(random.integers(0, length + 1, 2)))
        if random.integers(3)
        else slice(None, None, random.choice([-2, -1, 1, 2, 3]))
        for length in whole.shape
    )]
    if random.integers(4) == 0:
        part = np.broadcast_to(part, (3, *part.shape))
    if random.integers(4) == 0:
        part = part.transpose(random.permutation(part.ndim))
    same_bits(cast(part, "uint8"), cast(part.copy("C"), "uint8"))
    if part.size == 0 or not part.flags.writeable:
        return
    bad = tuple(random.integers(part.shape))
    part[bad] = 1000
    with pytest.raises(zr.CastError) as caught:
        cast(part, "uint8")
    assert caught.value.index == bad
    part[bad] = 7
    # The output is a part of the same memory.
    expected = cast(part.copy("C"), "uint8")
    into = whole.reshape(-1).view("uint8")[: part.size].reshape(part.shape)
    zr.cast_array_into(part, into, rounding_mode="nearest-even")
    same_bits(into, expected)


def test_zero_dimensions_stay():
    out = cast(np.array(2.5), "int8")
    assert out.shape == () and out == 2
    assert cast(3.5, "int8") == 4  # what NumPy makes an array
    with pytest.raises(zr.CastError) as caught:
        cast(np.array(np.nan), "int8")
    assert caught.value.index == ()


def test_broadcast_and_overlapping_arrays():
    wide = np.broadcast_to(np.float32([1, 2]), (3, 2))
    assert cast(wide, "uint8").tolist() == [[1, 2]] * 3
    memory = np.arange(8, dtype="float64")
    zr.cast_array_into(memory[:4], memory.view("float32")[:4], rounding_mode="nearest-even")
    assert memory.view("float32")[:4].tolist() == [0, 1, 2, 3]
    ints = np.arange(6, dtype="int32")
    zr.scale_offset_encode_into(ints[:-1], ints[1:], offset=-1)
    assert ints.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("number", range(120))
def test_overlapping_runs_give_the_results_and_errors_of_copies(number):
    """In place and at any distance, with the axes of either side in any order in memory."""
    random = np.random.default_rng(number)
    shape = random.integers(1, 7, 3)
    memory = np.zeros(8 * shape.prod() + 128, "uint8")

    def part(name, start, axes):
        size = np.dtype(name).itemsize
        elements = memory[size * start :][: size * shape.prod()].view(name)
        return elements.reshape(shape[axes]).transpose(np.argsort(axes))

    orders = [np.arange(3), np.arange(3)[::-1], random.permutation(3)]
    kinds = [("int16", "int8", -1000), ("float32", "uint16", -1), ("int8", "int8", -127)]
    source, target, bad = kinds[number % 3]
    start, axes = random.integers(16), orders[random.integers(3)]
    array = part(source, start, axes)
    if random.integers(2):
        start, axes = random.integers(16), orders[random.integers(3)]
    into = part(target, start, axes)
    array[...] = random.integers(0, 60, shape)
    for _ in range(random.integers(4)):
        array[tuple(random.integers(shape))] = bad
    copy = array.copy("C")
    chain = zr.Chain(source, [{"name": "scale_offset", "configuration": {"scale": 2}}])
    runs = [
        (partial(zr.cast_array, target_dtype=target), zr.cast_array_into, {"rounding_mode": "nearest-even"}),
        (zr.scale_offset_encode, zr.scale_offset_encode_into, {"scale": 2}),
        (chain.encode, chain.encode_into, {}),
    ]
    run, run_into, options = runs[0 if source != target else random.integers(1, 3)]
    try:
        expected = run(copy, **options)
    except ValueError as error:
        with pytest.raises(type(error)) as caught:
            run_into(array, into, **options)
        assert str(caught.value) == str(error)
    else:
        run_into(array, into, **options)
        np.testing.assert_array_equal(into, expected)


def test_errors_name_the_first_element_in_array_coordinates():
    array = np.zeros((3, 4), "float32")
    array[2, 1] = array[1, 3] = 1e9
    for _, layout in layouts(array):
        with pytest.raises(zr.CastError, match=r"element \(1, 3\): float32 1000000000.0") as caught:
            cast(layout, "int16")
        error = caught.value
        assert isinstance(error, ValueError)
        assert (error.index, error.value, error.reason) == ((1, 3), 1e9, "out-of-range")
        assert (error.source, error.target) == ("float32", "int16")
    out = np.zeros((3, 4), "int16", order="F")
    with pytest.raises(zr.CastError) as caught:
        zr.cast_array_into(np.asfortranarray(array), out, rounding_mode="nearest-even")
    assert caught.value.index == (1, 3)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.index, copy.value) == (str(caught.value), (1, 3), 1e9)


def test_error_reasons_and_exact_values():
    for value, source, reason in [
        (np.nan, "float64", "nan"),
        (-np.inf, "float64", "infinite"),
        (2**63 + 1, "uint64", "out-of-range"),
    ]:
        with pytest.raises(zr.CastError) as caught:
            cast(np.array([value], source), "int64")
        assert caught.value.reason == reason
        assert caught.value.value == value or np.isnan(value)
    with pytest.raises(zr.CastError, match="non-zero remainder") as caught:
        zr.scale_offset_decode(np.array([4, 3], "int8"), scale=2)
    assert (caught.value.index, caught.value.reason) == ((1,), "inexact-division")
    with pytest.raises(zr.CastError) as caught:
        zr.scale_offset_encode(np.array([1e38], "float32"), scale=10)
    assert caught.value.reason == "overflow"


@pytest.mark.parametrize("bad", ["bool", "complex64", "datetime64[s]", "S3", "O", "i4,f4"])
def test_other_data_types_are_type_errors(bad):
    with pytest.raises(TypeError):
        cast(np.zeros(2, bad), "int8")
    with pytest.raises(TypeError):
        cast(np.zeros(2), bad)


def test_float8_e4m3fn_has_448_and_a_nan_of_each_sign_and_no_infinity():
    numbers = np.array([448, -464, 2**-9, -0.0, np.nan, -np.nan], "float32")
    fn = cast(numbers, ml_dtypes.float8_e4m3fn)
    assert fn.view("uint8").tolist() == [0x7E, 0xFE, 1, 0x80, 0x7F, 0xFF]
    same_bits(cast(fn, "float32"), fn.astype("float32"))
    within = np.linspace(-464, 464, 20_001, dtype="float32")
    same_bits(cast(within, fn.dtype), within.astype(fn.dtype))
    with pytest.raises(zr.CastError, match="480.0 is out of range for float8_e4m3fn .-448 to 448"):
        cast(np.array([480.0]), "float8_e4m3fn")
    clamped = cast(np.array([480.0, -1e9]), "float8_e4m3fn", out_of_range_mode="clamp")
    assert clamped.astype("float32").tolist() == [448, -448]
    with pytest.raises(zr.CastError):
        cast(np.array([np.inf]), "float8_e4m3fn", out_of_range_mode="clamp")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"rounding_mode": "up"}, ValueError, "rounding_mode is \"up\"; it must be one of near"),
        ({"rounding_mode": None}, TypeError, "rounding_mode"),
        ({"out_of_range_mode": "error"}, ValueError, "clamp, wrap"),
        ({"target_dtype": None}, TypeError, "None is not a data type"),
        ({"target_dtype": "float32", "out_of_range_mode": "wrap"}, ValueError, "integer target"),
        ({"scalar_map_entries": {"x": 1}}, ValueError, r"scalar_map_entries\[0\]\[0\]"),
        ({"scalar_map_entries": {1: 256}}, ValueError, r"scalar_map_entries\[0\]\[1\].*256"),
        ({"scalar_map_entries": {1: 2.5}}, ValueError, "not a whole number"),
        ({"scalar_map_entries": {1: True}}, TypeError, "number"),
        ({"scalar_map_entries": [(1,)]}, ValueError, "pairs"),
    ],
)
def test_bad_arguments(options, error, match):
    arguments = {"target_dtype": "uint8", "rounding_mode": "nearest-even"} | options
    with pytest.raises(error, match=match):
        zr.cast_array(np.zeros(3), **arguments)


def test_bad_outputs():
    array = np.zeros(3)
    read_only = np.zeros(3, "uint8")
    read_only.flags.writeable = False
    for out, error in [
        (np.zeros(4, "uint8"), ValueError),
        (np.zeros((3, 1), "uint8"), ValueError),
        (read_only, ValueError),
        ([0, 0, 0], TypeError),
    ]:
        with pytest.raises(error):
            zr.cast_array_into(array, out, rounding_mode="nearest-even")
    with pytest.raises(TypeError, match="masked"):
        cast(np.ma.masked_array([1.0, 2.0], [True, False]), "uint8")


def test_scale_offset_in_the_arithmetic_of_the_type():
    array = np.array([0.1, 2.5, np.nan], "float32")
    encoded = zr.scale_offset_encode(array, offset=0.3, scale=10)
    same_bits(encoded, (array - np.float32(0.3)) * np.float32(10))
    decoded = zr.scale_offset_decode(encoded, offset=0.3, scale=10)
    same_bits(decoded, encoded / np.float32(10) + np.float32(0.3))
    assert zr.scale_offset_encode(np.array([28], "int8"), offset=27, scale=2).tolist() == [2]
    with pytest.raises(zr.CastError):  # 128 on the way
        zr.scale_offset_encode(np.array([28], "int8"), offset=-100, scale=-1)
    assert np.isinf(
        zr.scale_offset_encode(np.array([1e38], "float32"), scale=10, float_overflow="infinity")
    )
    out = np.empty(3, ">f4")
    zr.scale_offset_decode_into(encoded, out, offset=0.3, scale=10)
    np.testing.assert_array_equal(out, decoded)
    with pytest.raises(ValueError, match="must be finite and not zero"):
        zr.scale_offset_encode(array, scale=0)
    with pytest.raises(TypeError, match="keeps the data type"):
        zr.scale_offset_encode_into(array, np.empty(3, "float64"), scale=2)


def test_threads_at_once_give_the_same_result():
    array = np.random.default_rng(0).normal(0, 100, 1 << 18).astype("float32")
    expected = cast(array, "int8", out_of_range_mode="clamp")
    results = [None] * 8

    def work(number):
        results[number] = cast(array, "int8", out_of_range_mode="clamp")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        same_bits(result, expected)


FLOATS = ["float16", "float32", "float64", "bfloat16", "float8_e5m2", "float8_e3m4"]


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays("float32", hnp.array_shapes(max_dims=3), elements=st.floats(width=32)),
    st.sampled_from(FLOATS),
)
def test_floats_agree_with_numpy_and_ml_dtypes(array, target):
    with np.errstate(all="ignore"):
        expected = array.astype(dtype(target))
    # Those two overflow to infinity; the NaNs may differ in their payload.
    out = cast(array, target, out_of_range_mode="clamp")
    np.testing.assert_array_equal(np.isnan(out.astype("f8")), np.isnan(array))
    finite = ~np.isnan(array)
    same_bits(out[finite], expected[finite])


@settings(max_examples=200, deadline=None)
@given(
    hnp.arrays("float64", hnp.array_shapes(max_dims=3), elements=st.floats(-1e30, 1e30)),
    st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32"]),
)
def test_clamped_integers_agree_with_numpy(array, target):
    info = np.iinfo(target)
    expected = np.clip(np.rint(array), info.min, info.max).astype(target)
    same_bits(cast(array, target, out_of_range_mode="clamp"), expected)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_run_of_steps_is_its_steps_one_by_one(data):
    source, middle = data.draw(st.sampled_from(zr.DATA_TYPES)), "float32"
    bits = data.draw(st.binary(min_size=8, max_size=64))
    array = np.frombuffer(bits[: len(bits) // 8 * 8], dtype(source))
    target = data.draw(st.sampled_from(["int8", "uint16", "float16", "float64"]))
    codecs = [
        {"name": "cast_value", "configuration": {"data_type": middle, "out_of_range": "clamp"}},
        {"name": "scale_offset", "configuration": {"offset": 1, "scale": 2}},
        {"name": "cast_value", "configuration": {"data_type": target, "out_of_range": "clamp"}},
    ]

    def one_by_one():
        scaled = zr.scale_offset_encode(
            cast(array, middle, out_of_range_mode="clamp"), offset=1, scale=2
        )
        return cast(scaled, target, out_of_range_mode="clamp")

    try:
        expected = one_by_one()
    except zr.CastError:
        with pytest.raises(zr.CastError):
            zr.Chain(source, codecs).encode(array)
    else:
        same_bits(zr.Chain(source, codecs).encode(array), expected)


def test_results_of_many_pieces_are_the_same_and_name_the_first_wrong_element():
    data = np.random.default_rng(4).integers(0, 255, 20 << 20, dtype="uint8")
    cast = zr.cast_array(data, target_dtype="float32", rounding_mode="nearest-even")
    np.testing.assert_array_equal(cast, data.astype("float32"))
    wide = np.zeros(20 << 20, "float64")
    wide[[17 << 20, 19 << 20]] = 1e300, -1.0
    with pytest.raises(zr.CastError) as caught:
        zr.cast_array(wide, target_dtype="uint64", rounding_mode="nearest-even")
    assert caught.value.index == (17 << 20,)


def test_signed_elements_of_less_than_a_byte_are_sign_extended_and_ml_dtypes_reads_them():
    for name, own in [("int2", [0xFF, 0xFE, 0x01]), ("int4", [0xFF, 0xFE, 0x01])]:
        dtype = np.dtype(getattr(ml_dtypes, name))
        values = np.array([-1, -2, 1], dtype="int8")
        found = zr.cast_array(values, target_dtype=name, rounding_mode="nearest-even")
        assert found.view("uint8").tolist() == own
        theirs = values.astype(dtype)
        assert (found == theirs).all()
        assert theirs.view("uint8").tolist() == [byte & (1 << int(name[3:])) - 1 for byte in own]
        assert zr.cast_array(theirs, target_dtype="int8", rounding_mode="nearest-even").tolist() == [-1, -2, 1]
