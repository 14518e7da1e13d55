#!/usr/bin/env bash
# The Python package, built as a wheel and tested in clean environments.
exec "$(dirname "$0")/../python/ci.sh"
