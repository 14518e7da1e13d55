"""Measures the figures of the command in docs/performance.md: packing 1 GiB of float32 without compression.

    python docs/throughput.py RECAST FOLDER

RECAST is the command, FOLDER a place for some 3 GiB, which are removed at the end. Needs NumPy. Beside each other, in turns:
`recast pack` with one thread, and what has to be done at least, `cat` of all chunks to /dev/null and writing files
of the sizes of the result. The best of seven runs of each counts; all is in the page cache. Seconds are those of the CPU, in
the processes and in the system for them; on an idle machine these are the seconds that pass.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

ELEMENTS = 1 << 28


def write_array(path, chunk):
    """Noise on a slow wave, about 15,000 different codes within 0.005."""
    (path / "c").mkdir(parents=True)
    random = np.random.default_rng(1)
    for number in range(ELEMENTS // chunk):
        wave = 280 + 15 * np.sin(np.arange(chunk) / 5000 + number)
        values = wave + random.standard_normal(chunk, dtype="f4")
        values.astype("<f4").tofile(path / "c" / str(number))
    grid = {"name": "regular", "configuration": {"chunk_shape": [chunk]}}
    keys = {"name": "default", "configuration": {"separator": "/"}}
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    document = dict(
        zarr_format=3, node_type="array", shape=[ELEMENTS], data_type="float32",
        chunk_grid=grid, chunk_key_encoding=keys, fill_value=0, codecs=codecs,
    )
    (path / "zarr.json").write_text(json.dumps(document))


def least(source, output):
    chunks = sorted((source / "c").iterdir())
    with open(os.devnull, "wb") as null:
        subprocess.run(["cat", *chunks], stdout=null, check=True)
    data = os.urandom(chunks[0].stat().st_size // 2)
    output.mkdir()
    for number in range(len(chunks)):
        with open(output / str(number), "wb", buffering=0) as file:
            file.write(data)


def pack(recast, source, output):
    """Returns the peak of the memory in bytes."""
    flags = ["-e", "0.005", "--compressor", "none", "--threads", "1", "--quiet"]
    process = subprocess.Popen([recast, "pack", source, output, *flags])
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return usage.ru_maxrss * 1024


def seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def timed(work, output):
    shutil.rmtree(output, ignore_errors=True)
    start = seconds()
    result = work()
    return seconds() - start, result


def main():
    recast, folder = sys.argv[1:]
    for chunk in (1 << 18, 1 << 20):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            source, output = pathlib.Path(scratch) / "in.zarr", pathlib.Path(scratch) / "out.zarr"
            write_array(source, chunk)
            # The first runs are not counted: they get memory for the page cache from the system.
            runs = [
                (timed(lambda: least(source, output), output)[0],
                 *timed(lambda: pack(recast, source, output), output))
                for _ in range(8)
            ][1:]
            floor, packing = min(run[0] for run in runs), min(run[1] for run in runs)
            memory = max(run[2] for run in runs)
            print(
                f"chunks of {chunk * 4 >> 20} MiB: cat and write {floor:.3f} s, pack {packing:.3f} s "
                f"({floor / packing:.2f}; {ELEMENTS * 4 / packing / 1e9:.2f} GB/s), peak {memory / 1e6:.0f} MB"
            )


if __name__ == "__main__":
    main()
