//! The job that packs an array, and its state while codecs are tried.

use std::path::PathBuf;

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::error::Result;
use crate::io::metadata::{GRID, PROVENANCE};
use crate::io::region::{Region, spread};
use crate::io::source::Source;
use crate::options::PackOptions;
use crate::runtime::Workers;
use crate::scan::lattice::Lattice;
use crate::scan::survey::Survey;

/// Packs an array into a small type, in two passes over its chunks. The first chooses codecs. The second writes, and
/// decodes every element and compares it with the original.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a setting
pub struct PackJob {
    /// The array to read: Zarr v1, v2 or v3, with any codecs. A directory, a zip file or a URL.
    pub input: PathBuf,
    /// The Zarr v3 array to write.
    pub output: PathBuf,
    /// How to pack it.
    pub options: PackOptions,
    /// Combines the ranges of these arrays and `input`, so that packing each with this list gives all the same
    /// codecs.
    pub scale_from: Vec<PathBuf>,
    /// Replaces an array at `output`, once the new one is whole.
    pub overwrite: bool,
    /// Writes the attribute `recast`, which says where the values come from.
    pub provenance: bool,
    /// Gathers [`crate::Charts`] for the report, in a pass of their own.
    pub charts: bool,
}

impl PackJob {
    /// Packs `input` as `output`, with the command's default settings.
    #[must_use]
    pub fn new(
        input: impl Into<PathBuf>,
        output: impl Into<PathBuf>,
        options: PackOptions,
    ) -> Self {
        Self {
            input: input.into(),
            output: output.into(),
            options,
            scale_from: Vec::new(),
            overwrite: false,
            provenance: true,
            charts: false,
        }
    }
}

/// State that all candidates share.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) asked: &'a PackJob,
    pub(super) source: &'a Source,
    /// Its survey.
    pub(super) survey: &'a Survey,
    /// All arrays that get the same codecs, this one too.
    pub(super) together: &'a [Member<'a>],
    /// The survey of all of them.
    pub(super) all: &'a Survey,
    pub(super) workers: &'a Workers,
    pub(super) is_dry_run: bool,
}

/// An array that gets the same codecs as others.
pub(super) struct Member<'a> {
    pub(super) source: &'a Source,
    pub(super) survey: &'a Survey,
    /// The job that packs it; none if it only has its part in the choice of codecs.
    pub(super) asked: Option<&'a PackJob>,
}

impl<'a> Job<'a> {
    pub(super) fn options(&self) -> &'a PackOptions {
        &self.asked.options
    }

    pub(crate) fn input(&self) -> String {
        self.source.path().display().to_string()
    }

    /// The same job for each array that gets the same codecs.
    pub(super) fn members(&self) -> impl Iterator<Item = Self> {
        self.together.iter().map(|member| self.of(member, member.asked.unwrap_or(self.asked)))
    }

    /// The same job for each array that is packed.
    pub(super) fn packed(&self) -> impl Iterator<Item = Self> {
        self.together.iter().filter_map(|member| Some(self.of(member, member.asked?)))
    }

    /// The same job for each array that only has its part in the choice of codecs.
    pub(super) fn judged(&self) -> impl Iterator<Item = Self> {
        let judged = self.together.iter().filter(|member| member.asked.is_none());
        judged.map(|member| self.of(member, self.asked))
    }

    fn of(&self, member: &Member<'a>, asked: &'a PackJob) -> Self {
        Self { asked, source: member.source, survey: member.survey, ..*self }
    }

    /// The attributes of the output, if it keeps the bound for these values only.
    pub(super) fn attributes(&self, only: Option<Lattice>) -> Result<Map<String, Value>> {
        let mut attributes = self.source.array().attributes().clone();
        attributes.remove(PROVENANCE);
        if self.asked.provenance {
            let mut provenance = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "source_data_type": self.source.element_type().name(),
            });
            let object = provenance.as_object_mut().context("provenance is an object")?;
            let PackOptions { max_abs_error, error_over_range, .. } = self.options();
            for (name, bound) in
                [("max_abs_error", max_abs_error), ("error_over_range", error_over_range)]
            {
                if let Some(bound) = bound {
                    object.insert(name.into(), serde_json::to_value(bound)?);
                }
            }
            if let Some(grid) = only {
                object.insert(GRID.into(), serde_json::to_value(grid)?);
            }
            attributes.insert(PROVENANCE.into(), provenance);
        }
        Ok(attributes)
    }
}

/// A sample has at most this many chunks.
pub(super) const SAMPLE_CHUNKS: u64 = 256;

/// Some chunks, spread evenly, or the beginning of each.
#[derive(Clone, Debug)]
pub(super) struct Excerpt {
    pub(super) numbers: Vec<u64>,
    /// The most elements of each.
    most: u64,
}

/// Of long chunks several are sampled, because one says little about the others.
const LEAST_CHUNKS: u64 = 8;

impl Excerpt {
    /// Of approximately this many bytes, decoded.
    pub(super) fn new(source: &Source, bytes: u64) -> Result<Self> {
        let chunks = source.chunks();
        if chunks == 0 {
            return Ok(Self { numbers: Vec::new(), most: 0 });
        }
        let size = source.element_type().size() as u64;
        let of_chunk = source.region(0)?.elements() * size;
        let count = (bytes / of_chunk.max(1)).clamp(LEAST_CHUNKS, SAMPLE_CHUNKS).min(chunks);
        // A chunk is not cut for a few bytes more.
        let most = if of_chunk * count <= 2 * bytes { u64::MAX } else { bytes / count / size };
        Ok(Self { numbers: spread(chunks, count), most })
    }

    /// The part of a chunk that is sampled: all of it, or its beginning along the first axis that has one.
    pub(super) fn part(&self, region: Region) -> Region {
        let (elements, mut shape) = (region.elements(), region.shape.clone());
        if elements > self.most
            && let Some(longest) = shape.iter_mut().find(|extent| **extent > 1)
        {
            *longest = (*longest * self.most / elements).max(1);
        }
        Region { shape, ..region }
    }
}
