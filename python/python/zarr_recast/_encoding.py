"""Choosing codecs for an array of floats: an error bound in, an encoding for xarray out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Chain

_TARGETS = (np.uint8, np.uint16, np.uint32)


def encoding_for(
    array: Any, *, max_abs_error: float, nan: int | str | None = "auto"
) -> dict[str, Any]:
    """Choose codecs that store an array of floats as small integers within an error bound.

    Parameters
    ----------
    array : xarray.DataArray, numpy.ndarray or dask array
        The values, of type float16, float32 or float64. Lazy arrays are read once, for their range.
    max_abs_error : float
        The largest allowed difference between an element and what is read back, in the unit of the
        array.
    nan : int, "auto" or None
        The stored value of NaN; ``"auto"`` takes the largest one of the stored type if the array has
        any NaN. It is never given to another element. With None, NaN is an error when writing.

    Returns
    -------
    dict
        ``filters``, ``dtype`` and ``fill_value`` for the ``encoding`` of `xarray.Dataset.to_zarr`, or
        as arguments of `zarr.create_array`.

    Raises
    ------
    TypeError
        The array does not hold floats.
    ValueError
        It holds infinities, or no elements that count, or the bound is finer than its type can
        represent or 32 bits can tell apart.

    Examples
    --------
    >>> import numpy as np, zarr, zarr_recast
    >>> zarr_recast.register()
    >>> temperature = np.linspace(-2, 35, 1000, dtype="float32")
    >>> encoding = zarr_recast.encoding_for(temperature, max_abs_error=0.1)
    >>> stored = zarr.create_array({}, shape=1000, **encoding)
    >>> stored[:] = temperature
    >>> bool(abs(stored[:] - temperature).max() <= 0.1)
    True
    """
    from .zarr import CastValue, ScaleOffset

    data = getattr(array, "data", array) if not isinstance(array, np.ndarray) else array
    dtype = np.dtype(data.dtype).newbyteorder("=")
    if dtype.kind != "f" or dtype.itemsize > 8:
        raise TypeError(f"encoding_for packs arrays of float16, float32 or float64, not {dtype}")
    low, high, has_nan, has_infinity = _survey(data)
    if has_infinity:
        raise ValueError("the array has infinities, which no integer stands for; replace them")
    if not low <= high:
        raise ValueError("the array has no elements but NaN, so there is no range to choose from")
    bound = float(max_abs_error)
    extent, magnitude = float(high) - float(low), max(abs(float(low)), abs(float(high)))
    # x - low and its product with the scale, the quotient and the sum when reading: each of these
    # four operations is off by half a unit in its last place at most.
    inexact = 4.5 * float(np.finfo(dtype).eps) / 2 * (extent + magnitude)
    if not bound > inexact:
        raise ValueError(
            f"max_abs_error is {max_abs_error}; for values of this magnitude in {dtype} it must be "
            f"greater than {inexact:.3g}"
        )
    exact = 1 / (2 * (bound - inexact))
    scale = dtype.type(exact)
    if float(scale) < exact:
        scale = np.nextafter(scale, dtype.type(np.inf))
    greatest = np.ceil(extent * float(scale)) + 1
    if nan == "auto":
        sentinel_of = (lambda target: int(np.iinfo(target).max)) if has_nan else (lambda _: None)
    elif nan is None or isinstance(nan, (int, np.integer)):
        sentinel_of = lambda _: None if nan is None else int(nan)  # noqa: E731
    else:
        raise TypeError(f"nan is {nan!r}; it must be an integer, 'auto' or None")
    for target in _TARGETS:
        largest, sentinel = int(np.iinfo(target).max), sentinel_of(target)
        if greatest < largest and (sentinel is None or greatest < sentinel <= largest):
            break
    else:
        raise ValueError(
            f"max_abs_error is {max_abs_error}; {greatest:.3g} stored values, and "
            f"{'none' if nan is None else nan!r} for NaN, do not fit {_TARGETS[-1].__name__}"
        )
    scalar_map = None
    if sentinel is not None:
        scalar_map = {"encode": [("NaN", sentinel)], "decode": [(sentinel, "NaN")]}
    filters = (
        ScaleOffset(offset=low.item(), scale=scale.item()),
        CastValue(data_type=np.dtype(target).name, scalar_map=scalar_map),
    )
    fill_value = dtype.type(low if sentinel is None else np.nan)
    Chain(dtype, filters, fill_value)  # refuses what zarr would refuse later
    return {"filters": filters, "dtype": dtype, "fill_value": fill_value.item()}


def _survey(data: Any) -> tuple[Any, Any, bool, bool]:
    """The smallest and largest finite element, and whether there are NaNs and infinities."""
    if hasattr(data, "dask"):
        import dask.array as da

        finite = da.isfinite(data)
        low = da.where(finite, data, np.inf).min()
        high = da.where(finite, data, -np.inf).max()
        return da.compute(low, high, da.isnan(data).any(), da.isinf(data).any())
    data = np.asarray(data)
    finite = np.isfinite(data)
    low = np.min(data, where=finite, initial=np.inf)
    high = np.max(data, where=finite, initial=-np.inf)
    return low, high, bool(np.isnan(data).any()), bool(np.isinf(data).any())
