"""The store bench's work in zarr-python, with cast-value-rs behind its cast_value: MIB RUNS.

Run by `cargo bench -p zarrs-recast --bench store` where RECAST_BENCH_PYTHON names a Python that has both.
"""

import sys
import time

import numpy as np
import zarr
from zarr.codecs import BytesCodec, CastValue, ScaleOffset

MIB, RUNS = map(int, sys.argv[1:])
CHUNK = 1 << 18
ELEMENTS = MIB * CHUNK


def best(run):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def row(name, data_type, filters, elements):
    array = zarr.create_array(
        store=zarr.storage.MemoryStore(),
        shape=elements.shape,
        chunks=(CHUNK,),
        dtype=data_type,
        filters=filters,
        serializer=BytesCodec(endian="little"),
        compressors=None,
        fill_value=5,
    )

    def write():
        array[:] = elements

    def by_chunk():
        for start in range(0, ELEMENTS, CHUNK):
            array[start : start + CHUNK]

    times = [best(write), best(lambda: array[:]), best(by_chunk)]
    if not np.array_equal(array[:], elements):
        sys.exit(f"{name}: other elements came back")
    rates = " ".join(f"{ELEMENTS / seconds / 1e9:8.3f}" for seconds in times)
    print(f"{name:<48} {rates}", flush=True)


codes = (np.arange(ELEMENTS) % 251).astype("uint8")
row("zarr-python: uint8, bytes", "uint8", None, codes)
packed = [ScaleOffset(offset=5, scale=2), CastValue(data_type="uint8", out_of_range="clamp")]
floats = np.float32(5) + codes.astype("float32") / np.float32(2)
row("zarr-python: scale_offset, cast_value, bytes", "float32", packed, floats)
