//! Encodes elements with the codecs after the value codecs.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use anyhow::bail;
use recast_kernels::{ElementType, Scalar};
use serde_json::{Map, Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArrayToBytesCodecTraits, CodecOptions};

use crate::error::Result;
use crate::metadata::byte_codecs::Storage;
use crate::metadata::document::array_document;

/// The codecs after the value codecs, for elements of one type.
pub(crate) struct ByteEncoder {
    /// An array of such elements; nothing is stored in it.
    pub(super) array: Array<()>,
    /// Whether encoded bytes are decoded again.
    is_checked: bool,
    options: CodecOptions,
}

impl ByteEncoder {
    /// For the chunks of an array whose metadata are these, as the codecs after the value codecs see it.
    pub(super) fn new(document: Map<String, Value>, is_checked: bool) -> Result<Self> {
        let metadata: ArrayMetadata = serde_json::from_value(document.into())?;
        let array = Array::new_with_metadata(Arc::new(()), "/", metadata)?;
        let options = CodecOptions::default().with_concurrent_target(1);
        Ok(Self { array, is_checked, options })
    }

    /// For blocks of any extent.
    pub(crate) fn for_blocks(
        element_type: ElementType,
        storage: &Storage,
        dimensions: usize,
    ) -> Result<Self> {
        let ones = vec![1; dimensions];
        let grid = json!({"name": "regular", "configuration": {"chunk_shape": ones}});
        let codecs = storage.codecs(element_type, dimensions).into();
        let zero = Scalar::zero(element_type);
        Self::new(array_document(&ones, element_type, grid, zero, codecs), false)
    }

    /// The stored bytes of some elements of this extent.
    pub(super) fn encode<'a>(
        &self,
        elements: ArrayBytes<'a>,
        shape: &[NonZeroU64],
    ) -> Result<Cow<'a, [u8]>> {
        let (data_type, fill) = (self.array.data_type(), self.array.fill_value());
        let (codecs, options) = (self.array.codecs(), &self.options);
        let kept = self.is_checked.then(|| elements.clone());
        let encoded = codecs.encode(elements, shape, data_type, fill, options)?;
        if let Some(kept) = kept
            && codecs.decode(encoded.clone(), shape, data_type, fill, options)? != kept
        {
            bail!("its differences do not add up to its codes again; use --compressor auto");
        }
        Ok(encoded)
    }

    /// The number of bytes that some codes of this extent take.
    pub(crate) fn size(&self, codes: &[u8], shape: &[u64]) -> Result<u64> {
        let shape: Option<Vec<NonZeroU64>> = shape.iter().copied().map(NonZeroU64::new).collect();
        let Some(shape) = shape else { return Ok(0) };
        Ok(self.encode(ArrayBytes::new_flen(codes), &shape)?.len() as u64)
    }
}
