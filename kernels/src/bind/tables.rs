//! Tables of all values of one byte, filled by the reference, and copies.

use alloc::vec::Vec;

use bytemuck::Pod;

use super::values::native;
use super::{int_to_int, vector};
use crate::level::{with_level, with_look_up_bytes};
use crate::reference::Reference;
use crate::stages::bytes::{CopyBytes, Table};
use crate::stages::{Stage, bind_loop};
use crate::{ElementType, Level, Scalar, Step};

/// One stage for all steps on a one-byte source, filled by the reference; without steps, elements with canonical unused bits.
pub(super) fn bind_table(source: ElementType, steps: &[Step], level: Level) -> Stage {
    fn table<T: Pod + Send + Sync>(results: &[Option<Scalar>]) -> Stage {
        let mut outputs = [T::zeroed(); 256];
        let mut fails = [0; 256];
        for ((output, fails), result) in outputs.iter_mut().zip(fails.iter_mut()).zip(results) {
            match result {
                Some(value) => *output = native(*value),
                None => *fails = 1,
            }
        }
        let fails = fails.contains(&1).then_some(fails);
        bind_loop(Table { outputs, fails })
    }
    let target = steps.iter().fold(source, |source, step| step.target(source));
    let reference = Reference::new(source, steps);
    let results: Vec<Option<Scalar>> = (0..=u8::MAX)
        .map(|byte| {
            let mut bits = [0];
            reference.run(&[Scalar::from_bits(source, byte.into()).bits()], &mut bits, 0).ok()?;
            Some(Scalar::from_bits(target, bits[0]))
        })
        .collect();
    match target.size() {
        1 => byte_table(&results, level).unwrap_or_else(|| table::<u8>(&results)),
        2 => table::<u16>(&results),
        4 => table::<u32>(&results),
        _ => table::<u64>(&results),
    }
}

/// The stage of a table of bytes, if the level has vectors: where an element fails, stands a byte that is no output. There
/// is one, for elements that fail leave fewer than 256 outputs.
fn byte_table(results: &[Option<Scalar>], level: Level) -> Option<Stage> {
    let outputs: Vec<Option<u8>> = results.iter().map(|result| result.map(native)).collect();
    let unused = (0..=u8::MAX).find(|byte| !outputs.contains(&Some(*byte)));
    let fails_on = if outputs.contains(&None) { Some(unused?) } else { None };
    let values: [_; 256] =
        core::array::from_fn(|byte| outputs[byte].or(fails_on).unwrap_or_default());
    with_look_up_bytes!(level, simd => vector::byte_table(simd, &values, fails_on))
}

/// Whether copies go through registers. `memcpy` of glibc copies more than some KiB with `rep movsb`, which takes 20 times as
/// long on a Zen 3 where output − input is 16 modulo 4,096 (glibc's bug 30994).
const BY_REGISTERS: bool = cfg!(target_arch = "x86_64");

/// Elements as they are, but for the unused bits of sub-byte types.
pub(super) fn copy(element: ElementType, level: Level) -> Stage {
    let size = element.size();
    if element.bits() < 8 {
        return with_level!(level, simd => int_to_int::canonical(simd, element))
            .unwrap_or_else(|| bind_table(element, &[], level));
    }
    if BY_REGISTERS
        && let Some(stage) = with_level!(level, simd => vector::move_bytes::<_, false>(simd, size))
    {
        return stage;
    }
    match size {
        1 => bind_loop(CopyBytes::<1>),
        2 => bind_loop(CopyBytes::<2>),
        4 => bind_loop(CopyBytes::<4>),
        _ => bind_loop(CopyBytes::<8>),
    }
}
