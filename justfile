# Everyday commands; `just` lists them. Each is a line of cargo or a script, which can be copied if `just` is not
# installed (`cargo install just`).

# Lists the recipes.
default:
    @just --list --unsorted

# The programs are command (cli/), urls (cli/, with servers: see .ci/object_store.sh), library (pack/), arrays (zarrs/), zarr,
# conformance and long_maps (tests/), and each file of kernels/tests. --workspace shares one build of all dependencies; -p
# builds them again with fewer features.
#
# One test program, some of its tests: `just test library missing`.
test program *filter:
    cargo test --workspace --test {{ program }} -- {{ filter }}

# The kernels' tests on one level (scalar, avx2, avx512; `just neon` and `just wasm` for the others), every 17th job.
level level:
    RECAST_TEST_STRIDE=17 cargo test --workspace --test plan_vs_reference -- {{ level }}::

# All tests (the README's).
test-all:
    cargo test --workspace

# What to run before each commit: lint, and the tests of the library and of the command.
check: lint
    cargo test --workspace --test library --test command

# Formatting, circles of modules, and clippy, as in CI.
lint:
    cargo fmt --all --check
    bash .ci/circles.sh
    cargo clippy --workspace --all-targets --quiet -- -D warnings

# The bench rows whose name contains this, against their peers: `just bench float32-uint8/nearest-even`.
bench rows:
    cargo bench --bench compare -- --quick --rows --filter {{ rows }}

# Instructions per element of the kernels that must stay fast, AVX2 and NEON.
instructions:
    bash .ci/codegen.sh

# The kernels' tests on aarch64, emulated.
neon:
    bash .ci/neon.sh

# The kernels' tests on WebAssembly, and the npm package, under node.
wasm:
    bash .ci/wasm.sh

# The page of examples/browser in Chromium, with the package in wasm/pkg; see target/page/screenshot.png afterwards.
page:
    cargo build --profile test --workspace --bin recast --example rewrite
    node --test wasm/tests/page/page.test.js

# The kernels' tests on i686 and on the big-endian s390x.
portable:
    bash .ci/portable.sh

# One fuzz target (cast, chain, doors, metadata, raw) for some seconds.
fuzz target seconds="60":
    bash .ci/fuzz.sh {{ seconds }} {{ target }}

# The Python package: wheel, tests, types.
python:
    bash .ci/python.sh

# The real arrays that the next two recipes need, into a folder; the script names its packages.
real-arrays folder:
    python docs/real_arrays.py {{ folder }}

# Figures of README.md and docs/guide.md.
figures folder:
    cargo build --release --bin recast
    python docs/figures.py target/release/recast {{ folder }} --write

# Figures of docs/compression.md; the script names its packages.
compression folder:
    cargo build --release --bin recast
    python docs/compression.py target/release/recast {{ folder }} --write

# Every float32 in the casts whose tests' names contain this: `just every-f32 nearest_away::every_f32_casts_to_unsigned`.
every-f32 filter:
    cargo test --release -p recast-kernels --test every_f32 -- --ignored --nocapture --test-threads 1 {{ filter }}

# Mutation score: changes one thing in each of some 170 places, chosen by their numbers, and runs the crate's tests. Needs `cargo
# install --locked cargo-mutants cargo-nextest` and a checkout that nobody works in; takes hours. Survivors are in FOLDER/*/mutants.out/missed.txt.
mutants folder:
    bash .ci/mutants.sh {{ folder }}

# Tests that take too long for CI: every float32 on every level, the whole matrix on NEON and under AddressSanitizer.
whole:
    cargo test --release -p recast-kernels --test every_f32 -- --ignored --nocapture --test-threads 1
    RECAST_TEST_STRIDE=1 bash .ci/neon.sh
    RECAST_TEST_STRIDE=1 bash .ci/portable.sh
    RECAST_TEST_STRIDE=1 bash .ci/asan.sh
    RECAST_TEST_STRIDE=1 bash .ci/python.sh
    cargo run --release --example soak -- --minutes 10

# Everything that CI runs.
ci:
    bash .ci/run
