#!/bin/bash
# Fails when a kernel is no longer vectorised. Counts the instructions per element of some kernels, which unlike
# times are repeatable, and compares them with kernels/instructions.csv; a loop without vectors takes several
# times as many. And looks through the calls in all kernels for operations on registers that stayed functions: those
# lack the level's features, and take some fifty times as long.
#
#   .ci/codegen.sh           compares
#   .ci/codegen.sh --write   writes the table anew
#
# AVX2 is counted under callgrind (valgrind has no AVX-512) and needs valgrind and a CPU that has it; NEON
# under qemu's user-mode emulation, with what .ci/aarch64.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."

table=kernels/instructions.csv
tolerance=25 # per cent, for compilers differ

counted="$(mktemp -d)"
trap 'rm -rf "$counted"' EXIT

# The instructions of a program that runs KERNEL some times at a level.
count_avx2() {
    RECAST_LEVEL=avx2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 |
        awk '/Collected/ { print $NF }'
}
count_neon() {
    # One instruction per block of the translator, and a line for each executed block.
    RECAST_LEVEL=neon qemu-aarch64 "$one_by_one" -d nochain,exec -D /dev/fd/3 "$program" "$1" "$2" 3>&1 > /dev/null |
        grep -c '^Trace'
}

# Writes the instructions per element of all kernels at LEVEL into a table.
count_kernels() {
    local less more
    echo "kernel,$1" > "$counted/$1"
    for kernel in $($run "$program"); do
        # The difference is one run.
        less="$("count_$1" "$kernel" 1)"
        more="$("count_$1" "$kernel" 2)"
        awk -v kernel="$kernel" -v less="$less" -v more="$more" \
            'BEGIN { printf "%s,%.2f\n", kernel, (more - less) / 65536 }' >> "$counted/$1"
    done
}

# Fails where a kernel of the program calls an operation on registers, instead of containing it. The argument: objdump.
check_inlined() {
    "$1" --disassemble --no-show-raw-insn "$program" | awk '
        /^[0-9a-f]+ <.*>:$/ { kernel = /simd.*vectorize/; kernels += kernel }
        kernel && /\t(call|bl)[ \t]/ && /core5array|kernels3ops|kernels4simd/ && !/try_new|detect/ { print "a call in a kernel: " $NF; calls++ }
        END {
            print kernels " kernels, " calls + 0 " operations in them that are functions"
            exit !kernels || calls
        }'
}

if grep -qw avx2 /proc/cpuinfo; then
    command -v valgrind > /dev/null || sh .ci/install.sh valgrind
    # Without -p, so that dependencies have the same features as in other builds.
    cargo build --quiet --profile bench --example run_kernel
    run='' program="${CARGO_TARGET_DIR:-target}/release/examples/run_kernel"
    count_kernels avx2
    check_inlined objdump
else
    echo "no AVX2 here: its instructions are not compared"
fi

. .ci/aarch64.sh
cargo build --quiet --profile bench --target $target -p recast-kernels --example run_kernel
run=qemu-aarch64 program="${CARGO_TARGET_DIR:-target}/$target/release/examples/run_kernel"
one_by_one=-singlestep # as it was named up to qemu 8
qemu-aarch64 --help | grep -q one-insn-per-tb && one_by_one=-one-insn-per-tb
count_kernels neon
check_inlined aarch64-linux-gnu-objdump

if [ "${1:-}" = --write ]; then
    [ -f "$counted/avx2" ] || { echo "the table is written where AVX2 is" >&2; exit 1; }
    join -t, --nocheck-order "$counted/avx2" "$counted/neon" > "$table"
    cat "$table"
    exit 0
fi

# The table's kernels in its order, with its count and the current one.
for level in avx2 neon; do
    [ -f "$counted/$level" ] || continue
    awk -F, -v level="$level" -v tolerance="$tolerance" -v table="$table" '
        FNR == 1 {
            if (NR == 1) for (column = 2; column <= NF && $column != level;) column++
            next
        }
        FNR == NR { expected[$1] = $column; next }
        !($1 in expected) { print $1 " is not in " table ": run .ci/codegen.sh --write"; failed = 1; next }
        {
            change = ($2 / expected[$1] - 1) * 100
            printf "%s %-32s %6.2f instructions per element, %6.2f in the table (%+.0f %%)\n", \
                level, $1, $2, expected[$1], change
            if (change > tolerance) { print "  more than the table allows: has the loop lost its vectors?"; failed = 1 }
            if (change < -tolerance) { print "  fewer: take them over with .ci/codegen.sh --write"; failed = 1 }
            delete expected[$1]
        }
        END {
            for (kernel in expected) { print kernel " of " table " was not counted: run .ci/codegen.sh --write"; failed = 1 }
            exit failed
        }' "$table" "$counted/$level" || failed=1
done
exit "${failed:-0}"
