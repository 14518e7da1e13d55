"""Chains: codecs bound to a data type and a fill value."""

import json
import os
import pickle
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import zarr_recast as zr

CODECS = [
    {"name": "scale_offset", "configuration": {"offset": 5, "scale": 10}},
    {
        "name": "cast_value",
        "configuration": {
            "data_type": "uint8",
            "scalar_map": {"encode": [["NaN", 255]], "decode": [[255, "NaN"]]},
        },
    },
]


def test_encodes_decodes_and_transforms_the_fill_value():
    chain = zr.Chain("float32", CODECS, np.nan)
    assert (chain.dtype, chain.encoded_dtype) == (np.float32, np.uint8)
    assert chain.encoded_fill_value == 255 and chain.encoded_fill_value.dtype == np.uint8
    assert np.isnan(chain.fill_value)
    array = np.array([[6.5, np.nan], [5.0, 30.4]], "float32")
    encoded = chain.encode(array)
    assert encoded.tolist() == [[15, 255], [0, 254]]
    np.testing.assert_array_equal(chain.decode(encoded), array)
    out = np.empty((2, 2), ">f4", order="F")
    chain.decode_into(encoded, out)
    np.testing.assert_array_equal(out, array)
    chain.encode_into(out, encoded)
    assert encoded.tolist() == [[15, 255], [0, 254]]


@pytest.mark.parametrize("data_type", ["float32", "<f4", np.float32, np.dtype(">f4")])
@pytest.mark.parametrize("codecs", [CODECS, json.dumps(CODECS), tuple(CODECS)])
def test_arguments_in_every_form(data_type, codecs):
    chain = zr.Chain(data_type, codecs)
    assert chain.fill_value is None and chain.encoded_fill_value is None
    assert chain.encode(np.array([6.0], ">f4")).tolist() == [10]


def test_infinities_and_nan_of_python_are_json():
    codec = {
        "name": "cast_value",
        "configuration": {
            "data_type": "int8",
            "scalar_map": {"encode": [[float("nan"), 0], [float("-inf"), np.int64(-1)]]},
        },
    }
    assert zr.Chain("float64", [codec]).encode([np.nan, -np.inf]).tolist() == [0, -1]


def test_pickles():
    chain = zr.Chain("float32", CODECS, np.nan, fill_check="open", float_overflow="infinity")
    copy = pickle.loads(pickle.dumps(chain))
    assert repr(copy) == repr(chain)
    array = np.array([6.5, np.nan], "float32")
    np.testing.assert_array_equal(copy.encode(array), chain.encode(array))
    assert pickle.dumps(copy) == pickle.dumps(chain)


def test_fill_values_are_exact():
    cast = [{"name": "cast_value", "configuration": {"data_type": "uint64"}}]
    assert zr.Chain("int64", cast, 2**53 + 1).encoded_fill_value == 2**53 + 1
    assert zr.Chain("uint64", [], 2**64 - 1).encoded_fill_value == 2**64 - 1
    assert zr.Chain("int64", [], 2.0**60).fill_value == 2**60
    nan = np.array([0x7FC01234], "uint32").view("float32")[0]
    assert zr.Chain("float32", [], nan).fill_value.tobytes() == nan.tobytes()
    assert zr.Chain("float32", [], "0x7fc01234").fill_value.tobytes() == nan.tobytes()
    tiny = zr.Chain("bfloat16", [], ml_dtypes.bfloat16(0.5)).fill_value
    assert isinstance(tiny, ml_dtypes.bfloat16)


def test_a_fill_value_that_does_not_come_back():
    cast = [{"name": "cast_value", "configuration": {"data_type": "int32"}}]
    with pytest.raises(ValueError, match="fill_value"):
        zr.Chain("float32", cast, 0.5)
    chain = zr.Chain("float32", cast, 0.5, fill_check="report-only")
    assert chain.encoded_fill_value == 0 and len(chain.warnings) == 1


@pytest.mark.parametrize(
    ("codecs", "match"),
    [
        ([{"name": "zstd"}], r"codecs\[0\].name"),
        ([{"name": "scale_offset", "configuration": {"scale": 0}}], r"codecs\[0\].configuration.scale"),
        ([{"name": "cast_value", "configuration": {"data_type": "bool"}}], "bool"),
        ([{"name": "cast_value", "configuration": {"data_type": "int8", "x": 1}}], "unknown key"),
        ("[", "JSON"),
    ],
)
def test_refusals_name_the_place(codecs, match):
    with pytest.raises(ValueError, match=match):
        zr.Chain("float32", codecs)


def test_arrays_of_another_type_are_refused():
    chain = zr.Chain("float32", CODECS)
    with pytest.raises(TypeError, match="array of float64; this chain needs float32"):
        chain.encode(np.zeros(3))
    with pytest.raises(TypeError, match="output is an array of int8"):
        chain.encode_into(np.zeros(3, "float32"), np.zeros(3, "int8"))
    with pytest.raises(TypeError, match="None is not a data type"):
        zr.Chain(None, CODECS)


def test_errors_of_a_later_step_name_the_element_that_was_given():
    with pytest.raises(zr.CastError, match=r"element \(1,\): float32 100.0 \(by then float32 950.0\)") as caught:
        zr.Chain("float32", CODECS).encode(np.float32([6, 100]))
    assert (caught.value.index, caught.value.value, caught.value.target) == ((1,), 100.0, "uint8")


def test_a_misspelt_level_in_the_environment_warns_once_and_fails_nothing():
    code = "import zarr_recast; print(zarr_recast.__version__)"
    env = {**os.environ, "RECAST_LEVEL": "avx521"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.strip() == zr.__version__
    assert done.stderr.count('RECAST_LEVEL: "avx521" is not one of scalar, avx2') == 1
