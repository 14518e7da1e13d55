//! `recast raw`: codecs over raw little-endian elements, from standard input to standard output.

use std::io;

use anyhow::{Context, Result};
use recast_kernels::{Plan, PlanBuilder};
use zarr_recast::{BindOptions, Chain, Codec, fill_value};

use crate::args::{Direction, Raw};
use crate::progress::exit_when_interrupted;
use crate::standard_output::standard_output;
use crate::stream::stream;

/// Bytes of input that are processed at once.
const PIECE: usize = 1 << 20;

pub(crate) fn run(arguments: &Raw) -> Result<()> {
    let chain = chain(arguments)?;
    let plan = match arguments.direction {
        Direction::Encode => chain.encoder(),
        Direction::Decode => chain.decoder(),
    };
    exit_when_interrupted()?;
    stream(&little_endian(plan)?, PIECE, &mut io::stdin().lock(), &mut standard_output())
}

/// The same plan over little-endian elements on every machine.
fn little_endian(plan: &Plan) -> Result<Plan> {
    let swap = cfg!(target_endian = "big");
    let steps = plan.steps().iter().cloned();
    let builder = steps.fold(Plan::builder(plan.source()), PlanBuilder::step);
    Ok(builder.swap_input_bytes(swap).swap_output_bytes(swap).build()?)
}

fn chain(arguments: &Raw) -> Result<Chain> {
    let text = match arguments.codecs.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).with_context(|| format!("--codecs @{path}"))?,
        None => arguments.codecs.clone(),
    };
    let codecs = Codec::list_from_json(&text).context("--codecs")?;
    let fill = arguments
        .fill_value
        .as_deref()
        .map(|text| fill_value::from_json_str(arguments.data_type, text))
        .transpose()
        .context("--fill-value")?;
    Ok(Chain::bind(arguments.data_type, fill, &codecs, &BindOptions::default())?)
}
