"""Compares `recast pack` with other compressors at the same largest error, for docs/compression.md.

    python docs/compression.py RECAST REALDATA [--write] [--note TEXT]

RECAST is the command, compiled with its feature pcodec, REALDATA a folder that real_arrays.py has filled. Prints each row. With
--write the rows go to docs/compression.jsonl, and compression_page.py makes the page's table and its picture from them. The page
also says TEXT, about what was special in this run.
The figures were made with Python 3.13 and

    pip install h5py==3.16.0 hdf5plugin==7.1.0 netCDF4==1.7.5.1.post1 numcodecs==0.17.1 numpy==2.5.5 pcodec==1.1.0

Each array is one chunk, without dimensions of length 1. Every method has one thread, and decodes what it stored: a row counts if
each element lies within the bound and the missing values, and no others, are missing. Seconds are those of the CPU.
"""

import argparse
import dataclasses
import importlib.metadata
import itertools
import json
import os
import pathlib
import tempfile
import time

# The libraries read these when they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "BLOSC_NTHREADS": "1", "NUMCODECS_BLOSC_NTHREADS": "1"}

import h5py
import hdf5plugin
import netCDF4
import numcodecs
import numpy as np
import pcodec

import compression_page
import figures

FRACTIONS = [1e-2, 1e-3, 1e-4]
REPEATS = 3
LIBRARIES = ["h5py", "hdf5plugin", "netCDF4", "numcodecs", "numpy", "pcodec"]
# Some libraries compute in float32 and end a little beyond the bound they were given; then they are given a little less.
LITTLE_LESS = [1, 1 - 1e-6, 0.999, 0.99, 0.9]


@dataclasses.dataclass
class Stored:
    """What a method made of an array with one setting."""
    size: int
    decoded: np.ndarray
    pack_seconds: float
    read_seconds: float

    def error(self, values):
        """The largest error; infinite where other values are missing than in the original."""
        if (np.isnan(self.decoded) != np.isnan(values)).any():
            return float("inf")
        return float(np.nanmax(np.abs(self.decoded.astype("f8") - values.astype("f8"))))


def timed(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


# Each method is a pair of functions. The first yields ladders of settings: the first setting of a ladder that keeps the bound
# counts, and of several ladders the one that stores least. The second stores an array with a setting.


def through_hdf5(values, folder, options, mask=None):
    """Stores an array, and perhaps where it is missing, as one chunk each."""
    file = folder / "array.h5"

    def write():
        with h5py.File(file, "w") as output:
            output.create_dataset("values", data=values, chunks=values.shape, **options)
            if mask is not None:
                bits = np.packbits(mask)
                output.create_dataset("missing", data=bits, chunks=bits.shape, **hdf5plugin.Zstd(clevel=19))

    def read():
        with h5py.File(file) as stored:
            decoded = stored["values"][...]
            if mask is not None:
                bits = stored["missing"][...]
                decoded[np.unpackbits(bits, count=values.size).reshape(values.shape).astype(bool)] = np.nan
            return decoded, sum(dataset.id.get_storage_size() for dataset in stored.values())

    _, pack_seconds = timed(write)
    (decoded, size), read_seconds = timed(read)
    return Stored(size, decoded, pack_seconds, read_seconds)


def filled(values, how):
    """Numbers in place of NaN: their mean, or the number before (the first one, before that)."""
    missing = np.isnan(values)
    if how == "mean":
        return np.where(missing, values[~missing].mean(dtype="f8").astype(values.dtype), values)
    numbers = np.flatnonzero(~missing)
    before = np.searchsorted(numbers, np.arange(values.size), side="right") - 1
    return values.ravel()[numbers[np.maximum(before, 0)]].reshape(values.shape)


def error_bounded(codec, argument, factors, least_dimensions=1, **for_nan):
    """A compressor of hdf5plugin that takes a bound. Where there are NaN it gets numbers in their place and a mask beside them;
    one that has options for NaN also gets the values as they are."""
    def ladders(values, bound):
        if values.ndim < least_dimensions:
            return
        fills = [None] if for_nan or not np.isnan(values).any() else []
        if np.isnan(values).any():
            fills += ["mean", "previous"]
        for fill in fills:
            yield [{argument: factor * bound, "missing": fill} for factor in factors]

    def store(values, folder, setting):
        fill = setting["missing"]
        options = {argument: setting[argument]}
        if fill is None:
            return through_hdf5(values, folder, codec(**options, **for_nan))
        numbers, fill_seconds = timed(lambda: filled(values, fill))
        stored = through_hdf5(numbers, folder, codec(**options), np.isnan(values))
        return dataclasses.replace(stored, pack_seconds=stored.pack_seconds + fill_seconds)

    return ladders, store


def blosc2_ladders(values, bound):
    for name in ["SHUFFLE", "BITSHUFFLE"]:
        yield [{"cname": "zstd", "clevel": 5, "filters": name}]


def blosc2_store(values, folder, setting):
    filters = getattr(hdf5plugin.Blosc2, setting["filters"])
    return through_hdf5(values, folder, hdf5plugin.Blosc2(**setting | {"filters": filters}))


def bit_rounding_ladders(values, bound):
    mantissa = np.finfo(values.dtype).nmant
    for name in ["NOSHUFFLE", "SHUFFLE", "BITSHUFFLE"]:
        yield [{"keepbits": bits, "shuffle": name} for bits in range(mantissa + 1)]


def bit_rounding_store(values, folder, setting):
    rounding = numcodecs.BitRound(setting["keepbits"])
    blosc = numcodecs.Blosc("zstd", 5, getattr(numcodecs.Blosc, setting["shuffle"]))
    file = folder / "array.blosc"
    # Encoding gives integers of the same bits; Blosc shuffles by their size.
    _, pack_seconds = timed(lambda: file.write_bytes(blosc.encode(rounding.encode(values))))
    decoded, read_seconds = timed(lambda: rounding.decode(np.frombuffer(blosc.decode(file.read_bytes()), values.dtype)))
    return Stored(file.stat().st_size, decoded.reshape(values.shape), pack_seconds, read_seconds)


def netcdf_ladders(values, bound):
    for shuffle in [False, True]:
        yield [{"scale_factor": 2 * bound * factor, "shuffle": shuffle} for factor in LITTLE_LESS]


def netcdf_store(values, folder, setting):
    """The library computes the codes and the values itself, from the attributes."""
    file, missing = folder / "array.nc", -32768
    numbers = filled(values, "previous")
    names = [f"axis{axis}" for axis in range(values.ndim)]

    def write():
        with netCDF4.Dataset(file, "w") as output:
            for name, length in zip(names, values.shape, strict=True):
                output.createDimension(name, length)
            variable = output.createVariable(
                "values", "i2", names, zlib=True, complevel=6, shuffle=setting["shuffle"], chunksizes=values.shape,
                fill_value=missing,
            )
            variable.scale_factor = setting["scale_factor"]
            variable.add_offset = float(np.nanmin(values))
            variable[...] = np.ma.array(numbers, mask=np.isnan(values))

    def read():
        with netCDF4.Dataset(file) as stored:
            return np.ma.filled(stored["values"][...], np.nan)

    _, pack_seconds = timed(write)
    decoded, read_seconds = timed(read)
    with h5py.File(file) as stored:
        size = stored["values"].id.get_storage_size()
    return Stored(size, decoded, pack_seconds, read_seconds)


def codec_text(codec):
    """The name, with what makes a compressor slow or fast."""
    configuration = codec.get("configuration") or {}
    level = configuration.get("level", configuration.get("clevel"))
    return " ".join(str(part) for part in (codec["name"], level, configuration.get("shuffle")) if part is not None)


def recast_method(recast, compressor):
    def ladders(values, bound):
        yield [{"bound": bound}]

    def store(values, folder, setting):
        return packed(recast, compressor, values, folder, setting)[0]

    return ladders, store


def packed(recast, compressor, values, folder, setting):
    """What `recast pack` made of an array, and its report. The setting gets the codecs."""
    source, output = folder / "in.zarr", folder / "packed.zarr"
    if not source.exists():
        figures.write_array(source, values)
    how = ["-e", repr(setting["bound"]), *setting.get("also", []), "--threads", "1"]
    report, size = figures.stored(recast, source, output, compressor, *how)
    setting["codecs"] = [codec_text(codec) for codec in report["codecs"]]
    decoded = figures.read_back(recast, output, values)
    pack = ["pack", source, output, *how, "--compressor", compressor, "--overwrite", "--quiet"]
    pack_seconds = figures.cpu_seconds(recast, *pack, runs=1)
    read_seconds = figures.cpu_seconds(recast, "cat", output, "--threads", "1", runs=1)
    return Stored(size, decoded, pack_seconds, read_seconds), report


def pcodec_method(recast):
    """The stored values of `recast pack` without a compressor, in pcodec."""
    ladders, _ = recast_method(recast, "none")

    def store(values, folder, setting):
        stored, report = packed(recast, "none", values, folder, setting)
        chunk, file = folder / "packed.zarr/c" / "/".join(["0"] * values.ndim), folder / "array.pco"
        codes = np.fromfile(chunk, report["data_type"])
        config = pcodec.ChunkConfig(enable_8_bit=True)
        _, pack_seconds = timed(lambda: file.write_bytes(pcodec.standalone.simple_compress(codes, config)))
        decoded, read_seconds = timed(lambda: pcodec.standalone.simple_decompress(file.read_bytes()))
        assert decoded.dtype == codes.dtype and (decoded == codes).all()
        return Stored(file.stat().st_size, stored.decoded, stored.pack_seconds + pack_seconds,
                      stored.read_seconds + read_seconds)

    return ladders, store


def methods(recast):
    chosen = {}
    known = figures.run(recast, "pack", "--help").decode().split("--compressor <")[1]
    for compressor in ["smallest", "auto", "zstd:5"]:
        if compressor.split(":")[0] in known:
            chosen[f"recast {compressor}"] = recast_method(recast, compressor)
        else:
            print(f"{recast} has no --compressor {compressor}: left out")
    return chosen | {
        "pcodec": pcodec_method(recast),
        "SZ3": error_bounded(hdf5plugin.SZ3, "absolute", LITTLE_LESS),
        # ZFP takes the power of two below its bound, and most errors are far smaller: the largest such power is looked for.
        "ZFP": error_bounded(hdf5plugin.Zfp, "accuracy", [2.0 ** power for power in range(6, -3, -1)]),
        "SPERR": error_bounded(hdf5plugin.Sperr, "absolute", LITTLE_LESS, least_dimensions=2,
                               missing_value_mode=hdf5plugin.Sperr.MISSING_NAN),
        "bit rounding": (bit_rounding_ladders, bit_rounding_store),
        "netCDF int16": (netcdf_ladders, netcdf_store),
        "Blosc2": (blosc2_ladders, blosc2_store),
    }


def measure(ladders, store, values, bound, folder):
    """The row of the smallest setting that keeps the bound; if none does, of the last one tried. None without settings."""
    tried = []
    for ladder in ladders(values, bound):
        for setting in ladder:
            stored = store(values, folder, setting)
            kept = stored.error(values) <= bound
            if kept:
                break
        tried.append((not kept, stored.size, setting, stored))
    if not tried:
        return None
    broken, size, setting, stored = min(tried, key=lambda attempt: attempt[:2])
    runs = [stored] + [store(values, folder, setting) for _ in range(REPEATS - 1)]
    return {
        "bytes": size, "error": stored.error(values), "kept": not broken, "setting": setting,
        "pack_seconds": round(min(run.pack_seconds for run in runs), 4),
        "read_seconds": round(min(run.read_seconds for run in runs), 4),
    }


def rows(chosen, data):
    for (name, file, _, _), fraction in itertools.product(figures.ARRAYS, FRACTIONS):
        values = np.load(data / file).squeeze()
        finite = values[np.isfinite(values)].astype("f8")
        bound = float(finite.max() - finite.min()) * fraction
        array = {"array": name, "source": file.split("/")[0], "elements": values.size, "raw": values.nbytes,
                 "fraction": fraction, "bound": bound}
        for method, (ladders, store) in chosen.items():
            with tempfile.TemporaryDirectory() as folder:
                row = measure(ladders, store, values, bound, pathlib.Path(folder))
            if row is not None:
                yield array | {"method": method} | row


def about(recast, libraries, load, note):
    """The machine, and what ran on it."""
    cpu = next(line.split(": ")[1] for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return {
        "cpu": cpu.strip(), "cores": os.cpu_count(), "load": load, "date": time.strftime("%Y-%m-%d"),
        "recast": figures.run(recast, "--version").decode().split()[1],
        "libraries": {name: importlib.metadata.version(name) for name in libraries}, "note": note,
    }


def main(methods, libraries, results):
    """Measures the methods, and writes the rows to a file of results."""
    parser = argparse.ArgumentParser(usage="%(prog)s RECAST REALDATA [--write] [--note TEXT]")
    parser.add_argument("recast", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    before, found = os.getloadavg()[0], []
    for row in rows(methods(options.recast), options.data):
        print(json.dumps(row), flush=True)
        found.append(row)
    machine = about(options.recast, libraries, [round(before, 1), round(os.getloadavg()[0], 1)], options.note)
    print("\n".join(compression_page.summary(found)))
    if options.write:
        results.write_text("".join(json.dumps(line) + "\n" for line in [machine, *found]))
        compression_page.write()


if __name__ == "__main__":
    main(methods, LIBRARIES, compression_page.RESULTS)
