"""`suggest`: the ladder of `recast suggest`, for every kind of array that holds the same values."""

import json
import subprocess
import sys

import numpy as np
import pytest

import zarr_recast
from zarr_recast import Suggestion, Suggestions, encoding_for, suggest

zarr = pytest.importorskip("zarr", minversion="3.3.0")

# What `--json` calls a row's members.
MEMBERS = ["max_abs_error", "bits", "stored_bytes", "ratio", "error_over_range", "snr_db", "information",
           "mark"]  # fmt: skip


def field(noise=0.2, shape=(200, 300)):
    """Temperatures with noise, and NaN at some places."""
    row, column = np.indices(shape)
    smooth = 285 + 12 * np.sin(row / 60) + 4 * np.cos(column / 25)
    data = (smooth + noise * np.random.default_rng(1).random(shape)).astype("float32")
    data[::7, ::11] = np.nan
    return data


def hundredths():
    return (np.round(field().astype("float64") * 100) / 100).astype("float32")


def stored(path, data, chunks, **options):
    options = {"fill_value": np.nan, **options}
    array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, chunks=chunks, **options)
    array[...] = data
    return array


def command(*arguments):
    """The report of `recast suggest … --json`."""
    code = "import sys, zarr_recast._command as c; sys.argv[0] = 'recast'; sys.exit(c.main())"
    arguments = [sys.executable, "-c", code, "suggest", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(arguments, capture_output=True, check=True).stdout)


def members(suggestion):
    return [{name: getattr(row, name) for name in MEMBERS} for row in suggestion.rows]


@pytest.mark.parametrize("options", [{}, {"compressor": "gzip:1"}, {"readers": "any"}])
def test_the_rows_are_those_of_the_command_for_every_kind_of_array(tmp_path, options):
    da = pytest.importorskip("dask.array")
    xr = pytest.importorskip("xarray")
    data = field()
    array = stored(tmp_path / "a.zarr", data, (50, 300))
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    report = command(tmp_path / "a.zarr", *flags)
    expected = [{name: rung[name] for name in MEMBERS} for rung in report["ladder"]]
    assert len(expected) >= 8
    lazy = da.from_array(data, chunks=(50, 300))
    for obj in [array, lazy, xr.DataArray(lazy, dims=("y", "x"))]:
        suggestion = suggest(obj, **options)
        assert members(suggestion) == expected
        assert suggestion.rows.index(suggestion.recommended) == report["recommended"]
        assert suggestion.details["known"] == report["known"]
    # Without chunks, the array is one.
    stored(tmp_path / "whole.zarr", data, data.shape)
    whole = command(tmp_path / "whole.zarr", *flags)["ladder"]
    expected = [{name: rung[name] for name in MEMBERS} for rung in whole]
    for obj in [data, np.asfortranarray(data), xr.DataArray(data), data.astype(">f4")]:
        assert members(suggest(obj, **options)) == expected


def test_lazy_arrays_of_xarray_are_those_that_they_read(tmp_path):
    xr = pytest.importorskip("xarray")
    data = field()
    ds = xr.Dataset({"t": (("y", "x"), data)}, {"x": np.arange(300.0)})
    ds.to_zarr(tmp_path / "ds.zarr", encoding={"t": {"chunks": (50, 300)}}, consolidated=False)
    expected = members(suggest(zarr.open_array(tmp_path / "ds.zarr" / "t", mode="r")))
    read = xr.open_zarr(tmp_path / "ds.zarr", chunks=None, consolidated=False)
    assert members(suggest(read.t)) == expected
    assert members(suggest(read)["t"]) == expected
    group = suggest(zarr.open_group(tmp_path / "ds.zarr", mode="r"))
    assert list(group) == ["t"] and members(group["t"]) == expected


class Counted:
    """An array that counts the elements that are read."""

    def __init__(self, shape):
        self.dtype, self.shape, self.read = np.dtype("float32"), shape, 0

    def __getitem__(self, key):
        rows, columns = (np.arange(*one.indices(length)) for one, length in zip(key, self.shape, strict=True))
        part = np.sin(rows[:, None] / 50) * np.cos(columns / 70)
        self.read += part.size
        return part.astype("float32")


def test_chunks_of_a_rectilinear_grid_have_any_lengths(tmp_path):
    with zarr.config.set({"array.rectilinear_chunks": True}):
        array = zarr.create_array(tmp_path / "a", shape=(200, 300), chunks=[[20, 30, 150], [100, 200]], dtype="float32",
                                  fill_value=np.nan)  # fmt: skip
        array[...] = field()
        filters = [encoding_for(one, max_abs_error=0.01)["filters"] for one in (array, array[...])]
        assert filters[0] == filters[1]
        assert suggest(array).rows[0].max_abs_error == suggest(array[...]).rows[0].max_abs_error


def test_of_a_long_array_some_blocks_are_read():
    array = Counted((20_000, 5_000))
    suggestion = suggest(array)
    assert array.read * 4 <= 8 << 20
    sampled = suggestion.details["sampled"]
    assert (sampled["elements"], sampled["all"]) == (array.read, 10**8)
    assert f"of {10**8:,} elements" in str(suggestion) or "all figures are theirs" in str(suggestion)


def test_steps_are_found_and_packing_by_them_loses_nothing():
    data = hundredths()
    suggestion = suggest(data)
    assert suggestion.details["known"]["grid"]["step"] == 0.01
    best = suggestion.recommended
    assert best.mark == "loses nothing" and "bit for bit" in best.reason
    zarr_recast.register()
    assert "encoding_for(…, max_abs_error=0.0, grid=True)  # loses nothing" in str(suggestion).splitlines()
    encoding = encoding_for(data, max_abs_error=best.max_abs_error, grid=True)
    chain = zarr_recast.Chain(encoding["dtype"], encoding["filters"], encoding["fill_value"])
    read = chain.decode(chain.encode(data))
    np.testing.assert_array_equal(read, data)


def test_the_line_of_a_bound_that_loses_nothing_runs_as_it_stands():
    """Neighbouring float32 here are 2^-15 apart, which is no step that anybody chose."""
    data = (289 + 15 * np.random.default_rng(7).random(4_000)).astype("f4")
    suggestion = suggest(data)
    assert suggestion.details["known"]["grid"] is None
    [line] = [line for line in str(suggestion).splitlines() if line.endswith("# loses nothing")]
    encoding = eval(line.replace("…", "data"), {"encoding_for": encoding_for, "data": data})
    chain = zarr_recast.Chain(encoding["dtype"], encoding["filters"], encoding["fill_value"])
    np.testing.assert_array_equal(chain.decode(chain.encode(data)), data)


def information_of_bits(data, axis, least, greatest):
    """The information of each of 24 bits, the highest first, from the definition."""
    codes = np.floor((data.astype("float64") - least) / (greatest - least) * 2**24)
    first = np.moveaxis(codes, axis, 0)[:-1].ravel()
    second = np.moveaxis(codes, axis, 0)[1:].ravel()
    valid = ~np.isnan(first) & ~np.isnan(second)
    first, second = (np.minimum(one[valid], 2**24 - 1).astype("int64") for one in (first, second))
    tests = 2 * 24 * data.ndim
    chance = np.log2(2 * tests / 0.01) / first.size
    found = []
    for bit in reversed(range(24)):
        a, b = first >> bit & 1, second >> bit & 1
        joint = np.bincount(2 * a + b, minlength=4).reshape(2, 2) / first.size
        expected = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        seen = joint > 0
        total = (joint[seen] * np.log2(joint[seen] / expected[seen])).sum()
        found.append(total if total >= chance else 0.0)
    return found


@pytest.mark.parametrize("noise", [0.5, 0.1, 0.02])
def test_the_information_per_bit_is_that_of_the_definition(noise):
    data = field(noise)
    information = suggest(data).details["information"]
    assert not information["only_unequal"]
    expected = information_of_bits(data, information["axis"], *information["range"])
    np.testing.assert_allclose(information["bits"], expected, rtol=0, atol=1e-9)
    assert information["bits"][0] > 0.1


def test_a_suggestion_prints_as_the_commands_table_and_has_a_curve():
    xr = pytest.importorskip("xarray")
    suggestion = suggest(xr.DataArray(field(), dims=("y", "x"), name="t2m"))
    assert isinstance(suggestion, Suggestion)
    lines = str(suggestion).splitlines()
    assert lines[0] == "array          t2m, float32 [200, 300]" or lines[0].split()[:2] == ["array", "t2m,"]
    assert any("error/range" in line and "information" in line for line in lines)
    assert sum("99.9 %" in line for line in lines) >= 2
    page = suggestion._repr_html_()
    # Sizes, and information of each bit.
    assert page.count("<svg ") == 2 and page.count("<td>99.9 %</td>") == 1


def test_a_dataset_has_a_line_for_each_of_its_arrays():
    xr = pytest.importorskip("xarray")
    data = field()
    ds = xr.Dataset({"t": (("y", "x"), data), "wind": (("y", "x"), hundredths()), "n": ("x", np.arange(300))},
                    {"x": np.arange(300.0)})  # fmt: skip
    suggestions = suggest(ds)
    assert isinstance(suggestions, Suggestions) and list(suggestions) == ["t", "wind"]
    t, wind = str(suggestions).splitlines()
    assert t.startswith("t     max_abs_error=") and "99.9 %" in t
    assert wind.startswith("wind  max_abs_error=0.0: loses nothing")
    assert suggestions._repr_html_().count("<svg ") == 4
    tree = xr.DataTree.from_dict({"/": ds[["t"]], "/deep": ds[["wind"]]})
    assert list(suggest(tree)) == ["t", "deep/wind"]


def test_an_array_that_would_raise_alone_is_listed_with_the_reason():
    xr = pytest.importorskip("xarray")
    data = field()
    infinite = np.where(data > 295, np.inf, data)
    ds = xr.Dataset({"t": (("y", "x"), infinite), "wind": (("y", "x"), hundredths())})
    suggestions = suggest(ds)
    assert list(suggestions) == ["wind"] and list(suggestions.errors) == ["t"]
    with pytest.raises(ValueError, match="Infinity") as alone:
        suggest(ds.t)
    assert suggestions.errors["t"] == str(alone.value)
    wind, t = str(suggestions).splitlines()
    assert wind.startswith("wind  max_abs_error=") and t.startswith("t     nothing to suggest: t: element [")
    assert suggestions._repr_html_().count("<p>t: nothing to suggest: ") == 1
    kept = suggest(ds, infinity=True)
    assert sorted(kept) == ["t", "wind"] and not kept.errors
    # What is wrong with the call is no array's error.
    with pytest.raises(ValueError, match="^compressor is \"zap\": .*zstd"):
        suggest(ds, compressor="zap")


def test_a_damaged_array_is_listed_and_the_others_are_suggested(tmp_path):
    group = zarr.create_group(tmp_path / "g.zarr")
    for name in ["a", "b"]:
        array = group.create_array(name, shape=(200, 300), dtype="float32", chunks=(50, 300), fill_value=np.nan)
        array[...] = field()
    (tmp_path / "g.zarr/a/c/1/0").write_bytes(b"damaged")
    suggestions = suggest(group)
    assert list(suggestions) == ["b"] and list(suggestions.errors) == ["a"]
    assert suggestions.errors["a"]


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (np.where(np.isnan(field()), np.float32(-9999), field()), "missing=-9999"),
        (np.where(np.arange(60_000) == 7, np.float32(4e4), field().ravel()), "src_min and src_max"),
    ],
)
def test_notes_name_the_parameters_of_python(data, names):
    suggestion = suggest(data)
    for text in [" ".join(suggestion.notes), str(suggestion), suggestion._repr_html_()]:
        assert names in text and "--" not in text


def test_missing_values_count_nowhere():
    data = field()
    named = np.where(np.isnan(data), np.float32(-9999), data)
    assert members(suggest(named, missing=-9999))[0]["bits"] == members(suggest(data))[0]["bits"]
    masked = np.ma.masked_invalid(data)
    assert suggest(masked).details["known"]["range"] == suggest(data).details["known"]["range"]
    assert any("-9999" in note for note in suggest(named).notes)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (np.zeros((0, 3), "float32"), "no elements"),
        (np.full(40, np.nan), "missing"),
        (np.float32(3.25), "all values are equal"),
        (np.full(40, 7.5), "all values are equal"),
        (np.arange(40), "needs no bound"),
    ],
)
def test_arrays_that_need_no_bound_are_told_so_in_a_sentence(data, sentence):
    suggestion = suggest(data)
    assert any(sentence in note for note in suggestion.notes), suggestion.notes
    assert sentence in str(suggestion)


@pytest.mark.parametrize(
    ("data", "options", "error", "match"),
    [
        (np.array([1, np.inf]), {}, ValueError, "Infinity.* infinity"),
        (np.array(["a"]), {}, TypeError, "U1"),
        (np.array([1j]), {}, TypeError, "complex|c16"),
        (np.array([None, 1]), {}, TypeError, "object|O"),
        (np.array([1.0]), {"compressor": "zap"}, ValueError, "^compressor .*zap.*zstd"),
        (np.array([1.0]), {"compressor": "zstd:40"}, ValueError, "^compressor .*zstd:40.* 22"),
        (np.array([1.0]), {"readers": "word"}, ValueError, "^readers .*word.*gdal"),
        (np.array([1.0]), {"missing": [[]]}, TypeError, "missing"),
    ],
)
def test_what_cannot_be_suggested_is_an_error_in_pythons_words(data, options, error, match):
    with pytest.raises(error, match=match) as caught:
        suggest(data, **options)
    assert "--" not in str(caught.value)
    if "Infinity" in str(caught.value):
        assert suggest(data, infinity=True).rows


def test_chunks_of_unknown_sizes_are_an_error():
    da = pytest.importorskip("dask.array")
    unknown = da.from_array(np.arange(10.0), chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        suggest(unknown[unknown > 3])


def test_a_field_decoded_from_grib_gets_the_bounds_of_the_field_itself(tmp_path):
    # GRIB's simple packing: (reference + code * 2^e) / 10^d.
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(0, 0.05, (181, 360)), axis=1)
    temperature = 280 + 10 * np.sin(np.linspace(0, 6, 181))[:, None] + walk
    step = 2.0 ** np.ceil(np.log2(np.ptp(temperature) / (2**16 - 1)))
    least = float(np.float32(temperature.min()))
    decoded = (least + np.rint((temperature - least) / step) * step).astype(np.float32)
    marks = [
        {row.mark: row.max_abs_error for row in suggest(one).rows if row.mark}
        for one in (temperature.astype("float32"), decoded)
    ]
    assert marks[0]["99 %"] == marks[1]["99 %"]
    assert marks[0]["99.9 %"] == marks[1]["99.9 %"]
    array = stored(tmp_path / "grib.zarr", decoded, decoded.shape)
    report = zarr_recast.pack(array, tmp_path / "packed.zarr", max_abs_error=0, grid=True)
    assert (report.data_type, report.error["max"]) == ("int16", 0)
