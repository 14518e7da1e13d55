//! `arrow-cast`, which allocates its output: towards zero, an element out of range is an error (a
//! float overflows to infinity), NaN to an integer too.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::Buffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_data::ArrayData;
use arrow_schema::DataType;
use recast_kernels::{ElementType, OutOfRange, Rounding};

use super::{Contender, Peer, Verdict};
use crate::cases::{Case, Scaling};

pub(super) struct Arrow;

impl Peer for Arrow {
    fn name(&self) -> &'static str {
        "arrow-cast"
    }

    fn bind(&self, case: &Case, input: &[u8]) -> Option<Box<dyn Contender>> {
        let Case { source, target, rounding, out_of_range, .. } = *case;
        let mode = match (source.is_integer(), target.is_integer()) {
            _ if case.is_exact() => true,
            (true, true) => out_of_range == OutOfRange::Error,
            (false, true) => rounding == Rounding::TowardsZero && out_of_range == OutOfRange::Error,
            (_, false) => rounding == Rounding::NearestEven,
        };
        // To its own type it hands out the same buffer again.
        if case.affine != Scaling::None || !case.map.is_empty() || source == target || !mode {
            return None;
        }
        let array = arrow_data(source, input)?;
        Some(Box::new(Bound { array, target: data_type(target)?, result: None }))
    }
}

struct Bound {
    array: ArrayRef,
    target: DataType,
    result: Option<ArrayRef>,
}

impl Contender for Bound {
    fn run(&mut self, _input: &[u8], _output: &mut [u8]) -> Verdict {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        // The last result goes first, so that its memory can serve again.
        self.result = None;
        let result = cast_with_options(&self.array, &self.target, &options);
        self.result = Some(result.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn fetch(&self, output: &mut [u8]) {
        let data = self.result.as_ref().map(Array::to_data);
        let bytes = data.as_ref().and_then(|data| data.buffers().first()).map(Buffer::as_slice);
        if let Some(bytes) = bytes.filter(|bytes| bytes.len() == output.len()) {
            output.copy_from_slice(bytes);
        }
    }
}

fn arrow_data(element_type: ElementType, bytes: &[u8]) -> Option<ArrayRef> {
    let data = ArrayData::builder(data_type(element_type)?)
        .len(bytes.len() / element_type.size())
        .add_buffer(Buffer::from_slice_ref(bytes))
        .build()
        .ok()?;
    Some(make_array(data))
}

const fn data_type(element_type: ElementType) -> Option<DataType> {
    Some(match element_type {
        ElementType::UInt8 => DataType::UInt8,
        ElementType::UInt16 => DataType::UInt16,
        ElementType::UInt32 => DataType::UInt32,
        ElementType::UInt64 => DataType::UInt64,
        ElementType::Int8 => DataType::Int8,
        ElementType::Int16 => DataType::Int16,
        ElementType::Int32 => DataType::Int32,
        ElementType::Int64 => DataType::Int64,
        ElementType::Float16 => DataType::Float16,
        ElementType::Float32 => DataType::Float32,
        ElementType::Float64 => DataType::Float64,
        _ => return None,
    })
}
