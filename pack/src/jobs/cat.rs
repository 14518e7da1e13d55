//! The decoded elements of an array as one stream of bytes.

use std::io::Write;
use std::iter::repeat_n;
use std::path::Path;

use anyhow::{Context, bail};
use recast_kernels::ElementType;
use zarrs::array::codec::{BytesDataTypeExt, Endianness};
use zarrs::array::{ArrayBytes, ArraySubset};

use crate::error::{Error, Result, guarded};
use crate::io::source::Source;
use crate::runtime::{Runtime, Workers};

/// Bytes of decoded elements in memory at once, if a row of chunks takes more.
const MOST_BYTES: u64 = 64 << 20;

/// What [`cat`] writes around the elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatFormat {
    /// Nothing.
    #[default]
    Raw,
    /// The header of a `.npy` file with type and shape.
    Npy,
}

/// Writes the decoded elements of an array: little-endian, in C order.
///
/// # Errors
/// An array that cannot be read; with [`CatFormat::Npy`], a type that `NumPy` lacks; `output` fails.
pub fn cat(
    array: impl AsRef<Path>,
    format: CatFormat,
    runtime: &Runtime,
    output: &mut impl Write,
) -> std::result::Result<(), Error> {
    Ok(write_all(array.as_ref(), format, runtime, output)?)
}

fn write_all(
    array: &Path,
    format: CatFormat,
    runtime: &Runtime,
    output: &mut impl Write,
) -> Result<()> {
    let source = Source::open_for(runtime, array)?;
    let workers = Workers::new(runtime)?;
    match format {
        CatFormat::Raw => {}
        CatFormat::Npy => {
            let header = npy_header(source.element_type(), source.array().shape())
                .with_context(|| array.display().to_string())?;
            output.write_all(&header).context("standard output")?;
        }
    }
    if source.elements() > 0 {
        write(&source, &workers, &source.array().subset_all(), output)?;
    }
    output.flush().context("standard output")
}

/// What stands before little-endian elements in C order in a `.npy` file of version 1.0.
fn npy_header(element_type: ElementType, shape: &[u64]) -> Result<Vec<u8>> {
    let kind = match element_type {
        ElementType::Int8 | ElementType::Int16 | ElementType::Int32 | ElementType::Int64 => "i",
        ElementType::UInt8 | ElementType::UInt16 | ElementType::UInt32 | ElementType::UInt64 => "u",
        ElementType::Float16 | ElementType::Float32 | ElementType::Float64 => "f",
        _ => bail!(
            "the elements are {element_type}, which NumPy lacks; leave out --npy for raw \
             elements, or convert them first (recast raw)"
        ),
    };
    let size = element_type.size();
    let order = if size == 1 { '|' } else { '<' };
    // A tuple of Python, which needs a comma if it has one element.
    let mut extents = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        extents.push(',');
    }
    let magic: &[u8] = b"\x93NUMPY\x01\x00";
    let mut text = format!(
        "{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({extents}), }}"
    );
    // Spaces and a newline, so that the elements begin at a multiple of 64 bytes.
    let unpadded = magic.len() + size_of::<u16>() + text.len() + 1;
    text.extend(repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let length = u16::try_from(text.len())
        .with_context(|| format!("{} dimensions are too many for --npy", shape.len()))?;
    Ok([magic, &length.to_le_bytes(), text.as_bytes()].concat())
}

/// Writes a part of the array in C order, in contiguous pieces.
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
        let data_type = source.array().data_type().codec_bytes()?;
        let elements = data_type.encode(elements.into_fixed()?, Some(Endianness::Little))?;
        return output.write_all(&elements).context("standard output");
    };
    // Pieces along the first dimension longer than 1: rows of chunks, or else halves of one.
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
