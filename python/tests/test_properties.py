"""Random arrays with random options: what `pack` writes is read with NumPy alone, from the documents and the bytes of the
chunks, and keeps what was asked for.

`RECAST_TEST_PROPERTIES=20000` takes as many arrays; the default is small.
"""

import json
import os
import warnings
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import zarr_recast

COUNT = int(os.environ.get("RECAST_TEST_PROPERTIES", "400"))
SIZE, CHUNK = 60, 40
DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def scalar(json_value, dtype):
    """A number, a name or the bits of one value of the type, from JSON."""
    if isinstance(json_value, str) and json_value.startswith("0x"):
        return np.array([int(json_value, 16)], f"uint{8 * dtype.itemsize}").view(dtype)[0]
    return dtype.type(float(json_value) if isinstance(json_value, str) else json_value)


def read(folder):
    """The decoded array, by the meaning of the codecs: a cast back to the array's type, then x / scale + offset in it."""
    document = json.loads((folder / "zarr.json").read_text())
    dtype = dtype_of(document["data_type"])
    *values, to_bytes = document["codecs"]
    assert to_bytes["name"] == "bytes", document["codecs"]
    stored = dtype
    for codec in values:
        if codec["name"] == "cast_value":
            stored = dtype_of(codec["configuration"]["data_type"])
    fill = scalar(document["fill_value"], dtype)
    decoded = np.full(SIZE, fill, dtype)
    for chunk in range(-(-SIZE // CHUNK)):
        path = folder / "c" / str(chunk)
        if path.exists():
            elements = np.frombuffer(path.read_bytes(), stored.newbyteorder("<")).astype(stored)
            part = slice(chunk * CHUNK, min((chunk + 1) * CHUNK, SIZE))
            decoded[part] = decode(elements, values, dtype)[: part.stop - part.start]
    return document, decoded


def decode(elements, codecs, dtype):
    types = [dtype]
    for codec in codecs:
        is_cast = codec["name"] == "cast_value"
        types.append(dtype_of(codec["configuration"]["data_type"]) if is_cast else types[-1])
    for codec, before, after in reversed(list(zip(codecs, types, types[1:], strict=False))):
        configuration = codec["configuration"]
        if codec["name"] == "cast_value":
            result = cast(elements, before)
            for key, value in reversed(configuration.get("scalar_map", {}).get("decode", [])):
                key = scalar(key, after)
                is_key = np.isnan(elements) if key != key else elements == key
                result[is_key] = scalar(value, before)
            elements = result
        else:
            assert codec["name"] == "scale_offset"
            with np.errstate(all="ignore"):
                if "scale" in configuration:
                    scale = scalar(configuration["scale"], before)
                    elements = elements // scale if before.kind in "iu" else elements / scale
                if "offset" in configuration:
                    elements = elements + scalar(configuration["offset"], before)
    return elements


def cast(elements, dtype):
    """Rounded to nearest, ties to even; what the array's integers do not have becomes the nearest end (`clamp`)."""
    if dtype.kind in "iu" and elements.dtype.kind not in "iu":
        info = np.iinfo(dtype)
        finite = np.nan_to_num(elements.astype("f8"), posinf=2.0**70, neginf=-(2.0**70))
        return np.array([min(max(round(x), info.min), info.max) for x in finite.tolist()], dtype)
    with np.errstate(over="ignore", under="ignore"):
        return elements.astype(dtype)


def random_values(g, dtype):
    """Elements of a kind that arrays hold, or that is at the end of what the type can."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        center = int(g.choice([0, 100, high, low, high // 2]))
        spread = int(min(g.choice([1, 3, 200, 60_000, high]), high))
        first, last = max(low, center - spread), min(high, center + spread)
        return np.array([int(first + (last - first) * x) for x in g.random(SIZE)], object).clip(low, high).astype(dtype)
    info = np.finfo(dtype)
    kind = g.integers(8)
    with np.errstate(all="ignore"):
        if kind == 0:
            exponent = g.integers(int(np.log10(float(info.tiny))), int(np.log10(float(info.max))))
            values = g.normal(g.choice([0, 10]), 1, SIZE) * 10.0**exponent
        elif kind == 1:
            values = np.full(SIZE, g.choice([0.0, -0.0, 1.0, 0.1, float(info.max), float(info.tiny)]))
        elif kind == 2:
            values = g.choice([0.0, 1.0, float(info.max)], SIZE)
        elif kind == 3:
            values = g.integers(-200, 2000, SIZE) * g.choice([1.0, 0.1, 0.05, 1 / 3])
        elif kind == 4:
            values = g.random(SIZE) * float(info.smallest_subnormal) * 40
        elif kind == 5:
            values = g.uniform(-1, 1, SIZE) * float(info.max)
        elif kind == 6:
            values = np.exp(g.normal(0, 8, SIZE))
        else:
            values = 280 + 20 * np.sin(np.linspace(0, 7, SIZE)) + g.normal(0, 0.1, SIZE)
        values = values.astype(dtype)
    values[~np.isfinite(values)] = 0
    return values


def random_markers(g, dtype):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        candidates = [info.min, info.max, 0, min(info.max, 255)]
    else:
        info = np.finfo(dtype)
        candidates = [info.max, info.min, info.tiny, 0.0, -9999.0, 1e20, np.nan]
    with np.errstate(over="ignore"):
        markers = np.array(g.choice(np.array(candidates, object), int(g.integers(0, 4)), replace=False)).astype(dtype)
    return markers[~np.isinf(markers)] if dtype.kind == "f" else markers


def random_options(g, values, dtype):
    """What to keep, as `pack` takes it, and the same as a function that says which elements are wrong."""
    extent = float(values.max()) - float(values.min()) if len(values) else 1.0
    largest = max(float(np.abs(values.astype("longdouble")).max()), 1e-300) if len(values) else 1.0
    options = {"compressor": "none", "readers": g.choice(["any", "recast"]) if g.random() < 0.2 else None}
    goal = str(g.choice(["max_abs_error", "max_rel_error", "precision", "max_abs_error"]))
    share = float(10.0 ** g.uniform(-7, -0.5))
    bound = share if goal == "max_rel_error" else share * (extent or largest)
    if dtype.kind in "iu" and g.random() < 0.6:
        bound = max(1.0, round(bound))
    options[goal] = bound
    if goal == "max_abs_error":
        options["grid"] = [None, True, False][g.integers(3)]
        options["pow2"] = True if g.random() < 0.2 else None
    if g.random() < 0.2:
        options["data_type"] = str(g.choice(["int16", "uint8", "int32", "float32", "float8_e4m3"]))
    options["allow_constant"] = True
    return {name: value for name, value in options.items() if value is not None}


def is_within(before, after, options, dtype):
    error = abs(Fraction(after) - Fraction(before))
    if "max_rel_error" in options:
        return error <= Fraction(options["max_rel_error"]) * abs(Fraction(before))
    if "precision" in options:
        # A multiple of the precision is rounded to the array's type.
        unit = Fraction(float(np.finfo(dtype).eps)) if dtype.kind == "f" else Fraction(1, 2**40)
        return error <= Fraction(options["precision"]) / 2 * (1 + Fraction(1, 2**40)) + abs(Fraction(after)) * unit
    return error <= Fraction(options["max_abs_error"])


def exact(x):
    return int(x) if np.asarray(x).dtype.kind in "iu" else float(x)


def is_any(values, markers):
    return np.isin(values, markers) | (np.isnan(values) if np.isnan(markers).any() else False)


def bits(values):
    return values.view(f"uint{8 * values.dtype.itemsize}")


def check(seed, folder):
    """Packs one array; returns whether `pack` took it."""
    g = np.random.default_rng(seed)
    dtype = np.dtype(str(g.choice(DTYPES)))
    values = random_values(g, dtype)
    markers = random_markers(g, dtype)
    if len(markers):
        places = g.random(SIZE) < 0.2
        values[places] = g.choice(markers, int(places.sum()))
    is_missing = is_any(values, markers.astype("f8") if dtype.kind == "f" else markers) if len(markers) else np.zeros(SIZE, bool)
    options = random_options(g, values[~is_missing], dtype)
    attributes = {}
    numbers = [exact(marker) for marker in markers if marker == marker]
    if numbers and g.random() < 0.5:
        attributes["missing_value"] = numbers
    elif numbers:
        options["missing"] = numbers
    source, target = folder / f"{seed}.zarr", folder / f"{seed}_packed.zarr"
    write(source, values, attributes)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "errors are at most .* values between these may be off")
            zarr_recast.pack(source, target, **options)
    except ValueError as error:
        assert "a bug in" not in str(error), (seed, options, str(error))
        assert not target.exists(), (seed, options)
        return False
    document, decoded = read(target)
    told = (seed, dtype.name, options, attributes, document["codecs"])
    assert decoded.dtype == dtype, told
    missing_after = is_any(decoded, markers) if len(markers) else np.zeros(SIZE, bool)
    assert (missing_after == is_missing).all(), told
    wrong = bits(decoded)[is_missing] != bits(values)[is_missing]
    both_nan = np.isnan(decoded[is_missing]) & np.isnan(values[is_missing])
    both_zero = (decoded[is_missing] == 0) & (values[is_missing] == 0)
    assert not (wrong & ~both_nan & ~both_zero).any(), told
    for before, after in zip(values[~is_missing], decoded[~is_missing], strict=True):
        assert is_within(exact(before), exact(after), options, dtype), (before, after, *told)
    return True


def write(folder, values, attributes):
    """A store of Zarr v3 without a compressor."""
    name = values.dtype.name
    document = {
        "zarr_format": 3, "node_type": "array", "shape": [SIZE], "data_type": name, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "attributes": attributes,
    }  # fmt: skip
    (folder / "c").mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(document))
    padded = np.zeros(-(-SIZE // CHUNK) * CHUNK, values.dtype)
    padded[:SIZE] = values
    for chunk, elements in enumerate(padded.reshape(-1, CHUNK)):
        (folder / "c" / str(chunk)).write_bytes(elements.astype(elements.dtype.newbyteorder("<")).tobytes())


@pytest.mark.parametrize("part", range(4))
def test_random_arrays_keep_what_was_asked_for(part, tmp_path):
    taken = sum(check(seed, tmp_path) for seed in range(part, COUNT, 4))
    assert taken > COUNT / 4 / 3, f"only {taken} arrays were packed"
