//! Intel IPP, from the folder that `RECAST_BENCH_IPP` names: nearest-even, towards zero or
//! nearest-away, saturating; NaN gives some integer and no error; no maps.
//!
//! The chains are `ippiScaleC` with its fast hint: one multiplication and one addition instead of the
//! codec's operations, so its bits may differ.

use std::ffi::{c_int, c_void};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use recast_kernels::{ElementType, Rounding};

use super::{Contender, Peer, Verdict, clamps};
use crate::cases::{Case, OFFSET, SCALE, Scaling};

pub(super) struct Ipp {
    signals: Library,
    images: Library,
}

/// `IppiSize`: one row of n pixels.
#[derive(Clone, Copy)]
#[repr(C)]
struct Size {
    width: c_int,
    height: c_int,
}

type Pointer = *const c_void;
type Output = *mut c_void;
type Convert = unsafe extern "C" fn(Pointer, Output, c_int) -> c_int;
type ConvertRounded = unsafe extern "C" fn(Pointer, Output, c_int, c_int) -> c_int;
type ConvertScaled = unsafe extern "C" fn(Pointer, Output, c_int, c_int, c_int) -> c_int;
type Image = unsafe extern "C" fn(Pointer, c_int, Output, c_int, Size) -> c_int;
type ImageScaled = unsafe extern "C" fn(Pointer, c_int, Output, c_int, Size, c_int, c_int) -> c_int;
type ScaleC = unsafe extern "C" fn(Pointer, c_int, f64, f64, Output, c_int, Size, c_int) -> c_int;

/// The parameters that a conversion takes besides the buffers and the length.
#[derive(Clone, Copy)]
enum Parameters {
    None,
    Rounding,
    Scale,
    RoundingAndScale,
}

/// `ippsConvert_*`.
const SIGNALS: [(&str, Parameters); 32] = [
    ("8s16s", Parameters::None),
    ("8s32f", Parameters::None),
    ("8u32f", Parameters::None),
    ("16s32s", Parameters::None),
    ("16s32f", Parameters::None),
    ("16u32f", Parameters::None),
    ("32s16s", Parameters::None),
    ("32s32f", Parameters::None),
    ("32s64f", Parameters::None),
    ("64s64f", Parameters::None),
    ("16f32f", Parameters::None),
    ("32f64f", Parameters::None),
    ("64f32f", Parameters::None),
    ("8s8u", Parameters::None),
    ("16s16f", Parameters::Rounding),
    ("32f16f", Parameters::Rounding),
    ("16s64f", Parameters::Scale),
    ("16s8s", Parameters::RoundingAndScale),
    ("64s32s", Parameters::RoundingAndScale),
    ("8u8s", Parameters::RoundingAndScale),
    ("16f16s", Parameters::RoundingAndScale),
    ("32f8s", Parameters::RoundingAndScale),
    ("32f8u", Parameters::RoundingAndScale),
    ("32f16s", Parameters::RoundingAndScale),
    ("32f16u", Parameters::RoundingAndScale),
    ("32f32s", Parameters::RoundingAndScale),
    ("64f8s", Parameters::RoundingAndScale),
    ("64f8u", Parameters::RoundingAndScale),
    ("64f16s", Parameters::RoundingAndScale),
    ("64f16u", Parameters::RoundingAndScale),
    ("64f32s", Parameters::RoundingAndScale),
    ("64f64s", Parameters::RoundingAndScale),
];

/// `ippiConvert_*`, for pairs that `ippsConvert_*` lacks; the third is the end of the name.
const IMAGES: [(&str, Parameters, &str); 26] = [
    ("8u16u", Parameters::None, "C1R"),
    ("8u16s", Parameters::None, "C1R"),
    ("8u32s", Parameters::None, "C1R"),
    ("8s32s", Parameters::None, "C1R"),
    ("8s64f", Parameters::None, "C1R"),
    ("16u8u", Parameters::None, "C1R"),
    ("16u32s", Parameters::None, "C1R"),
    ("16u32u", Parameters::None, "C1R"),
    ("16s8u", Parameters::None, "C1R"),
    ("32s8s", Parameters::None, "C1R"),
    ("32s8u", Parameters::None, "C1R"),
    ("32u32f", Parameters::None, "C1R"),
    ("8s16u", Parameters::None, "C1Rs"),
    ("8s32u", Parameters::None, "C1Rs"),
    ("16s16u", Parameters::None, "C1Rs"),
    ("16s32u", Parameters::None, "C1Rs"),
    ("32s32u", Parameters::None, "C1Rs"),
    ("16u8s", Parameters::RoundingAndScale, "C1RSfs"),
    ("16u16s", Parameters::RoundingAndScale, "C1RSfs"),
    ("32f32u", Parameters::RoundingAndScale, "C1RSfs"),
    ("32s16u", Parameters::RoundingAndScale, "C1RSfs"),
    ("32u8s", Parameters::RoundingAndScale, "C1RSfs"),
    ("32u8u", Parameters::RoundingAndScale, "C1RSfs"),
    ("32u16s", Parameters::RoundingAndScale, "C1RSfs"),
    ("32u16u", Parameters::RoundingAndScale, "C1RSfs"),
    ("32u32s", Parameters::RoundingAndScale, "C1RSfs"),
];

/// `ippAlgHintFast`.
const FAST: c_int = 1;

impl Ipp {
    /// Loads the libraries of this folder and lets them pick their code for this CPU.
    pub(super) fn load(folder: &Path) -> Result<Self, crate::Error> {
        let open = |name: &str| {
            let path = folder.join(name);
            // SAFETY: the user names a folder of Intel's libraries, whose initialisers are plain C.
            unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) }.map_err(|error| {
                format!("RECAST_BENCH_IPP: {} cannot be loaded: {error}", path.display())
            })
        };
        // The others find this one by its name once it is loaded.
        let core = open("libippcore.so.12")?;
        // SAFETY: the type is that of the function in ippcore.h.
        let init = unsafe { core.get::<unsafe extern "C" fn() -> c_int>(b"ippInit") }?;
        // SAFETY: it takes nothing and may be called at any time.
        let status = unsafe { init() };
        if status < 0 {
            return Err(format!("RECAST_BENCH_IPP: ippInit returns {status}").into());
        }
        let signals = open("libipps.so.12")?;
        // ippi needs ippvm and ipps under their own names.
        let _math = open("libippvm.so.12");
        Ok(Self { signals, images: open("libippi.so.12")? })
    }

    fn function<F: Copy>(library: &Library, name: &str) -> Option<F> {
        // SAFETY: each caller gives the type of the function of this name in IPP's headers.
        unsafe { library.get::<F>(name.as_bytes()) }.ok().map(|symbol| *symbol)
    }

    fn conversion(&self, pair: &str, mode: c_int) -> Option<Box<dyn Contender>> {
        if let Some((_, parameters)) = SIGNALS.iter().find(|(name, _)| *name == pair) {
            let (library, name) = (&self.signals, format!("ippsConvert_{pair}"));
            return Some(match parameters {
                Parameters::None => {
                    let convert: Convert = Self::function(library, &name)?;
                    // SAFETY: `row` gives buffers of n elements of the pair's types.
                    row(pair, move |from, to, size, _| unsafe { convert(from, to, size.width) })
                }
                Parameters::Rounding => {
                    let convert: ConvertRounded = Self::function(library, &name)?;
                    // SAFETY: as above.
                    row(pair, move |from, to, size, _| unsafe {
                        convert(from, to, size.width, mode)
                    })
                }
                Parameters::Scale => {
                    let convert: ConvertRounded = Self::function(library, &format!("{name}_Sfs"))?;
                    // SAFETY: as above.
                    row(pair, move |from, to, size, _| unsafe { convert(from, to, size.width, 0) })
                }
                Parameters::RoundingAndScale => {
                    let convert: ConvertScaled = Self::function(library, &format!("{name}_Sfs"))?;
                    // SAFETY: as above.
                    row(pair, move |from, to, size, _| unsafe {
                        convert(from, to, size.width, mode, 0)
                    })
                }
            });
        }
        let (_, parameters, end) = IMAGES.iter().find(|(name, ..)| *name == pair)?;
        let name = format!("ippiConvert_{pair}_{end}");
        Some(if let Parameters::None = parameters {
            let convert: Image = Self::function(&self.images, &name)?;
            // SAFETY: as above; the steps are the bytes of the only row.
            row(pair, move |from, to, size, (read, written)| unsafe {
                convert(from, read, to, written, size)
            })
        } else {
            let convert: ImageScaled = Self::function(&self.images, &name)?;
            // SAFETY: as above.
            row(pair, move |from, to, size, (read, written)| unsafe {
                convert(from, read, to, written, size, mode, 0)
            })
        })
    }

    fn chain(&self, pair: &str, multiply: f64, add: f64) -> Option<Box<dyn Contender>> {
        let scale: ScaleC = Self::function(&self.images, &format!("ippiScaleC_{pair}_C1R"))?;
        // SAFETY: as in `conversion`.
        Some(row(pair, move |from, to, size, (read, written)| unsafe {
            scale(from, read, multiply, add, to, written, size, FAST)
        }))
    }
}

impl Peer for Ipp {
    fn name(&self) -> &'static str {
        "ipp"
    }

    fn bind(&self, case: &Case, _input: &[u8]) -> Option<Box<dyn Contender>> {
        if !case.map.is_empty() || !clamps(case) {
            return None;
        }
        let pair = format!("{}{}", suffix(case.source)?, suffix(case.target)?);
        let nearest = case.rounding == Rounding::NearestEven;
        let from_float_to_int = case.source.is_float() && case.target.is_integer();
        let no_rounding = case.is_exact() || case.source.is_integer() && case.target.is_integer();
        match case.affine {
            Scaling::Encode if nearest => self.chain(&pair, SCALE, -OFFSET * SCALE),
            Scaling::Decode => self.chain(&pair, SCALE.recip(), OFFSET),
            Scaling::None => {
                // `IppRoundMode`
                let mode = match case.rounding {
                    Rounding::NearestEven => 1,
                    _ if no_rounding => 1,
                    Rounding::TowardsZero if from_float_to_int => 0,
                    Rounding::NearestAway if from_float_to_int => 2,
                    _ => return None,
                };
                self.conversion(&pair, mode)
            }
            Scaling::Encode | Scaling::EncodeInFloat64 | Scaling::DecodeInFloat64 => None,
        }
    }
}

/// A contender that calls `convert` with one row of elements and the bytes of input and output.
fn row(
    pair: &str,
    convert: impl Fn(Pointer, Output, Size, (c_int, c_int)) -> c_int + 'static,
) -> Box<dyn Contender> {
    let pair = pair.to_owned();
    // The pair begins with the bits of a source element.
    let digits = pair.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let source_size = pair[..digits].parse::<usize>().unwrap_or(8) / 8;
    Box::new(move |input: &[u8], output: &mut [u8]| -> Verdict {
        let number = |n: usize| c_int::try_from(n).map_err(|error| error.to_string());
        let size = Size { width: number(input.len() / source_size)?, height: 1 };
        let steps = (number(input.len())?, number(output.len())?);
        match convert(input.as_ptr().cast(), output.as_mut_ptr().cast(), size, steps) {
            0 => Ok(()),
            status => Err(format!("{pair} returns status {status}")),
        }
    })
}

/// How IPP names the type.
const fn suffix(element_type: ElementType) -> Option<&'static str> {
    Some(match element_type {
        ElementType::UInt8 => "8u",
        ElementType::UInt16 => "16u",
        ElementType::UInt32 => "32u",
        ElementType::Int8 => "8s",
        ElementType::Int16 => "16s",
        ElementType::Int32 => "32s",
        ElementType::Int64 => "64s",
        ElementType::Float16 => "16f",
        ElementType::Float32 => "32f",
        ElementType::Float64 => "64f",
        _ => return None,
    })
}
