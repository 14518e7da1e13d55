"""Converts keyword arguments, for one array or by variable, to options of recast-pack."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np

from ._core import displaced
from ._json import scalar_json

# The arguments that bound a mean.
MEANS = ("max_mean_error", "mean_error_over_range", "max_mean_rel_error")
# The arguments that bound the error.
GOALS = (
    "max_abs_error",
    "error_over_range",
    "max_rel_error",
    *MEANS,
    "precision",
)


def by_name(
    names: Iterable[str], floats: Iterable[str], arguments: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The arguments for each variable of a dataset that will be packed.

    A plain value applies to all floating-point variables, a mapping to those that it names. Variables
    without a bound are left out.
    """
    names = list(names)
    arguments = {argument: by_path(value, names) for argument, value in arguments.items()}
    mappings = {key: value for key, value in arguments.items() if isinstance(value, Mapping)}
    for argument, mapping in mappings.items():
        for name in mapping:
            if name not in names:
                raise ValueError(f"{argument} names {name!r}, which is {_unknown(name, names)}")
    refuse_without_goal(
        arguments, ", each a number for all floating-point variables, or a dictionary by their names"
    )
    goals = _goals(arguments)
    named = {
        goal: [name for name in value] for goal, value in goals.items() if isinstance(value, Mapping)
    }
    has_plain = any(
        value is not None and not isinstance(value, Mapping) for value in goals.values()
    )
    of_all = list(floats) if has_plain else []
    picked: dict[str, dict[str, Any]] = {}
    for name in names:
        if name in of_all or any(name in variables for variables in named.values()):
            picked[name] = of_one(name, arguments)
    for argument, mapping in mappings.items():
        ignored = [name for name in mapping if name not in picked]
        if ignored:
            raise ValueError(
                f"{argument} names {ignored[0]!r}, which is not packed; give it a bound, too "
                "(max_abs_error=0 keeps integers exactly)"
            )
    return picked


def _goals(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say what to keep."""
    return {goal: arguments.get(goal) for goal in GOALS} | {"lossless": arguments.get("lossless") or None}


def refuse_without_goal(arguments: Mapping[str, Any], how: str = "") -> None:
    """Refuses arguments for floating-point values that say nothing of what to keep."""
    if all(goal is None for goal in _goals(arguments).values()):
        raise ValueError(
            f"nothing says what to keep; give {', '.join(GOALS[:-1])} or {GOALS[-1]}{how}"
        )


def refuse_if_given(names: Iterable[str], arguments: Mapping[str, Any], why: str) -> None:
    """Refuses arguments, with the reason."""
    given = next((name for name in names if arguments.get(name) is not None), None)
    if given is not None:
        raise ValueError(f"{given} {why}")


def by_path(value: Any, names: Container[Any] = ()) -> Any:
    """A dictionary by paths, which may have slashes at their ends, as those of DataTree; names stay as they are."""
    if not isinstance(value, Mapping):
        return value
    return {
        path.strip("/") if isinstance(path, str) and path not in names else path: one
        for path, one in value.items()
    }


def _unknown(name: str, names: list[str]) -> str:
    """That no variable has a name, with the nearest names."""
    nearest = difflib.get_close_matches(str(name), names, cutoff=0.3) or names
    return f"not a variable of the dataset; the nearest are {', '.join(map(repr, nearest))}"


def of_one(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for one variable: its own, by name, and those for all that hold beside them."""
    of_all, own = for_all(arguments), own_of(name, arguments)
    others = displaced(options_json(**of_all), options_json(**own))
    return {**{key: value for key, value in of_all.items() if key not in others}, **own}


def own_of(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that name one variable or array."""
    return {
        argument: value[name]
        for argument, value in arguments.items()
        if isinstance(value, Mapping) and name in value
    }


def for_all(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for all variables or arrays."""
    return {key: value for key, value in arguments.items() if not isinstance(value, Mapping)}


def options_json(**arguments: Any) -> str:
    """The options of recast-pack in JSON, from arguments for one array; those that are None are left out."""
    options: dict[str, Any] = {}
    for argument, value in arguments.items():
        if value is None and argument != "nan":
            continue
        if argument in GOALS:
            options[argument] = number(argument, value)
        elif argument == "range":
            options["range"] = [_scalar("range", end) for end in _pair("range", value)]
        elif argument == "limits":
            ends = _pair("limits", value)
            options["limits"] = [None if end is None else number("limits", end) for end in ends]
        elif argument == "missing":
            several = isinstance(value, Iterable) and not isinstance(value, str)
            options["missing"] = [_scalar("missing", one) for one in (value if several else [value])]
        elif argument == "readers":
            options["readers"] = [value] if isinstance(value, str) else list(value)
        elif argument in ("data_type", "decoded_type"):
            options[argument] = value if isinstance(value, str) else np.dtype(value).name
        elif argument == "nan":
            options.update(_nan(value))
        elif argument in ("scale", "offset"):
            options[argument] = _scalar(argument, value)
        elif argument in ("src_min", "src_max"):
            # An integer of 64 bits may be no float.
            end = value if isinstance(value, (int, np.integer)) else number(argument, value)
            options[argument] = _scalar(argument, end)
        elif isinstance(value, (np.bool, bool)):
            options[argument] = bool(value)
        else:
            options[argument] = value
    return json.dumps({name.replace("_", "-"): value for name, value in options.items()})


def number(argument: str, value: Any) -> float:
    """A finite number, of any type that is one."""
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise TypeError(f"{argument} is {value!r}; it must be a number")
    finite = float(value)
    if not math.isfinite(finite):
        raise ValueError(f"{argument} is {value!r}; it must be a finite number")
    return finite


def _scalar(argument: str, value: Any) -> int | float | str:
    return scalar_json(value, argument)


def _pair(argument: str, value: Any) -> tuple[Any, Any]:
    try:
        least, greatest = value
    except (TypeError, ValueError):
        raise ValueError(
            f"{argument} is {value!r}; it must be the least and the greatest value, such as (-40, 55)"
        ) from None
    return least, greatest


def _nan(value: Any) -> dict[str, Any]:
    if value is None:
        return {"no_nan": True}
    if isinstance(value, str):
        if value == "auto":
            return {}
        if value in ("min", "max"):
            return {"nan_to": value}
    elif isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return {"nan_to": int(value)}
    raise TypeError(f"nan is {value!r}; it must be an integer, 'auto', 'min', 'max' or None")
