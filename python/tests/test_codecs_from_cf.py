"""`codecs_from_cf` decodes as xarray does, and counts the codes where it does not."""

import json
import warnings

import numpy as np
import pytest

import zarr_recast
from zarr_recast import codecs_from_cf

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")
coding = pytest.importorskip("xarray.coding.variables")
# xarray warns of several missing values.
pytestmark = pytest.mark.filterwarnings("ignore::xarray.SerializationWarning")

PACKINGS = [
    {"scale_factor": 0.01},
    {"scale_factor": 0.01, "add_offset": 273.15},
    {"scale_factor": 1 / 3, "add_offset": -7.25},
    {"scale_factor": -0.1, "add_offset": 12.3},
    {"scale_factor": 0.25, "add_offset": 5.0},
    {"add_offset": 0.1},
    {},
]


def codes(dtype):
    """All codes of a type."""
    ends = np.iinfo(dtype)
    return np.arange(ends.min, ends.max + 1).astype(dtype)


def by_xarray(stored, attributes):
    """The values that xarray decodes, in its type."""
    variable = xr.Variable("x", stored, attributes)
    variable = coding.CFMaskCoder().decode(variable)
    return np.asarray(coding.CFScaleOffsetCoder().decode(variable).values)


def decoded(cf, stored):
    chain = zarr_recast.Chain(cf.dtype, cf.codecs, cf.fill_value)
    return chain.decode(stored.view(chain.encoded_dtype))


def differs(found, expected):
    bits = f"u{found.dtype.itemsize}"
    return (found.view(bits) != expected.view(bits)) & ~(np.isnan(found) & np.isnan(expected))


@pytest.mark.parametrize("packing", PACKINGS, ids=str)
@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_every_code_is_xarray_s_or_is_counted(dtype, number, packing):
    stored = codes(dtype)
    one = np.dtype(dtype).type
    packing = {name: number(value) for name, value in packing.items()}
    opposite = "false" if dtype.startswith("u") else "true"
    for more in [
        {"_FillValue": one(99)},
        {"missing_value": one(3)},
        {"_FillValue": one(1), "missing_value": one(100)},
        {"missing_value": np.array([5, 6], dtype)},
        {"_Unsigned": opposite, "_FillValue": stored[0]},
        {"_Unsigned": opposite} if packing else {"_FillValue": one(0)},
        {} if packing else {"missing_value": one(0)},
    ]:
        attributes = packing | more
        expected = by_xarray(stored, attributes)
        cf = codecs_from_cf(dtype, attributes, expected.dtype)
        found = decoded(cf, stored)
        assert cf.dtype == found.dtype == expected.dtype
        differing = differs(found, expected)
        assert (cf.differing_codes, cf.compared_codes) == (differing.sum(), stored.size), attributes
        distances = np.abs(found.astype("f8") - expected.astype("f8"))[differing]
        assert cf.largest_difference == distances.max(initial=0), attributes
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        if number is np.float32:
            assert cf.differing_codes == 0, attributes
        if "_FillValue" in attributes:
            assert np.isnan(cf.fill_value)
        else:
            np.testing.assert_array_equal(cf.fill_value, decoded(cf, np.zeros(1, dtype))[0])


def test_float64_has_codes_that_differ_by_a_unit_in_the_last_place():
    cf = codecs_from_cf("int16", {"scale_factor": 0.01, "add_offset": 5.0}, "float64")
    assert 0 < cf.differing_codes < 65_536
    assert cf.largest_ulps >= 1 and 0 < cf.largest_difference < 1e-12
    # In float32 there are none, so that is the type if no other is asked for.
    cf = codecs_from_cf("int16", {"scale_factor": 0.01, "add_offset": 5.0})
    assert (cf.dtype, cf.differing_codes, cf.largest_difference, cf.largest_ulps) == (np.float32, 0, 0, 0)
    found = decoded(cf, codes("int16"))
    np.testing.assert_array_equal(found, codes("int16").astype("f4") * np.float32(0.01) + np.float32(5))


def test_the_other_attributes_stay_and_those_of_the_stored_type_are_decoded():
    attributes = {
        "scale_factor": np.array([-0.5]), "add_offset": 10, "_FillValue": np.int16(-1), "missing_value": 70_000,
        "_Unsigned": b"false", "valid_range": np.array([-100, 200], "i2"), "valid_min": np.int16(-100),
        "units": "K", "flags": np.arange(3),
    }  # fmt: skip
    before = dict(attributes)
    cf = codecs_from_cf(">i2", attributes)
    assert set(cf.attributes) == {"valid_range", "valid_max", "units", "flags"}
    assert cf.attributes["valid_range"] == [-90, 60] and cf.attributes["valid_max"] == 60
    assert cf.attributes["flags"] is attributes["flags"] and cf.attributes["units"] == "K"
    assert list(attributes.items()) == list(before.items())
    (warning,) = cf.warnings
    assert "missing_value is 70000" in warning
    with pytest.raises(AttributeError):
        cf.codecs = ()


@pytest.mark.parametrize(
    ("dtype", "attributes", "decoded_dtype", "match"),
    [
        ("int16", {"units": "K"}, None, "none of the attributes scale_factor, .*leave it as it is"),
        ("int16", {"scale_factor": 0}, None, "scale_factor is 0.0, .*correct the attribute"),
        ("int16", {"scale_factor": "x"}, None, 'attribute scale_factor is "x"; it must be a finite'),
        ("int16", {"scale_factor": [1, 2]}, None, r"attribute scale_factor is \[1,2\]; it must be one number"),
        ("int16", {"_FillValue": 40_000}, None, "_FillValue is 40000, .*correct or remove the attribute"),
        ("int16", {"_Unsigned": "no"}, None, 'attribute _Unsigned is "no"; it must be "true" or "false"'),
        ("int16", {"scale_factor": 1e38}, "float32", "scale_factor .*1e38.*decode to float64"),
        ("int16", {"scale_factor": 2}, "float16", "the values are float16, .*float32 or float64"),
        ("float32", {"scale_factor": 2}, None, "the elements are float32; CF packs integers"),
    ],
)  # fmt: skip
def test_what_no_codecs_replace_is_named_with_a_way_out(dtype, attributes, decoded_dtype, match):
    with pytest.raises(ValueError, match=match):
        codecs_from_cf(dtype, attributes, decoded_dtype)


def test_from_cf_gives_the_same_codecs():
    packed = xr.Dataset({"t": ("x", codes("int16"), {"scale_factor": 0.01, "add_offset": 5.0, "_FillValue": -9})})
    read = xr.decode_cf(packed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encoding = zarr_recast.from_cf(read)["t"]
    cf = codecs_from_cf("int16", packed.t.attrs, read.t.dtype)
    assert encoding["filters"] == cf.codecs and encoding["dtype"] == cf.dtype
    assert np.isnan(encoding["fill_value"]) and np.isnan(cf.fill_value)


@pytest.fixture
def file(tmp_path):
    """A netCDF4 file with a packed, contiguous variable, and where its bytes are."""
    netcdf = pytest.importorskip("netCDF4")
    stored = np.random.default_rng(1).integers(-32768, 32768, (30, 40)).astype("<i2")
    stored[3, 4] = -32768
    path = tmp_path / "packed.nc"
    with netcdf.Dataset(path, "w") as dataset:
        dataset.createDimension("y", 30)
        dataset.createDimension("x", 40)
        variable = dataset.createVariable("t", "<i2", ("y", "x"), fill_value=-32768, contiguous=True)
        variable.set_auto_maskandscale(False)
        variable.setncatts({"scale_factor": np.float32(0.01), "add_offset": np.float32(273.15), "units": "K"})
        variable[:] = stored
    data = path.read_bytes()
    assert data.count(stored.tobytes()) == 1
    return path, data.index(stored.tobytes()), stored.nbytes


def metadata_over(path):
    """Metadata of a Zarr array over the variable's bytes, and xarray's own decoding of the file."""
    with xr.open_dataset(path, engine="netcdf4", mask_and_scale=False) as raw:
        cf = codecs_from_cf(raw.t.dtype, raw.t.attrs, np.float32)
        shape = list(raw.t.shape)
    bytes_codec = {"name": "bytes", "configuration": {"endian": "little"}}
    metadata = {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": cf.dtype.name,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": "NaN", "codecs": [*(codec.to_dict() for codec in cf.codecs), bytes_codec],
        "attributes": cf.attributes, "dimension_names": ["y", "x"],
    }  # fmt: skip
    with xr.open_dataset(path, engine="netcdf4") as expected:
        return metadata, expected.t.load()


def test_bytes_of_a_netcdf_file_are_an_array_with_the_values_that_xarray_reads(file, tmp_path):
    path, offset, length = file
    metadata, expected = metadata_over(path)
    chunk = tmp_path / "group.zarr" / "t" / "c" / "0" / "0"
    chunk.parent.mkdir(parents=True)
    (tmp_path / "group.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    (tmp_path / "group.zarr" / "t" / "zarr.json").write_text(json.dumps(metadata))
    chunk.write_bytes(path.read_bytes()[offset : offset + length])
    zarr_recast.register()
    with xr.open_zarr(tmp_path / "group.zarr", consolidated=False) as found:
        assert found.t.dtype == expected.dtype == np.float32
        assert found.t.attrs == expected.attrs == {"units": "K"}
        assert np.isnan(found.t.values[3, 4])
        assert not differs(found.t.values, expected.values).any()


def test_a_virtual_array_over_a_netcdf_file_has_the_values_that_xarray_reads(file):
    manifests = pytest.importorskip("virtualizarr.manifests")
    registry = pytest.importorskip("obspec_utils.registry")
    local = pytest.importorskip("obstore.store")
    path, offset, length = file
    metadata, expected = metadata_over(path)
    zarr_recast.register()
    url = path.as_uri()
    chunks = manifests.ChunkManifest({"0/0": {"path": url, "offset": offset, "length": length}}, separator="/")
    array = manifests.ManifestArray(zarr.core.metadata.v3.ArrayV3Metadata.from_dict(metadata), chunks)
    store = manifests.ManifestStore(
        manifests.ManifestGroup(arrays={"t": array}),
        registry=registry.ObjectStoreRegistry({"file://": local.LocalStore()}),
    )
    with xr.open_zarr(store, consolidated=False, zarr_format=3) as found:
        assert found.t.dtype == expected.dtype == np.float32
        assert not differs(found.t.values, expected.values).any()
    # A store like any other, for the jobs too.
    assert zarr_recast.verify(store, expected.to_dataset(name="t")).passed


# GRIB stores (x − reference) · 10^D / 2^E; programs that make netCDF of it keep that as scale and offset.
GRIB = {"scale_factor": 2.0**-5 * 10.0**-1, "add_offset": 213.9384765625}
DATASETS = [
    ("i2", {"scale_factor": np.float32(0.01), "add_offset": np.float32(273.15)}),
    ("u1", {"scale_factor": 0.5, "add_offset": -20.0}),
    ("i2", GRIB),
    ("u2", GRIB),
    ("i4", {"scale_factor": 2.0**-10}),
]


@pytest.mark.parametrize("source", ["netcdf4", "zarr"])
@pytest.mark.parametrize(("stored", "packing"), DATASETS, ids=str)
@pytest.mark.filterwarnings("ignore:.*decode to other last bits:UserWarning")
def test_datasets_that_xarray_has_opened_keep_their_stored_integers(source, stored, packing, tmp_path):
    pytest.importorskip("netCDF4" if source == "netcdf4" else "zarr")
    rng = np.random.default_rng(5)
    ends = np.iinfo(stored)
    codes = rng.integers(max(ends.min, -100_000) + 1, min(ends.max, 100_000), (12, 40)).astype(stored)
    missing = ends.max if stored.startswith("u") else ends.min
    codes[2, ::7] = missing
    raw = xr.Dataset({"t": (("y", "x"), codes, {**packing, "_FillValue": codes.dtype.type(missing), "units": "K"})})
    path = tmp_path / f"raw.{source}"
    if source == "netcdf4":
        raw.to_netcdf(path, engine="netcdf4")
    else:
        raw.to_zarr(path, zarr_format=3, consolidated=False)
    zarr_recast.register()
    engine = {"engine": source} if source == "netcdf4" else {"engine": source, "consolidated": False}
    with xr.open_dataset(path, **engine) as ds:
        encoding = zarr_recast.from_cf(ds)
        target = zarr.storage.MemoryStore()
        ds.to_zarr(target, encoding=encoding, zarr_format=3, consolidated=False)
        with xr.open_zarr(target, consolidated=False) as found:
            assert found.t.attrs == {"units": "K"} and "scale_factor" not in found.t.encoding
            np.testing.assert_array_equal(np.isnan(found.t), codes == missing)
            ulp = np.spacing(np.nanmax(abs(ds.t.values)))
            np.testing.assert_allclose(found.t, ds.t, rtol=0, atol=2 * ulp)
    array = zarr.open_array(target, path="t", mode="r")
    chain = zarr_recast.Chain(array.dtype, array.filters, array.fill_value)
    np.testing.assert_array_equal(chain.encode(np.asarray(array[...])).view(stored), codes)
