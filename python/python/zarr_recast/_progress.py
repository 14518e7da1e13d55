"""Progress bars of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

# Gets the name of a pass, the units that are done, and their number.
Show: TypeAlias = Callable[[str, int, int], object]


@contextmanager
def shown(progress: bool | Show | None) -> Iterator[Show | None]:
    """What shows the progress of a job, while it runs; None for nothing."""
    if callable(progress):
        yield progress
    elif progress:
        bar = _Bar()
        try:
            yield bar.show
        finally:
            bar.close()
    else:
        yield None


class _Bar:
    """A bar of tqdm for each pass, in notebooks and terminals."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "progress=True shows a bar of tqdm: pip install tqdm; or give a function of (name, done, total)"
            ) from error
        self._new: Any = tqdm
        self._bar: Any = None
        self._pass: tuple[str, int] | None = None

    def show(self, name: str, done: int, total: int) -> None:
        if self._pass != (name, total):
            self.close()
            self._pass = (name, total)
            self._bar = self._new(desc=name, total=total, unit_scale=True, leave=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
