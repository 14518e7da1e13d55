//! Two arrays of one shape, read together.

use std::path::Path;

use super::region::Region;
use super::source::Source;
use crate::error::Result;
use crate::runtime::{Pass, Workers};

/// Two arrays of one shape, for a pass over both.
#[derive(Clone, Copy)]
pub(crate) struct Pairs<'a> {
    a: &'a Source,
    b: &'a Source,
}

/// The stored elements of two arrays in a region; `None` for an array with nothing stored there, whose elements are the fill value.
pub(crate) type Stored = [Option<Vec<u8>>; 2];

impl<'a> Pairs<'a> {
    pub(crate) fn new(a: &'a Source, b: &'a Source) -> Self {
        Self { a, b }
    }

    /// The array whose chunks are the regions: the first, unless the chunks of the second are larger and only decoded whole.
    /// So a large chunk is not decoded again for each small one in it.
    fn guide(self) -> &'a Source {
        let Self { a, b } = self;
        if !b.reads_parts() && a.chunks() / 2 > b.chunks() { b } else { a }
    }

    /// The path of the first array.
    pub(crate) fn path(&self) -> &Path {
        self.a.path()
    }

    /// The number of regions.
    pub(crate) fn regions(self) -> u64 {
        self.guide().chunks()
    }

    /// A region.
    pub(crate) fn region(self, number: u64) -> Result<Region> {
        self.guide().region(number)
    }

    /// A region, and the stored elements of each array there.
    pub(crate) fn stored(self, number: u64) -> Result<(Region, Stored)> {
        let guide = self.guide();
        let region = guide.region(number)?;
        let read = |source: &Source| {
            if std::ptr::eq(source, guide) { source.read(&region) } else { source.read_at(&region) }
        };
        let stored = [read(self.a)?, read(self.b)?];
        Ok((region, stored))
    }

    /// A region, and the elements of both arrays there.
    pub(crate) fn elements(self, number: u64) -> Result<(Region, [Vec<u8>; 2])> {
        let (region, [a, b]) = self.stored(number)?;
        let elements = [self.a.or_fill(&region, a), self.b.or_fill(&region, b)];
        Ok((region, elements))
    }

    /// The elements of both arrays in any region, as [`Self::stored`] has them.
    pub(crate) fn stored_at(self, region: &Region) -> Result<Stored> {
        Ok([self.a.read_at(region)?, self.b.read_at(region)?])
    }

    /// A pass over all regions, as progress shows it.
    pub(crate) fn pass(self, name: &'static str) -> Pass {
        self.guide().pass(name)
    }

    /// Does `work` for the stored elements of each region, in parallel, and merges the results in order.
    pub(crate) fn merge<T: Send + Default>(
        self,
        pass: &'static str,
        workers: &Workers,
        work: impl Fn(&Region, Stored) -> Result<T> + Sync,
        merge: impl Fn(T, T) -> T,
    ) -> Result<T> {
        let one = |number| {
            let (region, stored) = self.stored(number)?;
            work(&region, stored)
        };
        workers.merge(self.guide().pass(pass), self.regions(), one, merge)
    }

    /// As [`Self::merge`], for the elements of both arrays.
    pub(crate) fn merge_elements<T: Send + Default>(
        self,
        pass: &'static str,
        workers: &Workers,
        work: impl Fn(&Region, [Vec<u8>; 2]) -> Result<T> + Sync,
        merge: impl Fn(T, T) -> T,
    ) -> Result<T> {
        let one = |number| {
            let (region, elements) = self.elements(number)?;
            work(&region, elements)
        };
        workers.merge(self.guide().pass(pass), self.regions(), one, merge)
    }
}
