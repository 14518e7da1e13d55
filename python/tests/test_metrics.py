"""The metrics of `compare`, judged by NumPy: errors, correlation, gradients, and DSSIM as ldcpy defines it."""

import numpy as np
import pytest

from zarr_recast import compare

zarr = pytest.importorskip("zarr", minversion="3.3.0")


def field(shape, seed):
    """A smooth field with some noise."""
    random = np.random.default_rng(seed)
    axes = np.meshgrid(*(np.arange(extent) / 7 for extent in shape), indexing="ij")
    return sum(np.sin(axis + number) for number, axis in enumerate(axes)) + random.normal(0, 0.05, shape)


def measured(folder, a, b, chunks=(None, None), fill_value=0, **attributes):
    """What `compare` finds, and its text."""
    for name, values, chunk in zip(["a", "b"], [a, b], chunks, strict=True):
        array = zarr.create_array(
            folder / name, data=values, chunks=chunk or values.shape, fill_value=fill_value, overwrite=True
        )
        array.attrs.update(attributes)
    return compare(folder / "a", folder / "b", metrics=True)


def blurred(numbers):
    """Weighted by a Gaussian of width 1.5 that reaches 5 elements, away from the edges."""
    weights = np.exp(-0.5 * (np.arange(-5, 6) / 1.5) ** 2)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, (11, 11))
    return np.einsum("abij,i,j->ab", windows, weights, weights)


def dssim(a, b):
    """DSSIM (Baker, Pinard and Hammerling 2024) of two fields, with the windows that are whole; NaN is left out."""
    least, greatest = min(np.nanmin(a), np.nanmin(b)), max(np.nanmax(a), np.nanmax(b))
    x, y = (np.round((field - least) / (greatest - least) * 255) / 255 for field in (a, b))
    valid = ~(np.isnan(x) | np.isnan(y))
    weight = blurred(valid.astype(float))

    def mean(numbers):
        return blurred(np.where(valid, numbers, 0)) / weight

    mean_x, mean_y = mean(x), mean(y)
    variance_x, variance_y = mean(x * x) - mean_x**2, mean(y * y) - mean_y**2
    covariance = mean(x * y) - mean_x * mean_y
    small = 1e-8
    similarity = (2 * mean_x * mean_y + small) / (mean_x**2 + mean_y**2 + small)
    similarity *= (2 * covariance + small) / (variance_x + variance_y + small)
    return similarity[valid[5:-5, 5:-5]].mean()


@pytest.mark.parametrize("data_type", ["float32", "float64"])
@pytest.mark.parametrize("chunks", [((2, 10, 50), (1, 40, 50)), ((5, 40, 7), (2, 13, 20)), (None, None)])
def test_metrics_are_those_of_numpy_whatever_the_chunks_are(tmp_path, data_type, chunks):
    a = field((5, 40, 50), 1).astype(data_type)
    b = (a + np.random.default_rng(2).uniform(-0.02, 0.03, a.shape)).astype(data_type)
    # 0 is the fill value, and a number like any other.
    a[0, :7], b[0, :7] = 0, 0
    # Some are NaN in both, as land is.
    a[:, 20:25, 11], b[:, 20:25, 11] = np.nan, np.nan
    report = measured(tmp_path, a, b, chunks)
    x, y = a.astype("float64"), b.astype("float64")
    is_value = ~np.isnan(x)
    errors = (y - x)[is_value]
    found, error = report.details["metrics"], report.details["error"]
    rmse = np.sqrt(np.mean(errors**2))
    extent = np.nanmax(x) - np.nanmin(x)
    assert error["mean"] == pytest.approx(np.mean(np.abs(errors)), rel=1e-12)
    assert error["bias"] == pytest.approx(np.mean(errors), rel=1e-12)
    assert error["rmse"] == pytest.approx(rmse, rel=1e-12)
    assert error["psnr"] == pytest.approx(20 * np.log10(extent / rmse), rel=1e-12)
    assert found["correlation"] == pytest.approx(np.corrcoef(x[is_value], y[is_value])[0, 1], rel=1e-12)
    assert [one["dimension"] for one in found["gradients"]] == [0, 1, 2]
    for axis, one in enumerate(found["gradients"]):
        assert one["max"] == pytest.approx(np.nanmax(np.abs(np.diff(y - x, axis=axis))), rel=1e-12)
    expected = [dssim(*fields) for fields in zip(x, y, strict=True)]
    assert found["dssim"]["fields"] == 5 and found["dssim"]["at"] == [int(np.argmin(expected)), 0, 0]
    assert found["dssim"]["least"] == pytest.approx(min(expected), rel=1e-9)
    assert found["dssim"]["mean"] == pytest.approx(np.mean(expected), rel=1e-9)
    for label in ["mean error", "bias", "RMSE", "PSNR", "correlation", "gradient", "DSSIM"]:
        assert label in report._repr_html_(), report


def test_missing_values_and_what_has_no_metrics(tmp_path):
    a = field((12, 30), 3).astype("float32")
    b = a + np.float32(0.25)
    missing = a < -1
    a[missing], b[missing] = -9999, -9999
    found = measured(tmp_path, a, b, missing_value=-9999.0).details["metrics"]
    assert found["correlation"] == pytest.approx(1, abs=1e-12)
    assert all(one["max"] < 1e-6 for one in found["gradients"]), found
    # One dimension has no fields, and values that are all equal have no correlation.
    report = measured(tmp_path, np.ones(50), np.full(50, 1.5))
    found = report.details["metrics"]
    assert found["correlation"] is None and found["dssim"] is None and found["no_dssim"], found
    assert found["gradients"] == [{"dimension": 0, "name": None, "max": 0.0}]
    assert "none: all values of one are equal" in str(report) and "DSSIM" in str(report), report
    # Equal arrays, and integers of 64 bits that float64 does not have.
    wide = np.array([[2**60, 2**60 + 1], [0, 5]])
    report = measured(tmp_path, wide, wide + np.array([[0, 1], [0, 0]]))
    assert [one["max"] for one in report.details["metrics"]["gradients"]] == [1, 1]
    small = measured(tmp_path, a, a).details["metrics"]
    assert small["correlation"] == 1 and small["dssim"]["least"] == pytest.approx(1, abs=1e-12)


def test_groups_have_metrics_of_each_array(tmp_path):
    for name in ["a", "b"]:
        group = zarr.create_group(tmp_path / name)
        group.create_array("sst", data=field((20, 30), 4), dimension_names=["lat", "lon"])
    report = compare(tmp_path / "a", tmp_path / "b", metrics=True)
    found = report.details["arrays"][0]["report"]["metrics"]
    assert [one["name"] for one in found["gradients"]] == ["lat", "lon"]
    assert "RMSE 0, correlation 1.0000000, gradient 0, DSSIM 1.0000000" in str(report), report
    assert "metrics" not in compare(tmp_path / "a" / "sst", tmp_path / "b" / "sst").details
