//! Reports as text, JSON and HTML.

mod cf;
mod compare;
mod counts;
mod errors;
mod group;
mod info;
mod links;
mod migrate;
mod pack;
pub(crate) mod page;
mod plots;
mod readers;
pub(crate) mod report;
mod suggest;
mod table;
mod unpack;

pub use report::Shown;
pub use suggest::suggestion_text_and_html;
