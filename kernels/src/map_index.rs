//! The one-element reference for steps with long maps, whose keys it would compare one by one.

use alloc::vec::Vec;

use crate::key_table::KeyTable;
use crate::{CastError, Reason, Scalar, Step, reference};

/// Entries up to which a map is searched in order.
const SEARCHED: usize = 16;

/// For each step the table of its map, if it is a cast with a long one.
pub(crate) struct MapIndex(Vec<Option<KeyTable>>);

impl MapIndex {
    pub(crate) fn new(steps: &[Step]) -> Self {
        let table = |step: &Step| match step {
            Step::Cast(cast) if cast.map.len() > SEARCHED => {
                let keys = cast.map.iter().zip(1..).map(|((key, _), number)| (key.key(), number));
                Some(KeyTable::new(keys))
            }
            Step::Cast(_) | Step::Scale(_) | Step::Unscale(_) => None,
        };
        Self(steps.iter().map(table).collect())
    }

    /// As [`reference::run`], for the steps that this is of.
    ///
    /// # Errors
    /// As [`reference::run`].
    pub(crate) fn run(
        &self,
        input: Scalar,
        steps: &[Step],
        index: usize,
    ) -> Result<Scalar, CastError> {
        reference::run_by(input, steps, index, |value, position, step| {
            self.step(value, position, step)
        })
    }

    fn step(&self, value: Scalar, position: usize, step: &Step) -> Result<Scalar, Reason> {
        if let Step::Cast(cast) = step
            && let Some(Some(table)) = self.0.get(position)
        {
            let index = table.find(value.key()).checked_sub(1);
            let entry = index.and_then(|index| cast.map.get(index as usize));
            return reference::cast_unless_mapped(value, cast, entry);
        }
        reference::step(value, step)
    }
}
