"""Arrays with both codecs inside shards, made with `encoding_for`: created, written, opened and read."""

import os

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")

PIPELINES = [
    "zarr.core.codec_pipeline.BatchedCodecPipeline",
    "zarr.core.codec_pipeline.FusedCodecPipeline",
]


@pytest.fixture(params=PIPELINES, autouse=True)
def pipeline(request):
    zarr_recast.register()
    with zarr.config.set({"codec_pipeline.path": request.param}):
        yield


def random_array(seed):
    """Elements, the bound, and how they are stored."""
    g = np.random.default_rng(seed)
    dimensions = int(g.integers(1, 4))
    chunks = tuple(int(n) for n in g.integers(1, 6, dimensions))
    shards = tuple(int(n * k) for n, k in zip(chunks, g.integers(1, 4, dimensions), strict=True))
    shape = tuple(int(n) for n in g.integers(1, 25, dimensions))
    middle = g.choice([0, 1, -5, 273.15, 1e5]) * g.choice([1, -1])
    extent = 10 ** g.uniform(-2, 3)
    data = (middle + extent * g.random(shape)).astype(g.choice(["f4", "f8"]))
    bound = max(extent * 10 ** g.uniform(-3, -0.5), 4e-7 * (abs(middle) + extent) * 10)
    if g.random() < 0.5:
        data[g.random(shape) < 0.2] = np.nan
    return data, float(bound), {"shape": shape, "chunks": chunks, "shards": shards}


@pytest.mark.filterwarnings("ignore:the bound .* is ")
def test_random_arrays_are_created_reopened_and_read_within_the_bound():
    for seed in range(0, 300, int(os.environ.get("RECAST_TEST_STRIDE", "1"))):
        data, bound, stored = random_array(seed)
        encoding = zarr_recast.encoding_for(data, max_abs_error=bound, allow_constant=True)
        store = zarr.storage.MemoryStore()
        array = zarr.create_array(store, **stored, **encoding)
        part = tuple(slice(length // 3, None) for length in data.shape)
        array[part] = data[part]
        expected = np.full_like(data, np.nan)
        expected[part] = data[part]
        read = zarr.open_array(store, mode="r")
        np.testing.assert_allclose(read[...], expected, rtol=0, atol=bound, err_msg=str(seed))
        array[...] = data
        for key in [(...,), tuple(slice(0, n, 2) for n in data.shape), part]:
            np.testing.assert_allclose(read[key], data[key], rtol=0, atol=bound, err_msg=str(seed))


def test_elements_that_do_not_fit_are_errors_in_shards_too(tmp_path):
    data = np.linspace(270, 300, 64, dtype="f4")
    encoding = zarr_recast.encoding_for(data, max_abs_error=0.01)
    array = zarr.create_array(tmp_path / "a", shape=64, chunks=8, shards=32, **encoding)
    with pytest.raises(zarr_recast.CastError, match="range="):
        array[5] = 1e6
    assert np.isnan(array[5])


def test_a_fill_value_that_no_code_stands_for_is_still_refused(tmp_path):
    data = np.linspace(270, 300, 64, dtype="f4")
    filters = zarr_recast.encoding_for(data, max_abs_error=0.01, nan=None)["filters"]
    with pytest.raises(ValueError, match="fill_value"):
        zarr.create_array(
            tmp_path / "a", shape=64, chunks=8, shards=32, dtype="f4", filters=filters, fill_value=-1e6
        )
