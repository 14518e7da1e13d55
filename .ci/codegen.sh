#!/bin/bash
# Fails when a kernel has lost its vectors: counts the instructions per element of some kernels under
# callgrind, which is repeatable where times are not, and compares them with kernels/instructions.csv; a
# loop that is not vectorised any more takes several times as many.
#
#   .ci/codegen.sh           compares
#   .ci/codegen.sh --write   writes the table anew
#
# Needs valgrind and a CPU with AVX2 (valgrind has no AVX-512, so AVX2 is the level that runs).
set -euo pipefail
cd "$(dirname "$0")/.."

table=kernels/instructions.csv
tolerance=25 # per cent, for compilers differ

if ! grep -qw avx2 /proc/cpuinfo; then
    echo "no AVX2 here: the kernels' instructions are not compared"
    exit 0
fi
command -v valgrind > /dev/null || {
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends valgrind
}

# Without -p, for the features of dependencies that others are built with.
cargo build --quiet --profile bench --example run_kernel
program="${CARGO_TARGET_DIR:-target}/release/examples/run_kernel"

# Instructions that running KERNEL some times takes, with all that is around it.
count() {
    RECAST_LEVEL=avx2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $NF }'
}

counted="$(mktemp)"
trap 'rm -f "$counted"' EXIT
echo "kernel,instructions_per_element" > "$counted"
for kernel in $("$program"); do
    # The difference leaves one run.
    less="$(count "$kernel" 1)"
    more="$(count "$kernel" 2)"
    awk -v kernel="$kernel" -v less="$less" -v more="$more" \
        'BEGIN { printf "%s,%.2f\n", kernel, (more - less) / 65536 }' >> "$counted"
done

if [ "${1:-}" = --write ]; then
    cp "$counted" "$table"
    cat "$table"
    exit 0
fi
paste -d, "$table" "$counted" | awk -F, -v tolerance="$tolerance" -v table="$table" '
    NR == 1 { next }
    $1 != $3 { print $1 " in " table " is not " $3 ", which was counted: run .ci/codegen.sh --write"; failed = 1; next }
    {
        change = ($4 / $2 - 1) * 100
        printf "%-32s %6.2f instructions per element, %6.2f in the table (%+.0f %%)\n", $1, $4, $2, change
        if (change > tolerance) { print "  more than the table allows: has the loop lost its vectors?"; failed = 1 }
        if (change < -tolerance) { print "  fewer: take them over with .ci/codegen.sh --write"; failed = 1 }
    }
    END { exit failed }'
