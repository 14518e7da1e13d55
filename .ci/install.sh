#!/bin/sh
# Installs packages of Debian or Ubuntu, as root, and leaves them: .ci/install.sh PACKAGE...
# One call at a time, for .ci/run runs scripts side by side, and apt does not wait for another apt.
set -eu
exec 9> /tmp/recast-install.lock
flock 9
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
