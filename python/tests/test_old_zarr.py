"""With a zarr-python that lacks the codecs: one sentence says which version they need, and nothing else changes."""

import subprocess
import sys

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr")
if tuple(int(number) for number in zarr.__version__.split(".")[:3]) >= (3, 3, 0):
    pytest.skip("this zarr-python has the codecs", allow_module_level=True)

SENTENCE = r"zarr_recast's codecs need zarr-python 3.3.0 or later .*, which is \d.*; pip install"


def test_what_needs_the_codecs_says_which_version_they_need():
    with pytest.raises(ImportError, match=SENTENCE):
        zarr_recast.register()
    with pytest.raises(ImportError, match=SENTENCE):
        zarr_recast.encoding_for(np.arange(3.0), max_abs_error=0.1)
    with pytest.raises(ImportError, match=SENTENCE):
        from zarr_recast._entry_points import cast_value  # noqa: F401


def test_arrays_without_the_codecs_are_written_and_read_without_a_warning(tmp_path):
    code = (
        "import sys, warnings, numpy as np\n"
        "import zarr\n"
        "warnings.simplefilter('error')\n"
        "array = zarr.open(sys.argv[1], mode='w', shape=(4,), chunks=(2,), dtype='f4')\n"
        "array[:] = np.arange(4)\n"
        "assert zarr.open(sys.argv[1], mode='r')[:].tolist() == [0, 1, 2, 3]\n"
        "assert 'zarr_recast.zarr' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.zarr")], check=True)


def test_casts_and_jobs_need_no_zarr(tmp_path):
    assert zarr_recast.cast_array(np.ones(2), target_dtype="uint8", rounding_mode="nearest-even").sum() == 2
    with pytest.raises(ValueError, match=r"nothing\.zarr"):
        zarr_recast.pack(tmp_path / "nothing.zarr", tmp_path / "b.zarr", max_abs_error=1)
