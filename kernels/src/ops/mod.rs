//! The arithmetic of elements: each algorithm once, over the registers of any level ([`Simd`](crate::simd::Simd)).

pub(crate) mod affine;
pub(crate) mod bytes;
pub(crate) mod float;
pub(crate) mod float_to_float;
pub(crate) mod float_to_int;
pub(crate) mod int;
pub(crate) mod int_to_float;
pub(crate) mod load;
pub(crate) mod small_float;
pub(crate) mod store;
pub(crate) mod substitute;
