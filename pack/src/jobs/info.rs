//! What stands between the values of an array and the bytes that are stored.

use std::path::Path;

use recast_kernels::{ElementType, Scalar};
use serde::Serialize;
use serde_json::Value;
use zarr_recast::{Chain, Codec, FillCheck};

use crate::error::Error;
use crate::io::codec_steps::Values;
use crate::io::source::Source;
use crate::json;
use crate::scan::number::{integer, scalar};

/// An array and its codecs.
#[derive(Clone, Debug, Serialize)]
pub struct ArrayInfo {
    /// Where it is.
    pub array: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The extents of its first chunk, if it has any.
    pub chunk_shape: Option<Vec<u64>>,
    /// The type of the values.
    #[serde(serialize_with = "json::element_type")]
    pub data_type: ElementType,
    /// The fill value.
    #[serde(serialize_with = "json::scalar")]
    pub fill_value: Scalar,
    /// All codecs, in the order in which elements pass them.
    pub codecs: Vec<CodecInfo>,
    /// The type of the stored elements, if there are value codecs.
    pub encoded_data_type: Option<String>,
    /// The values that the ends of the stored type stand for.
    #[serde(serialize_with = "json::range")]
    pub range: Option<(Scalar, Scalar)>,
    /// The distance of two neighbouring values.
    pub precision: Option<f64>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// One codec.
#[derive(Clone, Debug, Serialize)]
pub struct CodecInfo {
    /// How deep inside shards it stands.
    pub depth: usize,
    /// Its name.
    pub name: String,
    /// Its configuration, without the codecs inside a shard, which follow.
    pub configuration: Value,
    /// The type of the elements after it, for a value codec.
    pub data_type: Option<String>,
    /// The fill value after it, for a value codec that can encode it.
    #[serde(serialize_with = "json::optional")]
    pub fill_value: Option<Scalar>,
}

impl ArrayInfo {
    /// Reads the metadata of an array. The fill value need not survive the codecs.
    ///
    /// # Errors
    /// No array; metadata that make no sense.
    pub fn read(path: impl AsRef<Path>) -> std::result::Result<Self, Error> {
        Ok(Self::of(&Source::open(path.as_ref(), FillCheck::Report)?))
    }

    /// What an array that is open has.
    pub(crate) fn of(source: &Source) -> Self {
        let codecs = source.codecs().value_codecs();
        let chain = source.codecs().chain(source.element_type(), source.fill_value()).ok();
        let chain = chain.filter(|_| !codecs.is_empty());
        let steps = source.codecs().steps.iter().map(|step| {
            let values = step.values.as_ref();
            CodecInfo {
                depth: step.depth,
                name: step.name.clone(),
                configuration: step.configuration.clone(),
                data_type: values.map(|values: &Values| values.element_type.name().to_owned()),
                fill_value: values.and_then(|values| values.fill_value),
            }
        });
        Self {
            array: source.path().display().to_string(),
            shape: source.array().shape().to_vec(),
            chunk_shape: source.region(0).ok().map(|region| region.chunk_shape),
            data_type: source.element_type(),
            fill_value: source.fill_value(),
            codecs: steps.collect(),
            encoded_data_type: chain.as_ref().map(|chain| chain.encoded_type().name().to_owned()),
            range: chain.as_ref().and_then(range),
            precision: chain.as_ref().and_then(|chain| precision(chain, &codecs)),
            warnings: source.codecs().warnings.clone(),
        }
    }
}

/// The values that the ends of the stored type stand for, where they stand for any.
fn range(chain: &Chain) -> Option<(Scalar, Scalar)> {
    let encoded = chain.encoded_type();
    let decode = |code: Scalar| {
        let bytes = chain.decode(&code.to_ne_bytes()).ok()?;
        let value = Scalar::from_ne_bytes(chain.decoded_type(), &bytes)?;
        (value.is_finite() && Some(code) != chain.encoded_fill_value()).then_some(value)
    };
    // A stored value at the end may be that of NaN or the fill value; one further in is not.
    let end = |end: Scalar, inward: i128| {
        let further = (0..3).filter_map(|steps| scalar(integer(end)? + steps * inward, encoded));
        further.chain([end]).find_map(decode)
    };
    let (a, b) = (end(Scalar::min(encoded), 1)?, end(Scalar::max(encoded), -1)?);
    // A negative scale turns the range round.
    Some(if a.to_f64() <= b.to_f64() { (a, b) } else { (b, a) })
}

/// 1 / scale, if integers are stored.
fn precision(chain: &Chain, codecs: &[Codec]) -> Option<f64> {
    if !chain.encoded_type().is_integer() {
        return None;
    }
    let scales = codecs.iter().filter_map(|codec| match codec {
        Codec::ScaleOffset(codec) => codec.scale.as_ref(),
        _ => None,
    });
    let mut precision = 1.0;
    for scale in scales {
        precision /= scale.text().parse::<f64>().ok()?.abs();
    }
    Some(precision)
}
