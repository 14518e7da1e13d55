"""docs/upstream/zarr-extensions.md: its figures and vectors, computed again."""

import re
from pathlib import Path

import numpy as np
import pytest

import zarr_recast

pytest.importorskip("zarr", minversion="3.3.0")
PAGE = Path(__file__).parents[2] / "docs" / "upstream" / "zarr-extensions.md"


def rows():
    table = PAGE.read_text().partition("<!-- cf -->")[2].partition("<!-- end of cf -->")[0]
    row = r"\| ([\d.]+), ([\d.]+) \| (float\d+) \| (\d+) \| (\d+) \|"
    return [match.groups() for match in re.finditer(row, table)]


def test_the_table_of_64_has_rows():
    assert len(rows()) == 7


@pytest.mark.parametrize("row", rows(), ids=" ".join)
def test_codes_that_differ_from_cf(row):
    factor, offset, decoded, divided, ours = row
    codes = np.arange(-(2**15), 2**15).astype(np.int16)
    number = np.dtype(decoded).type
    shift = number(float(offset))
    by_cf = codes.astype(decoded) * number(float(factor)) + shift
    by_division = codes.astype(decoded) / number(1 / float(factor)) + shift
    assert (by_cf != by_division).sum() == int(divided)
    attributes = {"scale_factor": float(factor), "add_offset": float(offset)}
    cf = zarr_recast.codecs_from_cf("int16", attributes, decoded_dtype=decoded)
    chain = zarr_recast.Chain(cf.dtype, cf.codecs, cf.fill_value)
    assert (by_cf != chain.decode(codes)).sum() == int(ours) == cf.differing_codes


def test_the_fill_value_of_68():
    shift = [
        {"name": "scale_offset", "configuration": {"offset": 1000}},
        {"name": "cast_value", "configuration": {"data_type": "uint8"}},
    ]
    for fill_value in (1000, 1255):
        zarr_recast.Chain("uint16", shift, fill_value)
    for fill_value in (999, 1256, 0):
        with pytest.raises(ValueError, match=str(fill_value)):
            zarr_recast.Chain("uint16", shift, fill_value)
    given = {"encode": [[0, 1255]], "decode": [[1255, 0]]}
    to_itself = {"data_type": "uint16", "scalar_map": given}
    chain = zarr_recast.Chain(
        "uint16", [{"name": "cast_value", "configuration": to_itself}, *shift], 0
    )
    table = re.findall(r"^\| (element|stored|decoded) \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    vectors = {name: [int(cell) for cell in cells.split("|")] for name, cells in table}
    stored = chain.encode(np.array(vectors["element"], np.uint16))
    assert stored.tolist() == vectors["stored"]
    assert chain.decode(stored).tolist() == vectors["decoded"]
