//! Which readers can open an array with value codecs; see docs/compatibility.md.

use recast_kernels::ElementType;
use recast_pack::report::{Readers, Reading};

/// Of plain numbers.
pub(super) fn of_plain(element_type: ElementType) -> String {
    format!("every reader of Zarr v3 that has {element_type}: no value codecs")
}

pub(super) fn text(readers: Readers) -> String {
    let Readers { needs_zarr_recast, needs_ml_dtypes, needs_pcodec, .. } = readers;
    let packages = match (needs_zarr_recast, needs_ml_dtypes, needs_pcodec) {
        (_, true, false) => "zarr-recast and ml_dtypes",
        (_, true, true) => "zarr-recast, ml_dtypes and pcodec",
        (true, false, false) => "zarr-recast",
        (true, false, true) => "zarr-recast and pcodec",
        (false, false, false) => "zarr-recast or cast-value-rs",
        (false, false, true) => "pcodec and zarr-recast or cast-value-rs",
    };
    let zarr_python = format!("zarr-python 3.4.2 with {packages}");
    let zarrs = if readers.needs_pcodec {
        "zarrs 0.23 with zarrs-recast and the feature pcodec"
    } else {
        "zarrs 0.23 with zarrs-recast"
    };
    // Others do not know the codecs.
    let others = match readers.gdal {
        Some(version) => format!("GDAL ({version}); not netCDF (see --readers any)"),
        None => "not GDAL, netCDF: --readers any".to_owned(),
    };
    match (readers.zarr_python, readers.zarrs) {
        (Reading::Nothing, _) => format!(
            "{zarrs}; zarr-python 3.4.2 only after zarr_recast.register(), because its own classes open no array whose \
             codecs inside shards cannot encode 0 (--shard-codecs outside); {others}"
        ),
        (Reading::PartsOfShards, _) => format!(
            "{zarr_python}, {zarrs}, both of which decode only the parts of shards they need; {others}"
        ),
        (Reading::WholeShards, _) => format!(
            "{zarr_python}, which decodes whole shards, {zarrs}, which decodes the parts it needs; \
             {others}"
        ),
        (Reading::Chunks, _) => format!("{zarr_python}, {zarrs}; {others}"),
    }
}
