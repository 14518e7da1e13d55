"""Runs a command with an S3 server, an Azure server and two web servers on the loopback interface, one of the latter with TLS:
object_store.py AZURITE COMMAND...

The S3 server is Google's, too: the requests to Google's XML API are the same, except their signature, which it does not check.
All serve the same arrays. `RECAST_TEST_…` in the environment of the command says where.
"""

import collections
import contextlib
import functools
import http.server
import io
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import azure.storage.blob
import boto3
import trustme
import werkzeug.serving
from moto.server import DomainDispatcherApplication, create_backend_app


class Gated:
    """An S3 server that holds up or refuses objects below gated/NAME/ as the file NAME says: "hold 3" keeps requests after the
    third PUT waiting as long as the file is there, and says so with a file NAME.held; "refuse 3" refuses them, "refuse 3 remove"
    refuses removals after that, too."""

    def __init__(self, folder):
        self.folder, self.moto = folder, DomainDispatcherApplication(create_backend_app)
        self.lock, self.puts = threading.Lock(), collections.Counter()

    def __call__(self, environ, start_response):
        # moto refuses requests without a signature of S3, as an emulator of Google's server gets them; it checks none.
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("AWS4"):
            scope = "Credential=test/20200101/us-east-1/s3/aws4_request"
            environ["HTTP_AUTHORIZATION"] = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=none"
        parts, method = environ["PATH_INFO"].split("/"), environ["REQUEST_METHOD"]
        # A PUT names its object; several objects are removed by a POST to the bucket.
        if method == "POST" and "delete" in environ["QUERY_STRING"]:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = io.BytesIO(body)
            is_open = not any(self.keeps(gate, body) for gate in self.folder.iterdir())
        elif method == "PUT" and parts[2:3] == ["gated"] and len(parts) > 4 and not parts[-1].startswith("."):
            is_open = self.lets_through(self.folder / parts[3])
        else:
            is_open = True
        if is_open:
            return self.moto(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "application/xml")])
        return [b"<Error><Code>AccessDenied</Code><Message>the gate is shut</Message></Error>"]

    def keeps(self, gate, body):
        _, most, *more = gate.read_text().split() or ["", "0"]
        return f"gated/{gate.name}/".encode() in body and "remove" in more and self.puts[gate.name] > int(most)

    def lets_through(self, gate):
        if not gate.exists():
            return True
        kind, most, *_ = gate.read_text().split()
        with self.lock:
            self.puts[gate.name] += 1
            is_over = self.puts[gate.name] > int(most)
        if is_over and kind == "hold":
            gate.with_suffix(".held").touch()
            while gate.exists():
                time.sleep(0.05)
        return not is_over


def serve(server):
    """Starts a server, and returns its port."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


@contextlib.contextmanager
def azure_server(program, log):
    """Azurite with an account of its own; its connection string."""
    key = "cmVjYXN0"
    arguments = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--blobPort", "0"]
    environment = os.environ | {"AZURITE_ACCOUNTS": f"recast:{key}"}
    with subprocess.Popen(["node", program, *arguments], stdout=subprocess.PIPE, stderr=log, text=True, env=environment) as azurite:
        try:
            place = next(line.split()[-1] for line in azurite.stdout if "listens on" in line)
            reader = threading.Thread(target=shutil.copyfileobj, args=(azurite.stdout, log))
            reader.start()
            yield f"AccountName=recast;AccountKey={key};BlobEndpoint={place}/recast"
        finally:
            azurite.terminate()
        reader.join()


def copy_arrays(files):
    """An array and a group of all types of Zarr v2, and a group of Zarr v3 with consolidated metadata and without."""
    shutil.copytree("zarrs/tests/goldens/v2_fso_f8_u1_gzip/array.zarr", files / "old.zarr")
    shutil.copytree("pack/tests/data/kinds/kinds.zarr", files / "kinds.zarr")
    for name in ("group.zarr", "bare.zarr"):
        shutil.copytree("cli/tests/urls/data/group.zarr", files / name)
    bare = files / "bare.zarr/zarr.json"
    document = json.loads(bare.read_text())
    del document["consolidated_metadata"]
    bare.write_text(json.dumps(document))


def main():
    # What servers report of each request goes to a file.
    with (
        tempfile.TemporaryDirectory() as scratch, open(f"{scratch}/log", "w") as log, contextlib.redirect_stderr(log),
        azure_server(sys.argv[1], log) as connection,
    ):
        files, gates = pathlib.Path(scratch, "files"), pathlib.Path(scratch, "gates")
        files.mkdir()
        gates.mkdir()
        copy_arrays(files)
        s3 = serve(werkzeug.serving.make_server("127.0.0.1", 0, Gated(gates), threaded=True))
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=files)
        web, secure = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2))
        # A certificate for localhost, and nothing else, by an authority that is not trusted yet.
        authority, context = trustme.CA(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("localhost").configure_cert(context)
        authority.cert_pem.write_to_path(f"{scratch}/ca.pem")
        secure.socket = context.wrap_socket(secure.socket, server_side=True, do_handshake_on_connect=False)
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{s3}", "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
            "STORAGE_EMULATOR_HOST": f"127.0.0.1:{s3}",
            "AZURE_STORAGE_CONNECTION_STRING": connection, "AZURE_ALLOW_HTTP": "true",
            "RECAST_TEST_GATES": str(gates), "RECAST_TEST_FILES": str(files), "RECAST_TEST_PYTHON": sys.executable,
            "RECAST_TEST_HTTP": f"http://127.0.0.1:{serve(web)}", "RECAST_TEST_HTTPS": f"https://localhost:{serve(secure)}",
            "RECAST_TEST_CA": f"{scratch}/ca.pem", "RECAST_TEST_S3": "s3://bucket/some", "RECAST_TEST_GS": "gs://bucket/some",
            "RECAST_TEST_AZ": "az://container/some",
        }
        bucket = boto3.client("s3")
        bucket.create_bucket(Bucket="bucket")
        container = azure.storage.blob.BlobServiceClient.from_connection_string(connection).create_container("container")
        open_to_all = azure.storage.blob.BlobServiceClient.from_connection_string(connection).create_container(
            "public", public_access="container"
        )
        for file in files.rglob("*"):
            if file.is_file():
                key = f"some/{file.relative_to(files)}"
                bucket.upload_file(str(file), "bucket", key)
                for one in (container, open_to_all):
                    one.upload_blob(key, file.read_bytes())
        return subprocess.run(sys.argv[2:], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
