//! Chooses the codecs that pack an array: from a survey, the candidates one after the other, from coarse to fine. Each is
//! bound and checked for the range, the fill value, NaN and the survey's sample, so only the error of each element
//! remains to be checked. Whoever checks the elements asks for the next candidate if one element is wrong.
//!
//! What is known and what is made of it, from the bottom up; everything else is functions over these:
//!
//! - `placement`: a scale, an offset and a stored type; `working`: the type of the arithmetic, and how much it rounds;
//! - `goals`: the bounds that are asked for, as one of every element; `facts`: options, survey and working type. They are found once, in float64 if `products` knows that only a division in
//!   float64 gives the values;
//! - `candidate`: the codecs of a placement, bound; `room` knows which values codecs can store.
//!
//! Evidence for a candidate: `grids` (what the survey knows of round steps), `proof` (what the arithmetic guarantees),
//! `sample` (the survey's sample and excerpts, encoded and decoded), `ends` (whether the range of the data and 0 stay).
//!
//! The way to a candidate: `scales` lists the steps to try, `codes` finds codes for NaN, missing markers and fill values,
//! `bind` makes a candidate of a placement, `placements` finds the offset and the smallest type for a scale, `offsets`
//! moves the values inside the type, `candidates` is the iterator over all of this, `compression` finds the codecs after a
//! candidate's, and `choice` is the interface for callers of the library. `inverse` searches for a scale beside 1/step.

mod bind;
pub(crate) mod candidate;
pub(crate) mod candidates;
pub(crate) mod choice;
pub(crate) mod codes;
pub(crate) mod compression;
mod ends;
pub(crate) mod facts;
pub(crate) mod goals;
mod grids;
pub(crate) mod inverse;
mod offsets;
pub(crate) mod placement;
mod placements;
mod products;
pub(crate) mod proof;
pub(crate) mod room;
mod sample;
mod scales;
#[cfg(test)]
mod tests;
mod working;
