"""Compares plain numbers that `recast pack --readers any` rounds with packed codes, and with bit rounding.

    python docs/plain.py RECAST REALDATA

RECAST is the command, REALDATA a folder that real_arrays.py has filled. Each array is one chunk, with three bounds: parts of its range.
Bit rounding keeps the fewest bits of the mantissa that keep the bound. `--compressor auto` compresses all three. Every element is compared
with the original. Prints a Markdown table: bytes, and the sizes of plain numbers in proportion to the other two.
"""

import argparse
import itertools
import pathlib
import tempfile
from statistics import geometric_mean

import numpy as np

import figures

FRACTIONS = [1e-2, 1e-3, 1e-4]


def bit_rounded(values, bound):
    """The fewest bits of the mantissa that keep the bound, by the same rounding as numcodecs."""
    size = values.dtype.itemsize
    unsigned, mantissa = np.dtype(f"u{size}"), {4: 23, 8: 52}[size]
    bits = values.view(unsigned)
    for kept in range(mantissa):
        dropped = mantissa - kept
        half = unsigned.type((1 << (dropped - 1)) - 1)
        odd = (bits >> unsigned.type(dropped)) & unsigned.type(1)
        mask = unsigned.type(((1 << (8 * size)) - 1) ^ ((1 << dropped) - 1))
        rounded = np.where(np.isnan(values), values, ((bits + half + odd) & mask).view(values.dtype))
        if figures.largest_error(values, rounded) <= bound:
            return rounded
    return values


def stored(recast, values, folder, name, *flags):
    """The bytes that the command stores, and what they decode to."""
    source, output = folder / f"{name}-in.zarr", folder / f"{name}.zarr"
    figures.write_array(source, values)
    _, size = figures.stored(recast, source, output, "auto", *flags)
    return size, figures.read_back(recast, output, values)


def row(recast, values, bound):
    """The bytes of packed codes, plain numbers and bit rounding."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        packed, codes = stored(recast, values, folder, "packed", "-e", repr(bound))
        plain, numbers = stored(recast, values, folder, "plain", "-e", repr(bound), "--readers", "any")
        rounded, bits = stored(recast, bit_rounded(values, bound), folder, "bits", "-e", "0", "--readers", "any")
    for what, decoded in [("packed", codes), ("plain", numbers), ("bit rounding", bits)]:
        error = figures.largest_error(values, decoded)
        if error > bound:
            raise SystemExit(f"{what} is off by {error}, {bound} is allowed")
    return packed, plain, rounded


def main():
    parser = argparse.ArgumentParser(usage="python docs/plain.py RECAST REALDATA")
    parser.add_argument("recast", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("data", type=pathlib.Path)
    options = parser.parse_args()
    print("| array | bound | packed | plain | bit rounding | plain / packed | plain / bit rounding |")
    print("|---|---|---|---|---|---|---|", flush=True)
    sizes = []
    for (name, file, _, _), fraction in itertools.product(figures.ARRAYS, FRACTIONS):
        values = np.load(options.data / file).squeeze()
        finite = values[np.isfinite(values)].astype("f8")
        packed, plain, rounded = row(options.recast, values, float(finite.max() - finite.min()) * fraction)
        sizes.append((packed, plain, rounded))
        print(f"| {name} | {fraction:g} | {packed:,} | {plain:,} | {rounded:,} | {plain / packed:.2f} "
              f"| {plain / rounded:.2f} |", flush=True)
    packed, plain, rounded = map(sum, zip(*sizes, strict=True))
    print(f"| all bytes | | {packed:,} | {plain:,} | {rounded:,} | {plain / packed:.2f} | {plain / rounded:.2f} |")
    to_packed = geometric_mean(one / other for other, one, _ in sizes)
    to_rounded = geometric_mean(one / other for _, one, other in sizes)
    print(f"| geometric mean | | | | | {to_packed:.2f} | {to_rounded:.2f} |")


if __name__ == "__main__":
    main()
