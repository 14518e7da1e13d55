"""zarr-python reads every chain that `recast pack --compressor smallest` and `auto` can choose, and they read what it
writes."""

import json

import numpy as np
import pytest
from binaries import CODECS, codecs_of, run

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")

# zarr-python warns of codecs of numcodecs, which no specification has, and of codecs around sharding_indexed.
pytestmark = [
    pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning"),
    pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3 specification"),
]

# Axes of differences, and whether they get a bias. One byte needs none, and zarr-python wants the bias to be a value of the
# array's type.
AXES = [(), (1,), (0,), (1, 1), (1, 0), (0, 1, 1)]
STORED = [(dtype, axes, biased) for dtype in ("int8", "uint8", "int16", "uint16", "int32")
          for axes in AXES for biased in (False, True)
          if not biased or (axes and dtype in ("int16", "int32"))]  # fmt: skip
CODERS = ["zstd", "gzip", "noshuffle", "shuffle", "bitshuffle", "numcodecs.shuffle", "numcodecs.pcodec"]


def chain(dtype, axes, biased, coder):
    """The codecs as pack/src/io/storage.rs has them, for two dimensions."""
    size = np.dtype(dtype).itemsize
    signed = np.dtype(f"i{size}")
    codecs, last = [], 1
    for number, axis in enumerate(axes):
        if axis != last:
            if number:
                codecs.append({"name": "cast_value", "configuration": {"data_type": signed.name}})
            codecs.append({"name": "transpose", "configuration": {"order": [1, 0]}})
            last = axis
        before = signed if number else np.dtype(dtype)
        types = [one.newbyteorder("<").str for one in (before, signed)]
        delta = dict(zip(("dtype", "astype"), types, strict=True))
        codecs.append({"name": "numcodecs.delta", "configuration": delta})
    if biased:
        codecs.append({"name": "scale_offset", "configuration": {"offset": -128}})
    if coder == "numcodecs.pcodec":
        stored = signed if axes else np.dtype(dtype)
        wider = stored if size > 1 else np.dtype(f"{stored.kind}2")
        casts = (size == 1) + (size == 1 or not axes)
        codecs += casts * [{"name": "cast_value", "configuration": {"data_type": wider.name}}]
        pcodec = {
            "level": 12, "mode_spec": "auto", "delta_spec": "auto", "delta_encoding_order": None,
            "paging_spec": "equal_pages_up_to", "equal_pages_up_to": 262144,
        }  # fmt: skip
        return [*codecs, {"name": coder, "configuration": pcodec}]
    codecs.append({"name": "bytes", "configuration": {"endian": "little"}})
    zstd = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
    if coder == "zstd":
        codecs.append(zstd)
    elif coder == "gzip":
        codecs.append({"name": "gzip", "configuration": {"level": 6}})
    elif coder == "numcodecs.shuffle":
        codecs += [{"name": coder, "configuration": {"elementsize": size}}, zstd]
    else:
        blosc = {"cname": "zstd", "clevel": 5, "shuffle": coder, "typesize": size, "blocksize": 0}
        codecs.append({"name": "blosc", "configuration": blosc})
    return codecs


@pytest.mark.parametrize("coder", CODERS)
@pytest.mark.parametrize(("dtype", "axes", "biased"), STORED)
def test_both_read_what_the_other_writes(dtype, axes, biased, coder, tmp_path):
    # From one end of the range that leaves room for the bias after so many passes to the other; unsigned ones wrap.
    rng = np.random.default_rng(7)
    greatest = 100 if np.dtype(dtype).itemsize == 1 else (2**15 - 1 - 128) // 2 ** max(len(axes) - 1, 0)
    codes = rng.integers(0, greatest, (9, 14), endpoint=True).astype(dtype)
    codes[0, :3] = greatest, 0, greatest
    if np.dtype(dtype).kind == "i":
        codes[4:] -= greatest // 2
        codes[3] = 0
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [9, 14], "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 5]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 3, "codecs": chain(dtype, axes, biased, coder), "attributes": {},
    }  # fmt: skip
    theirs, ours = tmp_path / "theirs.zarr", tmp_path / "ours.zarr"
    theirs.mkdir()
    (theirs / "zarr.json").write_text(json.dumps(document))
    # zarr-python's own cast hands the flat arrays of numcodecs on, which a transpose refuses; ours gives them their shape
    # again.
    with codecs_of("zarr-recast"):
        zarr.open_array(theirs, mode="r+")[...] = codes
    names = [codec["name"] for codec in document["codecs"]]
    if ("cast_value", "transpose") in zip(names, names[1:], strict=False):
        with codecs_of("zarr-python"), pytest.raises(ValueError, match="axes don't match array"):
            zarr.open_array(theirs, mode="r+")[...] = codes
    run("examples/rewrite", theirs, ours)
    for path in (theirs, ours):
        for whose in CODECS:
            with codecs_of(whose):
                np.testing.assert_array_equal(zarr.open_array(path, mode="r")[...], codes)
        cat = np.frombuffer(run("recast", "cat", path), np.dtype(dtype).newbyteorder("<"))
        np.testing.assert_array_equal(cat.reshape(codes.shape), codes)


def values(kind):
    rng = np.random.default_rng(3)
    x, y = np.meshgrid(np.arange(160) / 25, np.arange(150) / 17)
    field = (280 + 9 * np.sin(x) + 6 * np.cos(y + x / 3)).astype("f4")
    if kind == "noise":
        field += rng.normal(0, 2, field.shape).astype("f4")
    if kind == "missing":
        field[40:90, 20:70] = np.nan
    return field


@pytest.mark.parametrize("compressor", ["auto", "smallest"])
@pytest.mark.parametrize("shards", [None, (100, 160)], ids=["chunks", "shards"])
@pytest.mark.parametrize("kind", ["smooth", "noise", "missing"])
@pytest.mark.parametrize("bound", [0.2, 0.002])
def test_what_is_packed_is_read_bit_for_bit(bound, kind, shards, compressor, tmp_path):
    source, packed = tmp_path / "source.zarr", tmp_path / "packed.zarr"
    field = values(kind)
    zarr.create_array(source, data=field, chunks=(50, 80), shards=shards, compressors=None)
    flags = ["-e", bound, "--compressor", compressor, "--json"]
    report = json.loads(run("recast", "pack", source, packed, *flags))
    names = json.dumps(report["codecs"])
    assert ("numcodecs." in names) <= (compressor == "smallest")
    if (kind, compressor) == ("smooth", "smallest"):
        assert "numcodecs.delta" in names
    cat = np.frombuffer(run("recast", "cat", packed), "<f4").reshape(field.shape)
    for whose in CODECS:
        with codecs_of(whose):
            read = np.asarray(zarr.open_array(packed, mode="r")[...])
        np.testing.assert_array_equal(read.view("u4"), cat.view("u4"))
    assert np.nanmax(np.abs(read.astype("f8") - field)) <= bound
    np.testing.assert_array_equal(np.isnan(read), np.isnan(field))


def test_the_package_packs_with_both(tmp_path):
    source = tmp_path / "source.zarr"
    zarr.create_array(source, data=values("smooth"), chunks=(50, 80), compressors=None)
    sizes = {}
    for compressor in ("zstd:5", "auto", "smallest"):
        report = zarr_recast.pack(
            source, tmp_path / "packed.zarr", max_abs_error=0.002, compressor=compressor, overwrite=True
        )
        sizes[compressor] = report.bytes["stored"]
    assert sizes["smallest"] < sizes["auto"] <= sizes["zstd:5"]
    options = {"max_abs_error": 0.002, "overwrite": True, "dry_run": True}
    default = zarr_recast.pack(source, tmp_path / "packed.zarr", **options)
    assert default.details["bytes"]["stored"] == sizes["auto"]


def test_a_dry_run_advises_on_chunks(tmp_path):
    source = tmp_path / "source.zarr"
    zarr.create_array(source, data=values("smooth"), chunks=(5, 8), compressors=None)
    report = zarr_recast.pack(source, tmp_path / "packed.zarr", max_abs_error=0.002, dry_run=True)
    advice = report.details["chunk_advice"]
    assert advice["present_chunk_shape"] == [5, 8]
    assert 0.1 <= advice["saved"] < 1


def test_the_package_packs_for_other_readers(tmp_path):
    source, packed = tmp_path / "source.zarr", tmp_path / "packed.zarr"
    zarr.create_array(source, data=values("smooth"), chunks=(50, 80), compressors=None)

    def names(readers):
        report = zarr_recast.pack(
            source, packed, max_abs_error=0.002, compressor="smallest", readers=readers, overwrite=True
        )
        return [codec["name"] for codec in report.codecs]

    assert "transpose" in names(None)
    for readers in ("zarrita", ["zarrs", "zarrita"]):
        assert "transpose" not in names(readers)
    with pytest.raises(ValueError, match=r'readers is \["netcdf"\]; it must be one of "zarr-python", "zarrs",'):
        names(["netcdf"])
