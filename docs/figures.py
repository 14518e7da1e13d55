"""Measures the figures of docs/guide.md, and puts them there with --write.

    python docs/figures.py RECAST REALDATA [--write]

RECAST is the command, REALDATA a folder with the arrays that the guide names as .npy files. Needs NumPy.
Every decoded element is compared here, from what `recast cat` prints, and not only by recast itself.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

# Name, file, unit, and the recommended E of its kind (None: only integers, kept without loss).
ARRAYS = [
    ("sea surface (OSTIA)", "ostia_sst/surface_temperature_nan.npy", "K", 0.005),
    ("sea surface (OISST)", "oisst_cf/sst_decoded_xarray.npy", "°C", 0.005),
    ("SST anomaly (OISST)", "oisst_cf/anom_decoded_xarray.npy", "°C", 0.005),
    ("sea ice (OISST)", "oisst_cf/ice_decoded_xarray.npy", "1", 0.005),
    ("reflectivity (radar)", "radar_cf/reflectivity_decoded_xarray.npy", "dBZ", 0.05),
    ("velocity (radar)", "radar_cf/mean_doppler_velocity_decoded_xarray.npy", "m/s", 0.01),
    ("elevation (DEM)", "dem_trinidad/data.npy", "ft", 0.5),
    ("MRI T1", "mri_inia19/t1.npy", "1", 0.5),
    ("seismic counts", "seismic/sts2_counts.npy", "counts", 0.0),
    ("seismic, response", "seismic/crlz_resp.npy", "counts", 0.5),
    ("electron density", "ionosphere_f64/Ne.npy", "1", 5e-5),
]

# As --compressor has them; the last is the default, of which type and largest error are shown.
COMPRESSORS = ["gzip:6", "zstd:5"]


def write_array(path, values):
    """One chunk without compression."""
    chunk = path / "c" / "/".join(["0"] * values.ndim)
    chunk.parent.mkdir(parents=True)
    values.astype(values.dtype.newbyteorder("<")).tofile(chunk)
    fill = "NaN" if values.dtype.kind == "f" else 0
    grid = {"name": "regular", "configuration": {"chunk_shape": values.shape}}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    document = dict(
        zarr_format=3, node_type="array", shape=values.shape, data_type=str(values.dtype),
        chunk_grid=grid, chunk_key_encoding=keys, fill_value=fill, codecs=codecs,
    )
    (path / "zarr.json").write_text(json.dumps(document))


def numpy_codes(values, bound):
    """What people do by hand: round((x - o) * s) into the smallest type that has room."""
    finite = values[np.isfinite(values)]
    low, step = float(finite.min()), 2 * bound
    codes = np.round((values.astype("f8") - low) / step)
    most = int(np.nanmax(codes)) + 1 if np.isnan(codes).any() else int(codes.max())
    dtype = next(t for t in ("u1", "u2", "u4", "u8") if most <= np.iinfo(t).max)
    missing = np.iinfo(dtype).max
    return np.where(np.isnan(codes), missing, codes).astype(dtype)


def keeps_bound(values, codes, bound):
    """Whether NumPy's codes decode within the bound, at best: in float64, rounded once to the array's type."""
    low = float(values[np.isfinite(values)].min())
    decoded = (codes.astype("f8") * (2 * bound) + low).astype(values.dtype).astype("f8")
    return float(np.nanmax(np.abs(decoded - values.astype("f8")))) <= bound


def run(recast, *arguments):
    return subprocess.run([recast, *arguments], check=True, capture_output=True).stdout


def stored(recast, source, packed, compressor, *how):
    """Packs an array; returns the report and the bytes of its only chunk."""
    command = ["pack", source, packed, *how, "--json", "--overwrite", "--compressor", compressor]
    report = json.loads(run(recast, *command))
    chunk = packed / "c" / "/".join(["0"] * len(report["shape"]))
    return report, chunk.stat().st_size if chunk.exists() else 0


def measure(recast, values, bound, folder):
    """The type, the largest error, the stored bytes (ours and NumPy's) with each compressor, and whether
    NumPy's break the bound."""
    source, packed, by_hand = folder / "in.zarr", folder / "out.zarr", folder / "numpy.zarr"
    missing = np.isnan(values)
    if bound > 0:
        codes = numpy_codes(values, bound)
        write_array(by_hand, codes)
        breaks = "" if keeps_bound(values, codes, bound) else "*"
    sizes = []
    for compressor in COMPRESSORS:
        report, size = stored(recast, source, packed, compressor, "-e", repr(bound))
        decoded = np.frombuffer(run(recast, "cat", packed), values.dtype).reshape(values.shape)
        assert (np.isnan(decoded) == missing).all()
        error = np.abs(decoded.astype("f8") - values.astype("f8"))
        worst = float(np.nanmax(error))
        assert worst <= bound, (worst, bound)
        theirs = None
        if bound > 0:
            # The type is that of the elements, so that they are compressed as they are.
            _, theirs = stored(recast, by_hand, packed, compressor, "--scale", "1", "-t", str(codes.dtype))
        sizes += [(size, theirs)]
    shutil.rmtree(by_hand, ignore_errors=True)
    return report["data_type"], worst, sizes, breaks if bound > 0 else ""


def rows(recast, data):
    yield "| array | E | type | largest error | gzip 6 | NumPy + gzip 6 | zstd 5 | NumPy + zstd 5 | ratio |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, file, unit, recommended in ARRAYS:
        values = np.load(data / file)
        finite = values[np.isfinite(values)].astype("f8")
        range_bound = float(finite.max() - finite.min()) / 1000
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_array(folder / "in.zarr", values)
            for bound in (range_bound, recommended):
                kind, worst, sizes, breaks = measure(recast, values, bound, folder)
                columns = []
                for ours, theirs in sizes:
                    larger = theirs is not None and ours > theirs
                    columns.append(f"{ours:,}{' (larger)' if larger else ''}")
                    columns.append("–" if theirs is None else f"{theirs:,}{breaks}")
                yield (f"| {name}, {values.nbytes:,} B | {bound:.4g} {unit} | {kind} | {worst:.4g} "
                       f"| {' | '.join(columns)} | {values.nbytes / ours:.2f} |")


# The walks of the guide: name, file, further arguments, and which of the page's plots to show.
WALKS = [
    ("climate", "ostia_sst/surface_temperature_nan.npy", ["-e", "0.005"], 5),
    ("terrain", "dem_trinidad/data.npy", ["-e", "0.5"], 3),
    ("mri", "mri_inia19/t1.npy", ["-e", "0.5"], None),
    ("seismic", "seismic/sts2_counts.npy", ["-e", "0"], None),
]


def walk(recast, data, name, file, arguments, plot):
    """The command, what it prints, and a plot of its page."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_array(folder / f"{name}.zarr", np.load(data / file))
        command = ["pack", f"{name}.zarr", f"{name}_packed.zarr", *arguments]
        output = subprocess.run([recast, *command, "--report", "page.html"], check=True,
                                capture_output=True, text=True, cwd=folder).stdout
        if plot is not None:
            svg = re.findall("<svg .*?</svg>", (folder / "page.html").read_text(), re.DOTALL)[plot]
            # Grey is legible on white and on black.
            svg = svg.replace("currentColor", "#777777")
            pathlib.Path(__file__).with_name(f"guide_{name}.svg").write_text(svg + "\n")
    return f"```sh\nrecast {' '.join(command)}\n```\n\n```text\n{output}```\n"


def between(text, start, end, new):
    before, rest = text.split(start, 1)
    return f"{before}{start}{new}{end}{rest.split(end, 1)[1]}"


def main():
    recast, data, *options = sys.argv[1:]
    table = "\n".join(rows(pathlib.Path(recast), pathlib.Path(data)))
    print(table)
    if options == ["--write"]:
        guide = pathlib.Path(__file__).with_name("guide.md")
        text = guide.read_text()
        for name, *rest in WALKS:
            output = walk(pathlib.Path(recast), pathlib.Path(data), name, *rest)
            text = between(text, f"<!-- run: {name} -->\n", "<!-- end -->\n", output)
        text = between(text, "<!-- figures -->\n", "<!-- end of figures -->\n", table + "\n")
        guide.write_text(text)


if __name__ == "__main__":
    main()
