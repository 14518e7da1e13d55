#!/usr/bin/env bash
# Mutation score: in each part of the code, every n-th place where cargo-mutants knows a change is changed, and the tests of
# its crate must fail. `.ci/mutants.sh FOLDER [PART...]`: results go to FOLDER/PART/mutants.out, of which missed.txt lists changes
# that no test noticed. Changes files in place, so it wants a checkout that nobody works in. Needs cargo-mutants, and
# cargo-nextest, which stops at the first test that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="$1"
shift
[ $# -gt 0 ] || set -- src zarrs pack kernels

# A part: its package, of how many places one is changed, its files, and behind `--` the test programs that judge besides the
# unit tests.
mutants() {
    local part="$1" package="$2" every="$3" arguments=(--cargo-arg=--lib)
    shift 3
    while [ "$1" != -- ]; do
        arguments+=(--file "$1")
        shift
    done
    shift
    for program in "$@"; do
        arguments+=("--cargo-arg=--test=$program")
    done
    mkdir -p "$folder/$part"
    local status=0
    cargo mutants --in-place --package "$package" --shard "0/$every" --sharding round-robin \
        --test-tool nextest --timeout 600 --build-timeout 1800 --output "$folder/$part" "${arguments[@]}" || status=$?
    # 2: some were missed; 3: some took too long.
    [ $status = 0 ] || [ $status = 2 ] || [ $status = 3 ]
    wc -l "$folder/$part"/mutants.out/{caught,missed,timeout,unviable}.txt
}

# A sample of the jobs of the kernels' tests.
export RECAST_TEST_STRIDE="${RECAST_TEST_STRIDE:-5}"

for part; do
    case "$part" in
    src) mutants src zarr-recast 8 'src/**' -- zarr conformance long_maps ;;
    zarrs) mutants zarrs zarrs-recast 12 'zarrs/src/**' -- arrays ;;
    pack)
        mutants pack recast-pack 52 'pack/src/check/**' 'pack/src/choose/**' 'pack/src/jobs/pack/**' 'pack/src/scan/**' -- library
        ;;
    kernels)
        mutants kernels recast-kernels 60 kernels/src/{plan,pipeline,float_environment,key_table}.rs \
            'kernels/src/bind/**' 'kernels/src/ops/**' -- \
            plan_vs_reference limits map_outputs flagged_blocks float_environment key_table long_maps long_runs types
        ;;
    *) echo "no part $part" >&2 && exit 1 ;;
    esac
done
