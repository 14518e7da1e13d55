//! Places of arrays and groups: keys and bytes that are read, and output that is staged before it appears.

#[cfg(feature = "object-store")]
mod answers;
pub(crate) mod bare;
pub(crate) mod destination;
pub(crate) mod files;
pub(crate) mod limited;
pub(crate) mod links;
pub(crate) mod local;
pub(crate) mod location;
pub(crate) mod mount;
pub(crate) mod names;
pub(crate) mod nearest;
pub(crate) mod parse;
#[cfg(feature = "object-store")]
mod remote;
mod schemes;
#[cfg(feature = "object-store")]
mod servers;
pub(crate) mod staged_file;
pub(crate) mod staging;
pub(crate) mod transfer;
pub(crate) mod unchanged;
mod upload;
mod zip;
