//! The codecs of an array, for people.

use recast_kernels::Scalar;
use recast_pack::text::{bytes, number_of};
use recast_pack::{ArrayInfo, GroupInfo};
use serde_json::{Map, Value};
use zarr_recast::fill_value::to_json;

use super::group::{Words, arrays, reports};
use super::report::Report;
use super::table::Table;

impl Report for ArrayInfo {
    fn rows(&self, table: &mut Table) {
        table.row("array", &self.array);
        table.row("shape", extents(self));
        let chunk = self.chunk_shape.as_ref().map(|shape| match &self.chunk_lengths {
            Some(lengths) => {
                lengths.iter().map(|runs| along(runs)).collect::<Vec<_>>().join(" by ")
            }
            None => format!("{shape:?}"),
        });
        table.row("chunks", chunk.unwrap_or_else(|| "none".to_owned()));
        let fill = |value: Option<Scalar>| match value {
            Some(value) => format!("fill value {}", to_json(value)),
            None => "no fill value".to_owned(),
        };
        let fill_value = fill(Some(self.fill_value));
        let units = units(self);
        if let Some(hint) = self.hint() {
            table.row("values", format!("{}, {fill_value}", self.data_type));
            table.row("stand for", format!("values{units}, {hint}"));
        } else {
            table.row("values", format!("{}{units}, {fill_value}", self.data_type));
        }
        for codec in &self.codecs {
            let indent = "  ".repeat(codec.depth);
            let mut lines = Vec::new();
            if codec.configuration.as_object().is_some_and(|object| !object.is_empty()) {
                lines.push(codec.configuration.to_string());
            }
            if let Some(data_type) = &codec.data_type {
                lines.push(format!("-> {data_type}, {}", fill(codec.fill_value)));
            }
            table.lines(format!("{indent}{}", codec.name), lines);
        }
        if let Some((low, high)) = self.range {
            let grid = self.grid.map(|grid| format!(", {grid} only")).unwrap_or_default();
            table.row("can store", format!("{low} to {high}{grid}"));
        }
        if let Some(bound) = self.bound {
            table.row("bound", bound.to_string());
        }
        if let Some(bound) = self.bound_of_last {
            table.row("bound", format!("against what it was packed from, {bound}"));
        }
        if !self.requirements.is_empty() {
            table.lines("keeps", self.requirements.iter().map(ToString::to_string));
        }
        if let Some(precision) = self.precision {
            table.row("precision", precision.to_string());
        }
        if let Some(rounded) = self.rounded {
            table.row("rounded", rounded.to_string());
        }
        for warning in &self.warnings {
            table.row("warning", warning);
        }
        attributes("attributes", &self.attributes, table);
    }
}

/// The extents of an array, with the names of its dimensions.
fn extents(info: &ArrayInfo) -> String {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "_".to_owned());
    let names = info.dimension_names.iter().flatten().map(name).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { names } else { format!(" ({names})") };
    format!("{:?}{names}", info.shape)
}

/// The unit of the values, behind their type.
fn units(info: &ArrayInfo) -> String {
    info.units.as_ref().map(|units| format!(" in {units:?}")).unwrap_or_default()
}

/// A row with a line for each attribute.
fn attributes(label: &str, attributes: &Map<String, Value>, table: &mut Table) {
    if !attributes.is_empty() {
        let line = |(name, value): (&String, &Value)| format!("{name}: {value}");
        table.lines(label, attributes.iter().map(line));
    }
}

/// The lengths of the chunks along a dimension.
fn along(runs: &[(u64, u64)]) -> String {
    let run = |&(length, count): &(u64, u64)| match count {
        1 => length.to_string(),
        _ => format!("{count} × {length}"),
    };
    format!("({})", runs.iter().map(run).collect::<Vec<_>>().join(", "))
}

/// The arrays of a group: a line for each, and one for all.
impl Report for GroupInfo {
    fn rows(&self, table: &mut Table) {
        let consolidated = if self.consolidated { ", with consolidated metadata" } else { "" };
        table.row("group", format!("{}{consolidated}", self.group));
        let words = Words { done: "with numbers", kept: "others", failed: "not read" };
        arrays(&self.arrays, &words, line, table);
        let sizes = reports(&self.arrays).map(|(_, info)| info.stored);
        let stored: Option<u64> = sizes.sum();
        let stored = stored.map(|stored| format!(", {} stored", bytes(stored as f64)));
        let groups = match self.groups.len() as u64 {
            0 => String::new(),
            number => format!(" and {}", number_of(number, "group")),
        };
        let arrays = number_of(self.arrays.len() as u64, "array");
        table.row("total", format!("{arrays}{groups}{}", stored.unwrap_or_default()));
        attributes("attributes", &self.attributes, table);
        for (array, info) in reports(&self.arrays) {
            attributes(array, &info.attributes, table);
        }
    }
}

/// An array of a group on one line.
fn line(info: &ArrayInfo) -> String {
    let stored = info.encoded_data_type.as_ref();
    let stored = stored.map(|stored| format!(", stored as {stored}")).unwrap_or_default();
    let warnings = match info.warnings.len() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        number => format!(", {number} warnings"),
    };
    let size = info.stored.map(|stored| format!(", {}", bytes(stored as f64))).unwrap_or_default();
    let units = units(info);
    format!("{} {}{units}{stored}{warnings}{size}", info.data_type, extents(info))
}
