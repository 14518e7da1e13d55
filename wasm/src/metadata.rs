//! Array metadata as zarrita reads them without loss.
//!
//! JSON in JavaScript rounds numbers to doubles, so each of our codecs gets a configuration of strings: its own text and that of
//! the fill value; and whether the store's chunks share memory. zarrita skips codecs in front of `sharding_indexed`: ours move into
//! the shards, where they give the same elements and bytes. Our filters of Zarr v2 keep the byte order that they name. Everything
//! else stays as it is. The metadata that a group holds of its arrays, its consolidated metadata, are rewritten too.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use zarr_recast::{Codec, ElementType, Scalar, data_type, fill_value};

type Members = BTreeMap<String, Box<RawValue>>;

/// The name of a codec, which may stand alone.
fn name(codec: &RawValue) -> Result<String, String> {
    let text = codec.get();
    serde_json::from_str::<String>(text)
        .or_else(|_| {
            let members: Members = serde_json::from_str(text)?;
            serde_json::from_str(members.get("name").map_or("", |name| name.get()))
        })
        .map_err(|_| format!("codecs: {text} is no codec"))
}

fn raw(value: &impl serde::Serialize) -> Result<Box<RawValue>, String> {
    to_raw_value(value).map_err(|error| error.to_string())
}

fn read<'a, T: Deserialize<'a>>(text: &'a RawValue, what: &str) -> Result<T, String> {
    serde_json::from_str(text.get()).map_err(|error| format!("{what}: {error}"))
}

/// The metadata for zarrita; those of groups, and of data types without these codecs, as they are.
pub(crate) fn exact(text: &str, reuse: bool) -> Result<String, String> {
    let mut members: Members = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if members.contains_key("zarr_consolidated_format") {
        consolidated(&mut members, |key| key.ends_with(".zarray"), reuse)?;
    } else if let Some(of_arrays) = members.get("consolidated_metadata")
        && of_arrays.get() != "null"
    {
        let mut of_arrays: Members = read(of_arrays, "consolidated_metadata")?;
        consolidated(&mut of_arrays, |_| true, reuse)?;
        members.insert("consolidated_metadata".into(), raw(&of_arrays)?);
    } else if members.contains_key("dtype") {
        of_v2(&mut members, reuse)?;
    } else {
        of_v3(&mut members, reuse)?;
    }
    serde_json::to_string(&members).map_err(|error| error.to_string())
}

/// Leaves out what is refused: zarrita then reads the array's own metadata, which say why.
fn consolidated(
    members: &mut Members,
    is_array: impl Fn(&str) -> bool,
    reuse: bool,
) -> Result<(), String> {
    let Some(arrays) = members.get("metadata") else { return Ok(()) };
    let mut arrays: Members = read(arrays, "metadata")?;
    arrays.retain(|key, metadata| {
        if !is_array(key) {
            return true;
        }
        let rewritten =
            exact(metadata.get(), reuse).ok().and_then(|text| RawValue::from_string(text).ok());
        rewritten.map(|rewritten| *metadata = rewritten).is_some()
    });
    members.insert("metadata".into(), raw(&arrays)?);
    Ok(())
}

fn of_v2(members: &mut Members, reuse: bool) -> Result<(), String> {
    if let Some(filters) = members.get("filters").filter(|filters| filters.get() != "null") {
        let filters = read::<Vec<Box<RawValue>>>(filters, "filters")?;
        let filters =
            filters.into_iter().map(|it| filter(it, reuse)).collect::<Result<Vec<_>, _>>()?;
        members.insert("filters".into(), raw(&filters)?);
    }
    let dtype = members.get("dtype").map_or("", |dtype| dtype.get());
    if (dtype.ends_with("i8\"") || dtype.ends_with("u8\""))
        && let Some(fill) = members.get("fill_value")
        && fill.get().parse::<i128>().is_ok()
    {
        // BigInt reads a string.
        let fill = raw(&fill.get())?;
        members.insert("fill_value".into(), fill);
    }
    Ok(())
}

fn of_v3(members: &mut Members, reuse: bool) -> Result<(), String> {
    let (Some(data_type), Some(fill), Some(codecs)) =
        (members.get("data_type"), members.get("fill_value"), members.get("codecs"))
    else {
        return Ok(());
    };
    let Ok(element) = data_type::parse(data_type.get()) else { return Ok(()) };
    let codecs = for_zarrita(read(codecs, "codecs")?, fill, reuse)?;
    let fill = match fill.get() {
        "null" => None,
        text => Some(fill_for_zarrita(
            fill_value::from_json_str(element, text).map_err(|error| error.to_string())?,
            element,
        )?),
    };
    members.insert("codecs".into(), raw(&codecs)?);
    if let Some(fill) = fill {
        members.insert("fill_value".into(), fill);
    }
    Ok(())
}

/// A filter of Zarr v2: zarrita makes `numcodecs.zarr-recast` of ours, and leaves it alone.
fn filter(filter: Box<RawValue>, reuse: bool) -> Result<Box<RawValue>, String> {
    let mut configuration: Members = read(&filter, "filters")?;
    let Some(id) = configuration.remove("id") else { return Ok(filter) };
    let name = format!("numcodecs.{}", read::<String>(&id, "filters")?);
    if !Codec::is_known(&name) {
        return Ok(filter);
    }
    let configuration = raw(&configuration)?;
    let codec = format!(r#"{{"name":"{name}","configuration":{configuration}}}"#);
    raw(&json!({ "id": "zarr-recast", "zarr-recast": { "codec": codec, "reuse": reuse } }))
}

fn fill_for_zarrita(fill: Scalar, element: ElementType) -> Result<Box<RawValue>, String> {
    match element {
        // BigInt reads a string.
        ElementType::Int64 | ElementType::UInt64 => raw(&fill.to_string()),
        _ if fill.is_nan() => match fill_value::to_json(fill) {
            canonical if canonical == "NaN" => raw(&canonical),
            other => Err(format!("fill_value: {other} is a NaN whose bits JavaScript cannot keep")),
        },
        _ => raw(&fill_value::to_json(fill)),
    }
}

fn names(codecs: &[Box<RawValue>]) -> Result<Vec<String>, String> {
    codecs.iter().map(|codec| name(codec)).collect()
}

/// One `transpose` in place of several, of which zarrita undoes only the first. The codecs between them work on each element
/// alone.
fn with_one_transpose(mut codecs: Vec<Box<RawValue>>) -> Result<Vec<Box<RawValue>>, String> {
    let names = names(&codecs)?;
    let places: Vec<usize> = (0..codecs.len()).filter(|&at| names[at] == "transpose").collect();
    let (Some(&first), Some(&last)) = (places.first(), places.last()) else { return Ok(codecs) };
    if first == last && !names[..last].iter().any(|name| name == "numcodecs.delta") {
        return Ok(codecs);
    }
    let works_on_elements = |name: &str| name == "transpose" || Codec::is_known(name);
    let from = names[..last].iter().position(|name| name == "numcodecs.delta").unwrap_or(first);
    if let Some(other) = names[from..last].iter().find(|name| !works_on_elements(name)) {
        return Err(format!("codecs: zarrita reads {other} in front of transpose wrongly"));
    }
    let mut order: Vec<usize> = axes(&codecs[first])?;
    for &place in &places[1..] {
        let next = axes(&codecs[place])?.into_iter().map(|axis| order.get(axis).copied());
        order =
            next.collect::<Option<_>>().ok_or("codecs: several transpose of different shapes")?;
    }
    codecs[first] = raw(&json!({ "name": "transpose", "configuration": { "order": order } }))?;
    for &place in places[1..].iter().rev() {
        codecs.remove(place);
    }
    Ok(codecs)
}

/// The axes of a `transpose`.
fn axes(codec: &RawValue) -> Result<Vec<usize>, String> {
    #[derive(Deserialize)]
    struct Transpose {
        configuration: Order,
    }
    #[derive(Deserialize)]
    struct Order {
        order: Vec<usize>,
    }
    Ok(read::<Transpose>(codec, "transpose")?.configuration.order)
}

fn for_zarrita(
    codecs: Vec<Box<RawValue>>,
    fill: &RawValue,
    reuse: bool,
) -> Result<Vec<Box<RawValue>>, String> {
    let mut codecs = with_one_transpose(codecs)?;
    let names = names(&codecs)?;
    let ours = |name: &String| Codec::is_known(name);
    let Some(shards) = names.iter().position(|name| name == "sharding_indexed") else {
        return codecs
            .into_iter()
            .zip(&names)
            .map(
                |(codec, name)| {
                    if ours(name) { marked(&codec, name, fill, reuse) } else { Ok(codec) }
                },
            )
            .collect();
    };
    if let Some(other) = names[..shards].iter().find(|name| !ours(name)) {
        return Err(format!("codecs: zarrita skips {other} in front of sharding_indexed"));
    }
    let outside: Vec<_> = codecs.drain(..shards).collect();
    let mut sharding: Members = read(&codecs[0], "codecs")?;
    let no_configuration = || "codecs: sharding_indexed has no configuration".to_owned();
    let configuration = sharding.get("configuration").ok_or_else(no_configuration)?;
    let mut configuration: Members = read(configuration, "sharding_indexed")?;
    let inside: Vec<Box<RawValue>> = match configuration.get("codecs") {
        Some(codecs) => read(codecs, "sharding_indexed")?,
        None => Vec::new(),
    };
    let inside = for_zarrita(outside.into_iter().chain(inside).collect(), fill, reuse)?;
    configuration.insert("codecs".into(), raw(&inside)?);
    sharding.insert("configuration".into(), raw(&configuration)?);
    codecs[0] = raw(&sharding)?;
    Ok(codecs)
}

fn marked(
    codec: &RawValue,
    name: &str,
    fill: &RawValue,
    reuse: bool,
) -> Result<Box<RawValue>, String> {
    let texts = json!({ "codec": codec.get(), "fillValue": fill.get(), "reuse": reuse });
    raw(&json!({ "name": name, "configuration": { "zarr-recast": texts } }))
}
