//! The decoded elements of an array as one stream of bytes.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use zarrs::array::{ArrayBytes, ArraySubset};

use crate::error::{Error, Result, guarded};
use crate::io::source::Source;
use crate::runtime::{Runtime, Workers};

/// Bytes of decoded elements that are held at once, if a row of chunks takes more.
const MOST_BYTES: u64 = 64 << 20;

/// Writes the decoded elements of an array: raw, little-endian, in C order.
///
/// # Errors
/// An array that cannot be read; `output` fails.
pub fn cat(
    array: impl AsRef<Path>,
    runtime: &Runtime,
    output: &mut impl Write,
) -> std::result::Result<(), Error> {
    Ok(write_all(array.as_ref(), runtime, output)?)
}

fn write_all(array: &Path, runtime: &Runtime, output: &mut impl Write) -> Result<()> {
    let source = Source::open_for(runtime, array)?;
    let workers = Workers::new(runtime)?;
    if source.elements() > 0 {
        write(&source, &workers, &source.array().subset_all(), output)?;
    }
    output.flush().context("standard output")
}

/// Swaps the bytes of elements between little-endian and this machine's order.
fn swap_unless_little_endian(bytes: &mut [u8], size: usize) {
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// Writes a part of the array in C order, in pieces that lie one after the other in it.
fn write(
    source: &Source,
    workers: &Workers,
    part: &ArraySubset,
    output: &mut impl Write,
) -> Result<()> {
    let size = source.element_type().size() as u64;
    let fits = part
        .shape()
        .iter()
        .try_fold(size, |product, &extent| product.checked_mul(extent))
        .is_some_and(|bytes| bytes <= MOST_BYTES);
    let longest = part.shape().iter().position(|&extent| extent > 1);
    let Some(dimension) = longest.filter(|_| !fits) else {
        let read = || Ok(source.array().retrieve_array_subset::<ArrayBytes<'static>>(part)?);
        let elements = workers.install(|| guarded(read));
        let elements = elements.with_context(|| format!("{}: {part}", source.path().display()))?;
        let mut elements = elements.into_fixed()?.into_owned();
        swap_unless_little_endian(&mut elements, size as usize);
        return output.write_all(&elements).context("standard output");
    };
    // Pieces along the first dimension that has an extent: rows of chunks, or else halves of one.
    let (start, shape) = (part.start().to_vec(), part.shape().to_vec());
    let chunk = source.region(0)?.chunk_shape;
    let at = |values: &[u64]| values.get(dimension).copied().unwrap_or(1);
    let (mut begin, end) = (at(&start), at(&start) + at(&shape));
    let rows = at(&chunk).max(1);
    let rows = if at(&shape) > rows { rows } else { at(&shape).div_ceil(2) };
    while begin < end {
        // The next piece ends with its chunk.
        let length = (rows - begin % rows).min(end - begin);
        let (mut piece_start, mut piece_shape) = (start.clone(), shape.clone());
        if let (Some(s), Some(l)) = (piece_start.get_mut(dimension), piece_shape.get_mut(dimension))
        {
            (*s, *l) = (begin, length);
        }
        write(
            source,
            workers,
            &ArraySubset::new_with_start_shape(piece_start, piece_shape)?,
            output,
        )?;
        begin += length;
    }
    Ok(())
}
