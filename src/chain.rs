//! Codecs bound to a data type and a fill value, ready to run.

use std::sync::Arc;

use recast_kernels::{
    ElementType, FloatOverflow, Level, Plan, PlanBuilder, RunError, Scalar, Step,
};

use crate::data_type::{self, ByteOrder};
use crate::fill_check::{self, FillCheck, Part};
use crate::json::Json;
use crate::{BindError, Codec, Warning, fill_value};

/// How a chain is bound. The default suits an array that is about to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BindOptions {
    /// How strict to be about the fill value.
    pub fill_check: FillCheck,
    /// How `scale_offset` treats finite floats that overflow.
    pub float_overflow: FloatOverflow,
    /// The level of the kernels; by default the best one of this CPU.
    pub level: Option<Level>,
    /// The byte order of encoded elements; by default this machine's.
    pub encoded_byte_order: ByteOrder,
    /// The place of the codecs in the metadata, for errors and warnings.
    pub place: CodecPlace,
}

/// The place in a document of the codecs that are bound together. It appears in errors and warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodecPlace {
    /// In the list at this path, from the codec with this index on.
    List {
        /// For instance `codecs`, the default, or `codecs[0].configuration.codecs` inside a shard.
        path: String,
        /// The index of the first of the codecs.
        first: usize,
    },
    /// Unknown: errors name the codec alone.
    Unknown,
}

impl Default for CodecPlace {
    fn default() -> Self {
        Self::List { path: "codecs".into(), first: 0 }
    }
}

impl CodecPlace {
    /// The path of the codec with this index among those bound, and its name in a sentence.
    fn of(&self, index: usize, codec: &Codec) -> (String, String) {
        match self {
            Self::List { path, first } => {
                let path = format!("{path}[{}]", first + index);
                let name = format!("{path} ({})", codec.name());
                (path, name)
            }
            Self::Unknown => (String::new(), codec.name().into()),
        }
    }
}

impl BindOptions {
    /// The same with another check of the fill value.
    #[must_use]
    pub fn fill_check(self, fill_check: FillCheck) -> Self {
        Self { fill_check, ..self }
    }

    /// The same with another treatment of finite floats that overflow.
    #[must_use]
    pub fn float_overflow(self, float_overflow: FloatOverflow) -> Self {
        Self { float_overflow, ..self }
    }

    /// The same with kernels of this level.
    #[must_use]
    pub fn level(self, level: Level) -> Self {
        Self { level: Some(level), ..self }
    }

    /// The same with encoded elements in this byte order.
    #[must_use]
    pub fn encoded_byte_order(self, encoded_byte_order: ByteOrder) -> Self {
        Self { encoded_byte_order, ..self }
    }

    /// The same for codecs in another place of the metadata.
    #[must_use]
    pub fn place(self, place: CodecPlace) -> Self {
        Self { place, ..self }
    }
}

/// A sequence of codecs bound to a data type and a fill value.
///
/// Elements that cannot be converted are a [`RunError`] with index and value; [`advice`](crate::advice)
/// says what to change in the metadata.
///
/// A chain is immutable, `Send + Sync`, and cheap to clone. It works on any run of elements, so part
/// of a chunk is just part of a slice. Elements are in native byte order.
#[derive(Clone, Debug)]
pub struct Chain {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    encode: Plan,
    decode: Plan,
    decoded_fill_value: Option<Scalar>,
    encoded_fill_value: Option<Scalar>,
    legacy_byte_order: Option<ByteOrder>,
    warnings: Vec<Warning>,
}

impl Chain {
    /// Binds codecs to the type of an array's elements and its fill value. Without a fill value, the
    /// check of it is skipped.
    ///
    /// ```
    /// use zarr_recast::{BindOptions, CastValue, Chain, ElementType};
    /// let codecs = [CastValue::new(ElementType::Int16).into()];
    /// let chain = Chain::bind(
    ///     ElementType::Float32,
    ///     Some(7.0_f32.into()),
    ///     &codecs,
    ///     &BindOptions::default(),
    /// )?;
    /// assert_eq!(chain.encoded_fill_value(), Some(7_i16.into()));
    /// # Ok::<(), zarr_recast::BindError>(())
    /// ```
    ///
    /// # Errors
    /// A parameter that is not a scalar of the type that reaches its codec, a scale of zero, `wrap`
    /// to a float `data_type`, or a fill value that fails the check.
    pub fn bind(
        data_type: ElementType,
        fill_value: Option<Scalar>,
        codecs: &[Codec],
        options: &BindOptions,
    ) -> Result<Self, BindError> {
        if let Some(fill_value) = fill_value.filter(|fill| fill.element_type() != data_type) {
            return Err(crate::MetadataError::new(
                "fill_value",
                format!("of type {}; it must be of type {data_type}", fill_value.element_type()),
            )
            .into());
        }
        let plan = |source, steps: &[Step], swap_input, swap_output| {
            let builder =
                Plan::builder(source).swap_input_bytes(swap_input).swap_output_bytes(swap_output);
            let builder = match options.level {
                Some(level) => builder.level(level),
                None => builder,
            };
            steps.iter().cloned().fold(builder, PlanBuilder::step).build()
        };
        let swap = options.encoded_byte_order != ByteOrder::NATIVE;
        let mut encoded_type = data_type;
        let mut parts = Vec::new();
        let mut warnings = Vec::new();
        let (mut encode_steps, mut decode_parts) = (Vec::new(), Vec::new());
        for (index, codec) in codecs.iter().enumerate() {
            let (path, name) = options.place.of(index, codec);
            let bound = codec
                .bind(encoded_type, options.float_overflow)
                .map_err(|error| error.below(&path))?;
            warnings.extend(bound.warning);
            if fill_value.is_some() {
                parts.push(Part {
                    name,
                    target: bound.target,
                    encode: plan(encoded_type, &bound.encode, false, false)?,
                    decode: plan(bound.target, &bound.decode, false, false)?,
                });
            }
            encode_steps.extend(bound.encode);
            decode_parts.push(bound.decode);
            encoded_type = bound.target;
        }
        let legacy = codecs.iter().any(Codec::is_legacy);
        let mode = if legacy { FillCheck::ReportOnly } else { options.fill_check };
        let mut encoded_fill_value = None;
        if let Some(fill_value) = fill_value {
            let (encoded, found) = fill_check::check(&parts, fill_value, mode, legacy)
                .map_err(BindError::FillValue)?;
            encoded_fill_value = encoded;
            warnings.extend(found);
        }
        let (encode, decode) = match (parts.pop(), codecs) {
            // With one codec, its plans are those of the chain.
            (Some(only), [_]) if !swap => (only.encode, only.decode),
            // Drop the plans of the parts first: with long maps, both together take much memory.
            (last, _) => {
                drop((last, parts));
                let decode_steps: Vec<Step> = decode_parts.into_iter().rev().flatten().collect();
                let encode = plan(data_type, &encode_steps, false, swap)?;
                (encode, plan(encoded_type, &decode_steps, swap, false)?)
            }
        };
        let legacy_byte_order = codecs.last().and_then(Codec::legacy_byte_order);
        let inner = Inner {
            encode,
            decode,
            decoded_fill_value: fill_value,
            encoded_fill_value,
            legacy_byte_order,
            warnings,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Reads and binds the members `data_type`, `fill_value` and `codecs` of array metadata. [`Codec`] must know all
    /// codecs.
    ///
    /// # Errors
    /// As [`Chain::bind`], and metadata that cannot be read.
    pub fn from_json<'a>(
        data_type: impl Into<Json<'a>>,
        fill_value: impl Into<Json<'a>>,
        codecs: impl Into<Json<'a>>,
        options: &BindOptions,
    ) -> Result<Self, BindError> {
        let data_type = data_type::parse(data_type.into().text())?;
        let fill_value = fill_value::from_json_str(data_type, fill_value.into().text())?;
        let codecs = Codec::list_from_json(codecs)?;
        Self::bind(data_type, Some(fill_value), &codecs, options)
    }

    /// The type of the array's elements.
    #[must_use]
    pub fn decoded_type(&self) -> ElementType {
        self.inner.encode.source()
    }

    /// The type of encoded elements.
    #[must_use]
    pub fn encoded_type(&self) -> ElementType {
        self.inner.encode.target()
    }

    /// The array's fill value, if one was bound.
    #[must_use]
    pub fn decoded_fill_value(&self) -> Option<Scalar> {
        self.inner.decoded_fill_value
    }

    /// The encoded fill value; `None` if none was bound, or if legacy codecs cannot encode it.
    #[must_use]
    pub fn encoded_fill_value(&self) -> Option<Scalar> {
        self.inner.encoded_fill_value
    }

    /// The byte order that a legacy codec names for its encoded elements. In Zarr v2 the stored bytes
    /// have it; in Zarr v3 only the `bytes` codec decides.
    #[must_use]
    pub fn legacy_byte_order(&self) -> Option<ByteOrder> {
        self.inner.legacy_byte_order
    }

    /// Warnings for users of the chain.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// The plan that encodes: over bytes, typed slices, in place, or with several threads.
    ///
    /// ```
    /// use zarr_recast::{BindOptions, Chain, ElementType, ScaleOffset};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let codecs = [ScaleOffset::default().scale(2).into()];
    /// let chain = Chain::bind(ElementType::Int16, None, &codecs, &BindOptions::default())?;
    /// assert_eq!(chain.encoder().run_slice::<i16, i16>(&[3, -4])?, [6, -8]);
    /// assert!(chain.encoder().run_slice::<u16, i16>(&[3]).is_err()); // the chain's elements are int16
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn encoder(&self) -> &Plan {
        &self.inner.encode
    }

    /// The plan that decodes; see [`Chain::encoder`].
    #[must_use]
    pub fn decoder(&self) -> &Plan {
        &self.inner.decode
    }

    /// Encodes the bytes of elements.
    ///
    /// # Errors
    /// The first element that cannot be encoded, or bytes that are not a whole number of elements.
    pub fn encode(&self, decoded: &[u8]) -> Result<Vec<u8>, RunError> {
        self.encoder().run_to_vec(decoded)
    }

    /// Decodes to the bytes of elements.
    ///
    /// # Errors
    /// The first element that cannot be decoded, or bytes that are not a whole number of elements.
    pub fn decode(&self, encoded: &[u8]) -> Result<Vec<u8>, RunError> {
        self.decoder().run_to_vec(encoded)
    }
}
