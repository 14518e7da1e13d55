"""Means, limits, signs and bits in `verify`, `compare`, `suggest`, `encoding_for` and `round_to`, judged by NumPy."""

import numpy as np
import pytest

import zarr_recast
from zarr_recast import compare, encoding_for, pack, round_to, suggest, verify

zarr = pytest.importorskip("zarr", minversion="3.3.0")

RECOMMENDATIONS = """
recommendations:
- filters: [{kind: cf-short-name, value: tp}, {kind: level-kind, value: single}]
  requirements:
  - {kind: mean-absolute-error-bound, value: 0.01}
  - {kind: data-limits, minimum: 0}
- filters: [{kind: cf-short-name, value: t}, {kind: level-kind, value: pressure}]
  requirements: [{kind: max-pointwise-absolute-error-bound, value: 0.5}]
version: 1.0.0
metadata: {doi: 10.1/x}
"""
SOURCE = "compression-recommendations 1.0.0, doi 10.1/x"


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


@pytest.fixture
def recommendations(tmp_path):
    path = tmp_path / "recommendations.yaml"
    path.write_text(RECOMMENDATIONS)
    return path


def rain():
    random = np.random.default_rng(4)
    return np.where(random.random(6000) < 0.6, 0, random.gamma(0.5, 3, 6000)).astype("f4")


def waves():
    return (280 + 9 * np.sin(np.arange(6000) / 40)).astype("f4")


def kept(x, y, kind, value=None):
    """Whether decoded values keep a goal."""
    x, y = x.astype("f8"), y.astype("f8")
    error = np.abs(y - x)
    extent = x.max() - x.min()
    match kind:
        case "max_abs_error":
            return error.max() <= value
        case "error_over_range":
            return error.max() <= value * extent
        case "max_rel_error":
            return (error <= value * np.abs(x)).all()
        case "max_mean_error":
            return error.mean() <= value
        case "mean_error_over_range":
            return error.mean() <= value * extent
        case "max_mean_rel_error":
            return error.sum() <= value * np.abs(x).sum() and not y[x == 0].any()
        case "limits":
            least, greatest = (end if end is not None else other for end, other in zip(value, (-np.inf, np.inf), strict=True))  # fmt: skip
            inside = (x >= least) & (x <= greatest)
            return ((y >= least) & (y <= greatest))[inside].all()
        case "keep_sign":
            return (np.sign(y) * np.sign(x) >= 0).all() and not y[x == 0].any()
        case "lossless":
            return x.tobytes() == y.tobytes()


GOALS = {
    "max_abs_error": 0.3,
    "error_over_range": 0.01,
    "max_rel_error": 0.02,
    "max_mean_error": 0.1,
    "mean_error_over_range": 0.004,
    "max_mean_rel_error": 0.05,
    "limits": (0, 8),
    "keep_sign": True,
    "lossless": True,
}


def store(path, values, **attributes):
    array = zarr.create_array(path, data=values)
    array.attrs.update(attributes)
    return path


def changes(values):
    """The values, and others that break some goals."""
    random = np.random.default_rng(5)
    yield values.copy()
    yield values + np.float32(0.05) * (values > 0)
    yield values * random.uniform(0.97, 1.03, values.size).astype("f4")
    yield np.where(values == 0, np.float32(1e-6), values)
    yield np.where(values > 4, values + np.float32(0.25), values)
    yield np.where(values > 12, -values, values)
    yield values + np.float32(0.5) * (values > 0)


def test_verify_and_compare_judge_each_requirement(tmp_path):
    values = rain()
    a = store(tmp_path / "a.zarr", values)
    broken = set()
    for number, decoded in enumerate(changes(values)):
        b = store(tmp_path / f"{number}.zarr", decoded)
        expected = {goal: kept(values, decoded, goal, value) for goal, value in GOALS.items()}
        broken |= {goal for goal, is_kept in expected.items() if not is_kept}
        for goal, value in GOALS.items():
            report = verify(a, b, **{goal: value})
            assert report.passed == expected[goal], (number, goal, report)
            assert len(report.details["requirements"]) == 1
        all_together = compare(a, b, **GOALS)
        found = {one["kind"]: one["is_kept"] for one in all_together.details["requirements"]}
        assert found == {goal.replace("_", "-"): is_kept for goal, is_kept in expected.items()}, (
            number
        )
        assert verify(a, b, **GOALS).passed == all(expected.values())
    assert broken == {*GOALS}


def test_reports_say_the_requirement_its_value_and_what_was_reached(tmp_path):
    values = rain()
    a = store(tmp_path / "a.zarr", values)
    b = store(tmp_path / "b.zarr", values + np.float32(0.125))
    report = compare(a, b, max_mean_error=0.25, limits=(0, None), keep_sign=True)
    for shown in (repr(report), report._repr_html_()):
        assert "mean error 0.1250, of 0.25" in shown, shown
        assert "within 0.0 and more" in shown, shown
        assert "signs and zeros: not kept" in shown, shown
    failed = verify(a, b, max_mean_error=0.1)
    assert failed.failure.endswith("mean error 0.1250, of 0.1: not kept"), failed
    assert not failed.passed
    assert "correlation" in str(verify(a, b, max_mean_error=0.25, metrics=True))


def test_dictionaries_are_for_arrays_of_groups(tmp_path):
    for name, off in (("a", 0), ("b", 0.125)):
        group = zarr.create_group(tmp_path / name)
        for path in ("x", "deep/y", "deep/z"):
            group.create_array(path, data=np.arange(9, dtype="f4") + np.float32(off))
    a, b = tmp_path / "a", tmp_path / "b"
    report = verify(
        a, b, max_mean_error=0.2, max_abs_error={"/deep/y/": 0.1}, keep_sign={"x": True}
    )
    asked = {
        one["array"]: [r["kind"] for r in one["report"]["requirements"]]
        for one in report.details["arrays"]
    }
    assert asked == {
        "deep/y": ["max-abs-error"],
        "deep/z": ["max-mean-error"],
        "x": ["max-mean-error", "keep-sign"],
    }
    assert "2 of 3 arrays fail: deep/y, x;" in report.failure, report.failure
    assert "deep/z" in str(report) and "mean error 0.1250, of 0.2" in str(report)
    with pytest.raises(ValueError, match="the rule for deep/w: no such array; .*deep/y"):
        verify(a, b, lossless={"deep/w": True})
    with pytest.raises(ValueError, match="is not a group"):
        verify(a / "x", b / "x", lossless={"x": True})
    with pytest.raises(ValueError, match="atol and rtol are one bound"):
        verify(a, b, atol=0.1, max_mean_error=0.1)
    with pytest.raises(ValueError, match="max_mean_error is -1"):
        verify(a, b, max_mean_error=-1)
    with pytest.raises(ValueError, match="max_mean_error is -1"):
        compare(a, b, max_mean_error={"x": -1})


def group_of(path):
    group = zarr.create_group(path)
    level = group.create_array("plev", data=np.array([500.0]), dimension_names=["plev"])
    level.attrs.update(units="hPa", positive="down")
    group.create_array("tp", data=rain(), dimension_names=["cell"])
    group.create_array("other", data=rain(), dimension_names=["cell"])
    group.create_array("deep/t", data=waves()[None], dimension_names=["plev", "cell"])
    return path


def test_a_packed_group_keeps_what_is_recommended_and_what_tables_say(tmp_path, recommendations):
    a, b = group_of(tmp_path / "a.zarr"), tmp_path / "b.zarr"
    report = pack(a, b, recommendations=recommendations, max_rel_error={"other": 0.01})
    assert {*report.packed} == {"tp", "deep/t", "other"}, report
    assert report.packed["tp"].details["recommended_by"] == SOURCE
    for shown in (repr(report.packed["tp"]), report.packed["tp"]._repr_html_()):
        assert "of 0.01" in shown and "within 0.0 and more" in shown and SOURCE in shown, shown
    judged = verify(a, b, recommendations=recommendations, max_rel_error={"other": 0.01})
    assert judged.passed, judged
    arrays = {one["array"]: one.get("report") for one in judged.details["arrays"]}
    assert [one["kind"] for one in arrays["tp"]["requirements"]] == ["max-mean-error", "limits"]
    assert [one["kind"] for one in arrays["other"]["requirements"]] == ["max-rel-error"]
    assert verify(a, b).passed
    for shown in (repr(report), report._repr_html_(), repr(judged), judged._repr_html_()):
        assert "of 0.01; within 0.0 and more" in shown, shown
        assert f"for 2 arrays, by {SOURCE}" in shown, shown
    # A table holds in place of the recommendation, also where it asks for less.
    loose = pack(
        a, tmp_path / "c.zarr", recommendations=recommendations, max_abs_error={"deep/t": 2}
    )
    assert loose.packed["deep/t"].error["max"] > 0.5
    assert "recommended_by" not in loose.packed["deep/t"].details
    failed = verify(a, tmp_path / "c.zarr", recommendations=recommendations)
    assert not failed.passed and "deep/t" in failed.failure
    assert compare(a, tmp_path / "c.zarr", recommendations=recommendations).a == str(a)


def test_suggest_marks_what_is_recommended(tmp_path, recommendations):
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset(
        {"tp": ("cell", rain()), "t": (("plev", "cell"), waves()[None]), "other": ("cell", rain())},
        {"plev": ("plev", [500.0], {"units": "hPa", "positive": "down"})},
    )
    expected = {
        "tp": [("max-mean-error", 0.01), ("limits", [0.0, "none"])],
        "t": [("max-abs-error", 0.5)],
    }
    group = group_of(tmp_path / "a.zarr")
    tree = xarray.DataTree.from_dict({"/": dataset[["tp", "other"]], "/deep": dataset[["t"]]})
    for found in (
        suggest(dataset, recommendations=recommendations),
        suggest(tree, recommendations=recommendations),
        suggest(group, recommendations=recommendations),
        {name: suggest(dataset[name], recommendations=recommendations) for name in dataset},
        {name: suggest(group / path, recommendations=recommendations) for name, path in
         (("tp", "tp"), ("other", "other"))},
    ):  # fmt: skip
        for path, one in found.items():
            name = path.rpartition("/")[2]
            if name == "other":
                assert one.notes[0] == "nothing is recommended for it"
                assert "advice" not in one.details
                continue
            advice = one.details["advice"]
            assert advice["by"] == SOURCE
            assert [(need["kind"], need["value"]) for need in advice["requirements"]] == expected[
                name
            ]
            assert one.recommended.mark == "recommended"
            assert one.recommended.reason.startswith(f"by {SOURCE}: max_")
            for shown in (str(one), one._repr_html_()):
                assert "recommended" in shown
    tp = str(suggest(dataset["tp"], recommendations=recommendations))
    call = f"pack(…, max_mean_error=0.01, limits=(0.0, None))  # recommended by {SOURCE}"
    assert call in tp.splitlines(), tp
    # A level of one value is a coordinate without a dimension.
    level = dataset.isel(plev=0)
    for one in (
        suggest(level, recommendations=recommendations)["t"],
        suggest(level["t"], recommendations=recommendations),
    ):
        assert one.details["advice"]["requirements"][0]["value"] == 0.5
    # Without a name and without dimensions, nothing is.
    assert suggest(rain(), recommendations=recommendations).notes == (
        "nothing is recommended for it",
    )
    assert "advice" not in suggest(dataset["tp"]).details


def encoded(values, **options):
    """The values as they come back from an array with the encoding for them."""
    array = zarr.create_array({}, shape=values.shape, **encoding_for(values, **options))
    array[...] = values
    return array[...]


MEANS = ("max_mean_error", "mean_error_over_range", "max_mean_rel_error")


@pytest.mark.parametrize("values", [rain(), waves(), rain().astype("f8")])
def test_values_in_memory_keep_means(values, tmp_path):
    for goal, bound in zip(
        MEANS, [1e-3, 1e-4, 1e-5] if values.min() > 100 else [0.01, 5e-4, 5e-3], strict=True
    ):
        decoded = encoded(values, **{goal: bound})
        assert kept(values, decoded, goal, bound), goal
        # Not much finer than it must be.
        assert not kept(values, decoded, goal, bound / 2), goal
        rounded = round_to(values, **{goal: bound})
        assert rounded.dtype == values.dtype
        assert kept(values, rounded, goal, bound), goal
        # Steps are powers of two.
        assert not kept(values, rounded, goal, bound / 5), goal
        # What `pack` writes for readers without codecs.
        array = store(tmp_path / f"{goal}.zarr", values)
        pack(array, tmp_path / f"{goal}-plain.zarr", readers="any", **{goal: bound})
        assert (zarr.open_array(tmp_path / f"{goal}-plain.zarr")[...] == rounded).all()


def test_several_goals_hold_together():
    values = np.concatenate([rain(), -rain()])
    goals = {"max_abs_error": 0.5, "max_mean_error": 0.02, "limits": (-3, 3), "keep_sign": True}
    for decoded in (encoded(values, **goals), round_to(values, **goals)):
        for goal, value in goals.items():
            assert kept(values, decoded, goal, value), goal
    assert round_to(values[:0], max_mean_error=0.1).dtype == values.dtype
    plain = round_to(values, error_over_range=0.01)
    assert kept(values, plain, "error_over_range", 0.01)


def test_variables_of_datasets_have_means_of_their_own():
    xarray = pytest.importorskip("xarray")
    dataset = xarray.Dataset(
        {"tp": ("cell", rain()), "t": ("cell", waves()), "i": ("cell", np.arange(6000))}
    )
    encoding = encoding_for(dataset, mean_error_over_range=1e-3, lossless={"i": True})
    stored = zarr.create_group({})
    for name, one in encoding.items():
        array = stored.create_array(name, shape=6000, **one)
        array[...] = dataset[name].values
        goal = ("lossless", None) if name == "i" else ("mean_error_over_range", 1e-3)
        assert kept(dataset[name].values, array[...], *goal), name
    assert {*encoding} == {"tp", "t", "i"}
    rounded = round_to(dataset, max_mean_error={"tp": 0.01})
    assert kept(rain(), rounded["tp"].values, "max_mean_error", 0.01)
    assert rounded["t"].identical(dataset["t"])


def test_masked_values_count_in_no_mean():
    values = np.ma.masked_greater(rain(), 5).filled(np.nan)
    masked = np.ma.masked_invalid(values)
    masked.data[masked.mask] = 1e6
    rounded = round_to(masked, max_mean_error=0.01)
    assert (rounded.mask == masked.mask).all()
    assert kept(masked.compressed(), rounded.compressed(), "max_mean_error", 0.01)


def test_lossless_values_come_back_bit_for_bit():
    tenths = (np.arange(3000) % 700 / np.float32(10)).astype("f4")
    decoded = encoded(tenths, lossless=True, grid=True)
    assert decoded.tobytes() == tenths.tobytes()
    # Where no codecs keep every bit, plain numbers do.
    zeros = np.array([1.0, -0.0, 2.5, np.inf], "f4")
    assert encoded(zeros, lossless=True, grid=True).tobytes() == zeros.tobytes()
    with pytest.raises(ValueError, match="lossless|infinity"):
        encoding_for(zeros, lossless=True, grid=True, data_type="int16")


def test_means_of_values_that_are_not_known_are_errors():
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(waves(), chunks=1000)
    for goal in MEANS:
        for function, arguments in (
            (encoding_for, {"obj": lazy}),
            (encoding_for, {"dtype": "f4", "range": (0, 9)}),
            (round_to, {"obj": lazy}),
        ):
            with pytest.raises(
                ValueError, match=f"{goal} bounds a mean, which is not known .*in memory"
            ):
                function(**arguments, **{goal: 0.01})
    for goal in ({"limits": (0, 300)}, {"error_over_range": 0.1}):
        with pytest.raises(ValueError, match=f"{next(iter(goal))} needs all values"):
            round_to(lazy, **goal, max_abs_error=0.1)
    # Bounds of each element need no more than its block.
    encoding = encoding_for(lazy, max_abs_error=0.01, limits=(271, None), keep_sign=True)
    array = zarr.create_array({}, shape=6000, **encoding)
    array[...] = waves()
    assert kept(waves(), array[...], "max_abs_error", 0.01)
    assert kept(waves(), array[...], "limits", (271, None))
