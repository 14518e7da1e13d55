//! The numbers that options take.

/// Which numbers an option takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers {
    NotNegative,
    Positive,
    /// From 0 to below 1.
    Fraction,
}

impl Numbers {
    pub(crate) fn contain(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::NotNegative => number >= 0.0,
                Self::Positive => number > 0.0,
                Self::Fraction => (0.0..1.0).contains(&number),
            }
    }

    /// The end of an error about another number.
    pub(crate) fn needed(self) -> &'static str {
        match self {
            Self::NotNegative => "a finite number that is not negative is needed",
            Self::Positive => "a finite number above 0 is needed",
            Self::Fraction => "a number from 0 to below 1 is needed, 0.01 for 1 %",
        }
    }
}
