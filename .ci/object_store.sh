#!/usr/bin/env bash
# Tests reading from URLs and writing to them with servers on the loopback interface, which .ci/object_store.py starts: an S3
# server that serves Google's clients, too (moto, from PyPI), an Azure server (azurite, from npm), and a web server, without and
# with TLS. Installs them into the target folder, once, and node and npm if they are missing (on Debian or Ubuntu, as root).
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${CARGO_TARGET_DIR:-$PWD/target}/object_store_venv"
# moto[server] installs the dependencies of all services; S3 needs only these.
if ! "$venv/bin/python" -c 'import azure.storage.blob, boto3, flask, flask_cors, moto, trustme' 2> /dev/null; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'moto[s3]>=5.1' flask flask-cors trustme azure-storage-blob
fi
azurite="$venv/azurite/node_modules/azurite/dist/src/blob/main.js"
if [ ! -f "$azurite" ]; then
    command -v npm > /dev/null || sh .ci/install.sh nodejs npm
    npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$venv/azurite" azurite@3
fi

# Settings that this machine may have.
unset SSL_CERT_FILE SSL_CERT_DIR HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
unset "${!AWS_@}" "${!AZURE_@}" "${!GOOGLE_@}" "${!GCE_@}"
# With the wheel's features, so that one build of the dependencies serves both scripts; our own two crates as in a debug build,
# with its checks.
debug=()
for package in recast-pack zarr-recast-cli; do
    for setting in opt-level=0 overflow-checks=true debug-assertions=true; do
        debug+=(--config "profile.release.package.$package.$setting")
    done
done
# What needs no such server: one that hardly sends anything.
cargo test --release "${debug[@]}" -p zarr-recast-cli -p zarr-recast-python -p recast-pack --features zarr-recast-cli/object-store \
    --lib store::remote
"$venv/bin/python" .ci/object_store.py "$azurite" \
    cargo test --release "${debug[@]}" -p zarr-recast-cli -p zarr-recast-python --features zarr-recast-cli/object-store --test urls
