"""Compares the sizes that `recast suggest` estimates with what `recast pack` then stores, row by row.

    python docs/suggest.py RECAST REALDATA

RECAST is the command, REALDATA a folder that real_arrays.py has filled. Each array is one chunk. Every row of the ladder is packed with its
bound, and the elements are compared here: none may be off by more than the bound, and with the row *loses nothing* every bit must come back,
but of NaN and of −0.0.
Prints a Markdown table: rows, the bound of *loses nothing*, the geometric mean of estimated over stored bytes, the worst row and its bound.
"""

import argparse
import json
import pathlib
import tempfile
from statistics import geometric_mean

import numpy as np

import figures


def compared(recast, values, folder):
    """For each row of the ladder its mark, its bound, and the estimated size over the stored one."""
    source, packed = folder / "in.zarr", folder / "out.zarr"
    figures.write_array(source, values)
    unsigned = f"u{values.dtype.itemsize}"
    has_bits = ~np.isnan(values) & (values != 0)
    rows = []
    for rung in json.loads(figures.run(recast, "suggest", "--json", source))["ladder"]:
        bound = rung["max_abs_error"]
        _, size = figures.stored(recast, source, packed, "auto", "-e", repr(bound))
        decoded = figures.read_back(recast, packed, values)
        if figures.largest_error(values, decoded) > bound:
            raise SystemExit(f"packing does not keep {bound}")
        is_lossless = rung["mark"] == "loses nothing"
        if is_lossless and (decoded.view(unsigned) != values.view(unsigned))[has_bits].any():
            raise SystemExit(f"packing with {bound} does not return every bit")
        rows.append((is_lossless, bound, rung["stored_bytes"] / size))
    return rows


def main():
    parser = argparse.ArgumentParser(usage="python docs/suggest.py RECAST REALDATA")
    parser.add_argument("recast", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("data", type=pathlib.Path)
    options = parser.parse_args()
    print("| array | rows | loses nothing | estimated / stored | worst | with bound |")
    print("|---|---|---|---|---|---|", flush=True)
    for name, file, _, _ in figures.ARRAYS:
        values = np.load(options.data / file).squeeze()
        with tempfile.TemporaryDirectory() as folder:
            rows = compared(options.recast, values, pathlib.Path(folder))
        lossless = next((f"-e {bound:g}" for is_lossless, bound, _ in rows if is_lossless), "not found")
        _, bound, worst = max(rows, key=lambda row: abs(row[2] - 1))
        mean = geometric_mean(ratio for _, _, ratio in rows)
        print(f"| {name} | {len(rows)} | {lossless} | {mean:.3f} | {worst:.3f} | {bound:.3g} |", flush=True)


if __name__ == "__main__":
    main()
