//! The doors: what a stranger may send is read by every job, and nothing but its output changes.

mod documents;
mod jobs;
mod stores;
mod traps;
mod world;

use std::panic;
use std::sync::Once;

use arbitrary::{Result, Unstructured};

use world::World;

/// Lets jobs catch the panics of zarrs' codecs, as they do; the fuzzer ends at any panic. One that nobody catches ends the target.
fn let_codecs_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let of_fuzzer = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let is_of_zarrs = |file: &str| file.replace('\\', "/").contains("/zarrs-0.");
            if !panic.location().is_some_and(|place| is_of_zarrs(place.file())) {
                of_fuzzer(panic);
            }
        }));
    });
}

/// A store of goldens or of the grammar, with traps set, as a folder or as a zip file.
pub(crate) fn check(u: &mut Unstructured) -> Result<()> {
    let_codecs_panic();
    let mut store = stores::store(u)?;
    for _ in 0..u.int_in_range(0..=4)? {
        traps::set(u, &mut store)?;
    }
    let world = World::new();
    let input = if u.arbitrary()? {
        let mut bytes = world.zip(&store);
        for _ in 0..u.int_in_range(0..=2)? {
            traps::damage(u, &mut bytes)?;
        }
        world.place_file("in.zarr.zip", &bytes)
    } else {
        world.place_folder("in.zarr", &store)
    };
    let array = *u.choose(&["", "", "a", "deep/c", ".."])?;
    let input = if array.is_empty() { input } else { input.join(array) };
    let before = world.snapshot();
    jobs::run_all(u, &world, &input)?;
    assert!(world.snapshot() == before, "a job changed something beside its output");
    Ok(())
}
