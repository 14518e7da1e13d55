//! Memory for large results.

use recast_kernels::zeroed_in_huge_pages;

#[test]
fn zeros_of_every_length_are_zeros() {
    for len in [0, 1, 1 << 20, (1 << 20) + 1, 3_000_001] {
        assert_eq!(zeroed_in_huge_pages::<f32>(len), vec![0.0; len]);
    }
}

/// Whether the mapping that holds an address has been advised to use huge pages.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn is_advised(address: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("this process's mappings");
    let mut holds = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let bound = |text| usize::from_str_radix(text, 16).ok();
        if let Some((Some(start), Some(end))) = range.map(|(start, end)| (bound(start), bound(end)))
        {
            holds = (start..end).contains(&address);
        }
        if let Some(flags) = line.strip_prefix("VmFlags:")
            && holds
        {
            return flags.split(' ').any(|flag| flag == "hg");
        }
    }
    false
}

// Other architectures are tested under emulation, which takes no such advice.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn linux_is_asked_for_huge_pages_from_4_mib_on() {
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        println!("this system has no huge pages");
        return;
    }
    let large: Vec<u8> = zeroed_in_huge_pages(8 << 20);
    assert!(is_advised(large.as_ptr() as usize + (4 << 20)));
    let small: Vec<u8> = zeroed_in_huge_pages(1 << 20);
    assert!(!is_advised(small.as_ptr() as usize + (1 << 19)));
}
