"""Times zarr_recast against cast_value_rs, NumPy and zarr-python, all in one process.

    python benchmarks/compare.py [--mib 512] [--quick]

Prints the figures that docs/performance.md sums up. Needs zarr and cast-value-rs.
"""

import argparse
import itertools
import math
import os
import platform
import threading
import time

import cast_value_rs
import numpy as np
import zarr
import zarr.codecs

import zarr_recast
from zarr_recast.zarr import CastValue, ScaleOffset

N = 65_536
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
TYPES += ["float16", "float32", "float64"]
CLASSES = {"integer": TYPES[:8], "float16": TYPES[8:9], "float32 or float64": TYPES[9:]}
ROUNDINGS = [
    "nearest-even",
    "towards-zero",
    "towards-positive",
    "towards-negative",
    "nearest-away",
]
MAP = {"encode": [("NaN", 255)], "decode": [(255, "NaN")]}


def best(function, seconds=0.01, least=3):
    """The shortest time of a call, of those within about so many seconds."""
    shortest, spent, calls = math.inf, 0.0, 0
    while spent < seconds or calls < least:
        start = time.perf_counter()
        function()
        took = time.perf_counter() - start
        shortest, spent, calls = min(shortest, took), spent + took, calls + 1
    return shortest


def row(*cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def table(*heads):
    print()
    row(*heads)
    row(*["---"] * len(heads))


def compared(ours, theirs):
    """Two durations, and how many times as long the second takes."""
    return micros(ours), micros(theirs), f"{theirs / ours:.2f}×"


def micros(seconds):
    return f"{seconds * 1e6:.2f} µs" if seconds < 1e-4 else f"{seconds * 1e3:.2f} ms"


def kind(name):
    """The class of a type, of CLASSES."""
    return next(key for key, names in CLASSES.items() if name in names)


def overhead():
    arr, out = np.zeros(1, "float32"), np.zeros(1, "uint8")
    options = {"rounding_mode": "nearest-even", "out_of_range_mode": "clamp"}
    calls = 2000

    def timed(function):
        def many():
            for _ in itertools.repeat(None, calls):
                function(arr, out, **options)

        return best(many, 0.5) / calls

    ours, theirs = timed(zarr_recast.cast_array_into), timed(cast_value_rs.cast_array_into)
    row("`cast_array_into` of cast_value_rs, 1 element", *compared(ours, theirs))


def cast_value_pairs(quick):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 100, N)
    ratios = {}
    pairs = list(itertools.product(TYPES, TYPES))
    for source, target in pairs[::7] if quick else pairs:
        fraction = 0.25 if source.startswith("float") else 0
        arr, out = (whole + fraction).astype(source), np.empty(N, target)
        modes = [None, "clamp"] + ([] if target.startswith("float") else ["wrap"])
        for rounding, mode, entries in itertools.product(ROUNDINGS, modes, [None, {7: 9}]):
            options = {
                "rounding_mode": rounding,
                "out_of_range_mode": mode,
                "scalar_map_entries": entries,
            }

            def measure(factor):
                ours = best(
                    lambda: zarr_recast.cast_array_into(arr, out, **options), 0.0005 * factor, 5
                )
                theirs = best(
                    lambda: cast_value_rs.cast_array_into(arr, out, **options), 0.0005 * factor, 3
                )
                return theirs / ours

            ratio = measure(1)
            if ratio < 1:  # noise, or not: look again, longer
                ratio = measure(40)
            ratios[source, target, rounding, mode, entries is not None] = ratio

    def mean(chosen):
        logs = [math.log(ratio) for case, ratio in ratios.items() if chosen(case)]
        # The quick choice of pairs leaves some classes out.
        return f"{math.exp(sum(logs) / len(logs)):.2f}×" if logs else "–"

    table("cast_value_rs", *(f"to {target}" for target in CLASSES))
    for source in CLASSES:
        cells = [mean(lambda case: (kind(case[0]), kind(case[1])) == (source, target)) for target in CLASSES]
        row(source, *cells)
    slowest, least = min(ratios.items(), key=lambda item: item[1])
    name = f"{slowest[0]} → {slowest[1]}, {slowest[2]}, {slowest[3] or 'error'}{', map' if slowest[4] else ''}"
    slower = sum(ratio < 1 for ratio in ratios.values())
    print(f"\n{len(ratios)} cases: {mean(lambda case: True)}, least {least:.2f}× ({name}), {slower} slower", flush=True)


def numpy_expression(n):
    """The cells of each direction, by name."""
    cells = {}
    rng = np.random.default_rng(0)
    for source, target, scale in [("float32", "uint8", 10), ("float64", "int16", 1000)]:
        info, sentinel = np.iinfo(target), np.iinfo(target).max
        x = rng.uniform(0, 25, n).astype(source)
        x[:: n // 100] = np.nan
        offset = 0.5
        o, s = x.dtype.type(offset), x.dtype.type(scale)
        scalar_map = {"encode": [("NaN", sentinel)], "decode": [(sentinel, "NaN")]}
        codecs = [
            ScaleOffset(offset=offset, scale=scale),
            CastValue(data_type=target, out_of_range="clamp", scalar_map=scalar_map),
        ]
        chain = zarr_recast.Chain(source, codecs)
        packed, back = np.empty(n, target), np.empty(n, source)

        def encode():
            mask = np.isnan(x)
            q = np.clip(np.rint((x - o) * s), info.min, info.max)
            q[mask] = sentinel
            return q.astype(target)

        def decode():
            y = packed / s + o
            y[packed == sentinel] = np.nan
            return y.astype(source, copy=False)

        chain.encode_into(x, packed)
        assert (encode() == packed).all()
        chain.decode_into(packed, back)
        np.testing.assert_array_equal(decode(), back)
        seconds = 0.2 if n <= N else 2
        for name, ours, theirs in [
            (f"{source} → {target}", lambda: chain.encode_into(x, packed), encode),
            (f"{target} → {source}", lambda: chain.decode_into(packed, back), decode),
        ]:
            cells[name] = ", ".join(compared(best(ours, seconds), best(theirs, seconds)))
    return cells


def threads():
    x = np.random.default_rng(0).uniform(0, 250, 1 << 18).astype("float32")
    outs = [np.empty(x.size, "uint8") for _ in range(2)]
    calls = 200

    def work(out):
        for _ in range(calls):
            zarr_recast.cast_array_into(x, out, rounding_mode="nearest-even")

    def both():
        pair = [threading.Thread(target=work, args=(out,)) for out in outs]
        for thread in pair:
            thread.start()
        for thread in pair:
            thread.join()

    one, two = best(lambda: work(outs[0]), 1), best(both, 1)
    size = x.nbytes * calls / 1e9
    what = "two threads against one, float32 → uint8, n = 262,144"
    row(what, f"{2 * size / two:.1f} GB/s", f"{size / one:.1f} GB/s", f"{2 * one / two:.2f}×")


def filters(scale_offset, cast_value):
    return [
        scale_offset(offset=0.5, scale=10),
        cast_value(data_type="uint8", out_of_range="clamp", scalar_map=MAP),
    ]


def kinds_of_filters():
    return {
        "plain": [],
        "ours": filters(ScaleOffset, CastValue),
        "theirs": filters(zarr.codecs.ScaleOffset, zarr.codecs.CastValue),
    }


def part_of_a_chunk(fast_reads):
    """Sixteen rows of a chunk of 4 MiB."""
    zarr_recast.register(fast_reads=fast_reads)
    fast = " with fast reads" if fast_reads else ""
    data = np.random.default_rng(0).uniform(0, 25, (1024, 1024)).astype("float32")
    for pipeline in ("BatchedCodecPipeline", "FusedCodecPipeline"):
        times = {}
        with zarr.config.set({"codec_pipeline.path": f"zarr.core.codec_pipeline.{pipeline}"}):
            for kind, codecs in kinds_of_filters().items():
                array = zarr.create_array(
                    zarr.storage.MemoryStore(),
                    shape=data.shape,
                    chunks=data.shape,
                    dtype="float32",
                    filters=codecs,
                    compressors=None,
                    fill_value=0.5,
                )
                array[:] = data
                times[kind] = best(lambda array=array: array[500:516], 0.5)
        ours, *others = (times[kind] for kind in ("ours", "plain", "theirs"))
        cells = [f"{time * 1e3:.2f} ms, {time / ours:.2f}×" for time in others]
        row(f"16 rows of a chunk{fast}, {pipeline}", f"{ours * 1e3:.2f} ms", *cells)


def through_zarr(mib, repeats, fast_reads):
    zarr_recast.register(fast_reads=fast_reads)
    fast = " with fast reads" if fast_reads else ""
    data = np.random.default_rng(0).uniform(0, 25, mib << 18).astype("float32")
    data[::1000] = np.nan
    kinds = kinds_of_filters()
    for pipeline in ("BatchedCodecPipeline", "FusedCodecPipeline"):
        path = f"zarr.core.codec_pipeline.{pipeline}"
        rates = {kind: [0.0, 0.0] for kind in kinds}
        with zarr.config.set({"codec_pipeline.path": path}):
            for _, (kind, codecs) in itertools.product(range(repeats), kinds.items()):
                array = zarr.create_array(
                    zarr.storage.MemoryStore(),
                    shape=data.shape,
                    chunks=(1 << 18,),
                    dtype="float32",
                    filters=codecs,
                    compressors=None,
                    fill_value=0.5,
                )
                start = time.perf_counter()
                array[:] = data
                middle = time.perf_counter()
                array[:]
                times = middle - start, time.perf_counter() - middle
                rates[kind] = [
                    max(rate, data.nbytes / took / 1e9)
                    for rate, took in zip(rates[kind], times, strict=True)
                ]
        # Writing is as fast either way.
        for number, what in list(enumerate(["write", "read"]))[fast_reads:]:
            ours, *others = (rates[kind][number] for kind in ("ours", "plain", "theirs"))
            cells = [f"{rate:.2f} GB/s, {ours / rate:.2f}×" for rate in others]
            row(f"{what}{fast}, {pipeline}", f"{ours:.2f} GB/s", *cells)


def fresh():
    """Results in memory that was never touched."""
    for source, n in itertools.product(["bfloat16", "uint8"], [1 << 24, 1 << 26]):
        arr = np.ones(n, zarr_recast.Chain(source, []).dtype)
        ours = best(
            lambda: zarr_recast.cast_array(
                arr, target_dtype="float32", rounding_mode="nearest-even"
            ),
            2,
        )
        theirs = best(lambda: arr.astype("float32"), 2)
        row(f"`astype`, {source} → float32, a new array, n = {n:,}", *compared(ours, theirs))


def surveys(n=1 << 26):
    smooth = 285 + 15 * np.sin(np.arange(n, dtype="float32") / 1000)
    noisy = np.random.default_rng(0).normal(0, 0.5, n).astype("float32")
    plain = smooth + noisy
    gaps = plain.copy()
    gaps[::1000] = np.nan
    for name, data in [("", plain), (", NaN among them", gaps)]:
        ours = best(lambda: zarr_recast.encoding_for(data, max_abs_error=0.01), 2)
        theirs = best(lambda: (np.nanmin(data), np.nanmax(data)), 2)
        row(f"`nanmin` + `nanmax`{name}, for `encoding_for`, float32, n = {n:,}", *compared(ours, theirs))


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=512, help="size of the array for zarr")
    parser.add_argument("--quick", action="store_true", help="fewer pairs and repeats")
    arguments = parser.parse_args()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(
        f"{processor()}, {os.cpu_count()} cores{load}; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, zarr {zarr.__version__}, zarr-recast {zarr_recast.__version__}"
    )
    table("against", "zarr-recast", "other", "ratio")
    overhead()
    fresh()
    surveys()
    threads()
    cast_value_pairs(arguments.quick)
    sizes = [N, 1 << 24]
    table("NumPy, scale, round, NaN", *(f"n = {n:,}: zarr-recast, NumPy, ratio" for n in sizes))
    short, long = map(numpy_expression, sizes)
    for name in short:
        row(name, short[name], long[name])
    table(f"zarr, {arguments.mib} MiB", "zarr-recast", "no filters", "zarr's own classes")
    for fast_reads in (False, True):
        part_of_a_chunk(fast_reads)
    for fast_reads in (False, True):
        through_zarr(arguments.mib, 2 if arguments.quick else 4, fast_reads)


if __name__ == "__main__":
    main()
