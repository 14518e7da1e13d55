//! Chains of codecs for JavaScript: functions of numbers, and two buffers in the module's memory.
//!
//! JavaScript writes what a function reads into the *input*, at the address that `reserve` returns, and reads what it
//! gives from the *output*, at `output_address`, of `output_length` bytes. Both buffers stay, and grow to the longest
//! block or text. A function that fails returns −1, and the output then says why, in JSON. `js/index.js` is the only caller.

#![cfg(target_arch = "wasm32")]
#![deny(unsafe_code)]

mod chains;
mod exports;
mod metadata;
