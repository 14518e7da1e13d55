//! The codecs' metadata: what a configuration says, before it is bound to a data type.

use recast_kernels::{
    Cast, ElementType, FloatOverflow, OutOfRange, Rounding, Scalar, ScaleOffset as Affine, Step,
};
use serde_json::{Map, Value};

use crate::data_type::{self, ByteOrder, Form};
use crate::fill_value::JsonScalar;
use crate::json::{Json, Node, Object, join, list};
use crate::{Diagnostic, DiagnosticKind, MetadataError};

const CAST_VALUE: &str = "cast_value";
const SCALE_OFFSET: &str = "scale_offset";
const FIXED_SCALE_OFFSET: &str = "numcodecs.fixedscaleoffset";
const AS_TYPE: &str = "numcodecs.astype";
const NAMES: [&str; 4] = [CAST_VALUE, SCALE_OFFSET, FIXED_SCALE_OFFSET, AS_TYPE];

/// The metadata of one codec. Optional fields stay optional and scalars keep their text, so that
/// what was read is written again.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Codec {
    /// `cast_value`.
    CastValue(CastValue),
    /// `scale_offset`.
    ScaleOffset(ScaleOffset),
    /// `numcodecs.fixedscaleoffset`: read for the sake of existing data.
    FixedScaleOffset(FixedScaleOffset),
    /// `numcodecs.astype`: read for the sake of existing data.
    AsType(AsType),
}

/// How a codec was written around its configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Envelope {
    /// Just its name.
    Name,
    /// A Zarr v3 object.
    Object { configuration: bool, must_understand: Option<bool> },
    /// A Zarr v2 filter: the configuration beside its `id`.
    Filter,
}

impl Default for Envelope {
    fn default() -> Self {
        Self::Object { configuration: true, must_understand: None }
    }
}

impl Envelope {
    /// The path of the configuration below that of the codec.
    fn configuration_path(self) -> &'static str {
        match self {
            Self::Filter => "",
            Self::Name | Self::Object { .. } => "configuration",
        }
    }

    fn to_json(self, name: &str, configuration: Map<String, Value>) -> Value {
        match self {
            Self::Name if configuration.is_empty() => name.into(),
            Self::Filter => {
                let id = name.strip_prefix("numcodecs.").unwrap_or(name);
                let mut object = Map::from_iter([("id".to_owned(), id.into())]);
                object.extend(configuration);
                object.into()
            }
            Self::Name | Self::Object { .. } => {
                let mut object = Map::from_iter([("name".to_owned(), name.into())]);
                if !matches!(self, Self::Object { configuration: false, .. })
                    || !configuration.is_empty()
                {
                    object.insert("configuration".into(), configuration.into());
                }
                if let Self::Object { must_understand: Some(must_understand), .. } = self {
                    object.insert("must_understand".into(), must_understand.into());
                }
                object.into()
            }
        }
    }
}

/// The configuration of `cast_value`.
#[derive(Clone, Debug, PartialEq)]
pub struct CastValue {
    /// The type of the encoded elements.
    pub data_type: ElementType,
    /// How both directions round; `nearest-even` if it is absent.
    pub rounding: Option<Rounding>,
    /// What both directions do with values out of range; absent in JSON if it is an error.
    pub out_of_range: OutOfRange,
    /// Values that are not cast but replaced.
    pub scalar_map: Option<ScalarMap>,
    data_type_form: Form,
    envelope: Envelope,
}

/// The `scalar_map` of `cast_value`: pairs of input and output for each direction. The first pair
/// whose input equals an element by value (any NaN equals any NaN) gives its output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScalarMap {
    /// From the array's type to `data_type`.
    pub encode: Option<Vec<(JsonScalar, JsonScalar)>>,
    /// From `data_type` to the array's type.
    pub decode: Option<Vec<(JsonScalar, JsonScalar)>>,
}

/// The configuration of `scale_offset`. A missing field is an operation that is not done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleOffset {
    /// Subtracted when encoding, added when decoding.
    pub offset: Option<JsonScalar>,
    /// Multiplied by when encoding, divided by when decoding.
    pub scale: Option<JsonScalar>,
    envelope: Envelope,
}

/// A data type of Zarr v2 as it stands in metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NumpyType {
    text: String,
    element_type: ElementType,
    byte_order: Option<ByteOrder>,
}

/// The configuration of `numcodecs.fixedscaleoffset`: `(x − offset) · scale`, rounded and cast to
/// `astype`.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedScaleOffset {
    offset: JsonScalar,
    scale: JsonScalar,
    dtype: Option<NumpyType>,
    astype: Option<NumpyType>,
    envelope: Envelope,
}

/// The configuration of `numcodecs.astype`: a cast by NumPy's rules.
#[derive(Clone, Debug, PartialEq)]
pub struct AsType {
    encode_dtype: NumpyType,
    decode_dtype: Option<NumpyType>,
    envelope: Envelope,
}

/// A codec bound to the type that reaches it.
pub(crate) struct BoundCodec {
    pub(crate) target: ElementType,
    pub(crate) encode: Vec<Step>,
    pub(crate) decode: Vec<Step>,
    /// What a user should know about it.
    pub(crate) diagnostic: Option<Diagnostic>,
}

impl Codec {
    /// Whether a codec of Zarr v3 with this name is one of these.
    #[must_use]
    pub fn is_known(name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// Reads the metadata of one codec of Zarr v3.
    ///
    /// ```
    /// use zarr_recast::Codec;
    /// let json = serde_json::json!({"name": "scale_offset", "configuration": {"scale": 0.1}});
    /// assert_eq!(Codec::from_json(&json)?.to_json(), json);
    /// let error = Codec::from_json(r#"{"name": "cast_value", "configuration": {}}"#).unwrap_err();
    /// assert_eq!(error.path(), "configuration.data_type");
    /// # Ok::<(), zarr_recast::MetadataError>(())
    /// ```
    ///
    /// # Errors
    /// Another codec, an unknown or missing or ill-formed member, or `null`.
    pub fn from_json<'a>(json: impl Into<Json<'a>>) -> Result<Self, MetadataError> {
        Self::read(&Node::root("", json.into().text())?)
    }

    /// Reads a list of codecs, all of which are of these.
    ///
    /// # Errors
    /// As [`Codec::from_json`]; the paths start with `codecs[i]`.
    pub fn list_from_json<'a>(json: impl Into<Json<'a>>) -> Result<Vec<Self>, MetadataError> {
        let json = json.into();
        let root = Node::root("codecs", json.text())?;
        root.array("an array of codecs")?.map(|codec| Self::read(&codec)).collect()
    }

    /// Reads a filter of Zarr v2: `{"id": "fixedscaleoffset", …}` or `{"id": "astype", …}`.
    ///
    /// # Errors
    /// Another filter, an unknown or missing or ill-formed member, or `null`.
    pub fn from_v2_filter<'a>(json: impl Into<Json<'a>>) -> Result<Self, MetadataError> {
        let json = json.into();
        let mut object = Node::root("", json.text())?.object("a filter: an object with an id")?;
        let id = object.require("id")?;
        match id.string("the id of a filter")?.as_str() {
            "fixedscaleoffset" => FixedScaleOffset::read(object, Envelope::Filter),
            "astype" => AsType::read(object, Envelope::Filter),
            _ => Err(id.unexpected("\"fixedscaleoffset\" or \"astype\", the filters read here")),
        }
    }

    fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        const EXPECTED: &str = "a codec: an object with a name, or just the name";
        let (name, configuration, envelope) = if node.is_string() {
            (node.clone(), None, Envelope::Name)
        } else {
            let mut object = node.object(EXPECTED)?;
            let name = object.require("name")?;
            let configuration = object.take("configuration");
            let must_understand =
                object.take("must_understand").map(|node| node.boolean()).transpose()?;
            // Checked before the members, so that another codec is not judged by these rules.
            Self::name_of(&name)?;
            object.finish(&["name", "configuration", "must_understand"])?;
            let envelope =
                Envelope::Object { configuration: configuration.is_some(), must_understand };
            (name, configuration, envelope)
        };
        let configuration = match configuration {
            Some(configuration) => Some(configuration.object("an object")?),
            None => None,
        };
        let required = || {
            let path = join(node.path(), "configuration");
            MetadataError::new(path, "missing; it is required")
        };
        match Self::name_of(&name)?.as_str() {
            CAST_VALUE => CastValue::read(configuration.ok_or_else(required)?, envelope),
            SCALE_OFFSET => ScaleOffset::read(configuration, envelope),
            FIXED_SCALE_OFFSET => {
                FixedScaleOffset::read(configuration.ok_or_else(required)?, envelope)
            }
            _ => AsType::read(configuration.ok_or_else(required)?, envelope),
        }
    }

    fn name_of(node: &Node<'_>) -> Result<String, MetadataError> {
        let name = node.string("the name of a codec")?;
        if Self::is_known(&name) {
            Ok(name)
        } else {
            Err(node.unexpected(&format!("one of {}, the codecs read here", list(NAMES))))
        }
    }

    /// The metadata, in the form in which they were read.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::CastValue(codec) => codec.to_json(),
            Self::ScaleOffset(codec) => codec.to_json(),
            Self::FixedScaleOffset(codec) => codec.to_json(),
            Self::AsType(codec) => codec.to_json(),
        }
    }

    /// The name of the codec in Zarr v3.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::CastValue(_) => CAST_VALUE,
            Self::ScaleOffset(_) => SCALE_OFFSET,
            Self::FixedScaleOffset(_) => FIXED_SCALE_OFFSET,
            Self::AsType(_) => AS_TYPE,
        }
    }

    /// Whether the codec exists for the sake of data that were written long ago.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        matches!(self, Self::FixedScaleOffset(_) | Self::AsType(_))
    }

    /// The byte order of encoded elements that the metadata name: that of `astype` and `encode_dtype`.
    pub(crate) fn encoded_byte_order(&self) -> Option<ByteOrder> {
        match self {
            Self::CastValue(_) | Self::ScaleOffset(_) => None,
            Self::FixedScaleOffset(codec) => {
                codec.astype.as_ref().or(codec.dtype.as_ref())?.byte_order
            }
            Self::AsType(codec) => codec.encode_dtype.byte_order,
        }
    }

    /// Binds the codec to the type that reaches it; paths in errors start below the codec.
    pub(crate) fn bind(
        &self,
        source: ElementType,
        overflow: FloatOverflow,
    ) -> Result<BoundCodec, MetadataError> {
        match self {
            Self::CastValue(codec) => codec.bind(source),
            Self::ScaleOffset(codec) => codec.bind(source, overflow),
            Self::FixedScaleOffset(codec) => codec.bind(source, overflow),
            Self::AsType(codec) => codec.bind(source),
        }
    }
}

impl From<CastValue> for Codec {
    fn from(codec: CastValue) -> Self {
        Self::CastValue(codec)
    }
}

impl From<ScaleOffset> for Codec {
    fn from(codec: ScaleOffset) -> Self {
        Self::ScaleOffset(codec)
    }
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

    fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Codec, MetadataError> {
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
        Ok(codec.into())
    }

    fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        configuration.insert("data_type".into(), self.data_type_form.to_json(self.data_type));
        if let Some(rounding) = self.rounding {
            configuration.insert(Self::ROUNDING.into(), rounding.name().into());
        }
        if let Some(name) = self.out_of_range.name() {
            configuration.insert(Self::OUT_OF_RANGE.into(), name.into());
        }
        if let Some(map) = &self.scalar_map {
            configuration.insert(Self::SCALAR_MAP.into(), map.to_json());
        }
        self.envelope.to_json(CAST_VALUE, configuration)
    }

    fn bind(&self, source: ElementType) -> Result<BoundCodec, MetadataError> {
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
        let step = |target: ElementType, map| {
            Step::Cast(Cast {
                target,
                rounding: self.rounding.unwrap_or_default(),
                out_of_range: allowed(self.out_of_range, target),
                map,
            })
        };
        let encode = map.and_then(|map| map.encode.as_deref());
        let decode = map.and_then(|map| map.decode.as_deref());
        let encode = bind_pairs(encode, source, target, &join(&map_path, "encode"))?;
        let decode = bind_pairs(decode, target, source, &join(&map_path, "decode"))?;
        Ok(BoundCodec {
            target,
            encode: vec![step(target, encode)],
            decode: vec![step(source, decode)],
            diagnostic: None,
        })
    }
}

/// `wrap` cannot apply towards a float type, so there a value out of range is an error.
fn allowed(out_of_range: OutOfRange, target: ElementType) -> OutOfRange {
    match out_of_range {
        OutOfRange::Wrap if !target.is_integer() => OutOfRange::Error,
        other => other,
    }
}

fn read_rounding(node: &Node<'_>) -> Result<Rounding, MetadataError> {
    let expected = format!("one of {}", list(Rounding::ALL.map(Rounding::name)));
    Rounding::from_name(&node.string(&expected)?).ok_or_else(|| node.unexpected(&expected))
}

fn read_out_of_range(node: &Node<'_>) -> Result<OutOfRange, MetadataError> {
    const EXPECTED: &str = "clamp or wrap; leave the key out to make a value out of range an error";
    let name = node.string(EXPECTED)?;
    OutOfRange::ALL
        .into_iter()
        .find(|mode| mode.name() == Some(name.as_str()))
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

fn read_pairs(node: &Node<'_>) -> Result<Vec<(JsonScalar, JsonScalar)>, MetadataError> {
    const PAIR: &str = "a pair [input, output]";
    node.array("an array of pairs [input, output]")?
        .map(|pair| {
            let mut scalars = pair.array(PAIR)?;
            match (scalars.next(), scalars.next(), scalars.next()) {
                (Some(key), Some(value), None) => {
                    Ok((JsonScalar::read(&key)?, JsonScalar::read(&value)?))
                }
                _ => Err(pair.unexpected(PAIR)),
            }
        })
        .collect()
}

/// Reads keys in the type that goes in and values in the type that comes out.
fn bind_pairs(
    pairs: Option<&[(JsonScalar, JsonScalar)]>,
    source: ElementType,
    target: ElementType,
    path: &str,
) -> Result<Vec<(Scalar, Scalar)>, MetadataError> {
    let at = |scalar: &JsonScalar, element_type, pair: usize, side: usize| {
        let read = scalar.to_scalar(element_type);
        read.map_err(|error| error.below(&format!("{path}[{pair}][{side}]")))
    };
    let pairs = pairs.unwrap_or_default().iter().enumerate();
    pairs
        .map(|(pair, (key, value))| Ok((at(key, source, pair, 0)?, at(value, target, pair, 1)?)))
        .collect()
}

impl ScaleOffset {
    const KEYS: [&str; 2] = ["offset", "scale"];

    /// A codec that subtracts `offset` and multiplies by `scale`, each if it is given.
    #[must_use]
    pub fn new(offset: Option<JsonScalar>, scale: Option<JsonScalar>) -> Self {
        Self { offset, scale, envelope: Envelope::default() }
    }

    fn read(object: Option<Object<'_>>, envelope: Envelope) -> Result<Codec, MetadataError> {
        let (mut offset, mut scale) = (None, None);
        if let Some(mut object) = object {
            let mut scalar =
                |name| object.take(name).map(|node| JsonScalar::read(&node)).transpose();
            (offset, scale) = (scalar("offset")?, scalar("scale")?);
            object.finish(&Self::KEYS)?;
        }
        Ok(Self { offset, scale, envelope }.into())
    }

    fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        for (name, scalar) in [("offset", &self.offset), ("scale", &self.scale)] {
            if let Some(scalar) = scalar {
                configuration.insert(name.into(), scalar.to_json());
            }
        }
        self.envelope.to_json(SCALE_OFFSET, configuration)
    }

    fn bind(
        &self,
        source: ElementType,
        overflow: FloatOverflow,
    ) -> Result<BoundCodec, MetadataError> {
        let path = self.envelope.configuration_path();
        let (offset, scale) = (self.offset.as_ref(), self.scale.as_ref());
        let parameters = bind_affine(offset, scale, source, overflow, path)?;
        Ok(BoundCodec {
            target: source,
            encode: vec![Step::Scale(parameters)],
            decode: vec![Step::Unscale(parameters)],
            diagnostic: None,
        })
    }
}

/// Reads offset and scale in the type in which they are applied.
fn bind_affine(
    offset: Option<&JsonScalar>,
    scale: Option<&JsonScalar>,
    element_type: ElementType,
    overflow: FloatOverflow,
    path: &str,
) -> Result<Affine, MetadataError> {
    let read = |name: &str, json: Option<&JsonScalar>| {
        let Some(json) = json else { return Ok(None) };
        let at = |problem: String| MetadataError::new(join(path, name), problem);
        let scalar =
            json.to_scalar(element_type).map_err(|error| error.below(&join(path, name)))?;
        if !scalar.is_finite() {
            return Err(at(format!("{json} is not finite; the {name} must be a number")));
        }
        if name == "scale" && scalar.is_zero() {
            let json = json.to_string();
            let rounded = if json.bytes().any(|digit| (b'1'..=b'9').contains(&digit)) {
                format!("{json} becomes 0 in {element_type}")
            } else {
                json
            };
            return Err(at(format!(
                "{rounded}; decoding divides by the scale, so it must not be 0"
            )));
        }
        Ok(Some(scalar))
    };
    Ok(Affine { offset: read("offset", offset)?, scale: read("scale", scale)?, overflow })
}

impl NumpyType {
    fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        let text = node.string("a NumPy data type string such as \"<f4\"")?;
        let (element_type, byte_order) =
            data_type::from_numpy(&text).map_err(|error| error.below(node.path()))?;
        Ok(Self { text, element_type, byte_order })
    }

    fn read_if_given(object: &mut Object<'_>, name: &str) -> Result<Option<Self>, MetadataError> {
        object.take(name).map(|node| Self::read(&node)).transpose()
    }

    /// Refuses a type other than the one that reaches the codec.
    fn must_be(
        given: Option<&Self>,
        source: ElementType,
        path: &str,
        name: &str,
    ) -> Result<(), MetadataError> {
        match given {
            Some(given) if given.element_type != source => Err(MetadataError::new(
                join(path, name),
                format!("{} is not {source}, the data type that reaches this codec", given.text),
            )),
            _ => Ok(()),
        }
    }
}

impl FixedScaleOffset {
    const KEYS: [&str; 4] = ["offset", "scale", "dtype", "astype"];

    fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Codec, MetadataError> {
        let mut number = |name| {
            let node = object.require(name)?;
            if !node.is_number() {
                return Err(node.unexpected("a number"));
            }
            JsonScalar::read(&node)
        };
        let (offset, scale) = (number("offset")?, number("scale")?);
        let dtype = NumpyType::read_if_given(&mut object, "dtype")?;
        let astype = NumpyType::read_if_given(&mut object, "astype")?;
        object.finish(&Self::KEYS)?;
        Ok(Codec::FixedScaleOffset(Self { offset, scale, dtype, astype, envelope }))
    }

    fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        configuration.insert("offset".into(), self.offset.to_json());
        configuration.insert("scale".into(), self.scale.to_json());
        for (name, given) in [("dtype", &self.dtype), ("astype", &self.astype)] {
            if let Some(given) = given {
                configuration.insert(name.into(), given.text.as_str().into());
            }
        }
        self.envelope.to_json(FIXED_SCALE_OFFSET, configuration)
    }

    /// Encoding is `[scale_offset, cast_value(astype, wrap)]`, decoding what numcodecs does: integers
    /// are divided as float64, and only the result is cast to the array's type.
    fn bind(
        &self,
        source: ElementType,
        overflow: FloatOverflow,
    ) -> Result<BoundCodec, MetadataError> {
        let path = self.envelope.configuration_path();
        NumpyType::must_be(self.dtype.as_ref(), source, path, "dtype")?;
        let target = self.astype.as_ref().map_or(source, |astype| astype.element_type);
        let whole = self.offset.is_integer_literal() && self.scale.is_integer_literal();
        let encoder = if source.is_integer() && !whole { ElementType::Float64 } else { source };
        let decoder = if target.is_integer() { ElementType::Float64 } else { target };
        let affine = |element_type| {
            bind_affine(Some(&self.offset), Some(&self.scale), element_type, overflow, path)
        };
        let cast = |from, to| (from != to).then(|| Step::Cast(numpy_cast(to)));
        let rounded = Cast { rounding: Rounding::NearestEven, ..numpy_cast(target) };
        let encode = cast(source, encoder)
            .into_iter()
            .chain([Step::Scale(affine(encoder)?)])
            .chain((encoder != target).then_some(Step::Cast(rounded)))
            .collect();
        let decode = cast(target, decoder)
            .into_iter()
            .chain([Step::Unscale(affine(decoder)?)])
            .chain(cast(decoder, source))
            .collect();
        let diagnostic = (!target.is_integer()).then(|| {
            let message = format!(
                "numcodecs rounds to whole numbers before it stores {target}; reading is the same, \
                 but what is encoded here keeps its fractions"
            );
            Diagnostic::new(DiagnosticKind::LegacyRounding, message)
        });
        Ok(BoundCodec { target, encode, decode, diagnostic })
    }
}

impl AsType {
    const KEYS: [&str; 2] = ["encode_dtype", "decode_dtype"];

    fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Codec, MetadataError> {
        let encode_dtype = NumpyType::read(&object.require("encode_dtype")?)?;
        let decode_dtype = NumpyType::read_if_given(&mut object, "decode_dtype")?;
        object.finish(&Self::KEYS)?;
        Ok(Codec::AsType(Self { encode_dtype, decode_dtype, envelope }))
    }

    fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        configuration.insert("encode_dtype".into(), self.encode_dtype.text.as_str().into());
        if let Some(decode_dtype) = &self.decode_dtype {
            configuration.insert("decode_dtype".into(), decode_dtype.text.as_str().into());
        }
        self.envelope.to_json(AS_TYPE, configuration)
    }

    fn bind(&self, source: ElementType) -> Result<BoundCodec, MetadataError> {
        let path = self.envelope.configuration_path();
        NumpyType::must_be(self.decode_dtype.as_ref(), source, path, "decode_dtype")?;
        let target = self.encode_dtype.element_type;
        Ok(BoundCodec {
            target,
            encode: vec![Step::Cast(numpy_cast(target))],
            decode: vec![Step::Cast(numpy_cast(source))],
            diagnostic: None,
        })
    }
}

/// The cast that NumPy does: towards zero and modulo 2^N to an integer, to the nearest or infinity
/// to a float.
fn numpy_cast(target: ElementType) -> Cast {
    if target.is_integer() {
        Cast::new(target).rounding(Rounding::TowardsZero).out_of_range(OutOfRange::Wrap)
    } else {
        Cast::new(target).out_of_range(OutOfRange::Clamp)
    }
}
