//! Rounds elements within a bound so that they stay elements of their type, with zeros as their last bits: what needs no
//! value codec to be read, and compresses well.
//!
//! The files from the bottom up: `loops` goes over elements, `floats` and `integers` round to multiples of a power of
//! two, `mantissas` to a number of bits, `rounder` picks one for a bound and keeps the values that must not change, and
//! `seen` finds out how elements were rounded.

mod floats;
mod integers;
mod loops;
mod mantissas;
pub(crate) mod rounder;
pub(crate) mod seen;
