//! Values that look like missing ones that no attribute names.

use recast_kernels::Scalar;

use super::context::PackContext;
use super::report::Suspect;
use crate::error::Result;
use crate::scan::missing::{Markers, advice_on_suspects, customary_markers};
use crate::scan::surveyor::survey;
use crate::text::{count, scalar_text};

impl PackContext<'_> {
    /// Adds to a failure the values that look like missing ones that no attribute names, and their counts.
    pub(super) fn with_suspects(&self, failure: anyhow::Error) -> Result<anyhow::Error> {
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
        let markers: Markers = ends.iter().copied().collect();
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
