"""The ``recast`` command of wheels."""

import sys

from ._core import command


def main() -> None:
    """Run the command with the arguments of this process, and exit with its status."""
    sys.exit(command(["recast", *sys.argv[1:]]))
