"""Reads a Zarr array with zarr-python and prints its elements, for harnesses that call one program for each array.

    python conformance/read.py --array_path conformance/stores/NAME/array.zarr [--check] [--own]

Prints a JSON list of elements in C order, each as hex digits, the most significant byte first. --check compares them with
expected.json beside the array, and ends with 1 if they differ. --own leaves zarr-python its own codecs; else those of the
package zarr-recast read.
"""

import argparse
import json
import pathlib
import sys
import warnings

import numpy as np
import zarr


def elements(path):
    """The elements of an array, as hex digits."""
    values = np.asarray(zarr.open_array(path, mode="r")[...]).ravel()
    data, size = values.astype(values.dtype.newbyteorder(">")).tobytes(), values.dtype.itemsize
    return [data[start : start + size].hex() for start in range(0, len(data), size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--array_path", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--own", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if not arguments.own:
        import zarr_recast

        zarr_recast.register()
    found = elements(arguments.array_path)
    if not arguments.check:
        print(json.dumps(found))
        return
    expected = json.loads((arguments.array_path.parent / "expected.json").read_text())["elements"]
    wrong = [index for index, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    if wrong:
        first = wrong[0]
        sys.exit(f"{arguments.array_path}: {len(wrong)} of {len(found)} elements differ, first [{first}]: "
                 f"{found[first]} instead of {expected[first]}")


if __name__ == "__main__":
    main()
