"""The codecs in zarr-python."""

import asyncio
import copy
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import ml_dtypes
import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")

from zarr.core.array_spec import ArrayConfig, ArraySpec  # noqa: E402
from zarr.core.buffer import cpu, default_buffer_prototype  # noqa: E402
from zarr.core.dtype import get_data_type_from_json  # noqa: E402
from zarr.errors import ZarrUserWarning  # noqa: E402

from zarr_recast.zarr import CastValue, NDBuffer, ScaleOffset  # noqa: E402

NAN_MAP = {"encode": [("NaN", 255)], "decode": [(255, "NaN")]}
FUSED = "zarr.core.codec_pipeline.FusedCodecPipeline"
BATCHED = "zarr.core.codec_pipeline.BatchedCodecPipeline"
DEFAULT = "zarr.buffer.cpu.NDBuffer"
OURS = "zarr_recast.zarr.NDBuffer"


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


@pytest.fixture(params=[BATCHED, FUSED])
def pipeline(request):
    with zarr.config.set({"codec_pipeline.path": request.param}):
        yield


def create(store=None, *, dtype="float32", filters, **options):
    defaults = {"shape": (10, 6), "chunks": (4, 3), "compressors": None, "fill_value": 5}
    store = {} if store is None else store
    return zarr.create_array(store=store, dtype=dtype, filters=filters, **(defaults | options))


def spec(dtype, fill_value=0, shape=(4,)):
    return ArraySpec(
        shape=shape,
        dtype=get_data_type_from_json(dtype, zarr_format=3),
        fill_value=fill_value,
        config=ArrayConfig.from_dict({}),
        prototype=default_buffer_prototype(),
    )


def packed():
    return [ScaleOffset(offset=5, scale=10), CastValue(data_type="uint8", scalar_map=NAN_MAP)]


def test_writes_and_reads_with_what_is_written_elsewhere(pipeline):
    store = {}
    array = create(store, filters=packed(), fill_value=np.nan)
    data = np.arange(60, dtype="float32").reshape(10, 6) / 10 + 5
    data[3, 3] = np.nan
    array[:] = data
    np.testing.assert_array_equal(array[:], data)
    array[2:5, 1:4] = 7.5  # a part of chunks, so they are read first
    data[2:5, 1:4] = 7.5
    reopened = zarr.open_array(store)
    assert [type(codec) for codec in reopened.metadata.codecs[:2]] == [ScaleOffset, CastValue]
    np.testing.assert_array_equal(reopened[:], data)
    chain = zarr_recast.Chain("float32", packed())
    stored = np.frombuffer(store["c/0/0"].to_bytes(), "uint8").reshape(4, 3)
    np.testing.assert_array_equal(stored, chain.encode(data[:4, :3]))


def test_unwritten_chunks_and_edges_hold_the_fill_value(pipeline):
    array = create(filters=packed(), fill_value=np.nan)
    assert np.isnan(array[:]).all()
    array[0, 0] = 6
    assert array[0, 0] == 6 and np.isnan(array[0, 1:]).all()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("transpose", ["before", "after", None])
def test_transposes_and_memory_orders(pipeline, order, transpose):
    filters = packed()
    if transpose:
        codec = zarr.codecs.TransposeCodec(order=(1, 0))
        filters.insert(0 if transpose == "before" else 2, codec)
    array = create(filters=filters, config={"order": order})
    data = np.asarray(np.arange(60).reshape(10, 6) / 10 + 5, "float32", order=order)
    array[:] = data
    np.testing.assert_array_equal(array[:], data)
    array[:] = data[::-1, ::-1]
    np.testing.assert_array_equal(array[1:9:2, ::2], data[::-1, ::-1][1:9:2, ::2])


@pytest.mark.parametrize("target", zarr_recast.DATA_TYPES)
@pytest.mark.parametrize("endian", ["little", "big"])
def test_every_data_type_encodes(pipeline, target, endian):
    store = {}
    array = create(
        store,
        filters=[CastValue(data_type=target)],
        fill_value=1,
        serializer=zarr.codecs.BytesCodec(endian=endian),
    )
    array[:5] = -2 if target in ("int2", "int4", "int8") else 2 if target != "int2" else 1
    data = array[:]
    np.testing.assert_array_equal(zarr.open_array(store)[:], data)
    assert (data[5:] == 1).all()
    assert json.loads(store["zarr.json"].to_bytes())["codecs"][0]["configuration"] == {
        "data_type": target
    }


@pytest.mark.parametrize("source", zarr_recast.DATA_TYPES)
def test_every_data_type_is_encoded(source):
    store = {}
    filters = [CastValue(data_type="float64"), ScaleOffset(offset=1, scale=0.5)]
    array = create(
        store, dtype=source, filters=filters, fill_value=1, serializer=zarr.codecs.BytesCodec()
    )
    array[:5] = np.ones((5, 6)).astype(array.dtype)
    reopened = zarr.open_array(store)
    assert reopened.dtype == array.dtype and reopened.metadata.data_type == array.metadata.data_type
    assert (reopened[:].astype("float64") == 1).all()
    chunk = np.frombuffer(store["c/0/0"].to_bytes(), "<f8") if "c/0/0" in store else np.zeros(1)
    assert (chunk == 0).all()
    pickle.loads(pickle.dumps(array.metadata))


@pytest.mark.parametrize("scalar", [np.int16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn])
def test_cast_value_takes_scalar_types(scalar):
    name = np.dtype(scalar).name
    assert CastValue(data_type=scalar) == CastValue(data_type=np.dtype(scalar)) == CastValue(data_type=name)


# −1 and 3 as TensorStore stores them.
@pytest.mark.parametrize(
    ("name", "chunk"),
    [("float8_e4m3fn", b"\xb8\x44"), ("int4", b"\x0f\x03"), ("bfloat16", b"\x80\xbf\x40\x40")],
)
def test_types_that_zarr_lacks_are_read_in_zarr_v2_under_tensorstore_s_names(tmp_path, name, chunk):
    metadata = {"zarr_format": 2, "shape": [3], "chunks": [2], "dtype": name, "compressor": None,
                "fill_value": 1, "order": "C", "filters": None}
    (tmp_path / ".zarray").write_text(json.dumps(metadata))
    (tmp_path / "0").write_bytes(chunk)
    array = zarr.open_array(tmp_path, mode="r")
    assert array.dtype == getattr(ml_dtypes, name)
    assert array[:].astype("int64").tolist() == [-1, 3, 1]
    with pytest.raises(ValueError, match=f"{name} is only read in Zarr v2.*zarr_format=3"):
        create(dtype=name, filters=None, zarr_format=2)


def test_big_endian_and_zero_dimensional_arrays(pipeline):
    array = create(dtype=">f4", filters=packed())
    array[:] = 7
    assert (array[:] == 7).all()
    for endian in ("little", "big"):
        codecs = {"filters": [ScaleOffset(offset=12)], "fill_value": 20}
        serializer = zarr.codecs.BytesCodec(endian=endian)
        zero = create(dtype="uint16", shape=(), chunks=(), serializer=serializer, **codecs)
        zero[...] = 512
        assert zero[...] == 512
        stored = (500).to_bytes(2, endian)
        assert zero.store_path.store._store_dict["c"].to_bytes() == stored


@pytest.mark.parametrize("order", "<>")
def test_missing_chunks_of_bfloat16_hold_the_fill_value_in_every_byte_order(pipeline, order):
    store = {}
    dtype = np.dtype(ml_dtypes.bfloat16).newbyteorder(order)
    serializer = zarr.codecs.BytesCodec(endian={"<": "little", ">": "big"}[order])
    options = {"shape": (4,), "chunks": (2,), "fill_value": 1, "serializer": serializer}
    array = create(store, dtype=dtype, filters=None, **options)
    # NumPy itself fills this byte order wrongly, so it is cast.
    elements = np.array([1, 2], ml_dtypes.bfloat16).astype(dtype)
    array[:2] = elements
    for one in (array, zarr.open_array(store)):
        assert one[:].astype("float32").tolist() == [1, 2, 1, 1]
    assert store["c/0"].to_bytes() == elements.tobytes()


TRANSPOSE = zarr.codecs.TransposeCodec(order=(1, 0))


@pytest.mark.parametrize("buffer", [OURS, DEFAULT])
@pytest.mark.parametrize(
    "layout",
    [
        {"filters": packed(), "chunks": (5, 17)},
        {"filters": [*packed(), TRANSPOSE], "chunks": (5, 6)},
        {"filters": [TRANSPOSE, *packed()], "chunks": (5, 6)},
        {"filters": [packed()[0], TRANSPOSE, packed()[1]], "chunks": (5, 6)},
        {"filters": packed(), "chunks": (5, 6), "shards": (10, 18)},
        {"filters": packed(), "chunks": (5, 17), "compressors": zarr.codecs.ZstdCodec()},
    ],
    ids=["plain", "transposed behind", "transposed before", "transposed between", "sharded", "zstd"],
)
def test_every_selection_reads_the_same(pipeline, buffer, layout):
    rows, columns = 23, 17
    elements = (np.arange(rows * columns) % 50 / 10 + 5).astype("float32").reshape(rows, columns)
    elements[3, 4] = np.nan
    with zarr.config.set({"ndbuffer": buffer}):
        array = create(shape=elements.shape, **layout)
        array[:] = elements
        for key in [
            (slice(None), slice(None)),
            (slice(5, 15), slice(None)),
            (slice(5, 10), slice(0, 17)),
            (slice(3, 21, 2), slice(16, 2)),
            (slice(1, 22), slice(2, 16)),
            (7, slice(None)),
            (slice(None), 4),
            (3, 4),
            ...,
        ]:
            np.testing.assert_array_equal(array[key], elements[key], strict=True)
        out = cpu.NDBuffer.from_numpy_array(np.zeros((rows, 2 * columns), "float32")[:, ::2])
        array.get_basic_selection(out=out)
        np.testing.assert_array_equal(out.as_numpy_array(), elements)
        np.testing.assert_array_equal(array.oindex[[1, 8], [0, 5]], elements[[[1], [8]], [0, 5]])
        np.testing.assert_array_equal(array.vindex[[1, 8], [0, 5]], elements[[1, 8], [0, 5]])
        np.testing.assert_array_equal(array[elements > 9], elements[elements > 9])


@pytest.mark.parametrize("path, buffer", [(BATCHED, DEFAULT), (BATCHED, OURS), (FUSED, OURS)])
def test_only_selected_elements_are_decoded(path, buffer):
    store = {}
    with zarr.config.set({"codec_pipeline.path": path, "ndbuffer": buffer}):
        array = create(store, shape=(4, 6), filters=[CastValue(data_type="float64")])
        array[:] = 7
        stored = np.arange(12, dtype="float64").reshape(4, 3)
        stored[3, 1] = 1e300
        store["c/0/1"] = cpu.Buffer.from_bytes(stored.tobytes())
        assert array[:3, 2:6].tolist() == [[7, 0, 1, 2], [7, 3, 4, 5], [7, 6, 7, 8]]
        assert array[::2, 3].tolist() == [0, 6]
        assert array[3, 5] == 11
        assert array.oindex[[2, 3], [3, 5]].tolist() == [[6, 8], [9, 11]]
        assert array.vindex[[3, 2], [3, 4]].tolist() == [9, 7]
        # A write to a part of a chunk encodes all of it again, and so decodes all of it.
        with pytest.raises(zarr_recast.CastError):
            array[0, 3] = 8


@pytest.mark.parametrize("buffer", [DEFAULT, OURS])
def test_an_element_that_cannot_be_decoded_is_named_by_its_place_in_its_chunk(pipeline, buffer):
    store = {}
    with zarr.config.set({"ndbuffer": buffer}):
        array = create(store, shape=(4, 6), filters=[CastValue(data_type="float64")])
        stored = np.arange(12, dtype="float64").reshape(4, 3)
        stored[3, 1] = 1e300
        store["c/0/1"] = cpu.Buffer.from_bytes(stored.tobytes())
        for read in [
            lambda: array[:],
            lambda: array[2:, 4:],
            lambda: array[3, 1:],
            lambda: array[3, 4],
            lambda: array[1::2, 4],
            lambda: array.oindex[[0, 3], [1, 4]],
            lambda: array.vindex[[0, 3], [5, 4]],
        ]:
            with pytest.raises(zarr_recast.CastError) as caught:
                read()
            assert str(caught.value).startswith("element (3, 1) of a chunk of shape (4, 3): ")
            assert caught.value.index == (3, 1) and caught.value.value == 1e300


def test_a_chunk_that_was_decoded_to_a_result_still_has_its_elements():
    codec = CastValue(data_type="uint8")
    encoded = cpu.NDBuffer.from_numpy_array(np.arange(4, dtype="uint8"))
    chunk = codec._decode_sync(encoded, spec("float32"))
    whole = chunk[(slice(0, 4, 1),)]
    for results in (NDBuffer.empty((6,), "float32"), NDBuffer.empty((4,), "float64")):
        results[(slice(0, 4),)] = whole
        np.testing.assert_array_equal(results[(slice(0, 4),)].as_numpy_array(), [0, 1, 2, 3])
    np.testing.assert_array_equal(whole.as_numpy_array(), np.arange(4, dtype="float32"))


def test_only_fast_reads_choose_a_buffer_and_only_in_place_of_the_default():
    for chosen in ("zarr.buffer.gpu.NDBuffer", DEFAULT):
        for fast_reads in (False, True):
            with zarr.config.set({"ndbuffer": chosen}):
                zarr_recast.register(fast_reads=fast_reads)
                ours = zarr.config.get("ndbuffer") == OURS
                assert ours == (fast_reads and chosen == DEFAULT)


def bound_codecs(fill_value=np.nan):
    """Both codecs, and the specification of chunks, as an array has them."""
    array = create(filters=packed(), fill_value=fill_value)
    return array.metadata.codecs[:2], spec("float32", fill_value)


def test_errors_arise_in_the_codec():
    (scale, cast), chunk_spec = bound_codecs()
    cast_spec = scale.resolve_metadata(chunk_spec)
    too_large = cpu.NDBuffer.from_numpy_array(np.full(4, 1e6, "float32"))
    with pytest.raises(zarr_recast.CastError):
        cast._encode_sync(scale._encode_sync(too_large, chunk_spec), cast_spec)
    narrow = CastValue(data_type="float64").evolve_from_array_spec(spec("float32"))
    stored = cpu.NDBuffer.from_numpy_array(np.full(4, 1e300))
    with pytest.raises(zarr_recast.CastError):
        narrow._decode_sync(stored, spec("float32"))


def test_threads_that_ask_for_a_chunk_at_once_all_see_its_elements():
    (scale, cast), chunk_spec = bound_codecs()
    encoded = np.arange(65536, dtype="uint8")
    expected = zarr_recast.Chain("float32", packed()).decode(encoded)
    cast_spec = scale.resolve_metadata(chunk_spec)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(100):
            chunk = cast._decode_sync(cpu.NDBuffer.from_numpy_array(encoded), cast_spec)
            assert isinstance(chunk, NDBuffer)
            starts = Barrier(8)

            def ask(chunk=chunk, starts=starts):
                starts.wait()
                return chunk.as_numpy_array()

            for asked in [pool.submit(ask) for _ in range(8)]:
                np.testing.assert_array_equal(
                    scale._decode_sync(cpu.NDBuffer.from_numpy_array(asked.result()), chunk_spec)
                    .as_numpy_array(),
                    expected,
                )


@pytest.mark.parametrize("fill_value", [0.0, -10000.0])
def test_a_refused_fill_value_is_named_as_it_was_given_with_the_codec_that_refuses_it(fill_value):
    filters = [ScaleOffset(offset=1000, scale=10), CastValue(data_type="uint8")]
    with pytest.raises(ValueError, match=r"codecs\[1\] \(cast_value\)") as caught:
        create(filters=filters, fill_value=fill_value)
    assert str(caught.value).startswith(f"fill_value: float32 {fill_value} ")


def test_the_code_that_an_error_advises_is_free():
    taken = {"encode": [(7, 255), (8, 254)], "decode": [(255, 7), (253, 8)]}
    with pytest.raises(ValueError, match=r'\[\["NaN", 252\]\]'):
        create(filters=[CastValue(data_type="uint8", scalar_map=taken)], fill_value=np.nan)
    with pytest.raises(ValueError, match=r'\[\["NaN", -127\]\]'):
        signed = CastValue(data_type="int8", scalar_map={"encode": [(7, -128)]})
        create(filters=[signed], fill_value=np.nan)


def test_an_element_is_named_by_its_place_in_its_chunk():
    array = create(filters=packed(), fill_value=np.nan)
    with pytest.raises(zarr_recast.CastError, match=r"^element \(1, 2\) of a chunk of shape \(4, 3\)") as caught:
        array[5, 5] = 1e6
    assert caught.value.index == (1, 2) and caught.value.value == 1e6
    assert type(caught.value).__module__ == "zarr_recast"


def test_shards_hold_the_transformed_fill_value(pipeline):
    # Legal, but 0, which zarr tries in place of the fill value, cannot be encoded.
    array = create(
        dtype="uint16", filters=[ScaleOffset(offset=100)], shards=(8, 6), fill_value=100
    )
    assert (array[:] == 100).all()
    array[0, 0] = 300
    assert array[0, 0] == 300 and (array[1:] == 100).all()
    with pytest.raises(ValueError, match="fill value"):
        create(dtype="uint16", filters=[ScaleOffset(offset=100)], shards=(8, 6), fill_value=99)


def test_the_parameters_are_of_the_type_that_reaches_the_codec():
    array = create(
        dtype="int16", filters=[CastValue(data_type="float32"), ScaleOffset(scale=0.5)]
    )
    array[:] = 3
    assert (zarr.open_array(array.store)[:] == 3).all()
    with pytest.raises(ValueError, match="scale value 0.5 is not representable in dtype int16"):
        create(dtype="int16", filters=[ScaleOffset(scale=0.5)])


def test_large_floats_are_stored_as_the_whole_numbers_that_they_are():
    store = {}
    numbers = {"encode": {2.0**60: 2.0**61 + 2**10}, "decode": {2.0**61 + 2**10: 2.0**60}}
    filters = [ScaleOffset(offset=2.0**60), CastValue(data_type="int64", scalar_map=numbers)]
    array = create(store, dtype="int64", filters=filters, shape=(2,), chunks=(2,), fill_value=2**60)
    array[:] = [2**60 + 1, 2**61]
    assert zarr.open_array(store)[:].tolist() == [2**60 + 1, 2**61]
    assert np.frombuffer(store["c/0"].to_bytes(), "<i8").tolist() == [1, 2**61 + 2**10]
    scale, cast = json.loads(store["zarr.json"].to_bytes())["codecs"][:2]
    assert scale["configuration"] == {"offset": 2**60}
    assert cast["configuration"]["scalar_map"]["encode"] == [[2**60, 2**61 + 2**10]]


def test_a_decimal_in_metadata_is_the_whole_number_that_is_written():
    text = '{"name": "scale_offset", "configuration": {"offset": 1.152921504606847e18}}'
    expected = zarr_recast.Chain("int64", f"[{text}]").decode([0]).tolist()
    assert expected == [1152921504606847000]
    codec = ScaleOffset.from_dict(json.loads(text))
    for one in (codec, ScaleOffset.from_dict(codec.to_dict())):
        assert zarr_recast.Chain("int64", [one]).decode([0]).tolist() == expected


def test_fill_values_propagate():
    codec = ScaleOffset(offset=5, scale=2)
    resolved = codec.resolve_metadata(spec("float64", 10.0))
    assert resolved.fill_value == 10.0 and resolved.shape == (4,)
    cast = CastValue(data_type="int64").resolve_metadata(spec("uint64", 2**53 + 1))
    assert cast.fill_value == 2**53 + 1 and isinstance(cast.fill_value, np.int64)
    assert cast.dtype == get_data_type_from_json("int64", zarr_format=3)


def test_a_fill_value_that_does_not_come_back_is_refused_for_a_new_array_only():
    codec = CastValue(data_type="int32")
    with pytest.raises(ValueError, match="0.5"):
        create(filters=[codec], fill_value=0.5)
    store = {}
    create(store, filters=[codec])
    metadata = json.loads(store["zarr.json"].to_bytes())
    metadata["fill_value"] = 0.5  # as other implementations write it
    store["zarr.json"] = cpu.Buffer.from_bytes(json.dumps(metadata).encode())
    with pytest.warns(ZarrUserWarning, match="0.5"):
        array = zarr.open_array(store)
    assert array[0, 0] == 0.5


def test_every_array_with_a_fill_value_that_changes_gives_a_warning():
    codec = CastValue.from_dict({"name": "cast_value", "configuration": {"data_type": "int32"}})
    for _ in range(2):
        with pytest.warns(ZarrUserWarning, match="0.5"):
            codec.evolve_from_array_spec(spec("float32", 0.5))


@pytest.mark.parametrize(
    "codec",
    [
        {"name": "scale_offset"},
        {"name": "scale_offset", "configuration": {"offset": 0, "scale": 0.1}},
        {"name": "scale_offset", "configuration": {"scale": "0x3dcccccd"}},
        {"name": "cast_value", "configuration": {"data_type": "uint8"}},
        {
            "name": "cast_value",
            "configuration": {
                "data_type": "uint8",
                "rounding": "towards-zero",
                "out_of_range": "clamp",
                "scalar_map": {"encode": [("NaN", 255), ("NaN", 0)], "decode": [(255, "NaN")]},
            },
        },
    ],
)
def test_metadata_round_trips(codec):
    cls = {"scale_offset": ScaleOffset, "cast_value": CastValue}[codec["name"]]
    read = cls.from_dict(codec)
    assert read.to_dict() == codec
    assert read == cls.from_dict(read.to_dict()) and hash(read) == hash(cls.from_dict(codec))
    assert pickle.loads(pickle.dumps(read)) == copy.copy(read) == read
    json.dumps(read.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("codec", "match"),
    [
        ({"name": "scale_offset", "configuration": {"factor": 1}}, "configuration.factor: unknown"),
        ({"name": "scale_offset", "configuration": {"scale": None}}, "configuration.scale"),
        ({"name": "scale_offset", "configuration": {"scale": True}}, "configuration.scale"),
        ({"name": "cast_value"}, "configuration: missing"),
        ({"name": "cast_value", "configuration": {"data_type": "bool"}}, "bool"),
        (
            {"name": "cast_value", "configuration": {"data_type": "int8", "scalar_map": {"x": []}}},
            "scalar_map.x: unknown key",
        ),
    ],
)
def test_bad_metadata_are_refused_with_their_place(codec, match):
    cls = {"scale_offset": ScaleOffset, "cast_value": CastValue}[codec["name"]]
    with pytest.raises(ValueError, match=match):
        cls.from_dict(codec)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"data_type": "int8", "rounding": "up"}, ValueError),
        ({"data_type": "int8", "out_of_range": "error"}, ValueError),
        ({"data_type": "int8", "scalar_map": {"encode": [(None, 0)]}}, TypeError),
        ({"data_type": "complex64"}, ValueError),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments, error):
    with pytest.raises(error):
        CastValue(**arguments)


@pytest.mark.parametrize("wrong", ["x", [1], {"encode": 5}, {"encode": [(1, 2, 3)]}])
def test_a_scalar_map_of_another_form_is_named(wrong):
    with pytest.raises(TypeError, match="scalar_map.*pairs of"):
        CastValue(data_type="int8", scalar_map=wrong)


@pytest.mark.parametrize(
    ("dtype", "codec", "match"),
    [
        ("complex64", ScaleOffset(), "only supports integer and floating-point"),
        ("bool", CastValue(data_type="int8"), "only supports integer and floating-point"),
        ("float32", ScaleOffset(scale=0), "scale must be non-zero"),
        ("float16", ScaleOffset(scale=1e-9), "0 in float16"),
        ("int8", ScaleOffset(offset=300), "300"),
        ("int32", CastValue(data_type="float32", out_of_range="wrap"), "integer target"),
        (
            "int32",
            CastValue(data_type="int8", scalar_map={"encode": {"NaN": 0}}),
            "scalar_map encode key 'NaN' is not representable in dtype int32",
        ),
    ],
)
def test_validate_says_what_does_not_fit_the_array(dtype, codec, match):
    grid = None
    with pytest.raises(ValueError, match=match):
        codec.validate(shape=(4,), dtype=get_data_type_from_json(dtype, zarr_format=3), chunk_grid=grid)
    with pytest.raises(ValueError, match=match):
        create(dtype=dtype, filters=[codec], fill_value=0)


def test_elements_that_do_not_fit_are_cast_errors(pipeline):
    array = create(filters=packed())
    data = np.full((4, 3), 6, "float32")
    data[1, 2] = 1000
    with pytest.raises(zarr_recast.CastError) as caught:
        array[:4, :3] = data
    assert caught.value.index == (1, 2) and caught.value.value == 1000


def test_sizes():
    assert CastValue(data_type="int16").compute_encoded_size(80, spec("float64")) == 20
    assert ScaleOffset(scale=2).compute_encoded_size(80, spec("float64")) == 80
    assert CastValue(data_type="bfloat16").compute_encoded_size(4, spec("uint8")) == 8
    assert CastValue.is_fixed_size and ScaleOffset.is_fixed_size


def test_sync_and_async_methods_agree():
    data = np.array([5, 6, 7, np.nan], "float32")
    chunk, at = cpu.NDBuffer.from_numpy_array(data), spec("float32")
    scale, cast = packed()

    async def run():
        scaled = await scale._encode_single(chunk, at)
        (encoded,) = await cast.encode([(scaled, at)])
        (decoded,) = await cast.decode([(encoded, at)])
        return encoded, await scale._decode_single(decoded, at), await cast.encode([(None, at)])

    encoded, decoded, nothing = asyncio.run(run())
    assert list(nothing) == [None]
    assert encoded.as_numpy_array().tolist() == [0, 10, 20, 255]
    np.testing.assert_array_equal(decoded.as_numpy_array(), data)
    in_sync = cast._encode_sync(scale._encode_sync(chunk, at), at)
    assert in_sync.as_numpy_array().tolist() == encoded.as_numpy_array().tolist()
    # Parts of a chunk that codecs are still to run on.
    assert in_sync[1:3].as_numpy_array().tolist() == [10, 20]
    assert (in_sync.shape, in_sync.dtype) == ((4,), np.uint8)


def run_python(code, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        # Without what register() chose for processes that this one starts.
        env={key: value for key, value in os.environ.items() if not key.startswith("ZARR_")} | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()


SHOW = """
import zarr.registry
for name in ("cast_value", "scale_offset"):
    print(zarr.registry.get_codec_class(name).__module__)
"""


def test_installing_alone_changes_nothing_and_warns_nobody():
    assert run_python(SHOW) == ["zarr.codecs.cast_value", "zarr.codecs.scale_offset"]


def test_selection_by_function_and_by_environment():
    ours = ["zarr_recast.zarr"] * 2
    assert run_python("import zarr_recast; zarr_recast.register()" + SHOW) == ours
    environment = {
        "ZARR_CODECS__CAST_VALUE": "zarr_recast.zarr.CastValue",
        "ZARR_CODECS__SCALE_OFFSET": "zarr_recast.zarr.ScaleOffset",
    }
    assert run_python(SHOW, **environment) == ours


BUFFER = """
import zarr
from zarr.core.buffer import default_buffer_prototype
array = zarr.create_array({}, shape=2, dtype="f4")
array[:] = 3
assert array[:].tolist() == [3, 3]
print(default_buffer_prototype().nd_buffer.__module__)
"""


def test_a_buffer_is_selected_by_the_environment_alone():
    assert run_python(BUFFER, ZARR_NDBUFFER=OURS) == ["zarr_recast.zarr"]
    for environment in ({}, {"ZARR_NDBUFFER": DEFAULT}):
        assert run_python(BUFFER, **environment) == ["zarr.core.buffer.cpu"]


def test_casting_needs_neither_zarr_nor_ml_dtypes():
    code = "import zarr_recast, sys; print('zarr' in sys.modules, 'ml_dtypes' in sys.modules)"
    assert run_python(code) == ["False", "False"]
