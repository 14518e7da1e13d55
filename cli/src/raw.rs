//! `recast raw`: codecs over raw little-endian elements, from standard input to standard output.

use std::io::{self, Read, Write};

use anyhow::{Context, Result, bail};
use recast_kernels::{Plan, RunError};
use zarr_recast::{BindOptions, Chain, Codec, fill_value};

use crate::args::{Direction, Raw};

/// Bytes of input that are worked on at once.
const PIECE: usize = 1 << 20;

pub(crate) fn run(arguments: &Raw) -> Result<()> {
    let chain = chain(arguments)?;
    let plan = match arguments.direction {
        Direction::Encode => chain.encode_plan(),
        Direction::Decode => chain.decode_plan(),
    };
    stream(plan, &mut io::stdin().lock(), &mut io::stdout().lock())
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

/// Runs a plan over everything that `input` has, in memory of a few pieces.
fn stream(plan: &Plan, input: &mut impl Read, output: &mut impl Write) -> Result<()> {
    let (from, to) = (plan.source().size(), plan.target().size());
    let mut buffer = vec![0; PIECE];
    let mut converted = vec![0; PIECE / from * to];
    // Elements converted so far, and the bytes of the buffer that hold what was read beyond them.
    let (mut elements, mut filled) = (0, 0);
    loop {
        let space = buffer.get_mut(filled..).unwrap_or_default();
        let read = match input.read(space) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("standard input"),
        };
        filled += read;
        // Short reads are gathered, so that a slow writer costs no tiny runs.
        if read > 0 && filled < buffer.len() {
            continue;
        }
        let count = filled / from;
        let (whole, rest) = buffer.split_at_mut(count * from);
        swap_unless_little_endian(whole, from);
        let target = converted.get_mut(..count * to).unwrap_or_default();
        plan.run(whole, target).map_err(|error| shifted(error, elements))?;
        swap_unless_little_endian(target, to);
        output.write_all(target).context("standard output")?;
        elements += count;
        let partial = filled - count * from;
        if read == 0 {
            if partial > 0 {
                bail!(
                    "standard input ends within element {elements}: {partial} of the {from} bytes \
                     of {}",
                    plan.source()
                );
            }
            return output.flush().context("standard output");
        }
        debug_assert!(rest.len() >= partial);
        buffer.copy_within(count * from..filled, 0);
        filled = partial;
    }
}

/// The error of a run that began at element `first`.
fn shifted(error: RunError, first: usize) -> RunError {
    match error {
        RunError::Element(mut error) => {
            error.index += first;
            error.into()
        }
        other => other,
    }
}

/// Elements between little-endian and this machine's order.
pub(crate) fn swap_unless_little_endian(bytes: &mut [u8], size: usize) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}
