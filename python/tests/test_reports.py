"""What reports print, and how chains compare."""

import pickle

import numpy as np
import pytest
from conftest import VALUES

from zarr_recast import Chain, compare, pack, suggest, verify

zarr = pytest.importorskip("zarr", minversion="3.3.0")


def text_of(report):
    """The text of a report, which one can paste into a mail."""
    text = repr(report)
    assert repr(pickle.loads(pickle.dumps(report))) == text
    lines = text.splitlines()
    assert 2 <= len(lines) <= 10, text
    # print(report) has all.
    shown = lines[:-1] if "more lines, as in details" in lines[-1] else lines
    whole = str(report).splitlines()
    assert whole[: len(shown)] == shown and (len(shown) < len(lines) or len(whole) == len(shown))
    # Flags are the command's.
    assert "--" not in text, text
    assert report._repr_html_().count("<t") >= 2 or "<pre>" in report._repr_html_()
    return text


def test_reports_print_their_numbers(source, tmp_path):
    target = tmp_path / "out.zarr"
    text = text_of(pack(source, target, max_abs_error=0.01))
    for expected in ["packed", str(target), "float32 -> ", "max error", "60"]:
        assert expected in text, text
    text = text_of(compare(source, target))
    assert f"{target} compared with {source}" in text and "max error" in text, text
    text = text_of(verify(source, target, atol=0.01))
    assert text.startswith(f"passed: {target}\n") and "max error" in text, text
    report = verify(source, target, atol=1e-9, rtol=0)
    text = text_of(report)
    assert text.startswith(f"failed: {report.failure}\n") and "atol=1e-9" in text, text
    assert "&lt;" not in report._repr_html_() and "<table>" in report._repr_html_()


def test_reports_of_groups_print_a_line_for_each_array_and_not_more_than_ten(tmp_path):
    group = zarr.create_group(tmp_path / "in.zarr")
    for index in range(14):
        group.create_array(f"a{index:02}", data=VALUES)
    report = pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=0.01)
    text = text_of(report)
    assert "14 packed" in text and "a00" in text and "more lines, as in details" in text, text
    assert "max error" in text_of(report.packed["a00"])
    text = text_of(compare(tmp_path / "in.zarr", tmp_path / "out.zarr"))
    assert "14 compared" in text, text
    text = text_of(verify(tmp_path / "in.zarr", tmp_path / "out.zarr"))
    assert text.startswith("passed: "), text


def test_chains_compare_by_value():
    codecs = [{"name": "cast_value", "configuration": {"data_type": "int16"}}]
    chain = Chain("float32", codecs, np.float32(1))
    # However the codecs are written.
    same = Chain("<f4", '[{"configuration": {"data_type": "int16"}, "name": "cast_value"}]', 1.0)
    assert chain == same and hash(chain) == hash(same)
    assert chain == pickle.loads(pickle.dumps(chain))
    assert len({chain, same}) == 1
    for other in [
        Chain("float64", codecs, 1),
        Chain("float32", codecs, 2),
        Chain("float32", codecs),
        Chain("float32", codecs, 1, fill_check="open"),
        Chain("float32", codecs, 1, float_overflow="infinity"),
        Chain("float32", [], 1),
        codecs,
        None,
    ]:
        assert chain != other


def test_names_of_others_reach_no_terminal_as_they_are(tmp_path):
    name = "ev\x1b[31m\nil"
    group = zarr.create_group(tmp_path / "in.zarr")
    group.create_array(name, data=VALUES)
    pack(tmp_path / "in.zarr", tmp_path / "out.zarr", max_abs_error=0.1)
    report = verify(tmp_path / "in.zarr", tmp_path / "out.zarr", atol=0, rtol=0)
    suggested = suggest(tmp_path / "in.zarr")
    for text in [repr(report), report.failure, report._repr_html_(), str(suggested), suggested._repr_html_()]:
        assert "\x1b" not in text and "31m\nil" not in text and "[31m" in text, text
