//! `numcodecs.fixedscaleoffset` and `numcodecs.astype`, in Zarr v2 and v3: read for existing data, and never
//! chosen for new data.

use recast_kernels::{Cast, ElementType, FloatOverflow, OutOfRange, Rounding, Step};
use serde_json::{Map, Value};

use super::common::{AS_TYPE, BoundCodec, Envelope, FIXED_SCALE_OFFSET};
use super::scale_offset::bind_affine;
use crate::data_type::{self, ByteOrder};
use crate::fill_value::JsonScalar;
use crate::json::{Node, Object, join};
use crate::{MetadataError, Warning, WarningKind};

/// A data type of Zarr v2 as in metadata.
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

/// The configuration of `numcodecs.astype`: a cast by `NumPy`'s rules.
#[derive(Clone, Debug, PartialEq)]
pub struct AsType {
    encode_dtype: NumpyType,
    decode_dtype: Option<NumpyType>,
    envelope: Envelope,
}

impl NumpyType {
    fn read(node: &Node<'_>) -> Result<Self, MetadataError> {
        let text = node.string("a NumPy data type string such as \"<f4\"")?;
        Self::from_text(&text, node.path())
    }

    fn from_text(text: &str, name: &str) -> Result<Self, MetadataError> {
        let (element_type, byte_order) =
            data_type::from_numpy(text).map_err(|error| error.below(name))?;
        Ok(Self { text: text.to_owned(), element_type, byte_order })
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

    /// The codec that numcodecs calls `FixedScaleOffset(offset, scale, dtype, astype)`, with data types as
    /// `NumPy` strings.
    ///
    /// ```
    /// use zarr_recast::{Codec, FixedScaleOffset};
    /// let codec = FixedScaleOffset::new(0, 10, "<f4", Some("<i2"))?;
    /// let json = serde_json::json!({"name": "numcodecs.fixedscaleoffset", "configuration": {
    ///     "offset": 0, "scale": 10, "dtype": "<f4", "astype": "<i2"}});
    /// assert_eq!(Codec::from(codec).to_json(), json);
    /// # Ok::<(), zarr_recast::MetadataError>(())
    /// ```
    ///
    /// # Errors
    /// Not the string of a supported data type.
    pub fn new(
        offset: impl Into<JsonScalar>,
        scale: impl Into<JsonScalar>,
        dtype: &str,
        astype: Option<&str>,
    ) -> Result<Self, MetadataError> {
        Ok(Self {
            offset: offset.into(),
            scale: scale.into(),
            dtype: Some(NumpyType::from_text(dtype, "dtype")?),
            astype: astype.map(|text| NumpyType::from_text(text, "astype")).transpose()?,
            envelope: Envelope::default(),
        })
    }

    pub(super) fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Self, MetadataError> {
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
        Ok(Self { offset, scale, dtype, astype, envelope })
    }

    pub(super) fn to_json(&self) -> Value {
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

    /// The byte order of encoded elements.
    pub(super) fn legacy_byte_order(&self) -> Option<ByteOrder> {
        self.astype.as_ref().or(self.dtype.as_ref())?.byte_order
    }

    /// Encoding is `[scale_offset, cast_value(astype, wrap)]`. Decoding follows numcodecs: integers are divided in
    /// float64, and only the result is cast to the array's type.
    pub(super) fn bind(
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
        let rounded = numpy_cast(target).rounding(Rounding::NearestEven);
        let encode = cast(source, encoder)
            .into_iter()
            .chain([Step::Scale(affine(encoder)?)])
            .chain((encoder != target).then_some(Step::Cast(rounded)))
            .collect();
        let decode = cast(target, decoder)
            .into_iter()
            .chain([Step::InverseScale(affine(decoder)?)])
            .chain(if decoder == source { Vec::new() } else { read_as(source, decoder) })
            .collect();
        let warning = (!target.is_integer()).then(|| {
            let message = format!(
                "numcodecs rounds to whole numbers before it stores {target}; decoding is the \
                 same, but elements encoded here keep their fractions"
            );
            Warning::new(WarningKind::LegacyRounding, message)
        });
        Ok(BoundCodec { target, encode, decode, warning })
    }
}

impl AsType {
    const KEYS: [&str; 2] = ["encode_dtype", "decode_dtype"];

    /// The codec that numcodecs calls `AsType(encode_dtype, decode_dtype)`, with data types as `NumPy`
    /// strings.
    ///
    /// # Errors
    /// Not the string of a supported data type.
    pub fn new(encode_dtype: &str, decode_dtype: &str) -> Result<Self, MetadataError> {
        Ok(Self {
            encode_dtype: NumpyType::from_text(encode_dtype, "encode_dtype")?,
            decode_dtype: Some(NumpyType::from_text(decode_dtype, "decode_dtype")?),
            envelope: Envelope::default(),
        })
    }

    pub(super) fn read(mut object: Object<'_>, envelope: Envelope) -> Result<Self, MetadataError> {
        let encode_dtype = NumpyType::read(&object.require("encode_dtype")?)?;
        let decode_dtype = NumpyType::read_if_given(&mut object, "decode_dtype")?;
        object.finish(&Self::KEYS)?;
        Ok(Self { encode_dtype, decode_dtype, envelope })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        configuration.insert("encode_dtype".into(), self.encode_dtype.text.as_str().into());
        if let Some(decode_dtype) = &self.decode_dtype {
            configuration.insert("decode_dtype".into(), decode_dtype.text.as_str().into());
        }
        self.envelope.to_json(AS_TYPE, configuration)
    }

    /// The byte order of encoded elements.
    pub(super) fn legacy_byte_order(&self) -> Option<ByteOrder> {
        self.encode_dtype.byte_order
    }

    pub(super) fn bind(&self, source: ElementType) -> Result<BoundCodec, MetadataError> {
        let path = self.envelope.configuration_path();
        NumpyType::must_be(self.decode_dtype.as_ref(), source, path, "decode_dtype")?;
        let target = self.encode_dtype.element_type;
        Ok(BoundCodec {
            target,
            encode: vec![Step::Cast(numpy_cast(target))],
            decode: read_as(source, target),
            warning: None,
        })
    }
}

/// `NumPy`'s cast: to an integer, towards zero and modulo 2^N; to a float, to the nearest value or infinity.
fn numpy_cast(target: ElementType) -> Cast {
    if target.is_integer() {
        Cast::new(target).rounding(Rounding::TowardsZero).out_of_range(OutOfRange::Wrap)
    } else {
        Cast::new(target).out_of_range(OutOfRange::Clamp)
    }
}

/// `NumPy`'s cast of stored elements. Floats go through int32 to integers of 8 and 16 bits and wrap, as on x86-64. C leaves the
/// cast of other floats out of range undefined, and platforms differ: they are an error.
fn read_as(target: ElementType, stored: ElementType) -> Vec<Step> {
    let to_zero = |target| Step::Cast(Cast::new(target).rounding(Rounding::TowardsZero));
    match (stored.is_integer(), target.is_integer()) {
        (false, true) if target.bits() < 32 => {
            vec![to_zero(ElementType::Int32), Step::Cast(numpy_cast(target))]
        }
        (false, true) => vec![to_zero(target)],
        _ => vec![Step::Cast(numpy_cast(target))],
    }
}
