//! Who can read an array with value codecs.

use recast_pack::{Readers, Reading};

/// Others do not know the codecs.
const OTHERS: &str =
    "not GDAL, netCDF and others without these codecs: give them the result of `recast unpack`";

pub(super) fn text(readers: Readers) -> String {
    let zarr_python = if readers.needs_ml_dtypes {
        "zarr-python 3.4.2 or newer with zarr-recast and ml_dtypes"
    } else {
        "zarr-python 3.4.2 or newer with zarr-recast or cast-value-rs"
    };
    let zarrs = "zarrs with zarrs-recast";
    let shards = match (readers.zarr_python, readers.zarrs) {
        (Reading::PartsOfShards, Reading::PartsOfShards) => {
            "; both decode only the parts of shards they need"
        }
        (Reading::WholeShards, _) => {
            "; for a part of a shard zarr-python decodes all of it, zarrs the part"
        }
        (Reading::Nothing, _) => {
            return format!(
                "{zarrs}, which decodes only the parts of shards it needs;\n\
                 not zarr-python 3.4.2, which opens no array whose codecs inside shards cannot \
                 encode 0 (--shard-codecs outside);\n{OTHERS}"
            );
        }
        (Reading::Chunks | Reading::PartsOfShards, _) => "",
    };
    format!("{zarr_python}, {zarrs}{shards};\n{OTHERS}")
}
