"""A dataset packed with a bound for each variable, appended to, and checked."""

import numpy as np
import xarray as xr

import zarr_recast


def day(number: int) -> xr.Dataset:
    """Made-up values of one day."""
    generator = np.random.default_rng(number)
    shape = (1, 40, 60)
    return xr.Dataset(
        {
            "t": (("time", "y", "x"), generator.normal(12, 5, shape).astype("float32")),
            "wind": (("time", "y", "x"), generator.gamma(2, 3, shape).astype("float32")),
        },
        coords={"time": [number]},
    )


def main() -> None:
    """Write three days, and see that what is read keeps the bounds."""
    zarr_recast.register()
    bounds = {"t": 0.01, "wind": 0.1}
    encoding = zarr_recast.encoding_for(
        day(0), max_abs_error=bounds, range={"t": (-90, 60), "wind": (0, 120)}
    )
    store = "days.zarr"
    day(0).to_zarr(store, mode="w", encoding=encoding, zarr_format=3, consolidated=False)
    for number in (1, 2):
        day(number).to_zarr(store, append_dim="time", consolidated=False)
    read = xr.open_zarr(store, consolidated=False)
    for number in range(3):
        for name, bound in bounds.items():
            error = abs(read[name].isel(time=number) - day(number)[name].isel(time=0)).max()
            assert float(error) <= bound, (name, number)


if __name__ == "__main__":
    main()
