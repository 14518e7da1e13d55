#!/bin/sh
# Adds targets to rustup's toolchain; needs rustup. One call at a time where flock is, as in .ci/install.sh: rustup does not
# wait for another rustup. macOS has no flock, and wasm/build.sh runs there too.
command -v flock > /dev/null || exec rustup target add "$@"
exec flock /tmp/recast-install.lock rustup target add "$@"
