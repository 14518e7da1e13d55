"""Chooses codecs for an error bound, as an encoding for xarray and zarr-python."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from ._core import Choice, Survey, Surveyor, as_array, choose, scalar_from_json
from ._errors import outside
from ._json import scalar_json
from ._options import MEANS, by_name, options_json, refuse_if_given, refuse_without_goal
from ._trees import coordinates_of, datasets, is_tree, path_of
from ._zarr_version import require_zarr

# Bytes of a lazy array without chunks that are read at once.
_PIECE = 16 << 20
# Surveys of blocks that a Dask worker merges at once.
_MERGED = 8
# Why a mean cannot be bounded.
NO_MEAN = (
    "bounds a mean, which is not known before all values are; give an array in memory (compute() or load()), use "
    "max_abs_error, which no mean exceeds, or zarr_recast.pack"
)
# Attributes that name missing values in xarray and CF.
_MARKERS = ("_FillValue", "missing_value")
# Attributes that name the range of valid values, in the type of the stored elements.
VALID = ("valid_min", "valid_max", "valid_range")


def encoding_for(
    obj: Any = None,
    *,
    dtype: Any = None,
    max_abs_error: Any = None,
    error_over_range: Any = None,
    max_rel_error: Any = None,
    max_mean_error: Any = None,
    mean_error_over_range: Any = None,
    max_mean_rel_error: Any = None,
    lossless: Any = None,
    limits: Any = None,
    keep_sign: Any = None,
    precision: Any = None,
    grid: Any = None,
    range: Any = None,  # noqa: A002, the command's name
    missing: Any = None,
    infinity: Any = None,
    allow_constant: Any = None,
    data_type: Any = None,
    nan: Any = "auto",
    readers: Any = None,
) -> dict[str, Any]:
    """Choose codecs that store an array, or the variables of a dataset, within an error bound.

    The codecs are those of ``recast pack --no-grid`` with the same options: for these values, and for values
    to come that lie between them. Integers need no bound: they are kept exactly, in the narrowest type. Dask
    arrays are surveyed by the workers, other lazy arrays chunk by chunk; neither is kept in memory. Without ``obj``,
    nothing is read or computed: ``dtype`` and ``range`` are promises. A value far beyond the range is an error when it is
    written; one right beside the last code may get the code of NaN.

    Parameters
    ----------
    obj : xarray.Dataset, DataTree or DataArray, zarr.Array, dask array, numpy.ndarray or masked array, optional
        The values; none if ``dtype`` and ``range`` are given in its place. For a dataset, a number as a bound
        applies to all floating-point data variables that are no coordinates by CF's attributes, and a dictionary to the
        variables that it names; other variables are not packed. Each of the parameters below may be such a dictionary. In a tree, variables are named by their paths, such as
        ``"ocean/t"``. Masked elements are those of ``filled(fill_value)``, with the ``fill_value`` that is
        returned: the array's own, unless it is not of its type. Those of Dask arrays too.
    dtype : dtype, optional
        In place of ``obj``: the type of the values that will be written. (``data_type`` is that of stored elements.)
    max_abs_error : float, optional
        The largest allowed difference between an element and its decoded value, in the unit of the
        array.
    error_over_range : float, optional
        The same, in units of the array's range: 1e-4 is a ten-thousandth of it. For datasets whose variables
        have different units.
    max_rel_error : float, optional
        The largest allowed difference in proportion to the element, from 0 to below 1.
    max_mean_error, mean_error_over_range, max_mean_rel_error : float, optional
        The largest mean of ``|decoded - original|`` of these values, as for `pack`; values to come have the largest error
        that it comes to. Of arrays of Dask, and without values, such a bound is an error: no mean is known.
    lossless : bool, optional
        Keep every bit, -0.0 and kinds of NaN included. Of floating-point values, with ``grid=True``.
    limits : tuple, optional
        Decoded values lie between these where the original ones do; None for an open end: ``(0, None)``.
    keep_sign : bool, optional
        0 stays 0, and no other value changes its sign.
    precision : float, optional
        Values become multiples of this.
    grid : bool, optional
        Whether nothing else will be written than values on the grid of these, if they are multiples of a step
        such as 1 or 0.1. Then codes for such multiples suffice, and a value between them would be off by more
        than ``max_abs_error``. By default, the steps are fractions of the grid's that keep the bound for every
        value, and keep values on the grid exactly.
    range : tuple, optional
        The least and the greatest value that will ever be written. Reserves room for later values, when
        appending or writing by region.
    missing : float or sequence, optional
        Values that mean "missing", besides NaN and those that the attributes ``_FillValue`` and
        ``missing_value`` name. Each comes back bit for bit.
    infinity : bool, optional
        Give infinities stored values of their own. Without it, they are an error.
    allow_constant : bool, optional
        Allow a bound that leaves one value of an array that has several.
    data_type : str or dtype, optional
        The type of stored elements; by default the smallest that keeps the bound.
    nan : int, "auto" or None
        The stored value of NaN. ``"auto"`` reserves one for later writes even if the array has no
        NaN. With None, NaN is an error when writing.
    readers : str or sequence, optional
        Programs that must be able to read the array; see `pack`. With ``"any"`` there are no filters, because no codec
        that every reader has can round: write what `round_to` returns for the same bound.

    Returns
    -------
    dict
        ``filters``, ``dtype`` and ``fill_value`` for the ``encoding`` of `xarray.Dataset.to_zarr`, or
        as arguments of `zarr.create_array`, in Zarr v3; for a dataset, such a dictionary for each packed
        variable, and for a tree, such dictionaries for each group.
        ``fill_value`` is NaN for floats, unless the encoding of the variable has another.
        Also ``serializer`` where elements of one byte, such as ``float8_e4m3fn``, are stored in several.

    Warns
    -----
    UserWarning
        A bound above a tenth of the range of an array, or of its standard deviation.

    Raises
    ------
    ImportError
        zarr-python is missing or older than the codecs.
    TypeError
        The array does not hold integers or floating-point numbers.
    ValueError
        Options that contradict each other or lack; infinities; a bound that no codecs keep. The text says what
        to change.

    Examples
    --------
    >>> import numpy as np, zarr, zarr_recast
    >>> zarr_recast.register()
    >>> temperature = np.linspace(-2, 35, 1000, dtype="float32")
    >>> encoding = zarr_recast.encoding_for(temperature, max_abs_error=0.1)
    >>> stored = zarr.create_array({}, shape=2000, **encoding)
    >>> stored[:1000] = temperature
    >>> bool(abs(stored[:1000] - temperature).max() <= 0.1), bool(np.isnan(stored[1999]))
    (True, True)

    Without data:

    >>> encoding = zarr_recast.encoding_for(dtype="float32", range=(-40, 55), max_abs_error=0.1)
    >>> encoding["filters"][1].to_dict()["configuration"]["data_type"]
    'int16'
    """
    arguments = {name: value for name, value in locals().items() if name not in ("obj", "dtype")}
    require_zarr()  # before the data are read
    if obj is None:
        obj = _promised(dtype, range)
    elif dtype is not None:
        raise TypeError(
            "dtype is the type of values that are not there yet, and there are values; leave it out "
            "(data_type is the type of stored elements)"
        )
    refuse_place(obj)
    if is_tree(obj):
        return _encodings(datasets(obj), arguments)
    if hasattr(obj, "data_vars"):
        return _encodings({"/": obj}, arguments).get("/", {})
    mappings = [name for name, value in arguments.items() if isinstance(value, Mapping)]
    if mappings:
        raise TypeError(f"{mappings[0]} is a dictionary, which is for the variables of a dataset")
    return _encoding(_Values(obj, nan), arguments, "")


def _promised(dtype: Any, promised_range: Any) -> np.ndarray[Any, Any]:
    """An array without values, for which others are promised."""
    if dtype is None:
        raise TypeError(
            "no values; give an array or a dataset, or dtype= and range= of the values that will be written"
        )
    if isinstance(dtype, Mapping) or isinstance(promised_range, Mapping):
        raise TypeError("without values there are no variables to name; call it once for each variable")
    if promised_range is None:
        raise ValueError(
            "no values and no range; give range=, the least and the greatest value that will ever be written"
        )
    return np.empty(0, dtype)


def _encodings(
    groups: Mapping[str, Any], arguments: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The encodings of the variables of some datasets, each in a group."""
    places = {
        path_of(group, name): (group, name)
        for group, ds in groups.items()
        for name in ds.variables
    }
    coordinates = coordinates_of(groups)
    floats = [
        path
        for path, (group, name) in places.items()
        if name in groups[group].data_vars
        and _is_float(groups[group][name].dtype)
        and path not in coordinates
    ]
    encodings: dict[str, dict[str, Any]] = {}
    for path, own in by_name(places, floats, arguments).items():
        group, name = places[path]
        try:
            values = _Values(groups[group][name], own.get("nan", "auto"))
            encoding = _encoding(values, own, f"{path}: ")
        except (TypeError, ValueError) as error:
            raise type(error)(f"{path}: {error}") from error
        encodings.setdefault(group, {})[str(name)] = encoding
    return encodings


def _is_float(dtype: Any) -> bool:
    """Whether a data type is floating-point, also one of ml_dtypes."""
    return np.dtype(dtype).kind == "f" or "float" in np.dtype(dtype).name


def _regular_chunks(obj: Any, *names: str) -> Any:
    """The first of these attributes that an array has; None on a rectilinear grid, for which zarr-python has no shape."""
    try:
        return next(filter(None, (getattr(obj, name, None) for name in names)), None)
    except NotImplementedError:
        return None


def refuse_place(obj: Any) -> None:
    """Refuses a place of arrays where their values are needed."""
    is_group = hasattr(obj, "array_keys")
    if is_group or isinstance(obj, (str, os.PathLike)):
        what = "a group of zarr" if is_group else f"the path {os.fspath(obj)!r}"
        raise TypeError(
            f"values are needed, and not {what}; open the array by zarr.open_array, or the dataset by xarray.open_zarr or "
            "xarray.open_dataset"
        )


def with_blocks(data: Any) -> Any:
    """An array of which blocks can be read, lazy or not, as it is; of any other object, an array of NumPy."""
    is_array = isinstance(getattr(data, "dtype", None), np.dtype)
    is_sliced = all(hasattr(data, name) for name in ("shape", "__getitem__"))
    is_elsewhere = hasattr(data, "__dlpack_device__") and not isinstance(data, np.ndarray)
    return data if is_array and is_sliced and not is_elsewhere else as_array(data)


class _Values:
    """An array to survey: blocks of elements, and properties of the array."""

    def __init__(self, obj: Any, nan: Any) -> None:
        self.attributes: dict[str, Any] = {}
        self.chunks: tuple[int, ...] | None = None
        fill: Any = None
        if hasattr(obj, "variable") or hasattr(obj, "to_index_variable"):  # of xarray
            variable = getattr(obj, "variable", obj)
            encoding = variable.encoding
            self.attributes = known_attributes(obj.attrs, encoding)
            fill = encoding.get("fill_value")
            self.chunks = encoding.get("shards") or encoding.get("chunks")
            is_lazy = obj.chunks is None and not getattr(variable, "_in_memory", True)
            # Parts of a lazy variable are read when needed; reading all of it would keep it in memory.
            self.data = variable if is_lazy else obj.data
        else:
            self.data = obj
            if hasattr(obj, "metadata") and hasattr(obj, "attrs"):  # of zarr
                self.attributes = known_attributes(dict(obj.attrs), {})
                fill = obj.fill_value
                if getattr(obj.metadata, "zarr_format", 3) == 2 and fill is not None:
                    self.attributes.setdefault("missing_value", fill)  # which xarray masks
            self.chunks = _regular_chunks(obj, "shards", "chunks")
        self.data = with_blocks(self.data)
        self.dtype = np.dtype(self.data.dtype).newbyteorder("=")
        self.shape = tuple(self.data.shape)
        self.mask_value = _mask_value(self.data, self.dtype)
        if self.mask_value is not None:
            self.attributes.setdefault("_FillValue", self.mask_value)
            fill = self.mask_value if fill is None else fill
        if fill is None:
            # Chunks that are never written read as missing, if there is a code for it.
            fill = np.nan if _is_float(self.dtype) and nan is not None else 0
        self.fill_value = fill
        if self.chunks is not None and not (
            len(self.chunks) == len(self.shape) and all(isinstance(n, int) and n for n in self.chunks)
        ):
            self.chunks = None

    @property
    def is_whole(self) -> bool:
        """Whether the array is contiguous in memory."""
        data = self.data
        if not isinstance(data, np.ndarray) or isinstance(data, np.ma.MaskedArray):
            return False
        return data.flags.c_contiguous or data.flags.f_contiguous

    def blocks(self) -> Iterator[np.ndarray[Any, Any]]:
        """The elements, block by block."""
        if self.is_whole:
            yield self.block(self.data)
            return
        chunks = self.chunks or self._slabs()
        counts = [-(-length // size) for length, size in zip(self.shape, chunks, strict=True)]
        for place in product(*map(range, counts)):
            key = tuple(slice(i * n, (i + 1) * n) for i, n in zip(place, chunks, strict=True))
            yield self.block(self.data[key])

    def _slabs(self) -> tuple[int, ...]:
        """The shape of pieces of an array without chunks: whole along the last dimensions."""
        left = max(1, _PIECE // self.dtype.itemsize)
        shape: list[int] = []
        for length in reversed(self.shape):
            shape.append(max(1, min(length, left)))
            left = max(1, left // max(1, length))
        return tuple(reversed(shape))

    def block(self, part: Any) -> np.ndarray[Any, Any]:
        """A part as a contiguous array in native byte order."""
        part = getattr(part, "values", part)  # of an xarray variable
        array = np.asarray(_filled(part, self.mask_value), dtype=self.dtype)
        if array.flags.c_contiguous or array.flags.f_contiguous:
            return array
        return np.ascontiguousarray(array)


def _mask_value(data: Any, dtype: np.dtype[Any]) -> Any:
    """What stands for masked elements: the fill value, or another if that is not of the type; None without a mask."""
    masked = getattr(data, "_meta", data)  # of Dask
    if not isinstance(masked, np.ma.MaskedArray):
        return None
    try:
        return scalar_from_json(dtype, masked.fill_value)
    except (TypeError, ValueError):  # NumPy's own, which is the same for types of all sizes
        pass
    nan = np.asarray(np.nan).astype(dtype)[()] if _is_float(dtype) else 0
    if nan != nan:
        return nan
    if dtype.kind in "iu" and masked is data:
        limits = np.iinfo(dtype)
        free = np.setdiff1d(np.arange(limits.min, limits.max + 1), data.compressed())
        if free.size:
            return dtype.type(free[-1])
    raise ValueError(
        f"the fill value {masked.fill_value} is not of type {dtype}, as the elements are; set fill_value to a number that "
        "no element has, in a wider type if there is none"
    )


def _encoding(values: _Values, arguments: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The encoding for one array; warnings begin with its name."""
    if _is_float(values.dtype):
        refuse_without_goal(arguments)
    options = options_json(**arguments)
    if 0 in values.shape or hasattr(values.data, "dask"):
        refuse_if_given(MEANS, arguments, NO_MEAN)
    surveyor_for = lambda size: Surveyor(  # noqa: E731
        values.dtype, values.fill_value, scalars_json(values.attributes), options, size
    )
    if hasattr(values.data, "dask"):
        survey, check = _survey_dask(values, surveyor_for)
    else:
        survey = _survey_blocks(values, surveyor_for(int(np.prod(values.shape, dtype=np.int64))))

        def check(choice: Choice) -> str | None:
            wrong = (choice.check(block) for block in values.blocks())
            return next((text for text in wrong if text is not None), None)

    choice = choose(survey, options, check)
    if choice.coarse is not None:
        warnings.warn(f"{name}{choice.coarse}", UserWarning, stacklevel=outside())
    for beyond in choice.beyond_valid:
        warnings.warn(f"{name}{beyond}; limits=(…) forbids that", UserWarning, stacklevel=outside())
    fill = np.asarray(values.fill_value).astype(values.dtype)[()]
    filters = value_codecs(json.loads(choice.codecs_json))
    encoding: dict[str, Any] = {
        "filters": filters,
        "dtype": values.dtype,
        "fill_value": fill.item() if values.dtype.kind in "iuf" else fill,
    }
    if values.dtype.itemsize == 1 and _stored_size(filters) > 1:
        from zarr.codecs import BytesCodec

        # By default zarr-python gives elements of one byte no byte order, which those that are stored need.
        encoding["serializer"] = BytesCodec()
    return encoding


def _stored_size(filters: tuple[Any, ...]) -> int:
    """The bytes of an element behind these filters; 0 if they do not cast."""
    casts = [one.data_type for one in filters if hasattr(one, "data_type")]
    return casts[-1].to_native_dtype().itemsize if casts else 0


def value_codecs(codecs: list[dict[str, Any]]) -> tuple[Any, ...]:
    """The value codecs of a list in metadata, as filters of zarr-python."""
    from .zarr import CastValue, ScaleOffset

    classes = {"cast_value": CastValue, "scale_offset": ScaleOffset}
    return tuple(
        classes[codec["name"]](**codec.get("configuration", {}))
        for codec in codecs
        if codec["name"] in classes
    )


def known_attributes(attributes: Mapping[Any, Any], encoding: Mapping[Any, Any]) -> dict[str, Any]:
    """The attributes that say which values are missing, and which are valid. Of values that xarray has unpacked as `encoding` says,
    the latter are not known: it leaves these attributes as they are, in the type of the integers."""
    is_unpacked = "scale_factor" in encoding or "add_offset" in encoding
    names = _MARKERS if is_unpacked else (*_MARKERS, *VALID)
    return {key: attributes[key] for key in names if key in attributes}


def scalars_json(attributes: dict[str, Any]) -> str:
    """The numbers in some attributes, in the form of Zarr metadata."""

    def values(value: Any) -> Any:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return scalar_json(value, "an attribute")
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            return None
        several = [scalar_json(one, "an attribute") for one in array.ravel()]
        return several if array.ndim else several[0]

    return json.dumps({key: values(value) for key, value in attributes.items()})


def _survey_blocks(values: _Values, surveyor: Surveyor) -> Survey:
    survey = surveyor.survey(np.empty(0, values.dtype))
    for block in values.blocks():
        survey = survey.merge(surveyor.survey(block, whole=values.is_whole))
    return survey


def _survey_dask(
    values: _Values, surveyor_for: Callable[[int], Surveyor]
) -> tuple[Survey, Callable[[Choice], str | None]]:
    """Surveys a Dask array on the workers; also returns a function that checks a choice there."""
    import dask

    data, dtype, mask_value = values.data, values.dtype, values.mask_value
    size = data.size
    if size != size:
        raise ValueError(
            "the chunks of the Dask array have unknown sizes; call its compute_chunk_sizes() first"
        )
    blocks = data.to_delayed().ravel().tolist()
    surveyor = surveyor_for(int(size))
    # One node of the graph, so that it is sent only once.
    shared = dask.delayed(surveyor)
    parts = [dask.delayed(_survey_block)(shared, block, dtype, mask_value) for block in blocks]
    while len(parts) > 1:
        groups = [parts[start : start + _MERGED] for start in range(0, len(parts), _MERGED)]
        parts = [dask.delayed(_merge)(group) for group in groups]
    (survey,) = dask.compute(*parts) if parts else (surveyor.survey(np.empty(0, dtype)),)

    def check(choice: Choice) -> str | None:
        shared = dask.delayed(choice)
        wrong = [dask.delayed(_check_block)(shared, block, dtype, mask_value) for block in blocks]
        return next((text for text in dask.compute(*wrong) if text is not None), None)

    return survey, check


# Tasks for workers, which import them by name.


def _filled(block: Any, mask_value: Any) -> Any:
    """A block without its mask."""
    if mask_value is None and np.ma.is_masked(block):
        raise ValueError(
            "a block of the Dask array is masked, and the array does not know that; give it meta=np.ma.empty(…), where it "
            "is made by map_blocks"
        )
    return np.ma.filled(block, mask_value)


def _native(block: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(block, dtype=dtype)


def _survey_block(surveyor: Surveyor, block: Any, dtype: np.dtype[Any], mask_value: Any) -> Survey:
    return surveyor.survey(_native(_filled(block, mask_value), dtype))


def _merge(surveys: list[Survey]) -> Survey:
    merged = surveys[0]
    for survey in surveys[1:]:
        merged = merged.merge(survey)
    return merged


def _check_block(choice: Choice, block: Any, dtype: np.dtype[Any], mask_value: Any) -> str | None:
    return choice.check(_native(_filled(block, mask_value), dtype))
