//! The one loop: elements pass through registers in groups, from input to output, once.
//!
//! A [`Body`] converts a group. Most are [`Units`]: four units are loaded and widened one after
//! the other, pass through an [`Each`], and are narrowed and stored together. So few registers are alive at
//! a time that 64-bit elements fit into AVX2's sixteen. [`Then`] joins two `Each`s. All of it is composed at
//! compile time and inlined into one function per body and level, [`Simd::vectorize`].

use alloc::vec::Vec;
use core::mem::{ManuallyDrop, MaybeUninit};

use crate::evidence::Evidence;
use crate::simd::{I8s, I16s, Simd};
use crate::stages::{self, Borrowed, GRANULE, Input, Kernel, Output, Run, Stage, run_whole};

/// The conversion of a group of elements.
///
/// # Safety
/// `group` reads no more than `S::BYTES` elements of the first size in `SIZES`, and initialises as many of the second size,
/// and nothing else.
pub(crate) unsafe trait Body<S: Simd>: Copy + Send + Sync + 'static {
    /// Size in bytes of an input and of an output element.
    const SIZES: (usize, usize);
    /// The evidence, gathered over a block, that an element of the block needs the reference.
    type Fail: Evidence<S>;

    /// Converts a group.
    ///
    /// # Safety
    /// `from` is valid for reading `S::BYTES` input elements, `to` for writing as many output elements.
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, fail: &Self::Fail);

    /// Whether the evidence says that an element needs the reference.
    fn failed(self, simd: S, fail: &Self::Fail) -> bool;
}

/// The stage of a loop at a level.
pub(crate) fn vectorized<S: Simd, K: Kernel>(simd: S, kernel: K) -> Stage {
    // SAFETY: `vectorize` gives the kernel's, and the token is proof of the features.
    unsafe { Stage::of_kernel(kernel, simd.vectorize::<K>()) }
}

/// The stage of a body.
pub(crate) fn stage<S: Simd, B: Body<S>>(simd: S, body: B) -> Stage {
    vectorized(simd, Pipeline { simd, body })
}

/// The loop of a body.
#[derive(Clone, Copy)]
struct Pipeline<S, B> {
    simd: S,
    body: B,
}

// SAFETY: `run` passes every group of the output to the body, which initialises it; output of another length
// than the input's is cut to it, which the contract of `Kernel` rules out.
unsafe impl<S: Simd, B: Body<S>> Kernel for Pipeline<S, B> {
    const SIZES: (usize, usize) = B::SIZES;
    const CAN_FAIL: bool = size_of::<B::Fail>() > 0;
    const GRANULE: usize = S::GROUPS * S::BYTES;

    #[inline(always)]
    fn run(kernel: Borrowed<'_, Self>, input: Input<'_>, output: Output<'_>) -> bool {
        // Copies: the local ones cannot alias the output, so they stay in registers.
        let Self { simd, body } = *kernel.get();
        let (from_size, to_size) = (S::BYTES * B::SIZES.0, S::BYTES * B::SIZES.1);
        let (input, output) = (input.get(), output.get());
        let groups = (input.len() / from_size).min(output.len() / to_size);
        let (mut from, mut to) = (input.as_ptr(), output.as_mut_ptr().cast::<u8>());
        // Nothing would be dropped, but the compiler would make room for it.
        let fail = ManuallyDrop::new(B::Fail::none(simd));
        for _ in 0..groups / S::GROUPS {
            for _ in 0..S::GROUPS {
                // SAFETY: `groups` groups lie within both slices, and this is one of them.
                unsafe { body.group(simd, from, to, &fail) };
                // SAFETY: at most one past the last group.
                from = unsafe { from.add(from_size) };
                // SAFETY: as above.
                to = unsafe { to.add(to_size) };
            }
        }
        body.failed(simd, &fail)
    }
}

/// Reads elements and widens them to units.
///
/// # Safety
/// `load` reads nothing but the group, which has `S::BYTES` elements of `SIZE` bytes.
pub(crate) unsafe trait Load<S: Simd>: Copy + Send + Sync + 'static {
    /// Size of an element in bytes.
    const SIZE: usize;
    /// Whether a unit is two registers, which may lie apart in the group.
    const PAIRS: bool = false;
    type Unit: Copy;

    /// One of the four units of the group at `p`. `apart` is the distance of the two registers of a unit, in registers: 1, or with
    /// `PAIRS` also 2 or 4.
    ///
    /// # Safety
    /// `p` is valid for reading a group of elements, `UNIT` is below four, `apart` is one of these.
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, apart: usize) -> Self::Unit;
}

/// The operation on a unit.
pub(crate) trait Each<S: Simd, In>: Copy + Send + Sync + 'static {
    type Out: Copy;
    /// As [`Body::Fail`]; each of the four units of a group gathers its own, which do not wait for each other.
    type Fail: Evidence<S>;

    fn apply(self, simd: S, x: In, fail: &Self::Fail) -> Self::Out;
    fn failed(self, simd: S, fail: &Self::Fail) -> bool;
}

/// Narrows four units and writes them.
///
/// # Safety
/// `store` initialises the group, which has `S::BYTES` elements of `SIZE` bytes, and nothing else.
pub(crate) unsafe trait Store<S: Simd, In>: Copy + Send + Sync + 'static {
    /// Size of an element in bytes.
    const SIZE: usize;
    /// How far apart the two registers of a unit lie in the group, so that packing needs no ordering ([`Simd::PACKS_HALVES`]).
    const APART: usize = 1;
    /// As [`Body::Fail`].
    type Fail: Evidence<S>;

    /// Writes a group to `p`. Its units have registers which are `apart`: 1 or `APART`.
    ///
    /// # Safety
    /// `p` is valid for writing a group of elements.
    unsafe fn store(self, simd: S, p: *mut u8, group: [In; 4], apart: usize, fail: &Self::Fail);

    fn failed(self, simd: S, fail: &Self::Fail) -> bool;
}

/// A group as four units, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct Units<L, E, T>(pub(crate) L, pub(crate) E, pub(crate) T);

// SAFETY: the four units that are loaded are the group at `from`; the store initialises the group at `to`.
unsafe impl<S, L, E, T> Body<S> for Units<L, E, T>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit>,
    T: Store<S, E::Out>,
{
    const SIZES: (usize, usize) = (L::SIZE, T::SIZE);
    type Fail = (((E::Fail, E::Fail), (E::Fail, E::Fail)), T::Fail);

    #[inline(always)]
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, fail: &Self::Fail) {
        let Self(load, each, store) = self;
        let (((first, second), (third, fourth)), last) = fail;
        let apart = const { if S::PACKS_HALVES && L::PAIRS { T::APART } else { 1 } };
        // SAFETY: one of the four units of the caller's group.
        let a = unsafe { load.load::<0>(simd, from, apart) };
        let a = each.apply(simd, a, first);
        // SAFETY: as above.
        let b = unsafe { load.load::<1>(simd, from, apart) };
        let b = each.apply(simd, b, second);
        // SAFETY: as above.
        let c = unsafe { load.load::<2>(simd, from, apart) };
        let c = each.apply(simd, c, third);
        // SAFETY: as above.
        let d = unsafe { load.load::<3>(simd, from, apart) };
        let d = each.apply(simd, d, fourth);
        // SAFETY: the caller vouches for a group at `to`.
        unsafe { store.store(simd, to, [a, b, c, d], apart, last) };
    }

    #[inline(always)]
    fn failed(self, simd: S, ((units, others), last): &Self::Fail) -> bool {
        units.join(others);
        units.0.join(&units.1);
        self.1.failed(simd, &units.0) | self.2.failed(simd, last)
    }
}

/// A load, and an operation on its units that never fails.
#[derive(Clone, Copy)]
pub(crate) struct LoadThen<L, E>(pub(crate) L, pub(crate) E);

// SAFETY: only the inner load reads.
unsafe impl<S, L, E> Load<S> for LoadThen<L, E>
where
    S: Simd,
    L: Load<S>,
    E: Each<S, L::Unit>,
{
    const SIZE: usize = L::SIZE;
    const PAIRS: bool = L::PAIRS;
    type Unit = E::Out;

    #[inline(always)]
    unsafe fn load<const UNIT: usize>(self, simd: S, p: *const u8, apart: usize) -> E::Out {
        const { assert!(size_of::<E::Fail>() == 0, "nobody looks at what is gathered") };
        // SAFETY: the caller vouches for the group.
        let x = unsafe { self.0.load::<UNIT>(simd, p, apart) };
        self.1.apply(simd, x, &ManuallyDrop::new(E::Fail::none(simd)))
    }
}

/// A group of bytes, which is one register.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<E>(pub(crate) E);

// SAFETY: a group of bytes is one register, which is loaded and stored.
unsafe impl<S: Simd, E: Each<S, I8s<S>, Out = I8s<S>>> Body<S> for Bytes<E> {
    const SIZES: (usize, usize) = (1, 1);
    type Fail = E::Fail;

    #[inline(always)]
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, fail: &E::Fail) {
        // SAFETY: the caller vouches for a group at `from`, which is one register.
        let x = unsafe { I8s::load(simd, from) };
        let y = self.0.apply(simd, x, fail);
        // SAFETY: the same at `to`.
        unsafe { y.store(to) };
    }

    #[inline(always)]
    fn failed(self, simd: S, fail: &E::Fail) -> bool {
        self.0.failed(simd, fail)
    }
}

/// Reads elements as registers of 16-bit integers.
///
/// # Safety
/// `load` reads nothing but half a group, which has `S::BYTES / 2` elements of `SIZE` bytes.
pub(crate) unsafe trait LoadShort<S: Simd>: Copy + Send + Sync + 'static {
    /// Size of an element in bytes.
    const SIZE: usize;

    /// The register at `p`.
    ///
    /// # Safety
    /// `p` is valid for reading half a group of elements.
    unsafe fn load(self, simd: S, p: *const u8) -> I16s<S>;
}

/// Writes two registers of 16-bit integers, narrowed or not.
///
/// # Safety
/// As [`Store`].
pub(crate) unsafe trait StoreShort<S: Simd>: Copy + Send + Sync + 'static {
    /// Size of an element in bytes.
    const SIZE: usize;

    /// Writes a group to `p`.
    ///
    /// # Safety
    /// `p` is valid for writing a group of elements.
    unsafe fn store(self, simd: S, p: *mut u8, group: [I16s<S>; 2]);
}

/// A group as two registers of 16-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct Shorts<L, E, T>(pub(crate) L, pub(crate) E, pub(crate) T);

// SAFETY: the two halves that are loaded are the group at `from`; the store initialises the group at `to`.
unsafe impl<S, L, E, T> Body<S> for Shorts<L, E, T>
where
    S: Simd,
    L: LoadShort<S>,
    E: Each<S, I16s<S>, Out = I16s<S>>,
    T: StoreShort<S>,
{
    const SIZES: (usize, usize) = (L::SIZE, T::SIZE);
    type Fail = (E::Fail, E::Fail);

    #[inline(always)]
    unsafe fn group(self, simd: S, from: *const u8, to: *mut u8, fail: &Self::Fail) {
        // SAFETY: the caller vouches for a group at `from`.
        let low = unsafe { self.0.load(simd, from) };
        // SAFETY: this is its second half.
        let high = unsafe { self.0.load(simd, from.wrapping_add(S::BYTES / 2 * L::SIZE)) };
        let low = self.1.apply(simd, low, &fail.0);
        let high = self.1.apply(simd, high, &fail.1);
        // SAFETY: the caller vouches for a group at `to`.
        unsafe { self.2.store(simd, to, [low, high]) };
    }

    #[inline(always)]
    fn failed(self, simd: S, (low, high): &Self::Fail) -> bool {
        low.join(high);
        self.1.failed(simd, low)
    }
}

/// A unit as it is.
#[derive(Clone, Copy)]
pub(crate) struct Same;

/// One after the other.
#[derive(Clone, Copy)]
pub(crate) struct Then<A, B>(pub(crate) A, pub(crate) B);

impl<S: Simd, In, A: Each<S, In>, B: Each<S, A::Out>> Each<S, In> for Then<A, B> {
    type Out = B::Out;
    type Fail = (A::Fail, B::Fail);

    #[inline(always)]
    fn apply(self, simd: S, x: In, fail: &Self::Fail) -> B::Out {
        let between = self.0.apply(simd, x, &fail.0);
        self.1.apply(simd, between, &fail.1)
    }

    #[inline(always)]
    fn failed(self, simd: S, fail: &Self::Fail) -> bool {
        self.0.failed(simd, &fail.0) | self.1.failed(simd, &fail.1)
    }
}

/// An [`Each`] that never fails: the type, its units, and the operation on a unit.
macro_rules! infallible {
    ($([$($generics:tt)*] $type:ty: $in:ty => $out:ty $(where S: $level:ident)?,
        |$self:ident, $simd:ident, $x:ident| $body:expr;)*) => {$(
        impl<S: Simd $(+ $level)?, $($generics)*> $crate::pipeline::Each<S, $in> for $type {
            type Out = $out;
            type Fail = ();
            #[inline(always)]
            #[allow(unused_variables)] // not each needs the token
            fn apply($self, $simd: S, $x: $in, (): &()) -> $out {
                $body
            }
            #[inline(always)]
            fn failed(self, _: S, (): &()) -> bool {
                false
            }
        }
    )*};
}
pub(crate) use infallible;

/// An [`Each`] that makes of each register of a unit another, and never fails.
macro_rules! lanewise {
    ($([$($generics:tt)*] $type:ty: $unit:ty, |$self:ident, $x:ident| $body:expr;)*) => {
        $crate::pipeline::infallible! {$(
            [$($generics)*] $type: $unit => $unit, |$self, simd, x| $crate::simd::Unit::map(
                x,
                #[inline(always)]
                |$x| $body,
            );
        )*}
    };
}
pub(crate) use lanewise;

infallible! {
    [U: Copy] Same: U => U, |self, simd, x| x;
}

/// Tries fast stages, and from where they fail on, stages that take more values.
pub(crate) struct Retry {
    pub(crate) fast: Vec<Stage>,
    pub(crate) general: Vec<Stage>,
    /// Whether fewer than [`LONG`] elements go through the general stages at once.
    pub(crate) only_long: bool,
}

/// More elements than a block between two stages has: there, a plan that fails would be tried in each block anew.
const LONG: usize = 4096;

/// The number of elements that are tried first, and then fifteen times as many: what fails at once costs little. Of a long
/// block, which takes three calls, about half is converted twice at most.
const TRIED_FIRST: usize = 1024;

const _: () = assert!(
    TRIED_FIRST.is_multiple_of(GRANULE) && LONG.is_multiple_of(GRANULE),
    "each piece is a whole number of granules"
);

impl Retry {
    /// The stage of both.
    pub(crate) fn stage(self) -> Stage {
        let sizes = self.sizes();
        assert!(
            [&self.fast, &self.general]
                .into_iter()
                .all(|stages| stages::fit_together(stages, sizes.0, sizes.1)),
            "either way leads from the same elements to the same"
        );
        let can_fail = self.general.iter().any(|stage| stage.can_fail);
        let granule = stages::granule(&self.fast).max(stages::granule(&self.general));
        Stage::new(self, sizes, can_fail, granule)
    }

    fn sizes(&self) -> (usize, usize) {
        let from = self.general.first().map_or(1, |stage| stage.sizes.0);
        (from, self.general.last().map_or(1, |stage| stage.sizes.1))
    }

    /// The one stage `fast`, and the other.
    pub(crate) fn of(fast: Stage, general: Stage) -> Stage {
        Self { fast: vec![fast], general: vec![general], only_long: false }.stage()
    }

    /// As [`Retry::of`], of elements for which it is not unusual to fail.
    pub(crate) fn of_long(fast: Stage, general: Stage) -> Stage {
        Self { fast: vec![fast], general: vec![general], only_long: true }.stage()
    }
}

// SAFETY: whichever stages run last on a piece initialise its output, also if they fail; the pieces are all of the output.
unsafe impl Run for Retry {
    fn run(&self, input: &[u8], output: &mut [MaybeUninit<u8>]) -> bool {
        let (from, to) = self.sizes();
        let elements = output.len() / to;
        let most = stages::block_len(&self.fast, 1).min(stages::block_len(&self.general, 1));
        let (mut done, mut serves) = (0, elements >= LONG || !self.only_long);
        let mut refused = false;
        while done < elements {
            let len = if serves { TRIED_FIRST.max(15 * done) } else { elements };
            let ends = done.saturating_add(len.min(most)).min(elements);
            let input = &input[done * from..ends * from];
            let output = &mut output[done * to..ends * to];
            serves = serves && !run_whole(&self.fast, input, output);
            if !serves {
                refused |= run_whole(&self.general, input, output);
            }
            done = ends;
        }
        refused
    }
}
