//! The peers that the kernels are compared with.

#[cfg(feature = "peers")]
mod arrow;
mod half_slices;
mod ipp;
#[cfg(feature = "peers")]
mod numkong_cast;
mod reference_loop;
mod rust_as;
mod zarr_cast_value_crate;

use bytemuck::Pod;
use recast_kernels::OutOfRange;

use crate::cases::Case;

pub(crate) type Verdict = Result<(), String>;

/// A library that has some of the cases.
pub(crate) trait Peer {
    fn name(&self) -> &'static str;

    /// The conversion, if the library has it with the same meaning for elements in range.
    ///
    /// A peer that checks nothing stands beside error mode as well: for the elements measured, which
    /// are all in range, it gives the same bits with less work.
    fn bind(&self, case: &Case, input: &[u8]) -> Option<Box<dyn Contender>>;

    /// How many of `n` elements it converts in one call.
    fn elements(&self, n: usize) -> usize {
        n
    }
}

/// A bound conversion.
pub(crate) trait Contender {
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Verdict;

    /// Copies the last result to `output`, for one that allocates its own.
    fn fetch(&self, _output: &mut [u8]) {}
}

impl<F: FnMut(&[u8], &mut [u8]) -> Verdict> Contender for F {
    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Verdict {
        self(input, output)
    }
}

/// All peers: `NumKong` and Arrow with the feature `peers`, which take long to build; Intel IPP if `RECAST_BENCH_IPP` names its library folder.
pub(crate) fn all() -> Result<Vec<Box<dyn Peer>>, crate::Error> {
    let mut peers: Vec<Box<dyn Peer>> = vec![
        Box::new(reference_loop::Reference),
        Box::new(rust_as::RustAs),
        Box::new(zarr_cast_value_crate::ZarrCastValue),
        Box::new(half_slices::Half),
        #[cfg(feature = "peers")]
        Box::new(numkong_cast::NumKong),
        #[cfg(feature = "peers")]
        Box::new(arrow::Arrow),
    ];
    if let Some(folder) = std::env::var_os("RECAST_BENCH_IPP") {
        peers.push(Box::new(ipp::Ipp::load(folder.as_ref())?));
    }
    Ok(peers)
}

/// A contender over typed slices.
fn typed<S: Pod, T: Pod>(
    mut convert: impl FnMut(&[S], &mut [T]) -> Verdict + 'static,
) -> Box<dyn Contender> {
    Box::new(move |input: &[u8], output: &mut [u8]| {
        let input = bytemuck::try_cast_slice(input).map_err(|error| error.to_string())?;
        let output = bytemuck::try_cast_slice_mut(output).map_err(|error| error.to_string())?;
        convert(input, output)
    })
}

/// Whether a conversion that clamps without a word means the same as the case.
fn clamps(case: &Case) -> bool {
    case.is_exact() || matches!(case.out_of_range, OutOfRange::Clamp | OutOfRange::Error)
}
