//! The codecs of an array as in its metadata, with the value codecs bound to the elements that reach them. All their
//! errors are found here, before any chunk is read.

use std::collections::HashSet;

use anyhow::{Context, bail};
use recast_kernels::{ElementType, Scalar};
use serde_json::Value;
use zarr_recast::{
    BindError, BindOptions, CastValue, Chain, Codec, CodecPlace, FillCheck, WarningKind,
};

use super::codecs::{CodecKind, CodecList};
use crate::error::Result;

/// A codec on the way from values to stored bytes.
#[derive(Clone, Debug)]
pub(crate) struct BoundCodec {
    /// Its depth inside shards.
    pub(crate) depth: usize,
    pub(crate) name: String,
    /// Its configuration, without the codecs inside a shard, which follow.
    pub(crate) configuration: Value,
    /// For a value codec: itself and its output.
    pub(crate) values: Option<ValueStep>,
}

/// The elements after a value codec.
#[derive(Clone, Debug)]
pub(crate) struct ValueStep {
    pub(crate) codec: Codec,
    pub(crate) element_type: ElementType,
    /// `None` if a legacy codec cannot encode it.
    pub(crate) fill_value: Option<Scalar>,
}

/// All codecs of an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundCodecs {
    pub(crate) codecs: Vec<BoundCodec>,
    /// Warnings for readers.
    pub(crate) warnings: Vec<String>,
}

impl BoundCodecs {
    /// Reads and binds the codecs of an array's metadata.
    ///
    /// # Errors
    /// A value codec that is invalid at its place, and a fill value that does not survive it, if `fill_check`
    /// forbids that.
    pub(crate) fn read(
        codecs: &CodecList,
        element_type: ElementType,
        fill_value: Scalar,
        fill_check: FillCheck,
    ) -> Result<Self> {
        let mut bound = Self::default();
        let options = BindOptions::default().fill_check(fill_check);
        let start = (element_type, Some(fill_value));
        bound.list("codecs", codecs, start, &options, 0)?;
        Ok(bound)
    }

    /// The value codecs in order, each with its output; codecs between them change no value.
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &ValueStep> {
        self.codecs.iter().filter_map(|one| one.values.as_ref())
    }

    /// The value codecs alone.
    pub(crate) fn value_codecs(&self) -> Vec<Codec> {
        self.values().map(|values| values.codec.clone()).collect()
    }

    fn list(
        &mut self,
        path: &str,
        codecs: &CodecList,
        start: (ElementType, Option<Scalar>),
        options: &BindOptions,
        depth: usize,
    ) -> Result<()> {
        let (mut element_type, mut fill_value) = start;
        // The elements that reach a codec are known as long as all codecs before it are.
        let mut is_known = true;
        let mut to_bytes = None;
        let list = path;
        for (index, entry) in codecs.0.iter().enumerate() {
            let path = format!("{list}[{index}]");
            let (name, configuration) = (&entry.name, entry.configuration());
            let mut values = None;
            match entry.kind() {
                CodecKind::Value => {
                    if let Some(to_bytes) = &to_bytes {
                        bail!(
                            "{path}: {name} comes after {to_bytes}, which has turned the elements \
                             into bytes"
                        );
                    }
                    let codec = entry.value_codec().map_err(|error| error.below(&path))?;
                    if is_known {
                        let place = CodecPlace::List { path: list.into(), first: index };
                        let options = options.clone().place(place);
                        let bound =
                            self.bind(&path, codec, (element_type, fill_value), &options)?;
                        (element_type, fill_value) = (bound.element_type, bound.fill_value);
                        values = Some(bound);
                    }
                }
                CodecKind::ToBytes => {
                    let endian =
                        configuration.get("endian").is_some_and(|endian| !endian.is_null());
                    if name == "bytes" && is_known && element_type.size() > 1 && !endian {
                        bail!(
                            "{path}.configuration.endian is missing: the elements are {element_type}, of \
                             {} bytes, so it must be \"little\" or \"big\"",
                            element_type.size()
                        );
                    }
                    to_bytes = Some(name);
                }
                CodecKind::KeepsValues => {}
                CodecKind::Other => is_known = false,
            }
            self.codecs.push(BoundCodec { depth, name: name.clone(), configuration, values });
            if let Some(inner) = entry.inner.as_ref().filter(|_| is_known) {
                let path = format!("{path}.configuration.codecs");
                self.list(&path, inner, (element_type, fill_value), options, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Binds a value codec to the elements that reach it.
    fn bind(
        &mut self,
        path: &str,
        codec: Codec,
        (before, fill_value): (ElementType, Option<Scalar>),
        options: &BindOptions,
    ) -> Result<ValueStep> {
        let chain = Chain::bind(before, fill_value, std::slice::from_ref(&codec), options);
        let chain = chain.map_err(|error| {
            let hint = match &error {
                BindError::FillValue(warning)
                    if options.fill_check == FillCheck::Open
                        && warning.kind == WarningKind::FillChanged =>
                {
                    "; --accept-fill-value reads it as it is"
                }
                _ => "",
            };
            anyhow::anyhow!("{error}{hint}")
        })?;
        self.warnings.extend(chain.warnings().iter().map(ToString::to_string));
        if let Codec::CastValue(cast) = &codec {
            self.warn_of_repeated_inputs(path, cast, before);
        }
        let (element_type, fill_value) = (chain.encoded_type(), chain.encoded_fill_value());
        Ok(ValueStep { codec, element_type, fill_value })
    }

    /// Warns of repeated inputs in a map: the specification takes the first entry, and asks writers not to repeat
    /// inputs.
    fn warn_of_repeated_inputs(&mut self, path: &str, cast: &CastValue, before: ElementType) {
        let Some(map) = &cast.scalar_map else { return };
        for (direction, entries, element_type) in
            [("encode", &map.encode, before), ("decode", &map.decode, cast.data_type)]
        {
            let mut seen = HashSet::new();
            let inputs =
                entries.iter().flat_map(zarr_recast::Entries::iter).map(|(input, _)| input);
            let repeated = inputs.filter(|input| {
                let Ok(value) = input.to_scalar(element_type) else { return false };
                // All NaNs are one input, and so are 0 and −0.
                let bits = if value.is_zero() { None } else { Some(value.bits()) };
                !seen.insert(if value.is_nan() { Some(u64::MAX) } else { bits })
            });
            let repeated: Vec<String> = repeated.map(|input| input.to_string()).collect();
            if let Some(first) = repeated.first() {
                let more = match repeated.len() {
                    1 => String::new(),
                    all => format!(" and {} more", all - 1),
                };
                self.warnings.push(format!(
                    "{path}.configuration.scalar_map.{direction}: the input {first}{more} stands there \
                     again; the first entry counts, and zarr-python takes the last"
                ));
            }
        }
    }

    /// Binds all value codecs as one.
    pub(crate) fn chain(&self, element_type: ElementType, fill_value: Scalar) -> Result<Chain> {
        let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
        Chain::bind(element_type, Some(fill_value), &self.value_codecs(), &options)
            .context("the value codecs together")
    }
}
