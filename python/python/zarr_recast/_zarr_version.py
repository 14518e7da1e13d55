"""Which zarr-python the codecs need."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

_LEAST = (3, 3, 0)


def require_zarr() -> None:
    """Raise an ImportError of one sentence unless zarr-python is installed and recent enough."""
    try:
        found = version("zarr")
    except PackageNotFoundError:
        found = None
    if found is not None:
        numbers = tuple(int(number) for number in re.findall(r"\d+", found)[:3])
        if numbers >= _LEAST:
            return
    has = "is not installed" if found is None else f"is {found}"
    raise ImportError(
        f"zarr_recast's codecs need zarr-python 3.3.0 or later (for Python 3.12 or later), which {has}; "
        "pip install --upgrade 'zarr-recast[zarr]'"
    )
