//! The candidates for an array, one after the other: from coarse to fine, and each kept by the survey's sample.

use std::vec;

use anyhow::{anyhow, bail};
use recast_kernels::{ElementType, OutOfRange};

use super::candidate::{Candidate, SpecialLost};
use super::facts::Facts;
use super::grids::round_scale;
use super::offsets::best_offsets_first;
use super::placements::untried;
use super::proof::certain_excess;
use super::sample::{off, try_sample};
use crate::check::comparison::Violation;
use crate::error::Result;
use crate::options::PackOptions;
use crate::text::count;

/// The candidates, best first: coarser scales before finer scales, and of one scale the offset that compresses best. Each
/// candidate keeps the bound for the survey's sample. A caller asks for the next candidate after an element that the last
/// candidate loses.
pub(crate) struct Candidates<'a> {
    facts: &'a Facts<'a>,
    /// A candidate for each scale, coarsest first.
    untried: Box<dyn Iterator<Item = Result<Candidate>> + 'a>,
    /// The last candidate of `untried`, with other offsets.
    offsets: vec::IntoIter<Candidate>,
    /// Why the last candidate was refused.
    refusal: Option<anyhow::Error>,
    /// Whether the last candidate had the scale of a round grid.
    round_grid_failed: bool,
}

impl Iterator for Candidates<'_> {
    /// An error if infinities cannot be stored.
    type Item = Result<Candidate>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            // An interruption is no refusal.
            if let Err(interrupted) = self.facts.check_interrupt() {
                return Some(Err(interrupted));
            }
            if let Some(candidate) = self.offsets.next() {
                match certain_excess(self.facts, &candidate) {
                    None => return Some(Ok(candidate)),
                    Some(error) => self.refusal = Some(off(&candidate, error)),
                }
                continue;
            }
            let candidate = match self.untried.next()? {
                Ok(candidate) => candidate,
                // The finest scale comes last, and its refusal explains why the bound cannot be kept.
                Err(refusal) => {
                    self.refusal = Some(refusal);
                    continue;
                }
            };
            match self.with_best_offsets(candidate) {
                Ok(offsets) => self.offsets = offsets.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl<'a> Candidates<'a> {
    /// The candidates for an array, before any is tried.
    pub(crate) fn new(facts: &'a Facts<'a>) -> Self {
        Self {
            facts,
            untried: untried(facts),
            offsets: Vec::new().into_iter(),
            refusal: None,
            round_grid_failed: false,
        }
    }

    /// A candidate with its best offsets; none if the sample shows an error over the bound.
    fn with_best_offsets(&mut self, candidate: Candidate) -> Result<Vec<Candidate>> {
        let facts = self.facts;
        let grid = candidate.placement.scale.grid;
        if let Err(refusal) = refuse_infinity(facts, candidate.placement.target) {
            if !facts.options.lossless {
                return Err(refusal);
            }
            // Plain numbers come last.
            self.refusal = Some(refusal);
            return Ok(Vec::new());
        }
        if grid.is_some() && self.round_grid_failed {
            return Ok(Vec::new());
        }
        if !facts.options.is_explicit()
            && let Err(refusal) = try_sample(facts, &candidate)
        {
            self.refusal = Some(refusal);
            return Ok(Vec::new());
        }
        if let Some(error) = certain_excess(facts, &candidate) {
            self.refusal = Some(off(&candidate, error));
            return Ok(Vec::new());
        }
        // A grid that is not round comes from the sample; its failure says nothing about round grids.
        self.round_grid_failed =
            grid.is_some_and(|grid| round_scale(&facts.working, &grid).is_some());
        best_offsets_first(facts, candidate)
    }

    /// Takes the reason why the last candidate loses an element.
    ///
    /// # Errors
    /// Any reason but a [`Violation`]: another candidate would not help.
    pub(crate) fn reject(&mut self, why: anyhow::Error) -> Result<()> {
        if !why.is::<Violation>() {
            return Err(why);
        }
        self.refusal = Some(why);
        Ok(())
    }

    /// Why no candidate is left: the last refusal, with the request.
    pub(crate) fn explained(self) -> anyhow::Error {
        let Facts { options, survey, name, .. } = self.facts;
        let source = survey.element_type;
        // Without a scale to try, there is no refusal.
        let too_fine = || anyhow!("the arithmetic of {source} rounds by more than that");
        let refusal = self.refusal.unwrap_or_else(too_fine);
        if options.is_explicit() {
            return refusal.context(name.clone());
        }
        let range = survey.to_store();
        let range = range.map(|(least, greatest)| format!(" from {least} to {greatest}"));
        let PackOptions { max_abs_error, max_rel_error, precision, .. } = **options;
        // Finer steps separate values from a missing marker with the same code.
        let is_collision =
            refusal.downcast_ref::<Violation>().is_some_and(|violation| violation.is_collision)
                || refusal.is::<SpecialLost>();
        let way = if is_collision { "try a smaller" } else { "allow a larger" };
        let (how, hint) = if options.lossless {
            let hint = "--lossless needs that; leave --data-type out, and values that fit no smaller type stay as they are";
            ("without loss ".to_owned(), hint.to_owned())
        } else if let Some(bound) = max_abs_error {
            (format!("within {bound:?} "), format!("{way} {}", options.flag_of_bound()))
        } else if let Some(bound) = max_rel_error {
            (
                format!("within {bound:?} of each "),
                format!("{way} {}", options.flag_of_relative_bound()),
            )
        } else if let Some(step) = precision {
            (format!("as multiples of {step:?} "), format!("{way} --precision"))
        } else {
            (String::new(), "use --max-abs-error".to_owned())
        };
        let target = match options.data_type {
            Some(target) => target.to_string(),
            None if max_rel_error.is_some() => "any smaller floating-point type".to_owned(),
            None => "any integer type".to_owned(),
        };
        let wider = match options.data_type {
            Some(_) if options.out_of_range != OutOfRange::Error => {
                " or a wider --data-type, or cast values as they are with --scale 1"
            }
            Some(_) => " or a wider --data-type",
            None => "",
        };
        let narrower = if survey.promised.is_some() { " or a narrower --range" } else { "" };
        // Values between the surveyed values take finer steps.
        let is_for_more = options.is_for_more() && survey.promised.is_none();
        let grid = if is_for_more && max_abs_error.is_some() {
            "; if all values to come are on the grid of these, see --no-grid"
        } else {
            ""
        };
        let limits = if options.limits.is_some() { " or leave --limits out" } else { "" };
        let context = format!(
            "{name}: the {source} values{} cannot be kept {how}in {target} ({hint}{wider}{narrower}{limits}{grid})",
            range.unwrap_or_default()
        );
        refusal.context(context)
    }
}

/// Refuses a stored type without infinities, if the array has infinities.
fn refuse_infinity(facts: &Facts<'_>, target: ElementType) -> Result<()> {
    match &facts.survey.first_infinite {
        Some(first) if !target.has_infinity() => bail!(
            "{}: {first}, as {} in all, and {target} has no infinity; --infinity gives infinities \
             stored values of their own; or replace them first, or use --data-type float16, \
             float32 or float64",
            facts.name,
            count(facts.survey.infinite)
        ),
        _ => Ok(()),
    }
}
