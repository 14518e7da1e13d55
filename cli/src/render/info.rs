//! The codecs of an array, for people.

use recast_kernels::Scalar;
use recast_pack::ArrayInfo;
use zarr_recast::fill_value::to_json;

use super::table::Table;

pub(crate) fn table(info: &ArrayInfo) -> Table {
    let mut table = Table::default();
    table.row("array", &info.array);
    table.row("shape", format!("{:?}", info.shape));
    let chunk = info.chunk_shape.as_ref().map(|shape| format!("{shape:?}"));
    table.row("chunks", chunk.unwrap_or_else(|| "none".to_owned()));
    let fill = |value: Option<Scalar>| match value {
        Some(value) => format!("fill value {}", to_json(value)),
        None => "no fill value".to_owned(),
    };
    table.row("values", format!("{}, {}", info.data_type, fill(Some(info.fill_value))));
    for codec in &info.codecs {
        let indent = "  ".repeat(codec.depth);
        let mut lines = Vec::new();
        if codec.configuration.as_object().is_some_and(|object| !object.is_empty()) {
            lines.push(codec.configuration.to_string());
        }
        if let Some(data_type) = &codec.data_type {
            lines.push(format!("-> {data_type}, {}", fill(codec.fill_value)));
        }
        table.row(format!("{indent}{}", codec.name), lines.join("\n"));
    }
    if let Some((low, high)) = info.storable_range {
        table.row("can store", format!("{low} to {high}"));
    }
    if let Some(precision) = info.precision {
        table.row("precision", precision.to_string());
    }
    for warning in &info.warnings {
        table.row("warning", warning);
    }
    table
}
