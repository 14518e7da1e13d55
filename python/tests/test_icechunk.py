"""Repositories of Icechunk: written with codecs, appended to, written by regions from two sessions, packed into a branch."""

import numpy as np
import pytest

import zarr_recast

zarr = pytest.importorskip("zarr", minversion="3.3.0")
xr = pytest.importorskip("xarray")
pytest.importorskip("dask")
icechunk = pytest.importorskip("icechunk")

BOUND = 0.01


@pytest.fixture(autouse=True)
def registered():
    zarr_recast.register()


@pytest.fixture(params=["in memory", "local"])
def repository(request, tmp_path):
    if request.param == "local":
        return icechunk.Repository.create(icechunk.local_filesystem_storage(str(tmp_path / "repo")))
    return icechunk.Repository.create(icechunk.in_memory_storage())


def dataset(days=8, start=0):
    values = np.random.default_rng(start).uniform(-30, 30, (days, 12, 10)).astype("f4")
    values[:, :3, 2] = np.nan
    return xr.Dataset({"t": (("time", "y", "x"), values)}, {"time": np.arange(start, start + days)})


def written(repository, ds, **encoded):
    """A commit with a dataset on `main`."""
    encoding = zarr_recast.encoding_for(ds, max_abs_error=BOUND, range=(-60, 60))
    encoding["t"] |= encoded
    session = repository.writable_session("main")
    ds.to_zarr(session.store, encoding=encoding, zarr_format=3, consolidated=False)
    session.commit("first")
    return encoding


def read(repository, branch="main"):
    return xr.open_zarr(repository.readonly_session(branch).store, consolidated=False)


def assert_close(found, ds):
    np.testing.assert_allclose(found["t"], ds["t"], rtol=0, atol=BOUND)
    np.testing.assert_array_equal(found["time"], ds["time"])


def test_what_is_committed_is_read_in_a_new_session_and_appended_to(repository):
    first, second = dataset(), dataset(start=8)
    written(repository, first)
    assert_close(read(repository), first)
    codecs = zarr.open_array(repository.readonly_session("main").store, path="t", mode="r").filters
    assert [codec.to_dict()["name"] for codec in codecs] == ["scale_offset", "cast_value"]
    session = repository.writable_session("main")
    second.to_zarr(session.store, append_dim="time", consolidated=False)
    assert_close(read(repository), first)  # until the commit
    session.commit("second")
    assert_close(read(repository), xr.concat([first, second], "time"))


def test_regions_of_two_sessions_conflict_only_where_they_meet(repository):
    ds = dataset()
    written(repository, ds, chunks=(2, 12, 10))
    later = (ds * np.float32(0.5)).drop_vars("time")

    def write(session, region):
        later.isel(time=region).to_zarr(session.store, region={"time": region}, consolidated=False)

    one, two, three = (repository.writable_session("main") for _ in range(3))
    write(one, slice(0, 4))
    write(two, slice(4, 8))
    write(three, slice(2, 6))
    one.commit("one")
    with pytest.raises(icechunk.ConflictError):
        two.commit("two")
    two.rebase(icechunk.ConflictDetector())
    two.commit("two")
    assert_close(read(repository), ds * np.float32(0.5))
    with pytest.raises(icechunk.RebaseFailedError):
        three.rebase(icechunk.ConflictDetector())
    assert_close(read(repository), ds * np.float32(0.5))


def test_a_branch_gets_what_is_verified_and_nothing_else(repository):
    ds = dataset()
    session = repository.writable_session("main")
    ds.to_zarr(session.store, zarr_format=3, consolidated=False)
    raw = session.commit("raw")
    repository.create_branch("packed", raw)
    source = repository.readonly_session("main").store

    session = repository.writable_session("packed")
    with pytest.raises(ValueError, match="int8"):
        zarr_recast.pack(source, session.store, max_abs_error=1e-30, data_type="int8", overwrite=True)
    assert not session.has_uncommitted_changes
    zarr_recast.pack(source, session.store, max_abs_error=BOUND, overwrite=True)
    assert not zarr_recast.verify(source, session.store, atol=BOUND / 100).passed
    assert zarr_recast.verify(source, session.store, atol=BOUND).passed
    assert repository.lookup_branch("packed") == raw
    session.commit("packed")
    assert_close(read(repository, "packed"), ds)
    np.testing.assert_array_equal(read(repository)["t"], ds["t"])
    assert zarr_recast.pack(
        ds, repository.writable_session("packed").store, max_abs_error=BOUND, overwrite=True
    ).packed.keys() == {"t"}


def test_a_closed_session_is_an_error_and_nothing_is_written(repository):
    session = repository.writable_session("main")
    ds = dataset()
    ds.to_zarr(session.store, zarr_format=3, consolidated=False)
    commit = session.commit("raw")
    with pytest.raises(ValueError, match="read-only; open it for writing"):
        zarr_recast.pack(session.store, session.store, max_abs_error=BOUND, overwrite=True)
    with pytest.raises(ValueError, match="read-only; open it for writing"):
        zarr_recast.pack(ds, session.store, max_abs_error=BOUND)
    assert repository.lookup_branch("main") == commit
