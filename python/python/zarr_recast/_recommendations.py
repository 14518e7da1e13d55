"""What compression-recommendations recommends, as text for recast-pack."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import json
import os
from pathlib import Path
from typing import Any

_PACKAGE = "compression-recommendations"
_DOI = "10.5281/zenodo.22761209"


def recommended(recommendations: bool | str | os.PathLike[str] | Any) -> tuple[str, str | None] | None:
    """The text in YAML, and its source if that is the package itself."""
    if recommendations is False or recommendations is None:
        return None
    if recommendations is True:
        try:
            folder = importlib.resources.files("compression_recommendations")
        except ModuleNotFoundError as error:
            text = f"recommendations=True takes those of the package {_PACKAGE}, which is not installed"
            raise ModuleNotFoundError(f"{text}; install zarr-recast[recommendations], or name a file") from error
        version = importlib.metadata.version(_PACKAGE)
        text = folder.joinpath("recommendations.yaml").read_text(encoding="utf-8")
        return text, f"{_PACKAGE} {version}, doi {_DOI}"
    if isinstance(recommendations, (str, os.PathLike)):
        return Path(recommendations).read_text(encoding="utf-8"), None
    config = getattr(recommendations, "get_config", None)
    if config is None:
        raise TypeError(
            f"recommendations is {recommendations!r}; it must be True, a path, or Recommendations of {_PACKAGE}"
        )
    # JSON is YAML.
    return json.dumps(config(), default=dict), None
