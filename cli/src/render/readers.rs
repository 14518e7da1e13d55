//! Which readers can open an array with value codecs; see docs/compatibility.md.

use recast_pack::{Readers, Reading};

/// Others do not know the codecs.
const OTHERS: &str = "not GDAL, netCDF: use recast unpack";

pub(super) fn text(readers: Readers) -> String {
    let zarr_python = match (readers.needs_ml_dtypes, readers.needs_pcodec) {
        (true, false) => "zarr-python 3.4.2 with zarr-recast and ml_dtypes",
        (true, true) => "zarr-python 3.4.2 with zarr-recast, ml_dtypes and pcodec",
        (false, false) => "zarr-python 3.4.2 with zarr-recast or cast-value-rs",
        (false, true) => "zarr-python 3.4.2 with pcodec and zarr-recast or cast-value-rs",
    };
    let zarrs = if readers.needs_pcodec {
        "zarrs 0.23 with zarrs-recast and the feature pcodec"
    } else {
        "zarrs 0.23 with zarrs-recast"
    };
    match (readers.zarr_python, readers.zarrs) {
        (Reading::Nothing, _) => format!(
            "{zarrs}; not zarr-python 3.4.2, which opens no array whose codecs inside shards cannot \
             encode 0 (--shard-codecs outside); {OTHERS}"
        ),
        (Reading::PartsOfShards, _) => format!(
            "{zarr_python}, {zarrs}, both of which decode only the parts of shards they need; {OTHERS}"
        ),
        (Reading::WholeShards, _) => format!(
            "{zarr_python}, which decodes whole shards, {zarrs}, which decodes the parts it needs; \
             {OTHERS}"
        ),
        (Reading::Chunks, _) => format!("{zarr_python}, {zarrs}; {OTHERS}"),
    }
}
