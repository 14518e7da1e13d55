//! Stores of objects, in which outputs appear object by object.

use std::sync::atomic::AtomicBool;

#[cfg(feature = "object-store")]
use super::remote::Remote;
use crate::error::Result;

/// When readers of a store see what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// At once. Chunks come first and metadata last, so that an unfinished array does not open.
    AtOnce,
    /// As `AtOnce`, and nothing can be removed, as in a zip file.
    Forever,
    /// When the caller commits a transaction. Metadata come first: such stores take chunks of known arrays only.
    OnCommit,
}

/// A place in a store. Keys are relative to it.
pub(super) trait Objects: Send + Sync {
    fn visibility(&self) -> Visibility;

    /// The keys of all objects there.
    fn keys(&self) -> Result<Vec<String>>;

    /// Stores an object under a key. An interruption ends the wait for the store.
    fn put(&self, key: &str, bytes: Vec<u8>, interrupt: &AtomicBool) -> Result<()>;

    /// Removes the objects under keys; a missing object is not an error.
    fn remove(&self, keys: &[String]) -> Result<()>;
}

#[cfg(feature = "object-store")]
impl Objects for Remote {
    fn visibility(&self) -> Visibility {
        Visibility::AtOnce
    }

    fn keys(&self) -> Result<Vec<String>> {
        Remote::keys(self)
    }

    fn put(&self, key: &str, bytes: Vec<u8>, interrupt: &AtomicBool) -> Result<()> {
        Remote::put(self, key, bytes, interrupt)
    }

    fn remove(&self, keys: &[String]) -> Result<()> {
        Remote::remove(self, keys)
    }
}
