//! The jobs: each reads its settings, works through chunks, and returns a typed report.

pub(crate) mod cat;
pub(crate) mod cf;
mod closest;
pub(crate) mod compare;
pub(crate) mod group;
pub(crate) mod info;
pub(crate) mod migrate;
pub(crate) mod pack;
pub(crate) mod runner;
pub(crate) mod suggest;
pub(crate) mod unpack;
