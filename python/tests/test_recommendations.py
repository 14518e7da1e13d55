"""Packing as compression-recommendations recommends, judged by compression-requirement-checks."""

import importlib.resources

import numpy as np
import pytest

from zarr_recast import compare, pack, register, suggest, verify

zarr = pytest.importorskip("zarr", minversion="3.3.0")
recommended = pytest.importorskip("compression_recommendations")
checks = pytest.importorskip("compression_requirement_checks")


# Classes are whole numbers, and are packed as such.
pytestmark = pytest.mark.filterwarnings("ignore:.*grid=False is for arrays that will grow")


@pytest.fixture(autouse=True)
def registered():
    register()


SINGLE, PRESSURE = "single", "pressure"
# The filters for names, and attributes that have such names.
NAMES = {
    "cf-short-name": "short_name",
    "grib-short-name": "GRIB_shortName",
    "cf-standard-name": "standard_name",
}


def smooth(shape, seed, noise=0.1):
    random = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.arange(extent) / 9 for extent in shape), indexing="ij")
    return sum(np.sin(axis + seed) for axis in axes) + noise * random.normal(size=shape)


def precipitation(shape, seed, scale):
    random = np.random.default_rng(seed)
    return np.where(random.random(shape) < 0.6, 0, random.gamma(0.5, scale, shape))


ABSOLUTE = ("max-pointwise-absolute-error-bound", "mean-absolute-error-bound")
SHAPE = (2, 36, 48)


def era5():
    """Twenty variables as ERA5 has them: name, level, values."""
    cover = np.clip(0.5 + 0.6 * smooth(SHAPE, 1, 0.4), 0, 1)
    ice = np.where(cover < 0.4, 0, 1e-5 * np.exp(smooth(SHAPE, 2, 1)))
    land = smooth(SHAPE, 3) > 0
    yield "t2m", SINGLE, 285 + 15 * smooth(SHAPE, 4)
    yield "d2m", SINGLE, 280 + 12 * smooth(SHAPE, 5)
    yield "sst", SINGLE, np.where(land, np.nan, 290 + 8 * smooth(SHAPE, 6))
    yield "msl", SINGLE, 101325 + 1500 * smooth(SHAPE, 7)
    yield "sp", SINGLE, 95000 + 5000 * smooth(SHAPE, 8)
    yield "u10", SINGLE, 6 * smooth(SHAPE, 9)
    yield "v10", SINGLE, 6 * smooth(SHAPE, 10)
    yield "tp", SINGLE, precipitation(SHAPE, 11, 1e-3)
    yield "tcc", SINGLE, cover
    yield "ssrd", SINGLE, np.maximum(0, 1e6 * smooth(SHAPE, 12))
    yield "siconc", SINGLE, np.where(land, np.nan, np.clip(smooth(SHAPE, 13), 0, 1))
    yield "slt", SINGLE, np.where(land, np.round(2 + smooth(SHAPE, 14, 0)), 0)
    yield "t", PRESSURE, 250 + 30 * smooth(SHAPE, 15)
    yield "u", PRESSURE, 20 * smooth(SHAPE, 16)
    yield "v", PRESSURE, 15 * smooth(SHAPE, 17)
    yield "w", PRESSURE, 0.3 * smooth(SHAPE, 18)
    yield "z", PRESSURE, 50000 + 4000 * smooth(SHAPE, 19)
    yield "q", PRESSURE, 1e-3 * np.exp(smooth(SHAPE, 20))
    yield "ciwc", PRESSURE, ice
    yield "cc", PRESSURE, cover


def adversarial():
    """The same names with values that are hard to keep."""
    random = np.random.default_rng(30)
    flat = random.random(SHAPE)

    def outlier(value):
        values = flat.copy()
        values[1, 3, 4] = value
        return values

    yield "tp", SINGLE, np.zeros(SHAPE)
    yield "t2m", SINGLE, np.full(SHAPE, 280.0)
    yield "tcc", SINGLE, np.where(flat < 0.3, 0, np.where(flat > 0.7, 1, flat))
    yield "cp", SINGLE, np.where(flat < 0.5, 0, 1e-40 * flat)
    yield "ssrd", SINGLE, outlier(1e12)
    yield "u10", SINGLE, outlier(-1e4)
    yield "sf", SINGLE, precipitation(SHAPE, 31, 1) * 10.0 ** random.integers(-20, 3, SHAPE)
    yield "sst", SINGLE, np.full(SHAPE, np.nan)
    yield "siconc", SINGLE, np.where(flat < 0.9, np.nan, flat > 0.95)
    yield "slt", SINGLE, np.where(flat < 0.5, 255, np.round(7 * flat))
    yield "lsm", SINGLE, np.where(flat < 0.5, 0.5, flat)
    yield "q", PRESSURE, np.where(flat < 0.1, 0, 10.0 ** (-12 * flat))
    yield "w", PRESSURE, np.where(flat < 0.5, -1, 1) * 10.0 ** (-8 * flat)
    yield "ciwc", PRESSURE, np.where(flat < 0.5, -0.0, 1e-42 * flat)
    yield "cc", PRESSURE, np.where(flat < 0.5, -1e-9, 1 + 1e-7)
    yield "z", PRESSURE, -1e5 * flat


def group_of(variables, path):
    group = zarr.create_group(path)
    level = np.array([500.0, 850.0], "float32")
    for name in ["isobaricInhPa", "height"]:
        array = group.create_array(name, data=level, dimension_names=[name])
        array.attrs.update({"units": "hPa", "positive": "down"} if name != "height" else {"axis": "T"})
    originals = {}
    for name, kind, values in variables:
        data_type = "uint8" if np.issubdtype(values.dtype, np.integer) else "float32"
        originals[name] = values.astype(data_type)
        first = "isobaricInhPa" if kind == PRESSURE else "time"
        array = group.create_array(
            f"{kind}/{name}",
            data=originals[name],
            chunks=(1, 36, 48),
            dimension_names=[first, "latitude", "longitude"],
        )
        array.attrs["long_name"] = name
    return originals


def requirements(name, kind):
    search = recommended.Recommendations.provide.search
    try:
        return search(markers={"cf-short-name": name, "level-kind": kind})
    except KeyError:
        return None


def judged(original, decoded, asked):
    """The requirements that are broken."""
    return [
        one.humanise()
        for one in asked
        if not checks.check_safety_requirement(original=original, reconstructed=decoded, requirement=one)
    ]


@pytest.mark.parametrize("variables", [era5, adversarial])
def test_the_checks_of_the_community_pass(tmp_path, variables):
    variables = list(variables())
    originals = group_of(variables, tmp_path / "in.zarr")
    report = pack(tmp_path / "in.zarr", tmp_path / "out.zarr", recommendations=True)
    out = zarr.open_group(tmp_path / "out.zarr")
    broken, advised = {}, 0
    for name, kind, _ in variables:
        asked = requirements(name, kind)
        path = f"{kind}/{name}"
        if asked is None:
            assert "nothing is recommended" in report.copied[path]
            continue
        advised += 1
        decoded = out[path][...]
        lost = judged(originals[name], decoded, asked)
        if lost:
            broken[path] = lost
        if path in report.packed:
            details = report.packed[path].details
            assert details["recommended_by"].startswith("compression-recommendations 0."), details
            assert all(one["is_kept"] for one in details["requirements"]), details
            recast = out[path].attrs["recast"]
            assert recast["recommended_by"] == details["recommended_by"]
            assert recast["requirements"] == details["requirements"]
    assert not broken, broken
    assert advised >= len(variables) - 2, report
    assert len(report.packed) >= advised - 4, report.copied


@pytest.mark.parametrize("factor", [1e-6, 3e-4, 3e-2])
@pytest.mark.parametrize("variables", [era5, adversarial])
def test_verify_and_compare_judge_as_the_checks_do(tmp_path, variables, factor):
    """Values with noise, of which some keep what is recommended and others do not."""
    variables = list(variables())
    originals = group_of(variables, tmp_path / "a.zarr")
    random = np.random.default_rng(7)
    noisy = [
        (name, kind, values.astype("float32") * (1 + factor * random.uniform(-1, 1, SHAPE)))
        for name, kind, values in variables
    ]
    others = group_of(noisy, tmp_path / "b.zarr")
    report = verify(tmp_path / "a.zarr", tmp_path / "b.zarr", recommendations=True)
    measured = compare(tmp_path / "a.zarr", tmp_path / "b.zarr", recommendations=True)
    arrays = {one["array"]: one["report"] for one in report.details["arrays"]}
    for one in measured.details["arrays"]:
        asked = arrays[one["array"]].get("requirements")
        assert one["report"].get("requirements") == asked, one
    kept = {}
    for name, kind, _ in variables:
        asked = requirements(name, kind)
        if asked is not None:
            found = arrays[f"{kind}/{name}"]
            told = all(one["is_kept"] for one in found["requirements"])
            kept[name] = told, not judged(originals[name], others[name], asked)
    assert {name: told for name, (told, _) in kept.items()} == {
        name: is_kept for name, (_, is_kept) in kept.items()
    }
    assert not report.passed
    assert len(kept) >= len(variables) - 2


def test_suggest_marks_what_the_community_recommends(tmp_path):
    group_of(era5(), tmp_path / "in.zarr")
    found = suggest(tmp_path / "in.zarr", recommendations=True)
    advised = {path for path, one in found.items() if "advice" in one.details}
    assert {"single/t2m", "single/tp", "pressure/z"} < advised
    assert len(advised) >= 18
    assert "max_abs_error=0.01: recommended" in str(found)
    assert found["single/t2m"].details["advice"]["by"].startswith("compression-recommendations 0.")
    assert "pack(…, max_mean_error=1e-05, limits=(0.0, None))" in str(found["single/tp"])


def test_every_recommendation_of_the_file_is_kept_for_a_random_field(tmp_path):
    """Each by its own short name, and by its kind of levels."""

    def names(filters):
        for one in filters:
            if one.kind == "any" or one.kind == "all":
                yield from names(one.filters)
            else:
                yield str(one.kind), str(one.value)

    def flat(needs):
        for one in needs:
            if one.kind == "all":
                yield from flat(one.requirements)
            else:
                yield one

    variables, asked = [], {}
    for number, one in enumerate(recommended.Recommendations.provide.recommendations):
        found = dict(names(one.filters))
        name = next(found[kind] for kind in NAMES if kind in found)
        attribute = next(attribute for kind, attribute in NAMES.items() if kind in found)
        kind = found["level-kind"]
        needs = list(flat(one.requirements))
        absolute = [need.value for need in needs if str(need.kind) in ABSOLUTE]
        # Values that are larger than their bounds, as real ones are, and smaller ones where all bounds are relative.
        values = np.abs(smooth(SHAPE, number)) * (300 * min(absolute, default=1e-5))
        limits = [need.maximum for need in needs if str(need.kind) == "data-limits"]
        if any(limits):
            values = values / values.max() * limits[0]
        if any(str(need.kind) == "lossless" for need in needs):
            values = np.round(values)
        variables.append((name, kind, attribute, values))
        asked[kind, name] = one.requirements
    assert len(asked) == len(variables), "names are not unique"
    originals = {}
    group = zarr.create_group(tmp_path / "in.zarr")
    for name, kind, attribute, values in variables:
        originals[kind, name] = values.astype("float32")
        array = group.create_array(f"{kind}/{name}", data=originals[kind, name])
        levels = "isobaricInhPa" if kind == PRESSURE else "surface"
        array.attrs.update({attribute: name, "GRIB_typeOfLevel": levels})
    report = pack(tmp_path / "in.zarr", tmp_path / "out.zarr", recommendations=True)
    out = zarr.open_group(tmp_path / "out.zarr")
    broken = {}
    for (kind, name), needs in asked.items():
        lost = judged(originals[kind, name], out[f"{kind}/{name}"][...], needs)
        if lost:
            broken[kind, name] = lost
    assert not broken, broken
    assert len(report.packed) == len(asked), report.copied


def test_recommendations_come_from_a_path_an_object_or_the_package(tmp_path):
    group_of([("t2m", SINGLE, 285 + 15 * smooth(SHAPE, 4))], tmp_path / "in.zarr")
    file = importlib.resources.files("compression_recommendations") / "recommendations.yaml"
    text = file.read_text()
    (tmp_path / "own.yaml").write_text(text)
    for number, given in enumerate([tmp_path / "own.yaml", recommended.Recommendations.provide]):
        report = pack(tmp_path / "in.zarr", tmp_path / f"{number}.zarr", recommendations=given)
        assert "compression-recommendations 0.1.0-b1" in str(report.packed["single/t2m"])
    with pytest.raises(TypeError, match="True, a path"):
        pack(tmp_path / "in.zarr", tmp_path / "3.zarr", recommendations=3)
    own = pack(
        tmp_path / "in.zarr",
        tmp_path / "4.zarr",
        recommendations=True,
        max_abs_error={"single/t2m": 0.5},
    )
    assert "recommended_by" not in own.packed["single/t2m"].details
    assert own.packed["single/t2m"].details["error"]["bound"] == 0.5
