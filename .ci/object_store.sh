#!/usr/bin/env bash
# Tests reading from URLs and writing to them with servers on the loopback interface: an S3 server (moto, from
# PyPI) and a web server, without and with TLS. Installs moto into a virtual environment, once.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="${CARGO_TARGET_DIR:-$PWD/target}/object_store_venv"
scratch="$(mktemp -d)"
servers=()
trap 'kill "${servers[@]}" 2> /dev/null || true; rm -rf "$scratch"' EXIT

# moto[server] installs the dependencies of all services; S3 needs only these.
if ! "$venv/bin/python" -c 'import boto3, flask, flask_cors, moto' 2> /dev/null; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'moto[s3]>=5.1' flask flask-cors
fi

port() {
    "$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
s3_port="$(port)"
mkdir "$scratch/gates"
# Objects below gated/NAME/ are held up or refused as the file NAME says: "hold 3" keeps requests after the
# third PUT waiting as long as the file is there, and says so with a file NAME.held; "refuse 3" refuses them,
# "refuse 3 remove" refuses removals after that, too.
"$venv/bin/python" - "$s3_port" "$scratch/gates" > "$scratch/moto.log" 2>&1 << 'PYTHON' &
import collections, io, pathlib, sys, threading, time
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

port, gates = int(sys.argv[1]), pathlib.Path(sys.argv[2])
moto = DomainDispatcherApplication(create_backend_app)
lock, puts = threading.Lock(), collections.Counter()

def refused(start_response):
    start_response("403 Forbidden", [("Content-Type", "application/xml")])
    return [b"<Error><Code>AccessDenied</Code><Message>the gate is shut</Message></Error>"]

def application(environ, start_response):
    parts, method = environ["PATH_INFO"].split("/"), environ["REQUEST_METHOD"]
    # A PUT names its object; several objects are removed by a POST to the bucket.
    if method == "POST" and "delete" in environ["QUERY_STRING"]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        for gate in gates.iterdir():
            is_named = f"gated/{gate.name}/".encode() in body
            _, most, *more = gate.read_text().split() or ["", "0"]
            if is_named and "remove" in more and puts[gate.name] > int(most):
                return refused(start_response)
    if method == "PUT" and parts[2:3] == ["gated"] and len(parts) > 4 and not parts[-1].startswith("."):
        gate = gates / parts[3]
        if gate.exists():
            kind, most, *_ = gate.read_text().split()
            with lock:
                puts[gate.name] += 1
                is_over = puts[gate.name] > int(most)
            if is_over and kind == "hold":
                (gates / f"{gate.name}.held").touch()
                while gate.exists():
                    time.sleep(0.05)
            if is_over:
                return refused(start_response)
    return moto(environ, start_response)

run_simple("127.0.0.1", port, application, threaded=True)
PYTHON
servers+=($!)
http_port="$(port)"
mkdir "$scratch/files"
"$venv/bin/python" -m http.server --bind 127.0.0.1 --directory "$scratch/files" "$http_port" \
    > "$scratch/http.log" 2>&1 &
servers+=($!)
# With TLS: a certificate for localhost, and nothing else, by an authority that is not trusted yet.
https_port="$(port)"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=recast test authority" \
    -keyout "$scratch/ca.key" -out "$scratch/ca.pem" 2> /dev/null
openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" \
    -keyout "$scratch/server.key" -out "$scratch/server.csr" 2> /dev/null
openssl x509 -req -in "$scratch/server.csr" -CA "$scratch/ca.pem" -CAkey "$scratch/ca.key" -days 2 \
    -extfile <(echo "subjectAltName=DNS:localhost") -out "$scratch/server.pem" 2> /dev/null
"$venv/bin/python" - "$https_port" "$scratch" > "$scratch/https.log" 2>&1 << 'PYTHON' &
import functools, http.server, ssl, sys

port, scratch = int(sys.argv[1]), sys.argv[2]
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=f"{scratch}/files")
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(f"{scratch}/server.pem", f"{scratch}/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
PYTHON
servers+=($!)

export AWS_ENDPOINT_URL="http://127.0.0.1:$s3_port" AWS_ALLOW_HTTP=true AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test
# Settings that this machine may have.
unset SSL_CERT_FILE SSL_CERT_DIR AWS_PROFILE AWS_SESSION_TOKEN AWS_SKIP_SIGNATURE HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy

# An array and a group of all types of Zarr v2, and a group of Zarr v3 with consolidated metadata: the same files on disk, behind
# the web server and in the bucket.
cp -r zarrs/tests/goldens/v2_fso_f8_u1_gzip/array.zarr "$scratch/files/old.zarr"
cp -r pack/tests/data/kinds/kinds.zarr "$scratch/files/kinds.zarr"
"$venv/bin/python" - "$scratch/files" "http://127.0.0.1:$http_port" << 'PYTHON'
import json, math, pathlib, struct, sys, time, urllib.request
import boto3

files, web = pathlib.Path(sys.argv[1]), sys.argv[2]

def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else json.dumps(text).encode())

def array(shape, chunks, names):
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": names, "attributes": {"units": "K"},
    }

inner = {"zarr_format": 3, "node_type": "group", "attributes": {"title": "inner"}}
below = {
    "inner": inner,
    "inner/field": array([6, 10], [4, 5], ["y", "x"]),
    "x": array([10], [10], ["x"]),
}
copy = {"kind": "inline", "must_understand": False, "metadata": below}
root = {"zarr_format": 3, "node_type": "group", "attributes": {}}
for name, document in [("group.zarr", root | {"consolidated_metadata": copy}), ("bare.zarr", root)]:
    group = files / name
    write(group / "zarr.json", document)
    for path, document in below.items():
        write(group / path / "zarr.json", document)
    write(group / "x/c/0", struct.pack("<10f", *range(10)))
    # The fourth chunk is not stored.
    for number, key in enumerate(["0/0", "0/1", "1/0"]):
        # Multiples of nothing, so that packing them rounds.
        values = [270 + number + math.sin(i) for i in range(20)]
        write(group / "inner/field/c" / key, struct.pack("<20f", *values))

for attempt in range(100):
    try:
        urllib.request.urlopen(web)
        s3 = boto3.client("s3")
        s3.create_bucket(Bucket="bucket")
        break
    except Exception:
        if attempt == 99:
            raise
        time.sleep(0.2)
for file in files.rglob("*"):
    if file.is_file():
        s3.upload_file(str(file), "bucket", f"some/{file.relative_to(files)}")
PYTHON

export RECAST_TEST_GATES="$scratch/gates"
export RECAST_TEST_PYTHON="$venv/bin/python"
export RECAST_TEST_FILES="$scratch/files"
export RECAST_TEST_HTTP="http://127.0.0.1:$http_port"
export RECAST_TEST_HTTPS="https://localhost:$https_port"
export RECAST_TEST_CA="$scratch/ca.pem"
export RECAST_TEST_S3="s3://bucket/some"
# With the wheel's features, so that one build of the dependencies serves both scripts; our own two crates as in a debug build,
# with its checks.
debug=()
for package in recast-pack zarr-recast-cli; do
    for setting in opt-level=0 overflow-checks=true debug-assertions=true; do
        debug+=(--config "profile.release.package.$package.$setting")
    done
done
cargo test --release "${debug[@]}" -p zarr-recast-cli -p zarr-recast-python --features zarr-recast-cli/object-store --test urls
