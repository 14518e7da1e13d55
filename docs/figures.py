"""Measures the figures of README.md and docs/guide.md, puts them there with --write, and prints those of packing by NumPy.

    python docs/figures.py RECAST REALDATA [--write] [--readme]

RECAST is the command, REALDATA a folder that real_arrays.py has filled. With --readme only those of the README are measured.
Needs NumPy. Every decoded element is compared here, from what `recast cat` prints, and not only by recast itself.
"""

import json
import os
import pathlib
import re
import shlex
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

# As --compressor has them; type and largest error are those of the last.
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


def read_back(recast, packed, values):
    """The elements of a packed array as the command decodes them, in the type and the shape of the values."""
    return np.frombuffer(run(recast, "cat", packed), values.dtype).reshape(values.shape)


def largest_error(values, decoded):
    """Infinity where other elements are NaN."""
    if (np.isnan(values) != np.isnan(decoded)).any():
        return float("inf")
    return float(np.nanmax(np.abs(decoded.astype("f8") - values.astype("f8"))))


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
        decoded = read_back(recast, packed, values)
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
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            write_array(folder / "in.zarr", values)
            kind, worst, sizes, breaks = measure(recast, values, recommended, folder)
        columns = []
        for ours, theirs in sizes:
            larger = theirs is not None and ours > theirs
            columns.append(f"{ours:,}{' (larger)' if larger else ''}")
            columns.append("–" if theirs is None else f"{theirs:,}{breaks}")
        yield (f"| {name}, {values.nbytes:,} B | {recommended:.4g} {unit} | {kind} | {worst:.4g} "
               f"| {' | '.join(columns)} | {values.nbytes / ours:.2f} |")


# The walk of the guide: name, file and further arguments. The guide also shows what `recast suggest` prints.
WALKS = [("climate", "ostia_sst/surface_temperature_nan.npy", ["-e", "0.005"])]


def walk(recast, data, name, file, arguments):
    """The command and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        write_array(pathlib.Path(folder) / f"{name}.zarr", np.load(data / file))
        command = ["pack", f"{name}.zarr", f"{name}_packed.zarr", *arguments]
        output = subprocess.run([recast, *command], check=True, capture_output=True, text=True, cwd=folder).stdout
    return f"```sh\nrecast {' '.join(command)}\n```\n\n```text\n{output}```\n"


def suggestion(recast, data, name, file):
    """The command and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        write_array(pathlib.Path(folder) / f"{name}.zarr", np.load(data / file))
        command = [recast, "suggest", f"{name}.zarr"]
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return f"```sh\nrecast suggest {name}.zarr\n```\n\n```text\n{output}```\n"


# The arrays of the README's table, as ARRAYS names them.
README_ARRAYS = ["sea surface (OSTIA)", "reflectivity (radar)", "elevation (DEM)", "MRI T1", "seismic counts"]
# The error bound of the README's picture: as large as a map of errors can show.
PICTURE_BOUND = "0.05"
ROOT = pathlib.Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/data/oisst_sst.zarr"


def cpu_seconds(recast, *arguments, runs=5):
    """The least of some runs, so that what else the machine does shows little."""
    def once():
        process = subprocess.Popen([recast, *arguments], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0, status
        return usage.ru_utime + usage.ru_stime
    return min(once() for _ in range(runs))


def binary_size(count):
    """As `recast` writes sizes."""
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


def readme_rows(recast, data):
    yield "| array | raw | packed | bound | largest error | CPU time |"
    yield "|---|---|---|---|---|---|"
    for name, file, unit, bound in (array for array in ARRAYS if array[0] in README_ARRAYS):
        values = np.load(data / file)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            source, packed = folder / "in.zarr", folder / "packed.zarr"
            write_array(source, values)
            report, size = stored(recast, source, packed, "auto", "-e", repr(bound))
            decoded = read_back(recast, packed, values)
            assert (np.isnan(decoded) == np.isnan(values)).all()
            worst = float(np.nanmax(np.abs(decoded.astype("f8") - values.astype("f8"))))
            assert worst <= bound, (worst, bound)
            seconds = cpu_seconds(recast, "pack", source, packed, "-e", repr(bound), "--overwrite", "--quiet")
        shape = " × ".join(str(length) for length in values.shape)
        unit = "" if unit == "1" else f" {unit}"
        yield (f"| {name}, {shape} {values.dtype} | {binary_size(values.nbytes)} | {binary_size(size)}, "
               f"{values.nbytes / size:.1f} times smaller | {bound:g}{unit} | {worst:.4g}{unit} | {seconds:.2f} s |")


def picture(recast):
    """The example's data before and after, and the errors, beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        values = np.frombuffer(run(recast, "cat", EXAMPLE), "<f4").reshape(90, 180)
        write_array(folder / "in.zarr", values[::-1])  # the north at the top
        run(recast, "pack", folder / "in.zarr", folder / "packed.zarr", "-e", PICTURE_BOUND,
            "--report", folder / "page.html")
        text = (folder / "page.html").read_text()
    plots = re.findall(r"<svg .*?</svg>", text, re.DOTALL)[:3]
    width, height = (int(re.search(rf'{name}="(\d+)"', plots[0])[1]) for name in ("width", "height"))
    titles = ["before: float32", "after: 16 bits an element", f"largest error in a cell (bound {PICTURE_BOUND} °C)"]
    parts = []
    for place, (title, plot) in enumerate(zip(titles, plots, strict=True)):
        parts.append(f'<text x="{place * width + width // 2}" y="16" text-anchor="middle" font-family="sans-serif" '
                     f'font-size="14" fill="currentColor">{title}</text>')
        parts.append(plot.replace("<svg ", f'<svg x="{place * width}" y="22" ', 1))
    whole = (f'<svg viewBox="0 0 {3 * width} {height + 22}" xmlns="http://www.w3.org/2000/svg">\n'
             + "\n".join(parts) + "\n</svg>\n")
    # Grey is legible on white and on black.
    (ROOT / "docs/readme.svg").write_text(whole.replace("currentColor", "#777777"))


def first_command(recast, text):
    """What the README's first command prints; it is run as it stands there."""
    command = shlex.split(re.search(r"^cargo run --release --bin recast -- (.*)$", text, re.MULTILINE)[1])
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "examples").symlink_to(ROOT / "examples")
        return subprocess.run([recast, *command], check=True, capture_output=True, text=True, cwd=folder).stdout


# What the README calls the rows that it takes over from docs/performance.md.
SPEED = {
    "all core pairs / memcpy, no map": "`memcpy` (which computes nothing), geometric mean of all pairs",
    "zarr-cast-value": "`zarr-cast-value`, what zarr-python uses, all pairs",
    "error mode / ipp, nearest-even casts": "Intel IPP (which checks nothing), nearest-even",
    "encode, f32 and f64 with u8 and i16 / memcpy": "`memcpy`, packing: scale, offset and cast in one pass",
    "decode, f32 and f64 with u8 and i16 / memcpy": "`memcpy`, unpacking",
}


def speed_rows():
    """Geometric means, from the page that the benchmark's figures are on."""
    yield "| against | AVX-512 | AVX2 |"
    yield "|---|---|---|"
    page = (ROOT / "docs/performance.md").read_text()
    for name, words in SPEED.items():
        cells = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", page, re.MULTILINE)[1].split("|")
        means = [f"{float(cells[column].split(',')[0]):.2f}" for column in (0, 2)]
        yield f"| {words} | {' | '.join(means)} |"


def write_readme(recast, table):
    readme = ROOT / "README.md"
    text = between(readme.read_text(), "<!-- arrays -->\n", "<!-- end of arrays -->\n", table + "\n")
    text = between(text, "<!-- speed -->\n", "<!-- end of speed -->\n", "\n".join(speed_rows()) + "\n")
    output = first_command(recast, text)
    readme.write_text(between(text, "<!-- output -->\n", "<!-- end of output -->\n", f"```text\n{output}```\n"))
    picture(recast)


def between(text, start, end, new):
    before, rest = text.split(start, 1)
    return f"{before}{start}{new}{end}{rest.split(end, 1)[1]}"


def main():
    recast, data, *options = sys.argv[1:]
    assert set(options) <= {"--write", "--readme"}, options
    recast, data = pathlib.Path(recast).resolve(), pathlib.Path(data)
    readme = "\n".join(readme_rows(recast, data))
    print(readme)
    if "--write" in options:
        write_readme(recast, readme)
    if "--readme" in options:
        return
    print("\n".join(rows(recast, data)))
    if "--write" in options:
        guide = pathlib.Path(__file__).with_name("guide.md")
        text = guide.read_text()
        for name, file, arguments in WALKS:
            output = walk(recast, data, name, file, arguments)
            text = between(text, f"<!-- run: {name} -->\n", "<!-- end -->\n", output)
            output = suggestion(recast, data, name, file)
            text = between(text, f"<!-- suggest: {name} -->\n", "<!-- end -->\n", output)
        guide.write_text(text)


if __name__ == "__main__":
    main()
