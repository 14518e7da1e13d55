//! Rust's own `as`, and for the chains the plain loop that one would write with it, as this crate is
//! compiled (without CPU-specific options).
//!
//! Where it differs for elements out of range or not finite: to integers, a float saturates and NaN
//! gives 0; an integer wraps.

use bytemuck::Pod;
use num_traits::{AsPrimitive, Float};
use recast_kernels::{OutOfRange, Rounding};

use super::{Contender, Peer, clamps, typed};
use crate::cases::{Case, OFFSET, SCALE, Scaling, constant, with_types};

pub(super) struct RustAs;

impl Peer for RustAs {
    fn name(&self) -> &'static str {
        "rust as"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        if !case.map.is_empty() {
            return None;
        }
        let nearest = case.rounding == Rounding::NearestEven;
        match case.affine {
            Scaling::Encode if nearest && clamps(case) => {
                with_types!(case, encode, [f32, f64], [u8, u16, i16, i32]);
            }
            Scaling::Decode => with_types!(case, decode, [u8, u16, i16, i32], [f32, f64]),
            Scaling::None if means_the_same(case) => with_types!(
                case,
                convert,
                [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64],
                [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64]
            ),
            _ => {}
        }
        None
    }
}

fn means_the_same(case: &Case) -> bool {
    let Case { source, target, rounding, out_of_range, .. } = case;
    match (source.is_integer(), target.is_integer()) {
        _ if case.is_exact() => true,
        (true, true) => *out_of_range == OutOfRange::Wrap,
        (false, true) => *rounding == Rounding::TowardsZero && clamps(case),
        (_, false) => *rounding == Rounding::NearestEven,
    }
}

fn convert<S: AsPrimitive<T> + Pod, T: Pod>(_case: &Case) -> Box<dyn Contender> {
    typed(|input: &[S], output: &mut [T]| {
        for (from, to) in input.iter().zip(output) {
            *to = from.as_();
        }
        Ok(())
    })
}

/// The same constants as the plan's.
fn constants<F: Pod>(element_type: recast_kernels::ElementType) -> Option<(F, F)> {
    let read =
        |value| bytemuck::try_pod_read_unaligned(&constant(value, element_type).to_ne_bytes()).ok();
    Some((read(OFFSET)?, read(SCALE)?))
}

trait TiesToEven {
    fn ties_to_even(self) -> Self;
}

impl TiesToEven for f32 {
    fn ties_to_even(self) -> Self {
        self.round_ties_even()
    }
}

impl TiesToEven for f64 {
    fn ties_to_even(self) -> Self {
        self.round_ties_even()
    }
}

fn encode<S: Float + TiesToEven + AsPrimitive<T> + Pod, T: Pod>(case: &Case) -> Box<dyn Contender> {
    let constants = constants::<S>(case.source);
    typed(move |input: &[S], output: &mut [T]| {
        let (offset, scale) = constants.ok_or("no constants")?;
        for (from, to) in input.iter().zip(output) {
            *to = ((*from - offset) * scale).ties_to_even().as_();
        }
        Ok(())
    })
}

fn decode<S: AsPrimitive<T> + Pod, T: Float + Pod>(case: &Case) -> Box<dyn Contender> {
    let constants = constants::<T>(case.target);
    typed(move |input: &[S], output: &mut [T]| {
        let (offset, scale) = constants.ok_or("no constants")?;
        for (from, to) in input.iter().zip(output) {
            *to = from.as_() / scale + offset;
        }
        Ok(())
    })
}
