#!/bin/sh
# Adds targets to rustup's toolchain; needs rustup. One call at a time, as in .ci/install.sh: rustup does not wait for
# another rustup.
exec flock /tmp/recast-install.lock rustup target add "$@"
