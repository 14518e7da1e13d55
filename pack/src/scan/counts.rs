//! How many elements are special, by kind.

use std::ops::AddAssign;

use serde::Serialize;

/// How many elements are special, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// NaN.
    pub nan: u64,
    /// Missing markers, besides NaN.
    pub missing: u64,
    /// The fill value, if it is not NaN. A comparison counts only a fill value that marks nothing.
    pub fill: u64,
    /// Infinite.
    pub infinite: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.nan += other.nan;
        self.missing += other.missing;
        self.fill += other.fill;
        self.infinite += other.infinite;
    }
}
