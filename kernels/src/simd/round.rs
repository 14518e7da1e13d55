//! A rounding as an argument of kernels.

use crate::Rounding;

/// A rounding, known when a kernel is compiled or when it runs.
pub(crate) trait Round: Copy + Send + Sync + 'static {
    fn rounding(self) -> Rounding;
}

/// [`Rounding::NearestEven`], the default, which has kernels of its own.
#[derive(Clone, Copy)]
pub(crate) struct NearestEven;

impl Round for NearestEven {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        Rounding::NearestEven
    }
}

/// Any rounding: the kernel branches on it, always the same way.
impl Round for Rounding {
    #[inline(always)]
    fn rounding(self) -> Rounding {
        self
    }
}
