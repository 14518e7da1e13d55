//! Describes arrays and their codecs, and lists the arrays of groups.

use std::path::Path;

use anyhow::Context;
use recast_kernels::{ElementType, OutOfRange, Rounding, Scalar, in_default_environment};
use serde::Serialize;
use serde_json::{Map, Value};
use zarr_recast::{BindOptions, Chain, Codec, FillCheck, JsonScalar};
use zarrs::array::ArrayMetadata;

use crate::array::source::Source;
use crate::check::recorded::{RecordedBound, recorded_requirements};
use crate::choose::room::storable;
use crate::error::{Error, Result};
use crate::jobs::cf::attributes::{PACKED_BY_CF, is_packed_by_cf};
use crate::jobs::tree::{ArrayOutcome, Outcome, PathReport, arrays_of};
use crate::json;
use crate::metadata::bound_codecs::ValueStep;
use crate::metadata::byte_codecs::DELTA;
use crate::metadata::codecs::configured;
use crate::metadata::document::{GRID, PROVENANCE};
use crate::metadata::tree::{Node, nodes};
use crate::options::Requirement;
use crate::round::seen::SeenRounding;
use crate::scan::lattice::Lattice;
use crate::scan::number::is_less;
use crate::store::bare::without_notes;
use crate::store::location::{Kind, Location, is_group};
use crate::text::{as_shown, count};

/// The attribute with the unit of the values, as CF and its readers call it.
const UNITS: &str = "units";

/// An array and its codecs.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayInfo {
    /// Its path.
    pub array: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The names of its dimensions, if it has some.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// The attribute `units`.
    pub units: Option<String>,
    /// The extents of its first chunk, if it has any.
    pub chunk_shape: Option<Vec<u64>>,
    /// The lengths of its chunks along each dimension, if they are not all of one length: each with the number of chunks
    /// in succession that have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_lengths: Option<Vec<Vec<(u64, u64)>>>,
    /// The type of the values.
    pub data_type: ElementType,
    /// The fill value.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Scalar,
    /// All codecs, in the order in which elements pass them.
    pub codecs: Vec<CodecInfo>,
    /// The type of the stored elements, if there are value codecs.
    pub encoded_data_type: Option<String>,
    /// The range of values that the codecs can store.
    #[serde(serialize_with = "json::written")]
    pub range: Option<(Scalar, Scalar)>,
    /// The bound that the array keeps against its original, as the attribute `recast` records it.
    pub bound: Option<RecordedBound>,
    /// The bound of the last packing, against its own input, if an earlier packing records none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_of_last: Option<RecordedBound>,
    /// The recorded requirements of the packing, besides a bound of every element.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<Requirement>,
    /// The grid on which values must be to keep the bound with which the array was packed, as provenance says it.
    pub grid: Option<Lattice>,
    /// The distance of two neighbouring values, in their type, or in float64 for integers.
    #[serde(serialize_with = "json::written")]
    pub precision: Option<Scalar>,
    /// The common form of the values, if they were rounded and have no value codecs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounded: Option<SeenRounding>,
    /// Its stored chunks in bytes, if it is listed in a group and they can be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stored: Option<u64>,
    /// Whether its elements stand for other values, to which CF's attributes `scale_factor` and `add_offset` lead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub packed_by_cf: bool,
    /// Its attributes.
    pub attributes: Map<String, Value>,
    /// Warnings for readers.
    pub warnings: Vec<String>,
}

/// A codec.
#[derive(Clone, Debug, Serialize)]
pub struct CodecInfo {
    /// Its depth inside shards.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// Its configuration, without the codecs inside a shard, which follow.
    pub configuration: Value,
    /// The type of the elements after it, for a value codec.
    pub data_type: Option<String>,
    /// The fill value after it, for a value codec that can encode it.
    #[serde(serialize_with = "json::written")]
    pub fill_value: Option<Scalar>,
}

impl ArrayInfo {
    /// A sentence about integers that attributes of CF pack, with the way to codecs; `None` for other arrays.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        self.packed_by_cf.then_some(PACKED_BY_CF)
    }

    /// Reads the metadata of an array, and some chunks of floating-point numbers without value codecs. The fill value
    /// need not survive the codecs.
    ///
    /// # Errors
    /// No array; invalid metadata.
    pub fn read(path: impl AsRef<Path>) -> std::result::Result<Self, Error> {
        in_default_environment(path.as_ref(), |path| {
            let source = Source::open(path, FillCheck::ReportOnly)?;
            let info = Self::of(&source);
            let is_plain = info.encoded_data_type.is_none();
            // Chunks that cannot be read are no error: the caller has asked for metadata.
            let rounded = is_plain.then(|| SeenRounding::of(&source).ok().flatten()).flatten();
            Ok(Self { rounded, ..info })
        })
    }

    /// Describes an open array.
    pub(crate) fn of(source: &Source) -> Self {
        let codecs = source.codecs().value_codecs();
        let chain = source.codecs().chain(source.element_type(), source.fill_value()).ok();
        let chain = chain.filter(|_| !codecs.is_empty());
        let steps = source.codecs().codecs.iter().map(|step| {
            let values = step.values.as_ref();
            CodecInfo {
                depth: step.depth,
                name: step.name.clone(),
                configuration: step.configuration.clone(),
                data_type: values.map(|values: &ValueStep| values.element_type.name().to_owned()),
                fill_value: values.and_then(|values| values.fill_value),
            }
        });
        let keeps_room = source.codecs().codecs.iter().all(|one| one.name != DELTA);
        let mut warnings = source.codecs().warnings.clone();
        let mut element_type = source.element_type();
        for ValueStep { codec, element_type: next, .. } in source.codecs().values() {
            warnings.extend(keeps_room.then(|| repeated(codec, element_type)).flatten());
            element_type = *next;
        }
        let attributes = source.array().attributes();
        let bound = RecordedBound::of(attributes, &Map::new());
        Self {
            array: as_shown(source.path()),
            shape: source.array().shape().to_vec(),
            dimension_names: source.array().dimension_names().clone(),
            units: source.text_attribute(UNITS).map(str::to_owned),
            chunk_shape: source.region(0).ok().map(|region| region.chunk_shape),
            chunk_lengths: chunk_lengths(source),
            data_type: source.element_type(),
            fill_value: source.fill_value(),
            codecs: steps.collect(),
            encoded_data_type: chain.as_ref().map(|chain| chain.encoded_type().name().to_owned()),
            range: storable(source.element_type(), &codecs).filter(|_| keeps_room),
            bound,
            bound_of_last: RecordedBound::of_last(attributes).filter(|_| bound.is_none()),
            requirements: recorded_requirements(attributes, &Map::new()).unwrap_or_default(),
            grid: grid(source),
            precision: chain.as_ref().and_then(|chain| precision(chain, source)),
            rounded: None,
            stored: None,
            packed_by_cf: is_packed_by_cf(source),
            attributes: without_notes(attributes),
            warnings,
        }
    }
}

/// The lengths of the chunks along each dimension where they differ, as its metadata have them: there may be more chunks
/// than anyone can count.
fn chunk_lengths(source: &Source) -> Option<Vec<Vec<(u64, u64)>>> {
    let ArrayMetadata::V3(metadata) = source.array().metadata() else { return None };
    let lengths = metadata.chunk_grid.configuration()?.get("chunk_shapes")?.as_array()?;
    let run = |one: &Value| match one.as_array().map(Vec::as_slice) {
        Some([length, count]) => length.as_u64().zip(count.as_u64()),
        _ => one.as_u64().map(|length| (length, 1)),
    };
    let along = |(lengths, extent): (&Value, &u64)| -> Option<Vec<(u64, u64)>> {
        let Some(listed) = lengths.as_array() else {
            let length = lengths.as_u64().filter(|&length| length > 0)?;
            return Some(vec![(length, extent.div_ceil(length))]);
        };
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for next in listed {
            let (length, count) = run(next)?;
            match runs.last_mut().filter(|(last, _)| *last == length) {
                Some((_, before)) => *before = before.saturating_add(count),
                None => runs.push((length, count)),
            }
        }
        Some(runs)
    };
    lengths.iter().zip(source.array().shape()).map(along).collect()
}

/// Values that come back as others because a map gives their stored value to another one: the first, and how many there are.
fn repeated(codec: &Codec, element_type: ElementType) -> Option<String> {
    let Codec::CastValue(cast) = codec else { return None };
    let keys = cast.scalar_map.as_ref()?.encode.as_ref()?;
    let (least, greatest) = storable(element_type, std::slice::from_ref(codec))?;
    let chain =
        Chain::bind(element_type, None, std::slice::from_ref(codec), &BindOptions::default());
    let (encoder, decoder) = chain.as_ref().ok().map(|chain| (chain.encoder(), chain.decoder()))?;
    let back = |value: Scalar| {
        let stored = encoder.run_to_vec(&value.to_ne_bytes()).ok()?;
        Scalar::from_ne_bytes(element_type, &decoder.run_to_vec(&stored).ok()?)
    };
    let lost = keys.iter().filter_map(|(_, code)| {
        let code = code.to_scalar(cast.data_type).ok()?;
        let value = code.cast(element_type, Rounding::NearestEven, OutOfRange::Error).ok()?;
        let is_stored = !is_less(value, least) && !is_less(greatest, value);
        let back = back(value).filter(|back| is_stored && !back.equals(value) && !back.is_nan())?;
        Some((value, back))
    });
    let mut lost = lost.fuse();
    let (value, back) = lost.next()?;
    let more = match lost.count() as u64 {
        0 => String::new(),
        more => format!(", and {} more values as others", count(more)),
    };
    Some(format!(
        "{value} is read back as {back}{more}: the scalar_map of cast_value gives the stored value of one to another"
    ))
}

fn grid(source: &Source) -> Option<Lattice> {
    let grid = source.array().attributes().get(PROVENANCE)?.get(GRID)?;
    serde_json::from_value(grid.clone()).ok()
}

/// 1 / scale, if integers are stored; each scale in the type in which it is applied.
fn precision(chain: &Chain, source: &Source) -> Option<Scalar> {
    if !chain.encoded_type().is_integer() {
        return None;
    }
    let mut element_type = source.element_type();
    let mut precision = 1.0;
    for ValueStep { codec, element_type: next, .. } in source.codecs().values() {
        if let Some(scale) = configured(codec, "scale") {
            let scale = JsonScalar::from_json(&scale).ok()?;
            // For integer values, numcodecs computes with a float64.
            let exact = if element_type.is_float() { element_type } else { ElementType::Float64 };
            precision /= scale.to_scalar(exact).ok()?.to_f64().abs();
        }
        element_type = *next;
    }
    let decoded = chain.decoded_type();
    let decoded = if decoded.is_float() { decoded } else { ElementType::Float64 };
    Scalar::from(precision).cast(decoded, Rounding::NearestEven, OutOfRange::Error).ok()
}

/// A group and its contents.
#[derive(Clone, Debug, Serialize)]
pub struct GroupInfo {
    /// Its path.
    pub group: String,
    /// Its attributes.
    pub attributes: Map<String, Value>,
    /// Whether it has consolidated metadata.
    pub consolidated: bool,
    /// The paths of the groups below it.
    pub groups: Vec<String>,
    /// All arrays below it; those that have no numbers or cannot be read here, with the reason.
    pub arrays: Vec<ArrayOutcome<ArrayInfo>>,
}

/// Reads the metadata of the node at a path: of an array, or of a group and everything in it.
///
/// # Errors
/// As [`ArrayInfo::read`]; metadata that are not JSON objects. An array of a group that cannot be read is listed with the
/// reason.
pub fn info(
    path: impl AsRef<Path>,
) -> std::result::Result<PathReport<ArrayInfo, GroupInfo>, Error> {
    let path = path.as_ref();
    if !is_group(path) {
        return Ok(PathReport::Array(Box::new(ArrayInfo::read(path)?)));
    }
    in_default_environment(path, |path| {
        let info = GroupInfo::of(path).with_context(|| path.display().to_string());
        Ok(PathReport::Group(info?))
    })
}

impl GroupInfo {
    fn of(path: &Path) -> Result<Self> {
        let nodes = nodes(&Location::new(path)?)?;
        let (root, below) = nodes.split_first().context("no group here")?;
        let attributes = root.document.get("attributes").and_then(Value::as_object);
        let groups = below.iter().filter(|node| node.kind == Kind::Group);
        Ok(Self {
            group: as_shown(path),
            attributes: attributes.map(without_notes).unwrap_or_default(),
            consolidated: root.is_consolidated,
            groups: groups.map(|node| node.path.to_string()).collect(),
            arrays: arrays_of(below).map(listed).collect(),
        })
    }
}

fn listed(node: &Node) -> ArrayOutcome<ArrayInfo> {
    let info = || match node.type_without_numbers() {
        Some(name) => Outcome::Kept { reason: format!("{name} has no numbers to show") },
        None => match Source::of_node(node, FillCheck::ReportOnly) {
            Ok(source) => {
                let stored = node.location.chunk_bytes();
                Outcome::Done { report: Box::new(ArrayInfo { stored, ..ArrayInfo::of(&source) }) }
            }
            Err(error) => Outcome::Failed { reason: format!("{error:#}") },
        },
    };
    ArrayOutcome { array: node.path.to_string(), outcome: info() }
}
