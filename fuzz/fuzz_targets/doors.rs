#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| recast_fuzz::doors(data));
