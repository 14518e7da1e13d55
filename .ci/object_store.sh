#!/usr/bin/env bash
# Tests reading from URLs and writing to them with servers on the loopback interface, which .ci/object_store.py starts: an S3
# server (moto, from PyPI) and a web server, without and with TLS. Installs them into a virtual environment, once.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${CARGO_TARGET_DIR:-$PWD/target}/object_store_venv"
# moto[server] installs the dependencies of all services; S3 needs only these.
if ! "$venv/bin/python" -c 'import boto3, flask, flask_cors, moto, trustme' 2> /dev/null; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'moto[s3]>=5.1' flask flask-cors trustme
fi

# Settings that this machine may have.
unset SSL_CERT_FILE SSL_CERT_DIR AWS_PROFILE AWS_SESSION_TOKEN AWS_SKIP_SIGNATURE HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
# With the wheel's features, so that one build of the dependencies serves both scripts; our own two crates as in a debug build,
# with its checks.
debug=()
for package in recast-pack zarr-recast-cli; do
    for setting in opt-level=0 overflow-checks=true debug-assertions=true; do
        debug+=(--config "profile.release.package.$package.$setting")
    done
done
"$venv/bin/python" .ci/object_store.py \
    cargo test --release "${debug[@]}" -p zarr-recast-cli -p zarr-recast-python --features zarr-recast-cli/object-store --test urls
