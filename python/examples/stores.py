"""A store packed as the command does it, and checked."""

import numpy as np
import zarr

import zarr_recast


def main() -> None:
    """Pack an array, and print what came of it."""
    array = zarr.create_array(
        "heights.zarr", shape=(300, 200), chunks=(100, 100), dtype="float32", overwrite=True
    )
    array[...] = np.linspace(-420, 8849, 60_000, dtype="float32").reshape(300, 200)
    report = zarr_recast.pack("heights.zarr", "packed.zarr", max_abs_error=0.5, overwrite=True)
    assert isinstance(report, zarr_recast.PackReport)
    print(report.data_type, report.ratio, report.error["max"])
    checked = zarr_recast.verify("heights.zarr", "packed.zarr", atol=0.5)
    assert checked.passed, checked.failure


if __name__ == "__main__":
    main()
