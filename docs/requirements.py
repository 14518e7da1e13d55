"""Compares `recast pack` with compression-safeguards over SZ3 and ZFP at the same requirements, for docs/compression.md.

    python docs/requirements.py RECAST REALDATA [--write] [--note TEXT]

Arguments, arrays, bounds, seconds and how a row counts are those of compression.py. Here the values must also lie within the least and the
greatest value of the array. With --write the rows go to docs/requirements.jsonl.
The figures were made with the packages that compression.py names, but numcodecs==0.16.6, and

    pip install compression-safeguards==1.0.0rc5 numcodecs-safeguards==0.1.0rc5
"""

import dataclasses

# First, for it says how many threads the others have.
import compression

import hdf5plugin
import numpy as np
from compression_safeguards import Safeguards
from numcodecs_safeguards.lossless import Lossless

import compression_page


def ends(values):
    finite = values[np.isfinite(values)]
    return finite.min(), finite.max()


def requirements(values, bound):
    """As safeguards. A value stays on its side of the numbers next to the ends, so that it stays between the ends."""
    least, greatest = ends(values)
    outside = [np.nextafter(least, -np.inf, dtype=values.dtype), np.nextafter(greatest, np.inf, dtype=values.dtype)]
    sides = [{"kind": "sign", "offset": float(offset)} for offset in outside]
    return Safeguards(safeguards=[{"kind": "eb", "type": "abs", "eb": bound, "equal_nan": True}, *sides])


def corrected(codec, argument):
    """A compressor that gets the bound, and the correction, compressed as numcodecs-safeguards does by default."""
    compressor_ladders, compressor_store = compression.error_bounded(codec, argument, [1])

    def ladders(values, bound):
        for (setting,) in compressor_ladders(values, bound):
            yield [setting | {"bound": bound}]

    def store(values, folder, setting):
        stored = compressor_store(values, folder, setting)
        safeguards, lossless = requirements(values, setting["bound"]), Lossless().for_corrections

        def encode():
            correction = safeguards.compute_correction(values, stored.decoded)
            return bytes(lossless.encode(correction)) if correction.any() else b""

        def decode():
            if not encoded:
                return stored.decoded
            return safeguards.apply_correction(stored.decoded, lossless.decode(encoded).reshape(values.shape))

        encoded, pack_seconds = compression.timed(encode)
        decoded, read_seconds = compression.timed(decode)
        # What is corrected must have been decoded.
        pack_seconds += stored.pack_seconds + stored.read_seconds
        return Stored(stored.size + len(encoded), decoded, pack_seconds, stored.read_seconds + read_seconds)

    return ladders, store


class Stored(compression.Stored):
    def error(self, values):
        """Infinite, too, where a value leaves the range: by NumPy, and for all methods alike."""
        least, greatest = ends(values)
        decoded = self.decoded[np.isfinite(values)]
        kept = decoded.min() >= least and decoded.max() <= greatest
        return super().error(values) if kept else float("inf")


def recast_method(recast, compressor):
    def ladders(values, bound):
        least, greatest = map(float, ends(values))
        yield [{"bound": bound, "also": ["--limits", repr(least), repr(greatest)]}]

    def store(values, folder, setting):
        stored, _ = compression.packed(recast, compressor, values, folder, setting)
        return Stored(**{field.name: getattr(stored, field.name) for field in dataclasses.fields(stored)})

    return ladders, store


def methods(recast):
    return {
        "recast smallest": recast_method(recast, "smallest"),
        "recast auto": recast_method(recast, "auto"),
        "SZ3, corrected": corrected(hdf5plugin.SZ3, "absolute"),
        "ZFP, corrected": corrected(hdf5plugin.Zfp, "accuracy"),
    }


if __name__ == "__main__":
    libraries = [*compression.LIBRARIES, "compression-safeguards", "numcodecs-safeguards"]
    compression.main(methods, libraries, compression_page.REQUIREMENTS)
