#!/bin/sh
# Fuzzes every target for SECONDS (45 unless given) on the committed seeds and new inputs: .ci/fuzz.sh
# [SECONDS] [TARGET...]. Needs the nightly toolchain; installs cargo-fuzz if it is missing. What is
# found stays in fuzz/artifacts, and new inputs in fuzz/corpus.
set -eu
cd "$(dirname "$0")/.."

seconds="${1:-45}"
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- cast chain metadata raw

cargo fuzz --version >/dev/null 2>&1 || cargo install --locked cargo-fuzz

for target; do
    mkdir -p "fuzz/corpus/$target"
    dictionary=""
    [ ! -f "fuzz/$target.dict" ] || dictionary="-dict=fuzz/$target.dict"
    # An input that takes 10 s, or a gigabyte, is a finding too.
    cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 \
        -print_final_stats=1 $dictionary
done
