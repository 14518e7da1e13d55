//! The search for codecs: candidates from coarse to fine, until every element of the array is right.

use recast_kernels::Scalar;

use super::encode::Scope;
use super::job::{Job, sample};
use super::report::Suspect;
use crate::check::comparison::Violation;
use crate::check::tolerance::Tolerance;
use crate::choose::packing::{Packing, SpecialLost};
use crate::choose::search::Search;
use crate::error::Result;
use crate::options::PackOptions;
use crate::scan::missing::{Markers, customary_markers};
use crate::scan::surveyor::survey;
use crate::text::{count, scalar_text};

/// Bytes of decoded chunks that a dry run tries, more or less.
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
            Err(failure) => failure.unwrap_or_else(|| search.too_fine()),
        };
        Err(self.with_suspects(self.explained(failure))?)
    }

    /// Encodes the other arrays, decodes them again and compares: the codecs are those of all of them
    /// only if every element of each is right.
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

    /// Adds to the last failure what was asked for.
    pub(super) fn explained(&self, failure: anyhow::Error) -> anyhow::Error {
        if self.options().is_explicit() {
            return failure.context(self.input());
        }
        let range = self.all.to_store();
        let range = range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = *self.options();
        // Where values fall together with a missing one, finer steps part them.
        let is_collision =
            failure.downcast_ref::<Violation>().is_some_and(|violation| violation.is_collision)
                || failure.is::<SpecialLost>();
        let way = if is_collision { "try a smaller" } else { "allow a larger" };
        let (how, hint) = if let Some(bound) = max_abs_error {
            (format!("within {bound:?} "), format!("{way} --max-abs-error"))
        } else if let Some(bound) = max_rel_error {
            (format!("within {bound:?} of each "), format!("{way} --max-rel-error"))
        } else if let Some(step) = precision {
            (format!("as multiples of {step:?} "), format!("{way} --precision"))
        } else {
            (String::new(), "use --max-abs-error".to_owned())
        };
        let target = match self.options().data_type {
            Some(target) => target.to_string(),
            None if max_rel_error.is_some() => "any smaller floating-point type".to_owned(),
            None => "any integer type".to_owned(),
        };
        let wider = if self.options().data_type.is_some() { " or a wider --data-type" } else { "" };
        let narrower = if self.all.promised.is_some() { " or a narrower --range" } else { "" };
        let context = format!(
            "{}: the {} values{} cannot be kept {how}in {target}, {hint}{wider}{narrower}",
            self.input(),
            self.all.element_type,
            range.unwrap_or_default()
        );
        failure.context(context)
    }

    /// Adds to a failure which values look like missing ones that nothing names, and how many there are.
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
        let values: Vec<String> =
            suspects.iter().map(|suspect| scalar_text(Some(suspect.value))).collect();
        Ok(failure.context(format!(
            "{} {} like missing values, which nothing names; if that is so, use --missing {}",
            named.join(" and "),
            if values.len() == 1 { "looks" } else { "look" },
            values.join(" ")
        )))
    }

    /// The values of this array that were packed as data although they look like missing ones, which stand far
    /// from all others.
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
