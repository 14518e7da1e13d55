"""The stores of conformance/stores are read to the expected bits: with this package, and with zarr-python's own codecs, as
far as they go."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from binaries import CODECS

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
pytest.importorskip("cast_value_rs")
# zarr-python warns of codecs around sharding_indexed.
pytestmark = pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")

FOLDER = Path(__file__).parents[2] / "conformance"
STORES = sorted(path.parent for path in FOLDER.glob("stores/*/array.zarr"))
sys.path.insert(0, str(FOLDER))
from read import elements  # noqa: E402

# What zarr-python's own codecs refuse: types that they do not know, and chains that are checked against another type.
REFUSED = ("No Zarr data type found", "cast_value codec only supports", "Unsupported source dtype", "Unsupported target dtype",
           "is not representable in dtype")


def expected(store):
    return json.loads((store / "expected.json").read_text())["elements"]


def expected_by_zarr_python(store):
    """As `expected`, but zarr-python adds 0 where `scale_offset` has no offset, so −0 becomes 0 (docs/semantics.md)."""
    metadata = json.loads((store / "array.zarr" / "zarr.json").read_text())
    first = metadata["codecs"][0]
    is_bare = first["name"] == "scale_offset" and "offset" not in first.get("configuration", {})
    if not is_bare or not metadata["data_type"].startswith("float"):
        return expected(store)
    return [re.sub("^80*$", lambda zero: "0" * len(zero[0]), element) for element in expected(store)]


def test_the_stores_are_those_of_the_vectors():
    subprocess.run([sys.executable, FOLDER / "stores.py", "--check"], check=True)
    assert len(STORES) >= 90


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_every_element_is_as_expected(store):
    zarr_recast.register()
    assert elements(store / "array.zarr") == expected(store)


# They divide infinities, and NumPy warns of that.
@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_zarr_python_s_own_codecs_return_the_same_elements_or_refuse():
    refused = []
    names = {f"codecs.{name}": codec for name, codec in CODECS["zarr-python"].items()}
    with zarr.config.set(names):
        for store in STORES:
            try:
                found = elements(store / "array.zarr")
            except (TypeError, ValueError) as error:
                assert any(reason in str(error) for reason in REFUSED), f"{store.name}: {error}"
                refused.append(store.name)
            else:
                assert found == expected_by_zarr_python(store), store.name
    assert len(refused) < len(STORES) / 3, refused


def test_the_reader_fails_where_elements_differ(tmp_path):
    copy = shutil.copytree(STORES[0], tmp_path / "store")

    def read(*options):
        command = [sys.executable, FOLDER / "read.py", "--array_path", copy / "array.zarr", *options]
        return subprocess.run(command, capture_output=True, text=True)

    assert read("--check").returncode == 0
    document = json.loads((copy / "expected.json").read_text())
    assert json.loads(read().stdout) == document["elements"]
    document["elements"][2] = "00"
    (copy / "expected.json").write_text(json.dumps(document))
    failed = read("--check")
    assert failed.returncode == 1 and "1 of" in failed.stderr and "[2]" in failed.stderr
