//! `numkong::cast`: nearest-even, saturating (NaN to an integer gives 0), no checks, no maps.

use numkong::CastDtype;
use recast_kernels::{ElementType, Rounding};

use super::{Contender, Peer, Verdict, clamps};
use crate::cases::{Case, Scaling};

pub(super) struct NumKong;

impl Peer for NumKong {
    fn name(&self) -> &'static str {
        "numkong"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        let same = case.is_exact() || case.rounding == Rounding::NearestEven && clamps(case);
        if case.affine != Scaling::None || !case.map.is_empty() || !same {
            return None;
        }
        by_source(case)
    }
}

/// Calls a function with numkong's type for an element type. Its `e4m3` is not one of Zarr's.
macro_rules! with_numkong_type {
    ($element_type:expr, $type:ident => $call:expr) => {
        match $element_type {
            ElementType::UInt8 => {
                type $type = u8;
                $call
            }
            ElementType::UInt16 => {
                type $type = u16;
                $call
            }
            ElementType::UInt32 => {
                type $type = u32;
                $call
            }
            ElementType::UInt64 => {
                type $type = u64;
                $call
            }
            ElementType::Int8 => {
                type $type = i8;
                $call
            }
            ElementType::Int16 => {
                type $type = i16;
                $call
            }
            ElementType::Int32 => {
                type $type = i32;
                $call
            }
            ElementType::Int64 => {
                type $type = i64;
                $call
            }
            ElementType::Float16 => {
                type $type = numkong::f16;
                $call
            }
            ElementType::BFloat16 => {
                type $type = numkong::bf16;
                $call
            }
            ElementType::Float32 => {
                type $type = f32;
                $call
            }
            ElementType::Float64 => {
                type $type = f64;
                $call
            }
            ElementType::Float8E5M2 => {
                type $type = numkong::e5m2;
                $call
            }
            ElementType::Float6E2M3Fn => {
                type $type = numkong::e2m3;
                $call
            }
            ElementType::Float6E3M2Fn => {
                type $type = numkong::e3m2;
                $call
            }
            _ => None,
        }
    };
}

fn by_source(case: &Case) -> Option<Box<dyn Contender>> {
    with_numkong_type!(case.source, S => by_target::<S>(case))
}

fn by_target<S: CastDtype + 'static>(case: &Case) -> Option<Box<dyn Contender>> {
    with_numkong_type!(case.target, T => Some(convert::<S, T>()))
}

fn convert<S: CastDtype + 'static, T: CastDtype + 'static>() -> Box<dyn Contender> {
    Box::new(|input: &[u8], output: &mut [u8]| -> Verdict {
        // SAFETY: every type of `with_numkong_type` is an integer, a float, or a transparent wrapper
        // of one: any bits are a value, and there is no padding.
        let (before, input, after) = unsafe { input.align_to::<S>() };
        // SAFETY: as above; and any value of such a type is a valid byte.
        let (out_before, output, out_after) = unsafe { output.align_to_mut::<T>() };
        if !(before.is_empty() && after.is_empty() && out_before.is_empty() && out_after.is_empty())
        {
            return Err("the buffers are not aligned".into());
        }
        numkong::cast(input, output).ok_or_else(|| "the lengths differ".into())
    })
}
