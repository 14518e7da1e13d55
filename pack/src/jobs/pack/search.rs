//! Searches for codecs: tries candidates from coarse to fine until every element of the array is right.

use recast_kernels::Scalar;

use super::encode::Scope;
use super::job::{Job, sample};
use super::report::Suspect;
use crate::check::tolerance::Tolerance;
use crate::choose::packing::Packing;
use crate::choose::search::Search;
use crate::error::Result;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::surveyor::survey;
use crate::text::{count, scalar_text};

/// The approximate bytes of decoded chunks that a dry run tries.
pub(super) const DRY_RUN_SAMPLE: u64 = 64 << 20;

impl Job<'_> {
    /// Tries one candidate after the other, until every element is right.
    pub(super) fn find<T>(
        &self,
        search: &Search<'_>,
        attempt: impl Fn(Packing, Tolerance) -> Result<T>,
    ) -> Result<T> {
        let tolerance = search.tolerance();
        let found = search.find(|packing| {
            self.try_others(tolerance, &packing)?;
            attempt(packing, tolerance)
        });
        let failure = match found? {
            Ok(done) => return Ok(done),
            Err(failure) => search.explained(failure),
        };
        Err(self.with_suspects(failure)?)
    }

    /// Encodes the other arrays, decodes them and compares: the codecs fit all arrays only if every element of each is
    /// right.
    fn try_others(&self, tolerance: Tolerance, packing: &Packing) -> Result<()> {
        for member in self.members().skip(1) {
            let packing = packing.beside(member.survey.fill_value)?;
            if self.is_dry_run {
                let sample = sample(member.source, DRY_RUN_SAMPLE)?;
                member.encode_chunks(packing, tolerance, Scope::Some(&sample))?;
            } else {
                member.encode_chunks(packing, tolerance, Scope::Judged)?;
            }
        }
        Ok(())
    }

    /// Adds to a failure the values that look like missing ones that no attribute names, and their counts.
    fn with_suspects(&self, failure: anyhow::Error) -> Result<anyhow::Error> {
        let suspects = customary_markers(self.all.data_range);
        if suspects.is_empty() {
            return Ok(failure);
        }
        let members = self.members();
        let suspects = Self::counted(members, &suspects)?;
        let named = suspects.iter().map(|Suspect { value, count: number }| {
            let elements = if *number == 1 { "element" } else { "elements" };
            format!("{} ({} {elements})", scalar_text(Some(*value)), count(*number))
        });
        let named: Vec<String> = named.collect();
        let values: Vec<Scalar> = suspects.iter().map(|suspect| suspect.value).collect();
        Ok(failure.context(advice_on_suspects(&named, &values)))
    }

    /// The values of this array that were packed as data but look like missing ones, because they are far from all
    /// others.
    pub(super) fn suspects(&self) -> Result<Vec<Suspect>> {
        let ends = customary_markers(self.survey.data_range);
        let mut markers = Markers::default();
        markers.extend(ends.iter().copied());
        let sample = markers.range_of_others(self.survey.element_type, &self.survey.sample)?;
        let is_far = |suspect: &Scalar| {
            let Some((least, greatest)) = sample else { return true };
            let value = suspect.to_f64();
            let gap = (least - value).max(value - greatest);
            gap > greatest - least
        };
        let far: Vec<Scalar> = ends.into_iter().filter(is_far).collect();
        Self::counted([*self].into_iter(), &far)
    }

    /// Counts some values in arrays, in a pass over each if there are any to count.
    fn counted(arrays: impl Iterator<Item = Self>, values: &[Scalar]) -> Result<Vec<Suspect>> {
        let mut suspects: Vec<Suspect> =
            values.iter().map(|&value| Suspect { value, count: 0 }).collect();
        for array in arrays.filter(|_| !values.is_empty()) {
            let mut markers = array.survey.markers.clone();
            markers.extend(values.iter().copied());
            let found = survey(array.source, &markers, array.workers)?;
            for suspect in &mut suspects {
                suspect.count += found.count(suspect.value);
            }
        }
        Ok(suspects)
    }
}
