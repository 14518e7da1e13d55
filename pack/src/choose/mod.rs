//! Chooses the codecs that pack an array: from a survey, the candidates one after the other, from coarse to fine. Each is
//! bound and checked for the range, the fill value, NaN and the survey's sample, so only the error of each element
//! remains to be checked. Whoever checks them asks for the next candidate if one is wrong.
//!
//! The files from the bottom up: `chooser` knows the values, `scales` lists the steps to try, `products` knows values that
//! only a division in float64 gives, `codes` finds
//! codes for NaN, missing markers and fill values, `room` knows which values codecs can store, `bind` makes
//! a `candidate` from a scale, an offset and a type, `placements` finds the offset and the smallest type, `sample`
//! tries a candidate on the survey's sample and excerpts, `ends` knows whether it keeps the range of the data and 0, `offsets`
//! moves the values inside the type so that they keep these, compress better and have room on both sides, `candidates` is the iterator over all of this, `compression` finds
//! the codecs after a candidate's, and `choice` is the interface for callers of the library.

mod bind;
pub(crate) mod candidate;
mod candidates;
pub(crate) mod choice;
pub(crate) mod chooser;
pub(crate) mod codes;
pub(crate) mod compression;
mod ends;
mod offsets;
mod placements;
mod products;
pub(crate) mod room;
mod sample;
mod scales;
#[cfg(test)]
mod tests;
