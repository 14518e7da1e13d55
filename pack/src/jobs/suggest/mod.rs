//! Suggests error bounds: looks at a sample of an array, or of those of a group, and lists what bounds from coarse to fine
//! would cost and lose.

mod array;
mod group;
mod ladder;

use recast_kernels::ElementType;
use serde::{Serialize, Serializer};
use zarr_recast::JsonScalar;

use crate::json;
use crate::options::{PackOptions, Requirement};
use crate::suggest::information::Information;
use crate::suggest::known::Known;
use crate::suggest::sample::Sampled;

pub use array::{SuggestFromBlocks, SuggestJob};
pub use group::SuggestGroupReport;

/// The cost and the loss of bounds, and the facts about the values that speak for a bound.
#[derive(Clone, Debug, Serialize)]
pub struct SuggestReport {
    /// The array.
    pub input: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// The type of its values.
    pub data_type: ElementType,
    /// The bytes of all its elements.
    pub bytes: u64,
    /// How much of it was read. Everything here is about that sample.
    pub sampled: Sampled,
    /// The facts about the values.
    pub known: Known,
    /// The information of their bits; `None` if it says nothing.
    pub information: Option<Information>,
    /// The reason if `information` is `None`.
    pub no_information: Option<String>,
    /// Sentences that belong before the ladder.
    pub notes: Vec<String>,
    /// Bounds, coarse to fine. Empty if there is nothing to choose.
    pub ladder: Vec<Rung>,
    /// The index in the ladder of the bound that the values suggest; `None` if they suggest none.
    pub recommended: Option<usize>,
    /// The recommendation for the array, if the job looked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advised>,
    /// Commands that pack the array, with the reason for each.
    pub suggestions: Vec<Suggestion>,
}

/// The recommendation for an array.
#[derive(Clone, Debug, Serialize)]
pub struct Advised {
    /// Who recommends it.
    pub by: String,
    /// The requirements on decoded values.
    pub requirements: Vec<Requirement>,
    /// Values that mark missing data.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "json::written")]
    pub missing: Vec<JsonScalar>,
    /// The same as options.
    #[serde(skip)]
    pub(crate) options: PackOptions,
}

impl SuggestReport {
    /// The rung that the values suggest.
    #[must_use]
    pub fn recommended(&self) -> Option<&Rung> {
        self.ladder.get(self.recommended?)
    }
}

/// A bound, with its cost and its loss.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rung {
    /// The bound: the largest allowed |decoded − original|.
    pub max_abs_error: f64,
    /// The bits that the values need with steps of twice the bound, or of their grid.
    pub bits: u32,
    /// The type of the stored elements.
    pub data_type: ElementType,
    /// The estimated bytes of the stored chunks.
    pub stored_bytes: u64,
    /// The bytes of all elements divided by those.
    pub ratio: f64,
    /// The largest |decoded − original| in the sample.
    pub largest_error: f64,
    /// The same divided by the range of the values; 0 if all are equal.
    pub error_over_range: f64,
    /// 10 log10 of the variance of the values over the mean of (decoded − original)², in dB; `None` without an error.
    pub snr_db: Option<f64>,
    /// The share of the information that it keeps; `None` if it is not known.
    pub information: Option<f64>,
    /// The reason why the bound stands out.
    pub mark: Option<Mark>,
    /// The same reason in words.
    pub reason: Option<String>,
}

/// The reason why a bound stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Every value of the sample comes back as it was.
    LosesNothing,
    /// Every value comes back as the multiple of the step that it was given as; only the rounding of its type differs.
    KeepsSteps,
    /// The bound keeps 99.9 % of the information.
    MostInformation,
    /// The bound keeps 99 % of the information.
    Information,
    /// The recommendation comes to this bound.
    Recommended,
}

impl Mark {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LosesNothing => "loses nothing",
            Self::KeepsSteps => "keeps every step",
            Self::MostInformation => "99.9 %",
            Self::Information => "99 %",
            Self::Recommended => "recommended",
        }
    }
}

impl Serialize for Mark {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A way to pack the array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    /// The arguments of `recast`.
    pub arguments: Vec<String>,
    /// The effect of the command.
    pub reason: String,
}
