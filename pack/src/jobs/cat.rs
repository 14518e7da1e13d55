//! The decoded elements of an array as one stream of bytes.

use std::io::Write;
use std::iter::repeat_n;
use std::path::Path;

use anyhow::Context;
use recast_kernels::{ElementType, in_default_environment};
use zarrs::array::codec::{BytesDataTypeExt, Endianness};
use zarrs::array::{ArraySubset, CodecOptions};

use crate::array::source::Source;
use crate::error::{Error, Result, guarded};
use crate::metadata::element_types::numpy_name;
use crate::runtime::{Runtime, Workers};

/// Bytes of decoded elements in memory at once, if a row of chunks takes more.
const MOST_BYTES: u64 = 64 << 20;

/// The format in which [`cat`] writes elements.
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
    in_default_environment((array.as_ref(), output), |(array, output)| {
        Ok(write_array(array, format, runtime, output)?)
    })
}

fn write_array(
    array: &Path,
    format: CatFormat,
    runtime: &Runtime,
    output: &mut impl Write,
) -> Result<()> {
    let source = Source::open_for(runtime, array)?;
    let workers = Workers::new(runtime)?;
    if format == CatFormat::Npy {
        let header = npy_header(source.element_type(), source.array().shape())
            .with_context(|| array.display().to_string())?;
        output.write_all(&header).context("standard output")?;
    }
    if source.elements() > 0 {
        write(&source, &workers, &source.array().subset_all(), MOST_BYTES, output)?;
    }
    output.flush().context("standard output")
}

/// The header of a `.npy` file of version 1.0 with little-endian elements in C order.
fn npy_header(element_type: ElementType, shape: &[u64]) -> Result<Vec<u8>> {
    let name = numpy_name(element_type).with_context(|| {
        format!(
            "the elements are {element_type}, which NumPy lacks; leave out --npy for raw \
             elements, or convert them first (recast raw)"
        )
    })?;
    // A tuple of Python, which needs a comma if it has one element.
    let mut extents = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        extents.push(',');
    }
    let magic: &[u8] = b"\x93NUMPY\x01\x00";
    let mut text = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({extents}), }}");
    // Spaces and a newline, so that the elements begin at a multiple of 64 bytes.
    let unpadded = magic.len() + size_of::<u16>() + text.len() + 1;
    text.extend(repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    let length = u16::try_from(text.len())
        .with_context(|| format!("{} dimensions are too many for --npy", shape.len()))?;
    Ok([magic, &length.to_le_bytes(), text.as_bytes()].concat())
}

/// Writes a part of the array in C order, in contiguous pieces of at most so many bytes, or of one chunk: that is decoded
/// whole in any case, and only once if it is one piece.
fn write(
    source: &Source,
    workers: &Workers,
    part: &ArraySubset,
    most: u64,
    output: &mut impl Write,
) -> Result<()> {
    let size = source.element_type().size() as u64;
    let fits = part
        .shape()
        .iter()
        .try_fold(size, |product, &extent| product.checked_mul(extent))
        .is_some_and(|bytes| bytes <= most);
    let chunk = source.encoded_chunk_shape()?.context("an array without chunks")?;
    let ends = part.start().iter().zip(part.shape()).zip(&chunk);
    let is_in_one_chunk =
        ends.clone().all(|((start, shape), chunk)| start % chunk + shape <= *chunk);
    let longest = part.shape().iter().position(|&extent| extent > 1);
    let Some(dimension) = longest.filter(|_| !fits && !is_in_one_chunk) else {
        let elements = workers.install(|| guarded(|| source.part(part, &CodecOptions::default())));
        let elements = elements.with_context(|| format!("{}: {part}", source.path().display()))?;
        let data_type = source.array().data_type().codec_bytes()?;
        let elements = data_type.encode(elements.into(), Some(Endianness::Little))?;
        return output.write_all(&elements).context("standard output");
    };
    // Pieces along the first dimension longer than 1: rows of chunks, or else halves of one.
    let (start, shape) = (part.start().to_vec(), part.shape().to_vec());
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
        let piece = ArraySubset::new_with_start_shape(piece_start, piece_shape)?;
        write(source, workers, &piece, most, output)?;
        begin += length;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use zarr_recast::FillCheck;
    use zarrs::array::{Array, ArrayMetadata};
    use zarrs::storage::storage_adapter::performance_metrics::PerformanceMetricsStorageAdapter;
    use zarrs::storage::store::MemoryStore;

    use super::*;
    use crate::store::location::Location;

    /// The bytes that `cat` writes of an array of two dimensions with consecutive numbers, in pieces of at most so many
    /// bytes, and how often it reads from the store.
    fn cat_counting(shape: [u64; 2], codecs: &Value, chunk: [u64; 2], most: u64) -> (bool, usize) {
        let metadata: ArrayMetadata = serde_json::from_value(json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint16",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0, "codecs": codecs,
        }))
        .unwrap();
        let storage = Arc::new(MemoryStore::new());
        let array = Array::new_with_metadata(Arc::clone(&storage), "/", metadata).unwrap();
        array.store_metadata().unwrap();
        let elements: Vec<u16> = (1..=(shape[0] * shape[1]) as u16).collect();
        array.store_array_subset(&array.subset_all(), &elements).unwrap();
        let counting = Arc::new(PerformanceMetricsStorageAdapter::new(storage));
        let location = Location::of(Path::new("x"), Arc::clone(&counting) as Arc<_>, true);
        let source = Source::open_at(location, FillCheck::Create).unwrap();
        assert_eq!(counting.reads(), 1, "the metadata are read once");
        let workers = Workers::new(&Runtime::default()).unwrap();
        counting.reset();
        let mut output = Vec::new();
        write(&source, &workers, &source.array().subset_all(), most, &mut output).unwrap();
        let expected: Vec<u8> = elements.iter().flat_map(|element| element.to_le_bytes()).collect();
        (output == expected, counting.reads())
    }

    #[test]
    fn a_chunk_that_is_larger_than_a_piece_is_decoded_once() {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let gzip = json!([bytes, {"name": "gzip", "configuration": {"level": 1}}]);
        // One chunk; rows of one chunk each; and a last one that is cut.
        assert_eq!(cat_counting([32, 32], &gzip, [32, 32], 128), (true, 1));
        assert_eq!(cat_counting([32, 8], &gzip, [10, 8], 64), (true, 4));
        assert_eq!(cat_counting([4, 32], &gzip, [1, 8], 8), (true, 16));
        // Everything at once, if it fits.
        assert_eq!(cat_counting([32, 32], &gzip, [8, 8], 1 << 20), (true, 16));
        // A row of several chunks that do not fit together is read in parts.
        assert_eq!(cat_counting([4, 32], &gzip, [4, 8], 64), (true, 16));
        let shards = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [5, 8], "codecs": gzip,
            "index_codecs": [bytes, {"name": "crc32c"}], "index_location": "end"}}]);
        // Pieces end with inner chunks: each of the four is read, and the index with it.
        let (is_right, reads) = cat_counting([20, 8], &shards, [20, 8], 64);
        assert!(is_right && reads <= 12, "{reads}");
    }
}
