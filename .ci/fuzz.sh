#!/bin/sh
# Fuzzes every target for SECONDS (45 unless given) on the committed seeds and new inputs, two targets at a time:
# .ci/fuzz.sh [SECONDS] [TARGET...]. Needs the nightly toolchain; installs cargo-fuzz if it is missing. Findings
# stay in fuzz/artifacts, and new inputs in fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."

seconds="${1:-45}"
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- cast chain doors metadata raw

# Its own, as in .ci/aarch64.sh.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"
cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz
cargo +nightly fuzz build

fuzz() {
    mkdir -p "fuzz/corpus/$1"
    dictionary=""
    [ ! -f "fuzz/$1.dict" ] || dictionary="-dict=fuzz/$1.dict"
    # An input that takes 10 s, or a gigabyte, is a finding too. Jobs on stores take some more of both, inputs of more than a
    # few bytes from the start, and threads that are about to end when leaks are looked for.
    limits="-timeout=10 -rss_limit_mb=1024"
    [ "$1" != doors ] || limits="-timeout=30 -rss_limit_mb=2048 -len_control=0 -detect_leaks=0"
    cargo +nightly fuzz run "$1" "fuzz/corpus/$1" "fuzz/seeds/$1" -- \
        -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 $limits $dictionary
}

while [ $# -gt 0 ]; do
    fuzz "$1" &
    first=$!
    shift
    second=""
    if [ $# -gt 0 ]; then
        fuzz "$1" &
        second=$!
        shift
    fi
    failed=""
    wait "$first" || failed=yes
    [ -z "$second" ] || wait "$second" || failed=yes
    [ -z "$failed" ] || exit 1
done
