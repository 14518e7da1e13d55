//! `recast info`: what stands between the values of an array and the bytes that are stored.

use anyhow::Result;
use recast_kernels::Scalar;
use serde_json::{Value, json};
use zarr_recast::fill_value::to_json;
use zarr_recast::{Chain, Codec, FillCheck};

use crate::args::Info;
use crate::array::Source;
use crate::codecs::Values;
use crate::number::{integer, scalar};
use crate::report::{Table, print};

pub(crate) fn run(arguments: &Info) -> Result<()> {
    // Shows as much as it can, so it does not insist on the fill value.
    let source = Source::open(&arguments.array, FillCheck::Report)?;
    let codecs = source.codecs().value_codecs();
    let chain = source.codecs().chain(source.element_type(), source.fill_value()).ok();
    let chain = chain.filter(|_| !codecs.is_empty());
    let range = chain.as_ref().and_then(range);
    let precision = chain.as_ref().and_then(|chain| precision(chain, &codecs));
    let description = Description { source, chain, range, precision };
    print(arguments.json, false, || description.to_json(), || description.to_table())
}

struct Description {
    source: Source,
    /// All value codecs, if there are any.
    chain: Option<Chain>,
    /// The values that the ends of the stored type stand for.
    range: Option<(Scalar, Scalar)>,
    /// The distance of two neighbouring values.
    precision: Option<f64>,
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

impl Description {
    fn to_table(&self) -> Table {
        let Self { source, chain: _, range, precision } = self;
        let mut table = Table::default();
        table.row("array", source.path().display().to_string());
        table.row("shape", format!("{:?}", source.array().shape()));
        let chunk = source.region(0).map(|region| format!("{:?}", region.chunk_shape));
        table.row("chunks", chunk.unwrap_or_else(|_| "none".to_owned()));
        let fill = |value: Option<Scalar>| match value {
            Some(value) => format!("fill value {}", to_json(value)),
            None => "no fill value".to_owned(),
        };
        let fill_value = Some(source.fill_value());
        table.row("values", format!("{}, {}", source.element_type(), fill(fill_value)));
        for step in &source.codecs().steps {
            let indent = "  ".repeat(step.depth);
            let mut lines = Vec::new();
            if step.configuration.as_object().is_some_and(|object| !object.is_empty()) {
                lines.push(step.configuration.to_string());
            }
            if let Some(Values { element_type, fill_value, .. }) = &step.values {
                lines.push(format!("-> {element_type}, {}", fill(*fill_value)));
            }
            table.row(format!("{indent}{}", step.name), lines.join("\n"));
        }
        if let Some((low, high)) = range {
            table.row("range", format!("{low} to {high}"));
        }
        if let Some(precision) = precision {
            table.row("precision", precision.to_string());
        }
        for warning in &source.codecs().warnings {
            table.row("warning", warning.clone());
        }
        table
    }

    fn to_json(&self) -> Value {
        let Self { source, chain, range, precision } = self;
        let steps: Vec<Value> = source
            .codecs()
            .steps
            .iter()
            .map(|step| {
                let values = step.values.as_ref();
                json!({
                    "depth": step.depth,
                    "name": step.name,
                    "configuration": step.configuration,
                    "data_type": values.map(|values| values.element_type.name()),
                    "fill_value": values.and_then(|values| values.fill_value.map(to_json)),
                })
            })
            .collect();
        json!({
            "array": source.path().display().to_string(),
            "shape": source.array().shape(),
            "chunk_shape": source.region(0).ok().map(|region| region.chunk_shape),
            "data_type": source.element_type().name(),
            "fill_value": to_json(source.fill_value()),
            "codecs": steps,
            "encoded_data_type": chain.as_ref().map(|chain| chain.encoded_type().name()),
            "range": range.map(|(low, high)| [to_json(low), to_json(high)]),
            "precision": precision,
            "warnings": source.codecs().warnings,
        })
    }
}
