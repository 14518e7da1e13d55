//! Loops over a block's elements that the compiler turns into vector instructions.
//!
//! The lanes make the order of the additions the same on every CPU.

use pulp::Arch;

use super::number::Number;

/// Runs a loop over numbers, with the widest registers of the CPU if registers hold such numbers. The loop and all that it
/// calls are `#[inline(always)]`: a function of its own would not have these registers.
pub(crate) fn vectorized<N: Number, R>(work: impl FnOnce() -> R) -> R {
    if N::IN_REGISTERS { Arch::new().dispatch(work) } else { work() }
}

/// Elements side by side. The compiler vectorises a loop over this many, but unrolls one over fewer into single
/// instructions.
pub(crate) const LANES: usize = 32;

/// Some elements, padded with copies of one of them.
#[inline(always)]
pub(crate) fn padded<N: Copy, const M: usize>(elements: &[N], one: N) -> [N; M] {
    let mut row = [one; M];
    for (place, &element) in row.iter_mut().zip(elements) {
        *place = element;
    }
    row
}

/// Values that elements are compared with. Arrays stay in registers.
pub(crate) trait FewValues<N>: Copy {
    fn has(self, x: N) -> bool;
}

impl<N: Number, const M: usize> FewValues<N> for [N; M] {
    #[inline(always)]
    fn has(self, x: N) -> bool {
        let mut has = false;
        for value in self {
            has |= x == value;
        }
        has
    }
}

impl<N: Number> FewValues<N> for &[N] {
    #[inline(always)]
    fn has(self, x: N) -> bool {
        self.contains(&x)
    }
}

/// Calls a function with values of a type of number, which are an array if there are few.
macro_rules! with_values {
    ($number:ty, $values:expr, $call:expr) => {
        match *$values {
            [] => $call([]),
            [one] => $call([one]),
            // A constant: the code below is not compiled for such numbers.
            _ if !<$number>::IN_REGISTERS => $call($values),
            [one, ref rest @ ..] if rest.len() < 4 => {
                $call($crate::scan::lanes::padded::<_, 4>(rest, one))
            }
            [one, ref rest @ ..] if rest.len() < 8 => {
                $call($crate::scan::lanes::padded::<_, 8>(rest, one))
            }
            _ => $call($values),
        }
    };
}
pub(crate) use with_values;
