//! The slice conversions of the crate `half`: float16 and bfloat16 from and to f32 and f64.
//!
//! It overflows to infinity, as clamp does.

use bytemuck::Pod;
use half::slice::HalfFloatSliceExt;
use recast_kernels::Rounding;

use super::{Contender, Peer, typed};
use crate::cases::{Bf16, Case, F16, Scaling, with_types};

pub(super) struct Half;

impl Peer for Half {
    fn name(&self) -> &'static str {
        "half"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        let same = case.is_exact() || case.rounding == Rounding::NearestEven;
        if case.affine == Scaling::None && case.map.is_empty() && same {
            with_types!(case, convert, [F16, Bf16], [f32, f64]);
            with_types!(case, convert, [f32, f64], [F16, Bf16]);
        }
        None
    }
}

fn convert<S: Pod, T: Pod>(_case: &Case) -> Box<dyn Contender>
where
    (): Conversion<S, T>,
{
    typed(|input: &[S], output: &mut [T]| {
        <()>::convert(input, output);
        Ok(())
    })
}

trait Conversion<S, T> {
    fn convert(input: &[S], output: &mut [T]);
}

macro_rules! conversions {
    ($($half:ty),*) => {$(
        impl Conversion<$half, f32> for () {
            fn convert(input: &[$half], output: &mut [f32]) {
                input.convert_to_f32_slice(output);
            }
        }
        impl Conversion<$half, f64> for () {
            fn convert(input: &[$half], output: &mut [f64]) {
                input.convert_to_f64_slice(output);
            }
        }
        impl Conversion<f32, $half> for () {
            fn convert(input: &[f32], output: &mut [$half]) {
                output.convert_from_f32_slice(input);
            }
        }
        impl Conversion<f64, $half> for () {
            fn convert(input: &[f64], output: &mut [$half]) {
                output.convert_from_f64_slice(input);
            }
        }
    )*};
}
conversions!(F16, Bf16);
