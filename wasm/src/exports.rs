//! The functions that JavaScript sees. They pass numbers; no pointer is read here.

// An exported name is unsafe because another function of this name could be called in its place: this is the only
// crate of the module that exports any.
#![expect(unsafe_code, reason = "names of exported functions")]

use std::cell::RefCell;

use crate::chains::Chains;

thread_local! {
    static CHAINS: RefCell<Chains> = RefCell::default();
}

/// Runs `f`, which is not reentrant: nothing here calls JavaScript.
fn with<T>(f: impl FnOnce(&mut Chains) -> T) -> T {
    CHAINS.with_borrow_mut(f)
}

/// Makes the input at least this long; its address, or 0 if there is no memory.
#[unsafe(no_mangle)]
extern "C" fn reserve(length: usize) -> *mut u8 {
    with(|chains| chains.reserve(length))
}

/// The address of the output.
#[unsafe(no_mangle)]
extern "C" fn output_address() -> *const u8 {
    with(|chains| chains.output().as_ptr())
}

/// The bytes of the output.
#[unsafe(no_mangle)]
extern "C" fn output_length() -> usize {
    with(|chains| chains.output().len())
}

/// Binds the request of this many bytes in the input. Returns a handle; the output describes the chain.
#[unsafe(no_mangle)]
extern "C" fn bind(length: usize) -> i32 {
    with(|chains| chains.bind(length))
}

/// Frees a chain.
#[unsafe(no_mangle)]
extern "C" fn unbind(handle: usize) {
    with(|chains| chains.unbind(handle));
}

/// Encodes this many bytes of the input: a block of a chunk, whose first element is the chunk's element `first`.
#[unsafe(no_mangle)]
extern "C" fn encode(handle: usize, length: usize, first: usize) -> i32 {
    with(|chains| chains.run(handle, length, first, true))
}

/// Decodes this many bytes of the input: a block of a chunk, whose first element is the chunk's element `first`.
#[unsafe(no_mangle)]
extern "C" fn decode(handle: usize, length: usize, first: usize) -> i32 {
    with(|chains| chains.run(handle, length, first, false))
}

/// Rewrites array metadata of this many bytes in the input for zarrita; see `metadata.rs`.
#[unsafe(no_mangle)]
extern "C" fn exact(length: usize, reuse: bool) -> i32 {
    with(|chains| chains.exact(length, reuse))
}
