//! The floating-point environment of a thread: its rounding direction, whether it flushes subnormals to
//! zero, and which exceptions trap.
//!
//! Rust assumes the default environment of IEEE 754 everywhere. A library compiled with `-ffast-math` sets
//! another one in the threads that load it, and C's `fesetround` does so on request; both are met in
//! Python processes. There, subnormals would vanish and every result could be rounded otherwise, without
//! a word. So all code of this crate that computes with floats runs in [`in_default_environment`].
//!
//! The environment is `MXCSR` on x86 with SSE and `FPCR` on aarch64. On other architectures nothing is
//! done: the caller's environment must be the default one.

/// Computes in the default floating-point environment, then restores the caller's. All that the result
/// depends on must come from `argument`: the compiler may compute other values outside.
///
/// Everything else in this crate does so by itself. It is for what surrounds it: arithmetic with scales and offsets, and
/// reading numbers, where the standard library divides.
///
/// ```
/// use recast_kernels::in_default_environment;
/// let scale = in_default_environment("0.1", |text| text.parse::<f64>());
/// assert_eq!(scale.map(f64::to_bits), Ok(0x3fb9_9999_9999_999a));
/// ```
///
/// A thread that has the default environment already, as nearly all have, pays for reading a register.
/// The status flags of exceptions may be raised then, as by any computation.
#[inline]
pub fn in_default_environment<A, R>(mut argument: A, compute: impl FnOnce(A) -> R) -> R {
    let environment = register::DefaultEnvironment::enter();
    register::opaque(&mut argument);
    let mut result = compute(argument);
    register::opaque(&mut result);
    drop(environment);
    result
}

#[cfg(any(
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse"),
    target_arch = "aarch64"
))]
mod register {
    use core::arch::asm;
    use core::marker::PhantomData;

    use control::{read, with_defaults, write};

    /// Proof that this thread has the default environment. Dropping it restores the caller's, also when a
    /// panic unwinds.
    pub(super) struct DefaultEnvironment {
        /// The register's contents before, if they had to be replaced.
        caller: Option<control::State>,
        /// The register is the thread's own, so this may not move to another one.
        not_send: PhantomData<*const ()>,
    }

    impl DefaultEnvironment {
        #[inline]
        pub(super) fn enter() -> Self {
            let found = read();
            let caller = with_defaults(found).map(|defaults| {
                // SAFETY: `defaults` is the value that was read, which the CPU accepts, but for the bits of the
                // environment, which take the values that Rust assumes them to have. So nothing that
                // the compiler has moved across this is computed otherwise than Rust specifies.
                unsafe { write(defaults) };
                found
            });
            Self { caller, not_send: PhantomData }
        }
    }

    impl Drop for DefaultEnvironment {
        #[inline]
        fn drop(&mut self) {
            if let Some(caller) = self.caller {
                // SAFETY: the register held this when this thread entered; the code that runs from here
                // on has the environment that its own thread gave it.
                unsafe { write(caller) };
            }
        }
    }

    /// Makes the compiler forget its knowledge about a value. Results of the value are computed after
    /// this call and after the code before it; the value itself is complete by then.
    #[inline(always)]
    pub(super) fn opaque<T>(value: &mut T) {
        // SAFETY: there is no instruction in it. The compiler must assume that the assembly reads and
        // writes the value, which `value` allows, and that it keeps its place among the others of this
        // module: none of them is `pure`, so none is moved across another.
        unsafe {
            asm!(
                "/* {0} */",
                in(reg) core::ptr::from_mut(value).cast::<u8>(),
                options(nostack, preserves_flags)
            );
        }
    }

    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    mod control {
        //! `MXCSR`: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3.

        use core::arch::asm;

        pub(super) type State = u32;

        /// Bits 6 (denormals are zeros), 7 to 12 (masks of exceptions), 13 and 14 (rounding) and 15 (flush
        /// to zero). Below them are the status flags, which do not change results.
        const ENVIRONMENT: u32 = 0xffc0;

        /// All exceptions masked, to nearest, subnormals kept: the contents after a reset.
        const DEFAULT: u32 = 0x1f80;

        /// The value that the register must hold instead, if it does not hold the default.
        #[inline]
        pub(super) fn with_defaults(found: u32) -> Option<u32> {
            (found & ENVIRONMENT != DEFAULT).then_some(found & !ENVIRONMENT | DEFAULT)
        }

        #[inline]
        pub(super) fn read() -> u32 {
            let mut mxcsr = 0_u32;
            // SAFETY: the instruction belongs to SSE, which this module is compiled with. It writes the
            // four bytes of `mxcsr` and nothing else.
            unsafe {
                asm!(
                    "stmxcsr [{}]",
                    in(reg) &raw mut mxcsr,
                    options(nostack, preserves_flags)
                );
            }
            mxcsr
        }

        /// # Safety
        /// The register has held `mxcsr` before, on this thread, but for bits of [`ENVIRONMENT`]: it sets
        /// no reserved bit, which would be a fault. The code that runs next expects this environment.
        #[inline]
        pub(super) unsafe fn write(mxcsr: u32) {
            // SAFETY: the instruction belongs to SSE. It reads the four bytes of `mxcsr`; the caller
            // vouches for their value. The flags of exceptions, which are in MXCSR, are not preserved.
            unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const mxcsr, options(nostack)) };
        }
    }

    #[cfg(target_arch = "aarch64")]
    mod control {
        //! `FPCR`: Arm Architecture Reference Manual for A-profile, C5.2.8.

        use core::arch::asm;

        pub(super) type State = u64;

        /// The value that the register must hold instead, if it does not hold the default. All of its bits are about
        /// the environment (the status flags are in FPSR), and the default is zero: to nearest, no
        /// flushing (FZ, FZ16, FIZ), no default NaN (DN), no alternative behaviour (AH, AHP, NEP), no
        /// trap; the others are reserved as zero or only matter to AArch32.
        #[inline]
        pub(super) fn with_defaults(found: u64) -> Option<u64> {
            (found != 0).then_some(0)
        }

        #[inline]
        pub(super) fn read() -> u64 {
            let fpcr: u64;
            // SAFETY: every program may read the register; nothing else changes.
            unsafe {
                asm!("mrs {}, fpcr", out(reg) fpcr, options(nostack, preserves_flags));
            }
            fpcr
        }

        /// # Safety
        /// The register has held `fpcr` before, on this thread, or it is zero. The code that runs next
        /// expects this environment.
        #[inline]
        pub(super) unsafe fn write(fpcr: u64) {
            // SAFETY: every program may write the register; the caller vouches for its value.
            unsafe {
                asm!("msr fpcr, {}", in(reg) fpcr, options(nostack, preserves_flags));
            }
        }
    }
}

#[cfg(not(any(
    all(any(target_arch = "x86", target_arch = "x86_64"), target_feature = "sse"),
    target_arch = "aarch64"
)))]
mod register {
    //! Nothing: see above.

    pub(super) struct DefaultEnvironment;

    impl DefaultEnvironment {
        pub(super) fn enter() -> Self {
            Self
        }
    }

    pub(super) fn opaque<T>(_: &mut T) {}
}
