//! `scale_offset`: `(x − offset) · scale` in the elements' own arithmetic.

use recast_kernels::{Affine, ElementType, FloatOverflow, Step};
use serde_json::{Map, Value};

use super::common::{BoundCodec, Envelope, SCALE_OFFSET};
use crate::MetadataError;
use crate::fill_value::JsonScalar;
use crate::json::{Object, join};

/// The configuration of `scale_offset`. Without a field, its operation is skipped.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScaleOffset {
    /// Subtracted when encoding, added when decoding.
    pub offset: Option<JsonScalar>,
    /// Multiplied by when encoding, divided by when decoding.
    pub scale: Option<JsonScalar>,
    envelope: Envelope,
}

impl ScaleOffset {
    const KEYS: [&str; 2] = ["offset", "scale"];

    /// A codec that subtracts `offset` and multiplies by `scale`, if given.
    #[must_use]
    pub fn new(offset: Option<JsonScalar>, scale: Option<JsonScalar>) -> Self {
        Self { offset, scale, envelope: Envelope::default() }
    }

    /// The same with this offset.
    ///
    /// ```
    /// use zarr_recast::{Codec, ScaleOffset};
    /// let codec = ScaleOffset::default().offset(273.15).scale(10);
    /// let json = serde_json::json!({"name": "scale_offset", "configuration": {"offset": 273.15, "scale": 10}});
    /// assert_eq!(Codec::from(codec).to_json(), json);
    /// ```
    #[must_use]
    pub fn offset(self, offset: impl Into<JsonScalar>) -> Self {
        Self { offset: Some(offset.into()), ..self }
    }

    /// The same with this scale.
    #[must_use]
    pub fn scale(self, scale: impl Into<JsonScalar>) -> Self {
        Self { scale: Some(scale.into()), ..self }
    }

    pub(super) fn read(
        object: Option<Object<'_>>,
        envelope: Envelope,
    ) -> Result<Self, MetadataError> {
        let (mut offset, mut scale) = (None, None);
        if let Some(mut object) = object {
            let mut scalar =
                |name| object.take(name).map(|node| JsonScalar::read(&node)).transpose();
            (offset, scale) = (scalar("offset")?, scalar("scale")?);
            object.finish(&Self::KEYS)?;
        }
        Ok(Self { offset, scale, envelope })
    }

    pub(super) fn to_json(&self) -> Value {
        let mut configuration = Map::new();
        for (name, scalar) in [("offset", &self.offset), ("scale", &self.scale)] {
            if let Some(scalar) = scalar {
                configuration.insert(name.into(), scalar.to_json());
            }
        }
        self.envelope.to_json(SCALE_OFFSET, configuration)
    }

    pub(super) fn bind(
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
            decode: vec![Step::InverseScale(parameters)],
            warning: None,
        })
    }
}

/// Reads offset and scale in the type in which they are applied.
pub(super) fn bind_affine(
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
    Ok(Affine::new(read("offset", offset)?, read("scale", scale)?).overflow(overflow))
}
