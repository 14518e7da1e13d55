"""`encoding_for`, `pack` and the wheel's own `recast` do what the command of the workspace does."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from binaries import run

import zarr_recast
from zarr_recast._options import by_name

zarr = pytest.importorskip("zarr", minversion="3.3.0")

REAL = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


def value_codecs(codecs):
    """The value codecs of an array, also those inside its shards."""
    found = []
    for codec in codecs:
        if codec["name"] in ("scale_offset", "cast_value"):
            found.append(codec)
        elif codec["name"] == "sharding_indexed":
            found += value_codecs(codec["configuration"]["codecs"])
    return found


def as_json(filters):
    return json.loads(json.dumps([codec.to_dict() for codec in filters]))


def packed_codecs(folder, array, *flags):
    report = json.loads(run("recast", "pack", "--json", array, folder / "packed.zarr", *flags))
    return value_codecs(report["codecs"])


def kinds():
    g = np.random.default_rng(5)
    shape = (120, 90)
    waves = np.sin(np.arange(90) / 9) * np.cos(np.arange(120) / 7)[:, None]
    yield "temperature", (285 + 15 * waves + g.normal(size=shape)).astype("f4"), 0.01
    yield "multiples of 0.01", np.round(285 + 15 * waves + g.normal(size=shape), 2), 0.004
    yield "precipitation", np.where(g.random(shape) < 0.7, 0, g.exponential(3, shape)), 0.05
    yield "with NaN", np.where(g.random(shape) < 0.1, np.nan, waves).astype("f4"), 1e-3
    yield "constant", np.full(shape, 3.25, "f4"), 0.1
    yield "float16", waves.astype("f2"), 0.01
    yield "integers", (1000 + 500 * waves).astype("i4"), None
    yield "counts", g.integers(0, 40, shape).astype("i8"), None


OPTIONS = [({}, ["--no-grid"]), ({"grid": True}, []),
           ({"range": (-500, 1500)}, ["--range", "-500", "1500"]),
           ({"data_type": "int32", "grid": True}, ["--data-type", "int32"]),
           ({"error_over_range": 1e-3}, ["--no-grid"]), ({"nan": None}, ["--no-nan", "--no-grid"])]  # fmt: skip


@pytest.mark.parametrize(("options", "flags"), OPTIONS)
def test_every_kind_of_array_gets_the_codecs_of_the_command(options, flags, tmp_path):
    for number, (kind, data, bound) in enumerate(kinds()):
        folder = tmp_path / str(number)
        folder.mkdir()
        fill = 0 if bound is None else np.nan
        array = zarr.create_array(
            folder / "in.zarr", shape=data.shape, chunks=(50, 40), dtype=data.dtype, fill_value=fill
        )
        array[...] = data
        goal = {} if bound is None else {"max_abs_error": bound}
        if "error_over_range" in options:
            goal = {"error_over_range": options["error_over_range"]}
        flag = [f"--{name.replace('_', '-')}={value!r}" for name, value in goal.items()]
        more = {name: value for name, value in options.items() if name not in goal}
        if bound is None and options.keys() & {"nan"}:
            continue
        try:
            expected = packed_codecs(folder, folder / "in.zarr", *flag, *flags)
        except subprocess.CalledProcessError as error:
            with pytest.raises(ValueError) as caught:
                zarr_recast.encoding_for(array, **goal, **more)
            said = error.stderr.decode().replace("--max-abs-error", "max_abs_error")
            said = said.replace("--error-over-range", "error_over_range")
            assert str(caught.value).split(";")[0].split(": ")[-1] in said, kind
            continue
        found = zarr_recast.encoding_for(array, **goal, **more)
        assert as_json(found["filters"]) == expected, kind


def real_arrays():
    """Arrays of real data, and of the command's own tests, that are not packed yet."""
    for metadata in sorted(REAL.glob("**/zarr.json")):
        folder = metadata.parent
        if not {"target", "fuzz"} & set(folder.relative_to(REAL).parts):
            document = json.loads(metadata.read_text())
            codecs = [codec["name"] for codec in document.get("codecs", [])]
            if document["node_type"] == "array" and not {"cast_value", "scale_offset"} & set(codecs):
                yield folder


@pytest.mark.filterwarnings("ignore:the bound .* is ")
@pytest.mark.parametrize("grid", [True, False])
@pytest.mark.parametrize("share", [1e-1, 1e-2, 1e-4])
def test_every_real_array_at_hand_gets_the_codecs_of_the_command(share, grid, tmp_path):
    compared = 0
    for number, path in enumerate(real_arrays()):
        try:
            array = zarr.open_array(path, mode="r")
            values = np.asarray(array[...], "f8")
        except Exception:  # what zarr-python itself does not open
            continue
        if array.dtype.kind != "f" or not np.isfinite(values).any():
            bound, goal = None, []
        else:
            finite = values[np.isfinite(values)]
            bound = float(share * np.ptp(finite)) or 0.1
            goal = ["--max-abs-error", repr(bound)]
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            expected = packed_codecs(folder, path, *goal, *([] if grid else ["--no-grid"]))
        except subprocess.CalledProcessError:
            with pytest.raises((ValueError, TypeError)):
                zarr_recast.encoding_for(array, max_abs_error=bound, grid=grid)
            continue
        found = zarr_recast.encoding_for(array, max_abs_error=bound, grid=grid)
        assert as_json(found["filters"]) == expected, path
        compared += 1
    assert compared > 3


@pytest.fixture
def group(tmp_path):
    g = np.random.default_rng(3)
    root = zarr.create_group(tmp_path / "in.zarr")
    for name, dtype in [("t", "f4"), ("p", "f8"), ("n", "i4")]:
        array = root.create_array(name, shape=(60, 50), chunks=(20, 50), dtype=dtype)
        array[...] = g.normal(280, 10, (60, 50)).astype(dtype)
    return tmp_path / "in.zarr"


def test_an_array_is_packed_and_verified(group, tmp_path):
    out = tmp_path / "t.zarr"
    report = zarr_recast.pack(group / "t", out, max_abs_error=0.01, range=(200, 350), threads=1)
    assert isinstance(report, zarr_recast.PackReport)
    assert report.data_type == "int16" and report.source_data_type == "float32"
    assert report.error["max"] <= 0.01 and report.counts["elements"] == 3000
    assert report.storable_range[0] <= 200 and report.storable_range[1] >= 350
    data = zarr.open_array(group / "t", mode="r")[...]
    np.testing.assert_allclose(zarr.open_array(out, mode="r")[...], data, rtol=0, atol=0.01)
    assert zarr_recast.verify(group / "t", out, atol=0.01).passed
    assert zarr_recast.verify(group / "t", out).details["recorded"]["atol"] == 0.01
    failed = zarr_recast.verify(group / "t", out, atol=0)
    assert not failed.passed and "3 000 elements differ" in failed.failure.replace("\u2009", " ")
    with pytest.raises(ValueError, match="overwrite"):
        zarr_recast.pack(group / "t", out, max_abs_error=0.01)
    zarr_recast.pack(group / "t", out, max_abs_error=0.1, overwrite=True)
    dry = zarr_recast.pack(group / "t", tmp_path / "dry.zarr", max_abs_error=0.1, dry_run=True)
    assert dry.dry_run and not (tmp_path / "dry.zarr").exists()


@pytest.mark.parametrize("source", ["in.zarr", "in.zarr/t"])
def test_a_synced_output_replaces_the_old_one_and_is_the_same(group, tmp_path, source):
    outputs = [tmp_path / name for name in ("a.zarr", "b.zarr")]
    for out, sync in zip(outputs, (False, True), strict=True):
        for bound in (0.1, 0.01):
            zarr_recast.pack(tmp_path / source, out, max_abs_error=bound, overwrite=True, sync=sync)
    one, other = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        for out in outputs
    )
    assert one == other and len(one) > 3


def test_a_grid_that_is_coarser_than_the_bound_is_a_warning(tmp_path):
    values = np.arange(3000, dtype="float32")
    zarr.create_array(tmp_path / "in.zarr", data=values, chunks=(1000,))
    out = tmp_path / "out.zarr"
    places = (tmp_path / "in.zarr", out)
    sentence = "errors are at most 0.01, for multiples of 1.0 only: values between these may be off by up to 0.5"
    with pytest.warns(UserWarning, match=sentence) as caught:
        report = zarr_recast.pack(*places, max_abs_error=0.01)
    assert len(caught) == 1 and "grid=False" in str(caught[0].message)
    assert report.bound == sentence and sentence in repr(report)
    assert zarr.open_array(out).attrs["recast"]["note"] == sentence
    # Who asks for it, or for more, is not warned.
    for grid in (True, False):
        zarr_recast.pack(*places, max_abs_error=0.01, grid=grid, overwrite=True)


def test_ends_of_the_range_are_integers_of_64_bits(tmp_path):
    values = 2**53 + np.arange(8)
    source = tmp_path / "in.zarr"
    zarr.create_array(source, data=values, fill_value=0)
    ends = {"src_min": 2**53 + 1, "src_max": np.int64(2**53 + 5)}
    zarr_recast.pack(source, tmp_path / "packed.zarr", max_abs_error=0, **ends)
    packed = zarr.open_array(tmp_path / "packed.zarr")
    assert (packed[...] == values.clip(2**53 + 1, 2**53 + 5)).all()
    with pytest.raises(ValueError, match="src_min is inf"):
        zarr_recast.pack(source, tmp_path / "not.zarr", max_abs_error=0, src_min=np.inf)


def test_a_group_is_packed_with_a_bound_for_each_variable(group, tmp_path):
    out = tmp_path / "out.zarr"
    report = zarr_recast.pack(group, out, max_abs_error={"t": 0.01, "p": 1.0})
    assert isinstance(report, zarr_recast.GroupReport)
    assert set(report.packed) == {"t", "p"} and set(report.copied) == {"n"}
    assert report.packed["p"].data_type == "int8"
    assert zarr_recast.verify(group, out, atol=1.0).passed
    assert zarr_recast.verify(group / "t", out / "t", atol=0.01).passed


def test_a_packed_group_is_packed_again_on_request(group, tmp_path):
    out, again = tmp_path / "out.zarr", tmp_path / "again.zarr"
    zarr_recast.pack(group, out, max_abs_error={"t": 0.01, "p": 1.0})
    with pytest.raises(ValueError, match="has value codecs already; pack it again with repack"):
        zarr_recast.pack(out, again, max_abs_error=1)
    report = zarr_recast.pack(out, again, max_abs_error={"t": 1}, repack=True)
    assert set(report.packed) == {"t"} and set(report.copied) == {"n", "p"}
    assert zarr_recast.verify(out, again, atol=1).passed


@pytest.mark.parametrize(
    "own", [{"precision": {"p": 2}}, {"scale": {"p": 0.5}, "offset": {"p": 280}, "data_type": {"p": "int8"}}]
)  # fmt: skip
def test_an_arrays_own_bound_takes_the_place_of_another_kind_for_all(group, tmp_path, own):
    out = tmp_path / "out.zarr"
    report = zarr_recast.pack(group, out, max_abs_error=0.01, **own)
    assert set(report.packed) == {"t", "p"}
    assert report.packed["t"].error["max"] <= 0.01
    values, packed = (zarr.open_array(path / "p", mode="r")[...] for path in (group, out))
    assert (packed % 2 == 0).all() and abs(packed - values).max() <= 1 + 1e-9
    assert report.packed["p"].data_type in ("int8", "uint8")


def test_settings_for_all_hold_beside_an_arrays_own(group, tmp_path):
    out = tmp_path / "out.zarr"
    report = zarr_recast.pack(
        group, out, max_abs_error=0.01, error_over_range={"p": 1e-3}, compressor="gzip:3", readers="any"
    )
    assert {one.compression for one in report.packed.values()} == {"gzip:3"}
    assert report.packed["p"].error["max"] > 0.01
    for name in ("t", "p"):
        assert "cast_value" not in json.dumps(report.packed[name].codecs)
    # Of a dataset in memory, too.
    picked = by_name(["t", "p"], ["t", "p"], {"max_abs_error": 1, "range": (0, 9), "precision": {"p": 2}})
    assert picked == {"t": {"max_abs_error": 1, "range": (0, 9)}, "p": {"range": (0, 9), "precision": 2}}


@pytest.mark.parametrize(
    ("options", "match"),
    [({}, "nothing says"), ({"max_error": 1}, "max_error"), ({"max_abs_error": 1e-30}, "larger"),
     ({"max_abs_error": "x"}, "max_abs_error is 'x'"), ({"max_abs_error": {"p": 1}}, "is not a group")],
)  # fmt: skip
def test_what_cannot_be_packed_says_why_and_leaves_nothing(group, tmp_path, options, match):
    before = sorted(tmp_path.iterdir())
    with pytest.raises((TypeError, ValueError), match=match) as caught:
        zarr_recast.pack(group / "p", tmp_path / "out.zarr", **options)
    assert "--" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == before


def test_cf_packing_becomes_codecs_over_the_same_integers(tmp_path):
    xr = pytest.importorskip("xarray")
    codes = np.arange(-3000, 3000, dtype="int16").reshape(60, 100)
    values = xr.Dataset({"t": (("y", "x"), (codes * np.float32(0.01) + np.float32(5))),
                         "other": (("y", "x"), codes.astype("f4"))})  # fmt: skip
    cf = {"t": {"scale_factor": 0.01, "add_offset": 5.0, "dtype": "int16", "_FillValue": -32768}}
    values.to_zarr(tmp_path / "cf.zarr", encoding=cf, zarr_format=3, consolidated=False)
    with xr.open_zarr(tmp_path / "cf.zarr", consolidated=False) as ds:
        with pytest.warns(UserWarning, match="^t: .* codes decode to other last bits"):
            encoding = zarr_recast.from_cf(ds)
        assert set(encoding) == {"t"}
        ds.to_zarr(tmp_path / "new.zarr", encoding=encoding, zarr_format=3, consolidated=False)
        with xr.open_zarr(tmp_path / "new.zarr", consolidated=False) as new:
            np.testing.assert_allclose(new["t"], ds["t"], rtol=1e-13)
            assert new["t"].dtype == ds["t"].dtype and "scale_factor" not in new["t"].encoding
    chain = zarr_recast.Chain(encoding["t"]["dtype"], encoding["t"]["filters"])
    stored = chain.encode(zarr.open_array(tmp_path / "new.zarr" / "t", mode="r")[...])
    np.testing.assert_array_equal(stored, codes)
    with xr.open_zarr(tmp_path / "cf.zarr", consolidated=False, mask_and_scale=False) as raw:
        with pytest.raises(ValueError, match="mask_and_scale"):
            zarr_recast.from_cf(raw)


def python(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


MAIN = "import sys; sys.argv[0] = 'recast'; from zarr_recast._command import main; main()"


def test_the_wheels_command_is_the_command(group, tmp_path):
    ours = python(MAIN, "info", "--json", str(group / "t"))
    output, _ = ours.communicate()
    assert ours.returncode == 0 and output == run("recast", "info", "--json", group / "t")
    wrong = python(MAIN, "pack", "--no-such-flag")
    assert "Usage: recast pack" in wrong.communicate()[1].decode() and wrong.returncode == 2
    page = tmp_path / "page.html"
    packed = python(MAIN, "pack", "-q", "-e", "0.1", "--report", str(page), str(group / "t"),
                    str(tmp_path / "x.zarr"))  # fmt: skip
    packed.communicate()
    assert packed.returncode == 0 and "recast pack -q -e 0.1" in page.read_text()


def test_ctrl_c_ends_a_job_and_leaves_nothing(tmp_path):
    source = tmp_path / "in.zarr"
    array = zarr.create_array(source, shape=(4000, 4000), chunks=(40, 40), dtype="f4", compressors=None)
    array[...] = np.random.default_rng(0).random((4000, 4000), "f4")
    code = (
        # A shell's background jobs start with the signal ignored.
        "import signal, sys, zarr_recast\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('ready', flush=True)\n"
        "while True: zarr_recast.pack(sys.argv[1], sys.argv[2], max_abs_error=0.01, overwrite=True, threads=1)"
    )
    job = python(code, str(source), str(tmp_path / "out.zarr"))
    assert job.stdout.readline() == b"ready\n"
    # The job has begun once something stands beside its output.
    while len(list(tmp_path.iterdir())) < 2:
        assert job.poll() is None
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGINT)
    _, errors = job.communicate()
    assert job.returncode != 0 and b"KeyboardInterrupt" in errors
    assert {path.name for path in tmp_path.iterdir()} <= {"in.zarr", "out.zarr"}
