//! `recast_kernels::reference`, one element at a time: what the kernels save.

use recast_kernels::{Scalar, reference};

use super::{Contender, Peer, Verdict};
use crate::cases::Case;

pub(super) struct Reference;

impl Peer for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        let (source, size) = (case.source, case.target.size());
        let steps = case.steps();
        Some(Box::new(move |input: &[u8], output: &mut [u8]| -> Verdict {
            let pairs = input.chunks_exact(source.size()).zip(output.chunks_exact_mut(size));
            for (index, (from, to)) in pairs.enumerate() {
                let value = Scalar::from_ne_bytes(source, from).ok_or("not an element")?;
                let value = reference::run(value, &steps, index).map_err(|e| e.to_string())?;
                assert!(value.write_ne_bytes(to), "an element of the target's size");
            }
            Ok(())
        }))
    }

    /// Its time is the same for each element: a few of them will do.
    fn elements(&self, n: usize) -> usize {
        n.min(256)
    }
}
