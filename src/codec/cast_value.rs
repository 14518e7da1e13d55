//! `cast_value`: casts elements to another type.

use recast_kernels::{Cast, ElementType, OutOfRange, Rounding, Scalar, Step};
use serde_json::{Map, Value};

use super::common::{BoundCodec, CAST_VALUE, Envelope};
use super::entries::Entries;
use crate::MetadataError;
use crate::data_type::{self, Form};
use crate::fill_value::{self, JsonScalar};
use crate::json::{Node, Object, join, list};

/// The configuration of `cast_value`.
#[derive(Clone, Debug, PartialEq)]
pub struct CastValue {
    /// The type of the encoded elements.
    pub data_type: ElementType,
    /// How both directions round; `nearest-even` if it is absent.
    pub rounding: Option<Rounding>,
    /// How both directions treat values out of range; absent in JSON for an error.
    pub out_of_range: OutOfRange,
    /// Values that are replaced instead of cast.
    pub scalar_map: Option<ScalarMap>,
    data_type_form: Form,
    envelope: Envelope,
}

/// The `scalar_map` of `cast_value`: pairs of input and output for each direction. The first pair
/// whose input equals an element by value (any NaN equals any NaN) gives its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalarMap {
    /// From the array's type to `data_type`.
    pub encode: Option<Entries>,
    /// From `data_type` to the array's type.
    pub decode: Option<Entries>,
}

impl CastValue {
    const ROUNDING: &str = "rounding";
    const OUT_OF_RANGE: &str = "out_of_range";
    const SCALAR_MAP: &str = "scalar_map";
    const KEYS: [&str; 4] = ["data_type", Self::ROUNDING, Self::OUT_OF_RANGE, Self::SCALAR_MAP];

    /// A cast to `data_type` with everything else absent.
    #[must_use]
    pub fn new(data_type: ElementType) -> Self {
        Self {
            data_type,
            rounding: None,
            out_of_range: OutOfRange::Error,
            scalar_map: None,
            data_type_form: Form::Name,
            envelope: Envelope::default(),
        }
    }

    /// The same with this rounding in both directions.
    #[must_use]
    pub fn rounding(self, rounding: Rounding) -> Self {
        Self { rounding: Some(rounding), ..self }
    }

    /// The same with this treatment of values out of range in both directions.
    #[must_use]
    pub fn out_of_range(self, out_of_range: OutOfRange) -> Self {
        Self { out_of_range, ..self }
    }

    /// The same with one more pair: `decoded` is encoded as `encoded`, which decodes to `decoded`.
    ///
    /// ```
    /// use zarr_recast::{CastValue, Codec, ElementType, OutOfRange};
    /// let codec = CastValue::new(ElementType::UInt8)
    ///     .out_of_range(OutOfRange::Clamp)
    ///     .map_both(f32::NAN, 255_u8)
    ///     .map_encode(f32::INFINITY, 254_u8);
    /// let json = serde_json::json!({"name": "cast_value", "configuration": {
    ///     "data_type": "uint8", "out_of_range": "clamp",
    ///     "scalar_map": {"encode": [["NaN", 255], ["Infinity", 254]], "decode": [[255, "NaN"]]}}});
    /// assert_eq!(Codec::from(codec).to_json(), json);
    /// ```
    #[must_use]
    pub fn map_both(self, decoded: impl Into<JsonScalar>, encoded: impl Into<JsonScalar>) -> Self {
        let (decoded, encoded) = (decoded.into(), encoded.into());
        self.map_encode(decoded.clone(), encoded.clone()).map_decode(encoded, decoded)
    }

    /// The same with one more pair for encoding.
    #[must_use]
    pub fn map_encode(mut self, key: impl Into<JsonScalar>, value: impl Into<JsonScalar>) -> Self {
        let map = self.scalar_map.get_or_insert_default();
        map.encode.get_or_insert_default().push(key, value);
        self
    }

    /// The same with one more pair for decoding.
    #[must_use]
    pub fn map_decode(mut self, key: impl Into<JsonScalar>, value: impl Into<JsonScalar>) -> Self {
        let map = self.scalar_map.get_or_insert_default();
        map.decode.get_or_insert_default().push(key, value);
        self
    }

    pub(super) fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Self, MetadataError> {
        let (data_type, data_type_form) = data_type::read(&object.require("data_type")?)?;
        let rounding = object.take(Self::ROUNDING).map(|node| read_rounding(&node)).transpose()?;
        let out_of_range = match object.take(Self::OUT_OF_RANGE) {
            Some(node) => read_out_of_range(&node)?,
            None => OutOfRange::Error,
        };
        let scalar_map =
            object.take(Self::SCALAR_MAP).map(|node| ScalarMap::read(&node)).transpose()?;
        object.finish(&Self::KEYS)?;
        let codec =
            Self { data_type, rounding, out_of_range, scalar_map, data_type_form, envelope };
        Ok(codec)
    }

    pub(super) fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        configuration.insert("data_type".into(), self.data_type_form.to_json(self.data_type));
        if let Some(rounding) = self.rounding {
            configuration.insert(Self::ROUNDING.into(), rounding.name().into());
        }
        // The default is written by absence.
        if self.out_of_range != OutOfRange::Error {
            configuration.insert(Self::OUT_OF_RANGE.into(), self.out_of_range.name().into());
        }
        if let Some(map) = &self.scalar_map {
            configuration.insert(Self::SCALAR_MAP.into(), map.to_json());
        }
        self.envelope.to_json(CAST_VALUE, configuration)
    }

    pub(super) fn bind(&self, source: ElementType) -> Result<BoundCodec, MetadataError> {
        let target = self.data_type;
        let configuration = self.envelope.configuration_path();
        if self.out_of_range == OutOfRange::Wrap && !target.is_integer() {
            return Err(MetadataError::new(
                join(configuration, Self::OUT_OF_RANGE),
                format!(
                    "wrap needs an integer data_type, not {target}; use clamp, or leave it out"
                ),
            ));
        }
        let map_path = join(configuration, Self::SCALAR_MAP);
        let map = self.scalar_map.as_ref();
        let step = |target: ElementType, map: Vec<(Scalar, Scalar)>| {
            Step::Cast(
                Cast::new(target)
                    .rounding(self.rounding.unwrap_or_default())
                    .out_of_range(allowed(self.out_of_range, target))
                    .map(map),
            )
        };
        let encode = map.and_then(|map| map.encode.as_ref());
        let decode = map.and_then(|map| map.decode.as_ref());
        let encode = bind_pairs(encode, source, target, &join(&map_path, "encode"))?;
        let decode = bind_pairs(decode, target, source, &join(&map_path, "decode"))?;
        Ok(BoundCodec {
            target,
            encode: vec![step(target, encode)],
            decode: vec![step(source, decode)],
            warning: None,
        })
    }
}

/// `wrap` cannot apply to a float type; there, a value out of range is an error.
fn allowed(out_of_range: OutOfRange, target: ElementType) -> OutOfRange {
    match out_of_range {
        OutOfRange::Wrap if !target.is_integer() => OutOfRange::Error,
        other => other,
    }
}

fn read_rounding(node: &Node<'_>) -> Result<Rounding, MetadataError> {
    let expected = format!("one of {}", list(Rounding::ALL.iter().map(|rounding| rounding.name())));
    Rounding::from_name(&node.string(&expected)?).ok_or_else(|| node.unexpected(&expected))
}

fn read_out_of_range(node: &Node<'_>) -> Result<OutOfRange, MetadataError> {
    const EXPECTED: &str = "clamp or wrap; leave the key out to make a value out of range an error";
    let name = node.string(EXPECTED)?;
    OutOfRange::from_name(&name)
        .filter(|mode| *mode != OutOfRange::Error)
        .ok_or_else(|| node.unexpected(EXPECTED))
}

impl ScalarMap {
    fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        const KEYS: [&str; 2] = ["encode", "decode"];
        let mut object = node.object("an object with encode, decode or both")?;
        let mut pairs = |name| object.take(name).map(|node| read_pairs(&node)).transpose();
        let (encode, decode) = (pairs("encode")?, pairs("decode")?);
        object.finish(&KEYS)?;
        Ok(Self { encode, decode })
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        for (name, pairs) in [("encode", &self.encode), ("decode", &self.decode)] {
            if let Some(pairs) = pairs {
                let pairs = pairs.iter().map(|(key, value)| vec![key.to_json(), value.to_json()]);
                object.insert(name.into(), pairs.map(Value::from).collect());
            }
        }
        object.into()
    }
}

fn read_pairs(node: &Node<'_>) -> Result<Entries, MetadataError> {
    const PAIR: &str = "a pair [input, output]";
    let mut pairs = Entries::with_room_for(node.text().len());
    node.for_each("an array of pairs [input, output]", |pair| {
        let mut scalars = pair.array(PAIR)?;
        let (Some(key), Some(value), None) = (scalars.next(), scalars.next(), scalars.next())
        else {
            return Err(pair.unexpected(PAIR));
        };
        JsonScalar::check(&key)?;
        JsonScalar::check(&value)?;
        pairs.push_texts(key.text(), value.text());
        Ok(())
    })?;
    pairs.shrink();
    Ok(pairs)
}

/// Reads keys in the input type and values in the output type.
fn bind_pairs(
    pairs: Option<&Entries>,
    source: ElementType,
    target: ElementType,
    path: &str,
) -> Result<Vec<(Scalar, Scalar)>, MetadataError> {
    let Some(pairs) = pairs else { return Ok(Vec::new()) };
    let mut bound = Vec::with_capacity(pairs.len());
    for (pair, (key, value)) in pairs.texts().enumerate() {
        let read = |text, element_type, side: usize| {
            let scalar = fill_value::read(element_type, &Node::known(text));
            scalar.map_err(|error| error.below(&format!("{path}[{pair}][{side}]")))
        };
        bound.push((read(key, source, 0)?, read(value, target, 1)?));
    }
    Ok(bound)
}
