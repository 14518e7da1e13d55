"""A packed array with shards stays readable part by part, by zarr-python with its own codecs and with these."""

import json

import numpy as np
import pytest
from binaries import codecs, run  # noqa: F401

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")

# zarr-python warns of codecs around sharding_indexed.
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")

BOUND = 0.01


def recast(*arguments):
    return run("recast", *arguments)


def pack(*arguments):
    return json.loads(recast("pack", "-e", BOUND, "--json", *arguments))


class CountingStore(zarr.storage.LocalStore):
    """Counts the bytes that are read of chunks."""

    count = 0

    def _counted(self, key, found):
        if found is not None and not key.endswith("zarr.json"):
            type(self).count += len(found)
        return found

    async def get(self, key, prototype=None, byte_range=None):
        return self._counted(key, await super().get(key, prototype, byte_range))

    def get_sync(self, key, *, prototype=None, byte_range=None):
        return self._counted(
            key, super().get_sync(key, prototype=prototype, byte_range=byte_range)
        )


def write(path, offset, fill):
    """Shards of 4 × 4 parts, with edges, an absent shard, and absent parts of one that is there."""
    data = (offset + np.random.default_rng(7).random((100, 90)) * 3).astype("f4")
    data[:32, 32:64] = fill
    data[40:64, :] = fill
    array = zarr.create_array(
        path, shape=data.shape, dtype="f4", shards=(32, 32), chunks=(8, 8), fill_value=fill
    )
    array[...] = data
    assert not (path / "c/0/1").exists() and (path / "c/1/0").exists()
    return data


def bytes_of_a_part(path):
    """The bytes that are read for an element of a full shard, and those of the shard."""
    array = zarr.open_array(CountingStore(path), mode="r")
    CountingStore.count = 0
    array[3, 3]
    assert CountingStore.count > 0
    return CountingStore.count, (path / "c/0/0").stat().st_size


@pytest.mark.parametrize("fill", [np.nan, 0.0, 2.0])
def test_parts_of_shards_are_read_alone(codecs, fill, tmp_path):
    original, packed = tmp_path / "original.zarr", tmp_path / "packed.zarr"
    data = write(original, 1.0, fill)
    report = pack(original, packed)
    assert report["readers"] == {
        "zarr_python": "parts_of_shards", "zarrs": "parts_of_shards", "needs_zarr_recast": False, "needs_ml_dtypes": False,
        "needs_pcodec": False, "gdal": "main branch, September 2026",
    }  # fmt: skip
    array = zarr.open_array(packed, mode="r")
    assert array.chunks == (8, 8) and array.shards == (32, 32)
    np.testing.assert_allclose(array[...], data, rtol=0, atol=BOUND)
    for part in [np.s_[3:5, 6:10], np.s_[30:34, 20:40], np.s_[96:, 88:], np.s_[45:50, 0:7], 99]:
        np.testing.assert_allclose(array[part], data[part], rtol=0, atol=BOUND)
    part, shard = bytes_of_a_part(packed)
    # The index has 16 bytes for each of the 16 parts.
    assert part < 16 * 16 + 4 + shard / 8, (part, shard)

    plain = tmp_path / "plain.zarr"
    recast("unpack", "--quiet", packed, plain)
    np.testing.assert_array_equal(zarr.open_array(plain, mode="r")[...], array[...])
    assert zarr.open_array(plain, mode="r").shards == (32, 32)


def test_where_zarr_python_would_not_open_the_array_its_codecs_go_outside(codecs, tmp_path):
    original, packed = tmp_path / "original.zarr", tmp_path / "packed.zarr"
    data = write(original, 280.0, np.nan)
    report = pack(original, packed)
    assert report["readers"]["zarr_python"] == "whole_shards"
    array = zarr.open_array(packed, mode="r")
    np.testing.assert_allclose(array[...], data, rtol=0, atol=BOUND)
    part, shard = bytes_of_a_part(packed)
    assert part == shard

    # What the report says of the other place is so.
    inside = tmp_path / "inside.zarr"
    report = pack("--shard-codecs", "inside", original, inside)
    assert report["readers"]["zarr_python"] == "nothing"
    if codecs == "zarr-python":
        with pytest.raises(ValueError):
            zarr.open_array(inside, mode="r")
    else:
        np.testing.assert_array_equal(zarr.open_array(inside, mode="r")[...], array[...])
    assert recast("cat", inside) == recast("cat", packed)

    # Clamping, the codecs can encode 0, and nothing else changes for readers.
    clamping = tmp_path / "clamping.zarr"
    report = pack("--out-of-range", "clamp", original, clamping)
    assert report["readers"]["zarr_python"] == "parts_of_shards"
    np.testing.assert_array_equal(zarr.open_array(clamping, mode="r")[...], array[...])
    part, shard = bytes_of_a_part(clamping)
    assert part < shard / 2


def test_outside_is_read_whole_where_it_is_asked_for(codecs, tmp_path):
    original, packed = tmp_path / "original.zarr", tmp_path / "packed.zarr"
    data = write(original, 1.0, 0.0)
    report = pack("--shard-codecs", "outside", original, packed)
    assert report["readers"]["zarr_python"] == "whole_shards"
    np.testing.assert_allclose(zarr.open_array(packed, mode="r")[...], data, rtol=0, atol=BOUND)
    part, shard = bytes_of_a_part(packed)
    assert part == shard


def test_integers_packed_by_cf_get_their_codecs_inside(codecs, tmp_path):
    original, values = tmp_path / "original.zarr", tmp_path / "values.zarr"
    codes = np.arange(64 * 64, dtype="i2").reshape(64, 64)
    array = zarr.create_array(
        original, shape=codes.shape, dtype="i2", shards=(32, 32), chunks=(8, 8), fill_value=-1,
        attributes={"scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -1},
    )  # fmt: skip
    array[...] = codes
    report = json.loads(recast("pack", "--from-cf", "--json", original, values))
    assert report["readers"]["zarr_python"] == "parts_of_shards"
    read = zarr.open_array(values, mode="r")[...]
    np.testing.assert_allclose(read, codes * 0.01 + 5, rtol=1e-6)
    assert (original / "c/0/0").read_bytes() == (values / "c/0/0").read_bytes()
    back = tmp_path / "back.zarr"
    recast("unpack", "--to-cf", "--quiet", values, back)
    np.testing.assert_array_equal(zarr.open_array(back, mode="r")[...], codes)
