#!/bin/sh
# Installs packages of Debian or Ubuntu, as root, and leaves them: .ci/install.sh PACKAGE...
# One call at a time, for .ci/run runs scripts side by side, and apt does not wait for another apt.
set -eu
exec 9> /tmp/recast-install.lock
flock 9
apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=10 -o DPkg::Lock::Timeout=300 "$@"
}
apt update
apt install --no-install-recommends "$@"
