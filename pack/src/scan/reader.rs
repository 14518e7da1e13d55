//! Reads elements of a type as numbers, block by block.

use recast_kernels::{Cast, ElementType, Plan};

use super::number::Number;
use crate::error::Result;

/// Elements that are converted at once; they fit the first-level cache.
pub(crate) const BLOCK: usize = 2048;

/// Reads elements of a type as numbers.
pub(crate) struct Reader<N> {
    element_type: ElementType,
    to_float64: Plan,
    number: std::marker::PhantomData<N>,
}

impl<N: Number> Reader<N> {
    pub(crate) fn new(element_type: ElementType) -> Result<Self> {
        let to_float64 = Cast::new(ElementType::Float64);
        let to_float64 = Plan::builder(element_type).cast(to_float64).build()?;
        Ok(Self { element_type, to_float64, number: std::marker::PhantomData })
    }

    /// The type of the elements.
    pub(crate) fn element_type(&self) -> ElementType {
        self.element_type
    }

    pub(crate) fn read(&self, bytes: &[u8]) -> Result<Vec<N>> {
        let mut numbers = Vec::with_capacity(bytes.len() / self.element_type.size());
        self.read_into(bytes, &mut numbers)?;
        Ok(numbers)
    }

    /// As [`Reader::read`], replacing the contents of `numbers`.
    pub(crate) fn read_into(&self, bytes: &[u8], numbers: &mut Vec<N>) -> Result<()> {
        numbers.clear();
        N::read(self.element_type, &self.to_float64, bytes, numbers)?;
        Ok(())
    }
}
