//! Reports as text, JSON and HTML.

pub(crate) mod cf;
pub(crate) mod compare;
mod counts;
mod errors;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod migrate;
pub(crate) mod pack;
pub(crate) mod packed;
pub(crate) mod page;
mod plots;
mod readers;
pub(crate) mod table;
pub(crate) mod unpack;
