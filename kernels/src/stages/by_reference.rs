//! Steps by the reference, an element after the other: where there is no loop for them, and for the pieces of a block that
//! a loop has flagged.

use core::mem::MaybeUninit;

use bytemuck::Pod;
use num_traits::{AsPrimitive, PrimInt};

use super::{GRANULE, Run, Stage, Unaligned, elements, output_elements};
use crate::reference::Reference;
use crate::{CastError, ElementType, Scalar, Step};

/// The steps of a plan on bytes.
pub(crate) struct ByReference {
    reference: Reference,
    source: ElementType,
    target: ElementType,
    swap_input: bool,
    swap_output: bool,
}

impl ByReference {
    /// `swap_input` and `swap_output` say whether elements are in the other byte order.
    pub(crate) fn new(
        source: ElementType,
        steps: &[Step],
        [swap_input, swap_output]: [bool; 2],
    ) -> Self {
        let target = steps.iter().fold(source, |source, step| step.target(source));
        let reference = Reference::new(source, steps);
        Self { reference, source, target, swap_input, swap_output }
    }

    /// The stage of a step.
    pub(crate) fn stage(source: ElementType, step: &Step) -> Stage {
        let work = Self::new(source, core::slice::from_ref(step), [false; 2]);
        let sizes = (source.size(), work.target.size());
        Stage::new(work, sizes, true, 1)
    }

    /// Runs the steps; `start` is the index of the first element. Initialises all of `output` if it holds as many elements as
    /// `input` and none fails.
    ///
    /// # Errors
    /// The first element that fails.
    pub(crate) fn run_from(
        &self,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
        start: usize,
    ) -> Result<(), CastError> {
        let Self { reference, source, target, swap_input, swap_output } = self;
        let (mut from, mut to) = ([0; GRANULE], [0; GRANULE]);
        let inputs = input.chunks(GRANULE * source.size());
        let outputs = output.chunks_mut(GRANULE * target.size());
        for ((input, output), start) in inputs.zip(outputs).zip((start..).step_by(GRANULE)) {
            let len = input.len() / source.size();
            let (from, to) = (&mut from[..len], &mut to[..len]);
            match source.size() {
                1 => read::<u8>(input, *swap_input, from),
                2 => read::<u16>(input, *swap_input, from),
                4 => read::<u32>(input, *swap_input, from),
                _ => read::<u64>(input, *swap_input, from),
            }
            if source.bits() < 8 {
                for bits in &mut *from {
                    *bits = Scalar::from_bits(*source, *bits).bits();
                }
            }
            reference.run(from, to, start)?;
            match target.size() {
                1 => write::<u8>(to, *swap_output, output),
                2 => write::<u16>(to, *swap_output, output),
                4 => write::<u32>(to, *swap_output, output),
                _ => write::<u64>(to, *swap_output, output),
            }
        }
        Ok(())
    }
}

// SAFETY: `run_from` initialises the output if no element fails; else all of it is set to zero.
unsafe impl Run for ByReference {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let failed = self.run_from(input, output, 0).is_err();
        if failed {
            output.fill(MaybeUninit::new(0));
        }
        failed
    }
}

/// The bits of elements, as many as there are places.
fn read<T: PrimInt + Pod + Into<u64>>(input: &[u8], swap: bool, bits: &mut [u64]) {
    for (from, to) in elements::<T>(input).iter().zip(bits) {
        let element = from.0;
        *to = if swap { element.swap_bytes() } else { element }.into();
    }
}

/// The elements with these bits.
fn write<T>(bits: &[u64], swap: bool, output: &mut [MaybeUninit<u8>])
where
    T: PrimInt + Pod,
    u64: AsPrimitive<T>,
{
    for (from, to) in bits.iter().zip(output_elements::<T>(output)) {
        let element: T = from.as_();
        to.write(Unaligned(if swap { element.swap_bytes() } else { element }));
    }
}
