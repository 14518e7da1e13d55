//! Codecs bound to a data type and a fill value.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, PoisonError};

use recast_kernels::{ElementType, Plan, RunError, Scalar};
use serde_json::Value;
use zarr_recast::{BindOptions, Chain, Codec, CodecPlace, FillCheck, WarningKind, data_type};
use zarrs::array::codec::api::CodecError;
use zarrs::array::{DataType, FillValue, Indexer, unravel_index};
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::ExtensionName;

use crate::byte_order::{self, FilterOrders};
use crate::element_error::{ElementError, Operation};

/// Where the elements of a run are in their chunk, for error messages.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    /// They are a whole chunk of this shape.
    Chunk(&'a [NonZeroU64]),
    /// They are the part of a chunk that this indexer selects.
    Part(&'a dyn Indexer),
}

impl Place<'_> {
    /// The indices in the chunk of the element at `index` of the run.
    fn of(self, index: usize) -> Option<Vec<u64>> {
        match self {
            Self::Chunk(shape) => {
                let shape: Vec<u64> = shape.iter().map(|n| n.get()).collect();
                unravel_index(index as u64, &shape)
            }
            Self::Part(indexer) => indexer.iter_indices().nth(index).map(|at| at.to_vec()),
        }
    }
}

/// How codecs are bound, in addition to their metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    /// The user's choice, if there is one.
    pub(crate) options: Option<BindOptions>,
    /// The byte orders of a filter of Zarr v2.
    pub(crate) orders: Option<FilterOrders>,
    /// The place of the codecs in the metadata, which zarrs does not tell codecs.
    pub(crate) place: Option<CodecPlace>,
}

impl Settings {
    /// How codecs bound like this, followed by codecs bound like `next`, are bound together; `None` if they cannot.
    pub(crate) fn followed_by(&self, next: &Self) -> Option<Self> {
        let orders = match (self.orders, next.orders) {
            (None, None) => None,
            (first, second) => Some(first?.followed_by(second?)?),
        };
        let options = self.options.clone();
        let place = self.place.clone();
        (self.options == next.options).then_some(Self { options, orders, place })
    }
}

/// Some successive codecs, with everything that zarrs may ask of them.
#[derive(Debug)]
pub(crate) struct Bound {
    codecs: Vec<Codec>,
    settings: Settings,
    chain: Chain,
    data_type: DataType,
    fill_value: FillValue,
    encoded_fill_value: FillValue,
    fill_value_survives_bitwise: bool,
    /// The last codecs that followed these, and both fused.
    followed_by: Mutex<Option<(Arc<Bound>, Arc<Bound>)>>,
}

impl Bound {
    /// Binds codecs. Without options, a fill value that a cast changes is refused for writing only
    /// (see the crate's documentation).
    pub(crate) fn new(
        codecs: Vec<Codec>,
        data_type: &DataType,
        fill_value: &FillValue,
        settings: Settings,
    ) -> Result<Self, CodecError> {
        let element_type = element_type(data_type)?;
        let scalar = Scalar::from_ne_bytes(element_type, fill_value.as_ne_bytes());
        let scalar = scalar.ok_or_else(|| {
            let (found, expected) = (fill_value.size(), element_type.size());
            CodecError::Other(format!("fill_value: {found} bytes; {element_type} has {expected}"))
        })?;
        let report = || BindOptions::default().fill_check(FillCheck::ReportOnly);
        let options = settings.options.clone().unwrap_or_else(report);
        let options = options.place(settings.place.clone().unwrap_or(CodecPlace::Unknown));
        let chain = Chain::bind(element_type, Some(scalar), &codecs, &options)
            .map_err(|error| CodecError::Other(format!("{}: {error}", names(&codecs))))?;
        // Only legacy codecs bind with a fill value that they cannot encode.
        let encoded_fill_value = chain
            .encode(fill_value.as_ne_bytes())
            .unwrap_or_else(|_| vec![0; chain.encoded_type().size()]);
        let decoded = chain.decode(&encoded_fill_value);
        let fill_value_survives_bitwise =
            decoded.is_ok_and(|decoded| decoded == fill_value.as_ne_bytes());
        Ok(Self {
            codecs,
            settings,
            chain,
            data_type: data_type.clone(),
            fill_value: fill_value.clone(),
            encoded_fill_value: FillValue::new(encoded_fill_value),
            fill_value_survives_bitwise,
            followed_by: Mutex::new(None),
        })
    }

    /// These codecs and then `next`, bound together to run in one pass; `None` if that is impossible.
    pub(crate) fn followed_by(&self, next: &Arc<Self>) -> Option<Arc<Self>> {
        let settings = self.settings.followed_by(&next.settings)?;
        let mut followed_by = self.followed_by.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, both)) = &*followed_by
            && Arc::ptr_eq(known, next)
        {
            return Some(both.clone());
        }
        let codecs = self.codecs.iter().chain(&next.codecs).cloned().collect();
        let both = Self::new(codecs, &self.data_type, &self.fill_value, settings).ok()?;
        let both = Arc::new(both);
        *followed_by = Some((next.clone(), both.clone()));
        Some(both)
    }

    pub(crate) fn is_of(&self, data_type: &DataType, fill_value: &FillValue) -> bool {
        self.fill_value == *fill_value && self.data_type == *data_type
    }

    pub(crate) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    pub(crate) fn fill_value(&self) -> &FillValue {
        &self.fill_value
    }

    pub(crate) fn encoded_fill_value(&self) -> &FillValue {
        &self.encoded_fill_value
    }

    /// Whether the fill value comes back with the same bits.
    pub(crate) fn fill_value_survives_bitwise(&self) -> bool {
        self.fill_value_survives_bitwise
    }

    /// Refuses a fill value that a cast changes: an unwritten element would read differently in a
    /// written chunk and in a missing one.
    pub(crate) fn check_for_writing(&self) -> Result<(), CodecError> {
        self.refuse(
            WarningKind::FillChanged,
            "zarrs_recast::fused checks it together with the codecs next to this one, and \
             BindOptions::fill_check = ReportOnly lets it pass",
        )
    }

    /// Refuses a fill value that `scale_offset` returns with a rounding error, for an array that does not exist yet.
    pub(crate) fn check_for_creation(&self) -> Result<(), CodecError> {
        self.refuse(WarningKind::FillInexact, "BindOptions::fill_check = Open lets it pass")
    }

    /// Refuses such a change of the fill value, unless the user has chosen it, or legacy codecs, which
    /// are for existing arrays, make it.
    fn refuse(&self, change: WarningKind, way_out: &str) -> Result<(), CodecError> {
        if self.settings.options.is_some() || self.codecs.iter().any(Codec::is_legacy) {
            return Ok(());
        }
        match self.chain.warnings().iter().find(|warning| warning.kind == change) {
            Some(warning) => {
                let codecs = names(&self.codecs);
                Err(CodecError::Other(format!("{codecs}: fill_value: {warning}; {way_out}")))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn encode(
        &self,
        decoded: Cow<'_, [u8]>,
        place: Place<'_>,
    ) -> Result<Vec<u8>, CodecError> {
        run(self.chain.encoder(), decoded)
            .map_err(|error| self.error(Operation::Encoding, error, place))
    }

    pub(crate) fn decode(
        &self,
        encoded: Cow<'_, [u8]>,
        place: Place<'_>,
    ) -> Result<Vec<u8>, CodecError> {
        run(self.chain.decoder(), encoded)
            .map_err(|error| self.error(Operation::Decoding, error, place))
    }

    /// Decodes a chunk of this shape into rows of `row` elements, which begin at these elements of `decoded`. The contents are
    /// unspecified after an error.
    pub(crate) fn decode_rows(
        &self,
        encoded: &[u8],
        decoded: &mut [u8],
        row: usize,
        starts: &[usize],
        shape: &[NonZeroU64],
    ) -> Result<(), CodecError> {
        let decoded = self.chain.decoder().run_rows(encoded, decoded, row, starts);
        decoded.map_err(|error| self.error(Operation::Decoding, error, Place::Chunk(shape)))
    }

    /// Turns a failed run into an error of zarrs.
    fn error(&self, operation: Operation, error: RunError, place: Place<'_>) -> CodecError {
        let codecs = names(&self.codecs);
        match error {
            RunError::Element(source) => {
                let at = place.of(source.index);
                ElementError { codecs, operation, chunk: None, element: None, at, source }.into()
            }
            other => CodecError::Other(format!("{codecs}, {operation}: {other}")),
        }
    }
}

/// Runs a plan, in place if the elements' own memory fits.
fn run(plan: &Plan, elements: Cow<'_, [u8]>) -> Result<Vec<u8>, RunError> {
    match elements {
        Cow::Owned(mut elements) if plan.source().size() == plan.target().size() => {
            plan.run_in_place(&mut elements)?;
            Ok(elements)
        }
        elements => plan.run_to_vec(&elements),
    }
}

/// The data type to which `codecs` encode elements of `data_type`.
pub(crate) fn encoded_data_type(
    codecs: &[Codec],
    data_type: &DataType,
    orders: Option<FilterOrders>,
) -> Result<DataType, CodecError> {
    let other = |error: String| CodecError::Other(format!("{}: {error}", names(codecs)));
    let options = BindOptions::default().place(CodecPlace::Unknown);
    let chain = Chain::bind(element_type(data_type)?, None, codecs, &options)
        .map_err(|error| other(error.to_string()))?;
    let encoded = DataType::from_metadata(&MetadataV3::new(chain.encoded_type().name()))
        .map_err(|error| other(error.to_string()))?;
    match orders {
        Some(orders) => orders.stored(&names(codecs), data_type, encoded),
        None => Ok(encoded),
    }
}

/// The element type of a data type of zarrs.
pub(crate) fn element_type(data_type: &DataType) -> Result<ElementType, CodecError> {
    let name = byte_order::plain(data_type).name_v3().unwrap_or_default();
    data_type::from_json(&Value::from(&*name)).map_err(|error| CodecError::Other(error.to_string()))
}

fn names(codecs: &[Codec]) -> String {
    codecs.iter().map(Codec::name).collect::<Vec<_>>().join(" + ")
}
