//! Floating-point environments other than the default one, for tests of several crates.

#![allow(dead_code)]

#[cfg(target_arch = "x86_64")]
pub(crate) mod register {
    use std::arch::asm;

    /// Name and contents of MXCSR. The default is 0x1f80: all six exceptions masked, to nearest.
    pub(crate) const ENVIRONMENTS: [(&str, u64); 8] = [
        ("subnormal results are flushed", 0x9f80),
        ("subnormal operands are zeros", 0x1fc0),
        ("both", 0x9fc0),
        ("downwards", 0x3f80),
        ("upwards", 0x5f80),
        ("towards zero", 0x7f80),
        ("towards zero, both, and a status flag", 0xffe0),
        ("every exception traps", 0x0000),
    ];

    /// The status flags, which any computation may raise.
    pub(crate) const STATUS: u64 = 0x3f;

    pub(crate) fn read() -> u64 {
        let mut contents = 0_u32;
        // SAFETY: every x86-64 CPU has SSE; the instruction writes the four bytes of `contents`.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut contents) };
        contents.into()
    }

    /// # Safety
    /// Nothing that Rust computes with floats may depend on it until the contents before are back.
    pub(crate) unsafe fn write(contents: u64) {
        let contents = contents as u32;
        // SAFETY: as above, read instead of written; the caller vouches for what follows.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const contents) };
    }
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod register {
    use std::arch::asm;

    /// Name and contents of FPCR. The default is 0.
    pub(crate) const ENVIRONMENTS: [(&str, u64); 7] = [
        ("subnormals are flushed", 1 << 24),
        ("subnormals of 16 bits are flushed", 1 << 19),
        ("NaNs lose their payloads", 1 << 25),
        ("upwards", 1 << 22),
        ("downwards", 2 << 22),
        ("towards zero, subnormals are flushed", 3 << 22 | 1 << 24),
        ("the alternative format of 16 bits", 1 << 26),
    ];

    /// The status flags are in another register.
    pub(crate) const STATUS: u64 = 0;

    pub(crate) fn read() -> u64 {
        let contents: u64;
        // SAFETY: every program may read the register.
        unsafe { asm!("mrs {}, fpcr", out(reg) contents) };
        contents
    }

    /// # Safety
    /// Nothing that Rust computes with floats may depend on it until the contents before are back.
    pub(crate) unsafe fn write(contents: u64) {
        // SAFETY: every program may write the register; the caller vouches for what follows.
        unsafe { asm!("msr fpcr, {}", in(reg) contents) };
    }
}

/// Calls `work` in an environment; an error if the environment has changed when it returns.
pub(crate) fn within<R>(
    (name, environment): (&str, u64),
    work: impl FnOnce() -> R,
) -> Result<R, String> {
    let before = register::read();
    // SAFETY: `work` calls code that sees to itself, and compares bits.
    unsafe { register::write(environment) };
    let entered = register::read();
    let result = work();
    let left = register::read();
    // SAFETY: the contents that this thread had.
    unsafe { register::write(before) };
    // A CPU may lack some of the bits.
    if entered & !register::STATUS != left & !register::STATUS {
        return Err(format!("{name}: entered with {entered:#x}, left with {left:#x}"));
    }
    Ok(result)
}
