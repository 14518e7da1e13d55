"""What `encoding_for`, `from_cf` and `pack` say of values to come, of trees, and of requests that match nothing."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import zarr_recast
from zarr_recast import encoding_for, from_cf

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


def written(encoding, *parts):
    """What an array with this encoding reads after these parts were written one after the other."""
    array = zarr.create_array({}, shape=sum(map(len, parts)), **encoding)
    start = 0
    for part in parts:
        array[start : start + len(part)] = part
        start += len(part)
    return array[:]


STEPS = {
    "decimal": [1.0, 0.1, 0.05, 20.0],
    "binary": [0.25, 2.0**-6, 8.0],
    "feet": [3.28, 1 / 3, 5 / 9],
    "any": [0.7312, 1.913],
}


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_values_between_those_seen_keep_the_bound_or_are_refused(kind, dtype):
    g = np.random.default_rng(len(kind))
    kept = 0
    for _ in range(45):
        step = g.choice(STEPS[kind])
        seen = (step * g.integers(-200, 2000, g.choice([2, 5, 300]))).astype(dtype)
        bound = float(step * g.choice([0.4, 0.1, 0.013]))
        between = g.uniform(seen.min(), seen.max(), 200).astype(dtype)
        try:
            encoding = encoding_for(seen, max_abs_error=bound)
        except ValueError:
            continue
        kept += 1
        read = written(encoding, seen, between)
        error = abs(read.astype("longdouble") - np.concatenate([seen, between]).astype("longdouble"))
        assert error.max() <= bound, (step, bound, encoding["filters"])
        alone = encoding_for(seen, max_abs_error=bound, grid=True)
        assert abs(written(alone, seen) - seen).max() <= bound
    assert kept > 20 or dtype == "float16"


def test_the_example_of_the_readme_has_room_between_its_values():
    encoding = encoding_for(np.float32([271, 310]), max_abs_error=0.01)
    assert abs(written(encoding, np.float32([271, 280.5, 310])) - [271, 280.5, 310]).max() <= 0.01
    with pytest.raises(ValueError, match="grid=True"):
        encoding_for(np.float32([271, 310]), max_abs_error=0)
    encoding = encoding_for(np.float32([271, 310]), max_abs_error=0, grid=True)
    assert written(encoding, np.float32([271, 300])).tolist() == [271, 300]


def test_a_packed_array_that_grows_keeps_the_bound_without_a_grid(tmp_path):
    tenths = (np.arange(2000) % 300 / 10).astype("f4")
    source = zarr.create_array(tmp_path / "in.zarr", shape=2000, chunks=500, dtype="f4")
    source[:] = tenths
    report = zarr_recast.pack(tmp_path / "in.zarr", max_abs_error=0.01, grid=True, dry_run=True)
    assert report.grid == {"step": 0.1}
    report = zarr_recast.pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=0.01, grid=False)
    assert report.grid is None
    array = zarr.open_array(tmp_path / "out.zarr")
    later = np.linspace(0, 29, 500, dtype="f4")
    array.append(later)
    assert abs(array[2000:] - later).max() <= 0.01
    np.testing.assert_array_equal(array[:2000], tenths)


def dataset():
    rain = (np.arange(60).reshape(6, 10) * 1e-6).astype("f4")
    return xr.Dataset(
        {"t": (("y", "x"), rain * 1e7 + 273), "rain": (("y", "x"), rain), "n": ("y", np.arange(6))},
        {"lat": ("y", np.linspace(-60, 60, 6))},
    )


def test_a_bound_that_leaves_little_of_a_variable_is_a_warning_with_its_name(tmp_path):
    with pytest.raises(ValueError, match=r"rain: the bound 0.01 of max_abs_error leaves one value"):
        encoding_for(dataset(), max_abs_error=0.01)
    with pytest.warns(UserWarning, match=r"^rain: the bound 0.01 is 169.5 times the range") as caught:
        encoding_for(dataset(), max_abs_error=0.01, allow_constant=True)
    assert [warning.filename for warning in caught] == [__file__]
    # In units of the range, one number is right for all.
    encoding = encoding_for(dataset(), error_over_range=1e-3)
    dataset().to_zarr(tmp_path / "a.zarr", encoding=encoding, consolidated=False)
    with xr.open_zarr(tmp_path / "a.zarr", consolidated=False) as read:
        for name in ("t", "rain"):
            values = dataset()[name].values
            assert abs(read[name].values - values).max() <= 1e-3 * np.ptp(values.astype("f8"))
    dataset().to_zarr(tmp_path / "in.zarr", consolidated=False)
    places = (tmp_path / "in.zarr", tmp_path / "out.zarr")
    with pytest.raises(ValueError, match=r"rain: the bound 0.01 of max_abs_error leaves one value"):
        zarr_recast.pack(*places, max_abs_error=0.01)
    report = zarr_recast.pack(*places, max_abs_error=0.01, allow_constant={"rain": True}, grid=False)
    assert set(report.coarse) == {"rain"} and report.packed["t"].coarse is None
    assert report.packed["rain"].coarse["of_range"] > 100
    report = zarr_recast.pack(
        tmp_path / "in.zarr", tmp_path / "o.zarr", error_over_range={"t": 1e-3, "rain": 0.2}, grid=False
    )
    assert set(report.coarse) == {"rain"}


def tree():
    def values(low):
        return ("x", np.linspace(low, low + 9, 40, dtype="f4"))

    root = xr.Dataset({"t": values(0)}, {"x": np.arange(40)})
    ocean = xr.Dataset({"t": values(5), "ice": values(-3)})
    return xr.DataTree.from_dict({"/": root, "/ocean": ocean, "/land": xr.Dataset(attrs={"a": 1})})


def test_trees_have_an_encoding_for_each_group(tmp_path):
    encoding = encoding_for(tree(), max_abs_error=0.01)
    assert {group: set(names) for group, names in encoding.items()} == {
        "/": {"t"},
        "/ocean": {"t", "ice"},
    }
    tree().to_zarr(tmp_path / "tree.zarr", encoding=encoding, consolidated=False)
    with xr.open_datatree(tmp_path / "tree.zarr", engine="zarr", consolidated=False) as read:
        for path in ("t", "ocean/t", "ocean/ice"):
            assert abs(read[path].values - tree()[path].values).max() <= 0.01
    codecs = zarr.open_array(tmp_path / "tree.zarr/ocean/ice", mode="r").metadata.to_dict()["codecs"]
    assert "cast_value" in [codec["name"] for codec in codecs]
    named = encoding_for(tree(), max_abs_error={"ocean/ice": 0.1})
    assert {group: set(names) for group, names in named.items()} == {"/ocean": {"ice"}}
    with pytest.raises(ValueError, match="'ice', which is not a variable.*nearest.*'ocean/ice'"):
        encoding_for(tree(), max_abs_error={"ice": 0.1})
    with pytest.raises(ValueError, match="nothing says what to keep"):
        encoding_for(tree())


def test_a_missing_bound_and_names_that_match_nothing_are_errors():
    with pytest.raises(ValueError, match="nothing says what to keep.*max_abs_error, error_over_range"):
        encoding_for(dataset())
    with pytest.raises(ValueError, match="names 'rian', which is not a variable.*'rain'"):
        encoding_for(dataset(), max_abs_error={"rian": 1e-6})
    for name, value in [("range", {"lat": (-90, 90)}), ("data_type", {"n": "int8"}), ("missing", {"n": 3})]:
        with pytest.raises(ValueError, match=f"{name} names '(lat|n)', which is not packed"):
            encoding_for(dataset(), max_abs_error={"t": 0.1}, **{name: value})
    assert set(encoding_for(dataset(), max_abs_error={"lat": 0.1, "n": 0})) == {"lat", "n"}
    assert encoding_for(dataset(), max_abs_error={}) == {}


def cf(dtype):
    codes = np.arange(-3000, 3000, dtype="i2")
    packed = xr.Dataset({"t": ("x", codes, {"scale_factor": dtype(0.01), "add_offset": dtype(5.0)})})
    return xr.decode_cf(packed)


def test_from_cf_says_how_many_codes_decode_to_other_bits():
    with pytest.warns(UserWarning, match=r"^t: \d+ of 65536 codes decode to other last bits of float64") as caught:
        encoding = from_cf(cf(np.float64))
    assert caught[0].filename == __file__
    codes = np.arange(-32768, 32768).astype("i2")
    chain = zarr_recast.Chain("float64", encoding["t"]["filters"])
    differing = (chain.decode(codes) != codes * 0.01 + 5.0).sum()
    assert str(caught[0].message).startswith(f"t: {differing} of")
    with pytest.warns(UserWarning, match="^ocean/t: "):
        encoding = from_cf(xr.DataTree.from_dict({"/ocean": cf(np.float64), "/land": tree().to_dataset()}))
    assert set(encoding) == {"/ocean"} and set(encoding["/ocean"]) == {"t"}
    # A scale that is a power of two has the same values.
    packed = cf(np.float64)
    packed.t.encoding.update(scale_factor=0.25, add_offset=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(from_cf(packed)) == {"t"}
    with pytest.raises(TypeError, match="DataArray"):
        from_cf(packed.t)


def test_pack_has_the_parameters_that_it_names(tmp_path):
    zarr.create_array(tmp_path / "in.zarr", shape=9, dtype="f4")[:] = np.linspace(0, 1, 9)
    with pytest.raises(TypeError, match="max_abs_eror"):
        zarr_recast.pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_eror=0.1)
    with pytest.raises(TypeError, match="needs a target"):
        zarr_recast.pack(tmp_path / "in.zarr", max_abs_error=0.1)
    for _ in range(2):
        zarr_recast.pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=0.1, overwrite=True)
        dry = zarr_recast.pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=0.1, dry_run=True)
        assert dry.dry_run
    report = zarr_recast.pack(tmp_path / "in.zarr", dry_run=True, scale=np.float32(4), data_type="uint8", nan="max",
                              src_max=0.9, rounding="towards-zero", out_of_range="clamp")  # fmt: skip
    assert report.details["scale"] == 4 and report.details["nan"] == 255


def test_names_of_arrays_in_a_group_are_paths(tmp_path):
    root = zarr.create_group(tmp_path / "in.zarr")
    for path in ("0", "t*", "labels/0"):
        root.create_array(path, shape=9, dtype="f4")[:] = np.linspace(0, 1, 9) ** 3
    pack = lambda **options: zarr_recast.pack(tmp_path / "in.zarr", dry_run=True, **options)  # noqa: E731
    assert set(pack(max_abs_error={"0": 0.01}).packed) == {"0"}
    assert set(pack(max_abs_error={"t*": 0.01, "labels/0": 0.01}).packed) == {"t*", "labels/0"}
    with pytest.raises(ValueError, match="the rule for labels/1: .*nearest.*labels/0"):
        pack(max_abs_error={"labels/1": 0.01})
    with pytest.raises(ValueError, match="the rule for labels/\\*"):
        pack(max_abs_error={"labels/*": 0.01})


def test_zarr_v2_is_refused_in_our_words(tmp_path):
    encoding = encoding_for(np.linspace(0, 1, 9, dtype="f4"), max_abs_error=0.01)
    with pytest.raises(TypeError, match="is a codec of Zarr v3; leave out zarr_format=2"):
        zarr.create_array(tmp_path / "a.zarr", shape=9, zarr_format=2, **encoding)


SPAWN = """
import multiprocessing, sys, zarr_recast

def classes(_):
    import zarr
    from zarr.core.config import config
    assert zarr.create_array({}, shape=2, dtype="f4", fill_value=3)[:].tolist() == [3, 3]
    names = [zarr.registry.get_codec_class(name).__module__ for name in ("cast_value", "scale_offset")]
    return [*names, config.get("ndbuffer")]

if __name__ == "__main__":
    zarr_recast.register(fast_reads=sys.argv[1] == "fast")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(classes, [0])[0])
"""


@pytest.mark.parametrize("buffer", ["zarr.buffer.cpu.NDBuffer", "zarr_recast.zarr.NDBuffer"])
def test_processes_that_this_one_starts_have_its_codecs(buffer, tmp_path):
    script = tmp_path / "spawn.py"
    script.write_text(SPAWN)
    fast = "fast" if "recast" in buffer else "slow"
    bare = {key: value for key, value in os.environ.items() if not key.startswith("ZARR_")}
    found = subprocess.run(
        [sys.executable, script, fast], env=bare, check=True, capture_output=True, text=True
    )
    assert found.stdout.strip() == str(["zarr_recast.zarr", "zarr_recast.zarr", buffer])
