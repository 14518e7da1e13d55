//! Building a plan from steps, and running it.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use once_cell::race::OnceBox;
use thiserror::Error;

use crate::bind;
use crate::float_environment::in_default_environment;
use crate::level::CACHE_LINE;
use crate::non_temporal::NonTemporalStores;
use crate::stages::by_reference::ByReference;
use crate::stages::{self, Stage};
use crate::{
    Affine, BuildError, Cast, CastError, Element, ElementType, Level, OutOfRange, RunError, Scalar,
    Step,
};

/// Steps bound to an element type, ready to run over any number of slices.
///
/// A plan is immutable, `Send + Sync`, and cheap to clone.
#[derive(Clone, Debug)]
pub struct Plan {
    inner: Arc<Inner>,
}

struct Inner {
    source: ElementType,
    target: ElementType,
    steps: Vec<Step>,
    swap_input: bool,
    swap_output: bool,
    level: Level,
    stages: Vec<Stage>,
    /// For [`Plan::run_flagged`]; filled when it is first needed, which for most plans is never.
    reference: OnceBox<ByReference>,
}

// Nothing of a plan changes but `reference`, which is wholly there or not at all.
impl core::panic::UnwindSafe for Plan {}
impl core::panic::RefUnwindSafe for Plan {}

impl core::fmt::Debug for Inner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Plan")
            .field("source", &self.source)
            .field("steps", &self.steps)
            .field("swap_input", &self.swap_input)
            .field("swap_output", &self.swap_output)
            .field("level", &self.level)
            .finish_non_exhaustive()
    }
}

/// Collects the steps of a [`Plan`].
#[derive(Clone, Debug)]
#[must_use]
pub struct PlanBuilder {
    source: ElementType,
    steps: Vec<Step>,
    swap_input: bool,
    swap_output: bool,
    level: Option<Level>,
}

impl PlanBuilder {
    /// Adds a step.
    pub fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds a cast.
    pub fn cast(self, cast: Cast) -> Self {
        self.step(Step::Cast(cast))
    }

    /// Adds `(x − offset) · scale`.
    pub fn scale(self, parameters: Affine) -> Self {
        self.step(Step::Scale(parameters))
    }

    /// Adds `x / scale + offset`.
    pub fn inverse_scale(self, parameters: Affine) -> Self {
        self.step(Step::InverseScale(parameters))
    }

    /// Reverses the bytes of every input element before anything else: input in the other byte order.
    pub fn swap_input_bytes(mut self, swap: bool) -> Self {
        self.swap_input = swap;
        self
    }

    /// Reverses the bytes of every output element after everything else.
    pub fn swap_output_bytes(mut self, swap: bool) -> Self {
        self.swap_output = swap;
        self
    }

    /// Uses this level instead of the best one that the CPU has.
    pub fn level(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Checks the steps and binds them.
    ///
    /// # Errors
    /// A parameter of another type than the elements that reach its step, a scale of zero, a scale or
    /// offset that is not finite, `wrap` towards a float type, or a level or a type that this CPU or this
    /// build of the crate lacks.
    pub fn build(self) -> Result<Plan, BuildError> {
        // Kernels are chosen and their tables filled by computing with floats.
        in_default_environment(self, Self::bind)
    }

    fn bind(self) -> Result<Plan, BuildError> {
        let Self { source, steps, swap_input, swap_output, level } = self;
        let target = steps.iter().try_fold(in_this_build(source)?, check)?;
        let level = level.map_or_else(|| Ok(Level::selected()), Level::checked)?;
        let swap = |swap: bool, element| swap.then(|| bind::swap_bytes(element, level)).flatten();
        let stages: Vec<Stage> = swap(swap_input, source)
            .into_iter()
            .chain(bind::bind_steps(source, &steps, level))
            .chain(swap(swap_output, target))
            .collect();
        assert!(
            stages::fit_together(&stages, source.size(), target.size()),
            "the stages lead from the source to the target"
        );
        let reference = OnceBox::new();
        let inner =
            Inner { source, target, steps, swap_input, swap_output, level, stages, reference };
        Ok(Plan { inner: Arc::new(inner) })
    }
}

/// A type whose kernels are not left out.
fn in_this_build(element_type: ElementType) -> Result<ElementType, BuildError> {
    if cfg!(not(feature = "small-types")) && element_type.is_small() {
        return Err(BuildError::TypeLeftOut(element_type));
    }
    Ok(element_type)
}

/// Checks a step against the type that reaches it; returns the type that leaves it.
fn check(source: ElementType, step: &Step) -> Result<ElementType, BuildError> {
    let typed = |place, value: Scalar, expected: ElementType| {
        let found = value.element_type();
        if found == expected {
            Ok(())
        } else {
            Err(BuildError::ScalarType { place, value, found, expected })
        }
    };
    match step {
        Step::Cast(Cast { target, out_of_range, map, .. }) => {
            in_this_build(*target)?;
            if *out_of_range == OutOfRange::Wrap && target.is_float() {
                return Err(BuildError::WrapToFloat(*target));
            }
            for (key, value) in map {
                typed("map key", *key, source)?;
                typed("map value", *value, *target)?;
            }
            Ok(*target)
        }
        Step::Scale(Affine { offset, scale, .. })
        | Step::InverseScale(Affine { offset, scale, .. }) => {
            if let Some(offset) = *offset {
                typed("offset", offset, source)?;
                if !offset.is_finite() {
                    return Err(BuildError::Offset(offset));
                }
            }
            if let Some(scale) = *scale {
                typed("scale", scale, source)?;
                if !scale.is_finite() || scale.is_zero() {
                    return Err(BuildError::Scale(scale));
                }
            }
            Ok(source)
        }
    }
}

impl Plan {
    /// Starts a plan for elements of type `source`.
    pub fn builder(source: ElementType) -> PlanBuilder {
        PlanBuilder {
            source,
            steps: Vec::new(),
            swap_input: false,
            swap_output: false,
            level: None,
        }
    }

    /// The type of the input elements.
    #[must_use]
    pub fn source(&self) -> ElementType {
        self.inner.source
    }

    /// The type of the output elements.
    #[must_use]
    pub fn target(&self) -> ElementType {
        self.inner.target
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.inner.steps
    }

    /// The level whose kernels run.
    #[must_use]
    pub fn level(&self) -> Level {
        self.inner.level
    }

    /// Whether no element can fail, whatever the input is. `false` does not mean that an element can fail: it is also said where
    /// only a look at every value would tell.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, OutOfRange, Plan};
    /// # fn main() -> Result<(), recast_kernels::BuildError> {
    /// let clamp = Cast::new(ElementType::UInt8).out_of_range(OutOfRange::Clamp);
    /// assert!(Plan::builder(ElementType::Int16).cast(clamp.clone()).build()?.is_infallible());
    /// // NaN has no counterpart.
    /// assert!(!Plan::builder(ElementType::Float32).cast(clamp).build()?.is_infallible());
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn is_infallible(&self) -> bool {
        crate::infallible::never_fails(self.source(), self.steps())
    }

    /// Runs the steps over elements in native byte order (unless swapped), of any alignment.
    ///
    /// The calling thread's floating-point environment does not matter: rounding and subnormals are those
    /// of the default one, and the thread's own is restored.
    ///
    /// # Errors
    /// Buffers of differing or broken lengths, or the first element that cannot be converted; then
    /// the output's contents are unspecified.
    pub fn run(&self, input: &[u8], output: &mut [u8]) -> Result<(), RunError> {
        // SAFETY: stages and the reference write there, and initialise all of it.
        self.run_uninit(input, unsafe { stages::as_output(output) })
    }

    /// As [`Plan::run`], into memory that need not be initialised; it is wholly so after success.
    ///
    /// # Errors
    /// As [`Plan::run`].
    pub fn run_uninit(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> Result<(), RunError> {
        self.check_lengths(input.len(), output.len())?;
        self.run_part(input, output, self.goes_past_the_caches(output.len()))
    }

    /// Whether a run that writes so many bytes goes past the caches.
    fn goes_past_the_caches(&self, output_bytes: usize) -> bool {
        self.target().size() > self.source().size() && output_bytes >= STREAMED_BYTES
    }

    /// Runs all of a run or a part of it, whose lengths are right.
    fn run_part(
        &self,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
        past_the_caches: bool,
    ) -> Result<(), RunError> {
        // Boxed: `in_default_environment` keeps its result in memory and reads all of it, and to read bytes of which only a few
        // have just been written takes ten cycles.
        let result = in_default_environment((input, output), |(input, output)| {
            let result = if past_the_caches {
                self.run_non_temporal(input, output)
            } else {
                self.run_blocks(input, output)
            };
            result.map_err(Box::new)
        });
        result.map_err(|error| *error)
    }

    /// Runs all of a run, whose lengths are right.
    fn run_blocks(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> Result<(), RunError> {
        let Inner { source, target, stages, level, .. } = &*self.inner;
        let prefetches = source.size() > target.size() && input.len() >= PREFETCHED_BYTES;
        let block = stages::block_len(stages, if prefetches { source.size() } else { 1 });
        let mut done = 0;
        let mut ends = block.min(to_aligned_output(output, target.size()));
        let elements = output.len() >> target.size().trailing_zeros();
        while done < elements {
            ends = ends.min(elements);
            if prefetches {
                level.prefetch(
                    &input[ends * source.size()
                        ..ends.saturating_add(block).min(elements) * source.size()],
                );
            }
            let input = &input[done * source.size()..ends * source.size()];
            let output = &mut output[done * target.size()..ends * target.size()];
            if stages::run_all(stages, input, output) {
                self.run_flagged(input, output, done)?;
            }
            (done, ends) = (ends, ends.saturating_add(block));
        }
        Ok(())
    }

    /// As `run_blocks`, for a long output: it is not read into the caches before it is written.
    fn run_non_temporal(
        &self,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
    ) -> Result<(), RunError> {
        /// Bytes of output that are gathered before they are written.
        const GATHERED: usize = 2048;
        /// At the start of a cache line, so that no vector straddles two.
        #[repr(align(64))]
        struct Gathered([MaybeUninit<u8>; GATHERED]);
        const {
            assert!(
                GATHERED.is_multiple_of(CACHE_LINE) && GATHERED.is_multiple_of(stages::GRANULE * 8)
            );
        };
        let Inner { source, target, stages, .. } = &*self.inner;
        let start = output.as_ptr().align_offset(CACHE_LINE);
        // A part of a run may end in front of the first cache line.
        if start > output.len() || !start.is_multiple_of(target.size()) {
            return self.run_blocks(input, output);
        }
        let (block, before) = (GATHERED / target.size(), start / target.size());
        let (first_input, input) = input.split_at(before * source.size());
        let (first_output, output) = output.split_at_mut(start);
        self.run_blocks(first_input, first_output)?;
        let Gathered(gathered) = &mut Gathered([stages::unwritten(); GATHERED]);
        let inputs = input.chunks(block * source.size());
        NonTemporalStores::scope(|stores| {
            for (number, (input, output)) in inputs.zip(output.chunks_mut(GATHERED)).enumerate() {
                let gathered = &mut gathered[..output.len()];
                if stages::run_all(stages, input, gathered) {
                    self.run_flagged(input, output, before + number * block)?;
                    continue;
                }
                // SAFETY: `run_all` initialises its output, which has as many elements as the input.
                stores.write(unsafe { stages::assume_init(gathered) }, output);
            }
            Ok(())
        })
    }

    /// As [`Plan::run`], into a new buffer.
    ///
    /// # Errors
    /// The first element that cannot be converted, or bytes that are no whole number of elements.
    pub fn run_to_vec(&self, input: &[u8]) -> Result<Vec<u8>, RunError> {
        // SAFETY: `run_uninit` says so.
        unsafe { self.to_vec(input, Self::run_uninit) }
    }

    /// The output of a run in a new buffer.
    ///
    /// # Safety
    /// Where `run` succeeds, it has initialised all of its output.
    unsafe fn to_vec(
        &self,
        input: &[u8],
        run: impl FnOnce(&Self, &[u8], &mut [MaybeUninit<u8>]) -> Result<(), RunError>,
    ) -> Result<Vec<u8>, RunError> {
        let len = (input.len() / self.source().size()).checked_mul(self.target().size());
        let Some(len) = len else {
            // More than the address space of 32 bits holds.
            return self.check_lengths(input.len(), usize::MAX).map(|()| Vec::new());
        };
        let mut output = Vec::with_capacity(len);
        run(self, input, &mut output.spare_capacity_mut()[..len])?;
        // SAFETY: there is capacity for `len` bytes, and `run` has initialised them, as the caller vouches.
        unsafe { output.set_len(len) };
        Ok(output)
    }

    /// As [`Plan::run`], into rows of `row` elements, each of which has its place in `output`: `starts` has the element at which
    /// a row begins, for each of the rows, which follow each other in `input`. For a region of an array of several dimensions;
    /// where rows are short, faster than a run for each row.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), recast_kernels::CastSliceError> {
    /// let plan = Plan::builder(ElementType::UInt8).cast(Cast::new(ElementType::Int8)).build()?;
    /// let mut matrix = [0; 9];
    /// plan.run_rows(&[1, 2, 3, 4], &mut matrix, 2, &[1, 4])?;
    /// assert_eq!(matrix, [0, 1, 2, 0, 3, 4, 0, 0, 0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Plan::run`], with the index of an element in `input`; and a row that is not inside the output ([`RunError::Row`]).
    pub fn run_rows(
        &self,
        input: &[u8],
        output: &mut [u8],
        row: usize,
        starts: &[usize],
    ) -> Result<(), RunError> {
        let (source, target) = (self.source().size(), self.target().size());
        let written = starts.len().checked_mul(row).and_then(|len| len.checked_mul(target));
        self.check_lengths(input.len(), written.unwrap_or(usize::MAX))?;
        let elements = output.len() / target;
        let is_outside = |start: usize| start.checked_add(row).is_none_or(|end| end > elements);
        if let Some(&start) = starts.iter().find(|start| is_outside(**start)) {
            return Err(RunError::Row { start, row, elements });
        }
        if row == 0 {
            return Ok(());
        }
        // A long row runs where it belongs, short ones run together, and are copied.
        let at_once = (ROWS_BYTES / (row * target)).max(1);
        let mut rows = [0; ROWS_BYTES];
        for (number, starts) in starts.chunks(at_once).enumerate() {
            let (first, len) = (number * at_once * row, starts.len() * row);
            let input = &input[first * source..][..len * source];
            if let [start] = starts {
                let place = &mut output[start * target..][..len * target];
                self.run(input, place).map_err(|error| error.after(first))?;
                continue;
            }
            let rows = &mut rows[..len * target];
            self.run(input, rows).map_err(|error| error.after(first))?;
            for (start, row) in starts.iter().zip(rows.chunks_exact(row * target)) {
                output[start * target..][..row.len()].copy_from_slice(row);
            }
        }
        Ok(())
    }

    /// As [`Plan::run`], over typed elements, into a new vector, which is not zeroed first.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let plan = Plan::builder(ElementType::Float32).cast(Cast::new(ElementType::UInt8)).build()?;
    /// assert_eq!(plan.run_slice::<f32, u8>(&[2.5, 7.0])?, [2, 7]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The first element that cannot be converted, or elements of another type than the plan's
    /// ([`RunError::SliceType`]).
    pub fn run_slice<S: Element, T: Element>(&self, input: &[S]) -> Result<Vec<T>, RunError> {
        let mut output = Vec::with_capacity(input.len());
        self.run_slice_uninit(input, &mut output.spare_capacity_mut()[..input.len()])?;
        // SAFETY: there is capacity for `input.len()` elements, and `run_slice_uninit` has initialised them.
        unsafe { output.set_len(input.len()) };
        Ok(output)
    }

    /// As [`Plan::run_slice`], into another slice of the same length.
    ///
    /// # Errors
    /// As [`Plan::run_slice`], and a slice of another length; its contents are then unspecified.
    pub fn run_slice_into<S: Element, T: Element>(
        &self,
        input: &[S],
        output: &mut [T],
    ) -> Result<(), RunError> {
        self.check_types(S::TYPE, T::TYPE)?;
        self.run(bytemuck::cast_slice(input), bytemuck::cast_slice_mut(output))
    }

    /// As [`Plan::run_slice_into`], into memory that need not be initialised; it is wholly so after success.
    ///
    /// ```
    /// use core::mem::MaybeUninit;
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let plan = Plan::builder(ElementType::Float32).cast(Cast::new(ElementType::UInt8)).build()?;
    /// let mut output = [MaybeUninit::uninit(); 2];
    /// assert_eq!(plan.run_slice_uninit::<f32, u8>(&[2.5, 7.0], &mut output)?, [2, 7]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Plan::run_slice_into`].
    pub fn run_slice_uninit<'a, S: Element, T: Element>(
        &self,
        input: &[S],
        output: &'a mut [MaybeUninit<T>],
    ) -> Result<&'a mut [T], RunError> {
        self.check_types(S::TYPE, T::TYPE)?;
        self.run_uninit(bytemuck::cast_slice(input), stages::uninit_bytes::<T>(output))?;
        // SAFETY: `run_uninit` has initialised all bytes of `output`, which are values of `T` whatever they are.
        Ok(unsafe { output.assume_init_mut() })
    }

    /// Whether slices of these types hold the plan's elements.
    fn check_types(&self, source: ElementType, target: ElementType) -> Result<(), RunError> {
        for (slice, expected) in [(source, self.source()), (target, self.target())] {
            if slice != expected {
                return Err(RunError::SliceType { slice, expected });
            }
        }
        Ok(())
    }

    /// As [`Plan::run`], over the input itself, where source and target have the same size.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), recast_kernels::CastSliceError> {
    /// let plan = Plan::builder(ElementType::Int32).cast(Cast::new(ElementType::Float32)).build()?;
    /// let mut elements = 7_i32.to_ne_bytes();
    /// plan.run_in_place(&mut elements)?;
    /// assert_eq!(elements, 7_f32.to_ne_bytes());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The first element that cannot be converted, bytes that are no whole number of elements, or types
    /// of differing sizes; the contents are then unspecified.
    pub fn run_in_place(&self, elements: &mut [u8]) -> Result<(), RunError> {
        let (source_type, target_type) = (self.source(), self.target());
        if source_type.size() != target_type.size() {
            return Err(RunError::InPlace { source_type, target_type });
        }
        self.check_lengths(elements.len(), elements.len())?;
        // Copied block by block, which stay in the first-level cache.
        let mut copy = [0; IN_PLACE_BYTES];
        for (number, block) in elements.chunks_mut(IN_PLACE_BYTES).enumerate() {
            let copy = &mut copy[..block.len()];
            copy.copy_from_slice(block);
            self.run(copy, block)
                .map_err(|error| error.after(number * IN_PLACE_BYTES / self.source().size()))?;
        }
        Ok(())
    }

    /// As [`Plan::run_in_place`], over typed elements.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let plan = Plan::builder(ElementType::Int32).cast(Cast::new(ElementType::Float32)).build()?;
    /// assert_eq!(plan.run_slice_in_place::<i32, f32>(&mut [7, -1])?, [7.0, -1.0]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Plan::run_in_place`], and elements of another type than the plan's.
    pub fn run_slice_in_place<'a, S: Element, T: Element>(
        &self,
        elements: &'a mut [S],
    ) -> Result<&'a mut [T], RunError> {
        self.check_types(S::TYPE, T::TYPE)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(elements);
        self.run_in_place(bytes)?;
        // Types of one size have one alignment.
        Ok(bytemuck::cast_slice_mut(bytes))
    }

    /// As [`Plan::run`], with the elements spread over the threads of rayon's current pool. Worth it from
    /// some 100,000 elements on.
    ///
    /// ```
    /// use recast_kernels::{Cast, ElementType, Plan};
    /// # fn main() -> Result<(), recast_kernels::CastSliceError> {
    /// let plan = Plan::builder(ElementType::UInt16).cast(Cast::new(ElementType::UInt8)).build()?;
    /// let input: Vec<u8> = (0..300_000_u32).flat_map(|i| (i as u16 % 256).to_ne_bytes()).collect();
    /// let mut output = vec![0; 300_000];
    /// plan.par_run(&input, &mut output)?;
    /// assert_eq!(output[299_999], (299_999_u32 % 256) as u8);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Plan::run`]: also of the elements that several threads find, the first.
    #[cfg(feature = "rayon")]
    pub fn par_run(&self, input: &[u8], output: &mut [u8]) -> Result<(), RunError> {
        // SAFETY: as in `run`.
        self.par_run_uninit(input, unsafe { stages::as_output(output) })
    }

    /// As [`Plan::par_run`], into a new buffer, which is not zeroed first.
    ///
    /// # Errors
    /// As [`Plan::run_to_vec`].
    #[cfg(feature = "rayon")]
    pub fn par_run_to_vec(&self, input: &[u8]) -> Result<Vec<u8>, RunError> {
        // SAFETY: `par_run_uninit` runs `run_part` over all of its output, which initialises it where it succeeds.
        unsafe { self.to_vec(input, Self::par_run_uninit) }
    }

    #[cfg(feature = "rayon")]
    fn par_run_uninit(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> Result<(), RunError> {
        use rayon::prelude::*;
        /// Elements that are worth handing to another thread.
        const LEAST: usize = 16_384;
        let (source, target) = (self.source(), self.target());
        let threads = rayon::current_num_threads();
        // Two pieces for each thread even out the threads' other work.
        let piece = (output.len() / target.size()).div_ceil(2 * threads);
        let piece = piece.next_multiple_of(CACHE_LINE).max(LEAST);
        if threads == 1 || output.len() <= piece * target.size() {
            return self.run_uninit(input, output);
        }
        self.check_lengths(input.len(), output.len())?;
        let past_the_caches = self.goes_past_the_caches(output.len());
        let inputs = input.par_chunks(piece * source.size());
        let outputs = output.par_chunks_mut(piece * target.size());
        let results: Vec<_> = inputs
            .zip(outputs)
            .map(|(input, output)| self.run_part(input, output, past_the_caches))
            .collect();
        for (number, result) in results.into_iter().enumerate() {
            result.map_err(|error| error.after(number * piece))?;
        }
        Ok(())
    }

    /// Whether as many bytes of input and output hold the same number of elements.
    #[inline]
    fn check_lengths(&self, input_bytes: usize, output_bytes: usize) -> Result<(), RunError> {
        let (source_type, target_type) = (self.source(), self.target());
        // Sizes are powers of two, which the compiler does not know: a division takes as long as all else here.
        let elements = output_bytes >> target_type.size().trailing_zeros();
        if elements.checked_mul(target_type.size()) == Some(output_bytes)
            && elements.checked_mul(source_type.size()) == Some(input_bytes)
        {
            return Ok(());
        }
        Err(RunError::Length { input_bytes, output_bytes, source_type, target_type })
    }

    /// Runs a block that the stages have flagged. They run again over ever smaller pieces of it, and only
    /// the smallest ones that are flagged go to the reference, which takes ten to a hundred times as long.
    /// `start` is the index of the block's first element.
    #[cold]
    fn run_flagged(
        &self,
        input: &[u8],
        output: &mut [MaybeUninit<u8>],
        start: usize,
    ) -> Result<(), CastError> {
        let Inner { source, target, steps, swap_input, swap_output, stages, .. } = &*self.inner;
        let elements = output.len() / target.size();
        if elements <= stages::GRANULE {
            let swaps = [*swap_input, *swap_output];
            let reference = || Box::new(ByReference::new(*source, steps, swaps));
            return self.inner.reference.get_or_init(reference).run_from(input, output, start);
        }
        let piece = (elements / FLAGGED_PIECES).max(1).next_multiple_of(stages::GRANULE);
        let inputs = input.chunks(piece * source.size());
        let outputs = output.chunks_mut(piece * target.size());
        for (number, (input, output)) in inputs.zip(outputs).enumerate() {
            if stages::run_all(stages, input, output) {
                self.run_flagged(input, output, start + number * piece)?;
            }
        }
        Ok(())
    }
}

/// Pieces into which a flagged block is divided. A block of 32,768 elements is divided three times.
const FLAGGED_PIECES: usize = 16;

/// Bytes of a block of [`Plan::run_in_place`]; a multiple of every element's size.
const IN_PLACE_BYTES: usize = 16_384;

/// Bytes of output that rows share in [`Plan::run_rows`].
const ROWS_BYTES: usize = 8192;

const _: () =
    assert!(IN_PLACE_BYTES.is_multiple_of(stages::GRANULE * 8), "a whole number of granules");

/// Bytes of input from which on each block asks for the next: half of a second-level cache. It
/// gains where more is read than written, by a third and more from main memory, and loses elsewhere.
const PREFETCHED_BYTES: usize = 1 << 20;

/// Bytes of output from which on a run that writes more than it reads goes past the caches.
const STREAMED_BYTES: usize = 64 << 20;

/// How many elements at the start of a long output lie in front of the first cache line that begins
/// with an element; the length of the first block, so that the vector stores of the others do not
/// straddle lines. All of a short output, for which the detour is not worth it.
fn to_aligned_output(output: &[MaybeUninit<u8>], size: usize) -> usize {
    if output.len() < 64 * CACHE_LINE {
        return usize::MAX;
    }
    match output.as_ptr().align_offset(CACHE_LINE) {
        0 => usize::MAX,
        bytes if bytes.is_multiple_of(size) => bytes / size,
        _ => usize::MAX,
    }
}

/// A typed cast failed: it could not be built, or an element could not be converted.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CastSliceError {
    /// The cast cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Casts a slice in one call. To cast many slices the same way, build a [`Plan`] once.
///
/// ```
/// use recast_kernels::{Cast, ElementType, OutOfRange, cast};
/// # fn main() -> Result<(), recast_kernels::CastSliceError> {
/// let mut output = [0_u8; 3];
/// cast(&[-1.0_f32, 2.5, 300.0], &mut output, &Cast::new(ElementType::UInt8).out_of_range(OutOfRange::Clamp))?;
/// assert_eq!(output, [0, 2, 255]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`PlanBuilder::build`] and [`Plan::run`]; a target type other than `T` is
/// [`BuildError::Target`].
pub fn cast<S: Element, T: Element>(
    input: &[S],
    output: &mut [T],
    cast: &Cast,
) -> Result<(), CastSliceError> {
    if cast.target != T::TYPE {
        return Err(BuildError::Target { asked: cast.target, buffer: T::TYPE }.into());
    }
    let plan = Plan::builder(S::TYPE).cast(cast.clone()).build()?;
    Ok(plan.run(bytemuck::cast_slice(input), bytemuck::cast_slice_mut(output))?)
}
