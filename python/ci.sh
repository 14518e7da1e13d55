#!/usr/bin/env bash
# Builds the wheel, installs it into clean environments and runs the tests there, on CPython 3.11 and
# 3.13 if they are installed. zarr-python's own tests of the two codecs run on the later one. Of 300 random arrays with
# shards, every fifth is tested; RECAST_TEST_STRIDE=1 takes all.
set -euo pipefail
cd "$(dirname "$0")"
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-5}"
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find_python() {
    local candidate
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

environment() { # name, interpreter, packages...
    "$2" -m venv "$work/$1"
    "$work/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:3}"
}

run_tests() { # environment
    cd "$work" # the package in use is the installed one
    "$work/$1/bin/python" -c "import zarr_recast; assert 'site-packages' in zarr_recast.__file__"
    "$work/$1/bin/python" -m pytest --quiet -c "$here/pyproject.toml" --rootdir "$here" "$here/tests"
    cd "$here"
}

early=$(find_python 3.11)
late=$(find_python 3.13)
if [[ -z $early$late ]]; then
    echo "neither Python 3.11 nor 3.13 is installed" >&2
    exit 1
fi

environment build "${late:-$early}" 'maturin>=1.9,<2'
PATH="$work/build/bin:$PATH" maturin build --release --locked --out "$work/wheels"
PATH="$work/build/bin:$PATH" maturin sdist --out "$work/sdist"
wheel=$(echo "$work"/wheels/*.whl)

test_early() {
    # zarr-python 3.3 needs Python 3.12; the newest for 3.11 is told apart (tests/test_old_zarr.py), and so are
    # the first of its kind and the last of the kind before.
    environment early "$early" "$wheel[test]" cast-value-rs zarr
    run_tests early
    for zarr in 'zarr==3.0.0' 'zarr<3'; do
        "$work/early/bin/python" -m pip install --quiet --disable-pip-version-check "$zarr" 'numcodecs<0.16'
        "$work/early/bin/python" -m pytest --quiet -c "$here/pyproject.toml" --rootdir "$here" "$here/tests/test_old_zarr.py"
    done
}

# In parallel with the tests on the later one; each needs one core.
early_tests=''
if [[ -n $early ]]; then
    (set -e; test_early) > "$work/early.log" 2>&1 &
    early_tests=$!
fi

if [[ -n $late ]]; then
    # The README's way to install, its command and its example, word for word and in this order, in one new folder. Uses what
    # maturin has compiled for the wheel.
    "$late" -m venv "$work/readme"
    (
        cd ..
        PATH="$work/readme/bin:$PATH"
        eval "$(grep -m1 '^pip install ' README.md | cut -d'#' -f1) --quiet --disable-pip-version-check"
        recast --version
        command=$(grep -m1 '^cargo run --release --bin recast -- pack' README.md)
        example=$(sed -n '/^```python$/,/^```$/p' README.md | grep -v '^```')
        mkdir "$work/readme_example"
        ln -s "$PWD/examples" "$work/readme_example/"
        cd "$work/readme_example"
        eval "${command/cargo run --release --bin recast --/recast} --quiet"
        test "$(python -W error -c "$example")" = "float32 28.03"
    )

    environment late "$late" "$wheel[test,dask,xarray]" cast-value-rs netCDF4 h5netcdf h5py scipy virtualizarr icechunk obstore tqdm mypy pyright
    # What users write is typed, as far as this package is concerned.
    "$work/late/bin/mypy" --strict --python-executable "$work/late/bin/python" "$here/examples"
    "$work/late/bin/pyright" --pythonpath "$work/late/bin/python" "$here/examples"
    for example in "$here"/examples/*.py; do
        (mkdir "$work/$(basename "$example")" && cd "$_" && "$work/late/bin/python" -W error "$example")
    done
    # The page's tables are those of its results.
    "$work/late/bin/python" ../docs/compression_page.py --check
    # What these write is read by zarr-python (tests/test_written_in_rust.py).
    (cd .. && cargo build --profile test --workspace --bin recast --example rewrite)
    RECAST_BINARIES=$(cd .. && cd "${CARGO_TARGET_DIR:-target}" && pwd)/debug
    export RECAST_BINARIES
    run_tests late
    "$work/late/bin/recast" --version

    # The oldest zarr-python that the codecs work with, which some other packages ask for.
    oldest=$(sed -n 's/^zarr = \["zarr>=\([0-9.]*\)".*/\1/p' pyproject.toml)
    environment oldest "$late" "$wheel[test,dask,xarray]" "zarr==$oldest" netCDF4
    (cd "$work" && "$work/oldest/bin/python" -m pytest --quiet -c "$here/pyproject.toml" --rootdir "$here" \
        "$here"/tests/test_{zarr,xarray,sharded,encoding_for}.py)

    zarr=$("$work/late/bin/python" -c "import zarr; print(zarr.__version__)")
    "$work/late/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps \
        --no-binary zarr --dest "$work" "zarr==$zarr"
    tar -xf "$work/zarr-$zarr.tar.gz" -C "$work"
    "$work/late/bin/python" -m pip install --quiet --disable-pip-version-check pytest-asyncio
    cd "$work/zarr-$zarr"
    # The test left out is of a private function that checks the version of cast-value-rs.
    PYTHONPATH="$here/tests/zarr_python" "$work/late/bin/python" -m pytest --quiet -o addopts= \
        -p select_zarr_recast --deselect \
        tests/test_codecs/test_cast_value.py::test_encode_rejects_outdated_backend \
        tests/test_codecs tests/test_codec_pipeline.py tests/test_pipeline_parity.py
fi

if [[ -n $early_tests ]]; then
    failed=''
    wait "$early_tests" || failed=yes
    cat "$work/early.log"
    [[ -z $failed ]]
fi
