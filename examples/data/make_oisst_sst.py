"""Makes oisst_sst.zarr from the NetCDF file described in README.md.

    pip install zarr==3.4.2 numpy scipy
    python make_oisst_sst.py path/to/reduced.nc oisst_sst.zarr
"""

import hashlib
import sys

import numpy as np
import zarr
from scipy.io import netcdf_file

SHA256 = "43936981b7d58962918cb4c92232ce58cdc06e6e539dde6e3e8908a1b4f5e705"


def main(source: str, target: str) -> None:
    with open(source, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != SHA256:
        sys.exit(f"{source}: SHA-256 is {found}, not {SHA256}")

    with netcdf_file(source, mmap=False) as file:
        variable = file.variables["sst"]
        codes = np.asarray(variable[0, 0], dtype=np.int16)
        # CF decoding as xarray does it: in float32, multiply, then add.
        sst = codes.astype(np.float32) * np.float32(variable.scale_factor)
        sst += np.float32(variable.add_offset)
        sst[codes == variable._FillValue] = np.nan

    array = zarr.create_array(
        target,
        shape=sst.shape,
        chunks=(45, 90),
        dtype="float32",
        fill_value=np.nan,
        compressors=zarr.codecs.ZstdCodec(level=5),
        dimension_names=("lat", "lon"),
        attributes={
            "long_name": "Daily sea surface temperature",
            "standard_name": "sea_surface_temperature",
            "units": "degree_C",
            "source": "NOAA OISST v2, 1981-12-31, AVHRR-only, averaged to 2 degrees",
        },
    )
    array[...] = sst


if __name__ == "__main__":
    main(*sys.argv[1:])
