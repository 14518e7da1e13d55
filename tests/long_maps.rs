//! Scalar maps of millions of entries, from JSON to a bound chain: how much memory they take at most, which an
//! allocator counts.

use std::fmt::Write;

use peak_alloc::PeakAlloc;
use zarr_recast::{BindOptions, Chain, Codec, ElementType, FillCheck};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// `cast_value` to uint8 with so many entries, which take 13 to 14 bytes each: as short as they get.
fn metadata(entries: u32) -> String {
    let mut text = String::with_capacity(16 * entries as usize);
    text += r#"[{"name":"cast_value","configuration":{"data_type":"uint8","out_of_range":"clamp","scalar_map":{"encode":["#;
    for entry in 0..entries {
        let comma = if entry > 0 { "," } else { "" };
        write!(text, "{comma}[{},{}]", entry * 7 % entries, entry % 256).unwrap();
    }
    text + "]}}}]"
}

/// Binds a map, and says how many times its text is in memory at most, the text itself included.
fn peak_of(entries: u32) -> f64 {
    let text = metadata(entries);
    let before = MEMORY.current_usage() - text.capacity();
    MEMORY.reset_peak_usage();
    let codecs = Codec::list_from_json(&text).unwrap();
    let options = BindOptions::default().fill_check(FillCheck::ReportOnly);
    let chain = Chain::bind(ElementType::Int32, Some(5_i32.into()), &codecs, &options).unwrap();
    let peak =
        (MEMORY.peak_usage() - before - text.capacity() + text.len()) as f64 / text.len() as f64;
    println!("{entries} entries: {peak:.2} times {} bytes of text", text.len());

    let last = entries - 1;
    let key = last.wrapping_mul(7) % entries;
    let encoded: Vec<u8> = chain.encoder().run_slice(&[key as i32, i32::MAX]).unwrap();
    assert_eq!(encoded, [(last % 256) as u8, 255]);
    peak
}

// One test, for others would take memory meanwhile.
#[test]
fn a_map_takes_at_most_five_times_its_text() {
    for entries in [1_000_000, 2_000_000] {
        let peak = peak_of(entries);
        assert!(peak <= 5.0, "{entries} entries take {peak:.2} times their text");
    }
}

#[test]
#[ignore = "half a minute; run by hand, alone"]
fn ten_million_entries_take_at_most_five_times_their_text() {
    let peak = peak_of(10_000_000);
    assert!(peak <= 5.0, "{peak:.2} times the text");
}
