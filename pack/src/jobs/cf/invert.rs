//! Value codecs that decode as CF does.
//!
//! CF multiplies by `scale_factor`; `scale_offset` divides by its scale. One division in the array's
//! type rarely gives the same bits as the product, so there are two ways:
//!
//! - *direct*: `[scale_offset(offset, scale), cast_value]`, all in the decoded type;
//! - *through float64*, for float32: `[scale_offset(offset), cast_value(float64), scale_offset(scale),
//!   cast_value]`. Decoding divides in float64 and rounds the quotient to float32 before it adds the
//!   offset. The product of a 16-bit code and a float32 is exact in float64, and the quotient is so close
//!   to it that both round to the same float32, unless the product is halfway between two. A scale some
//!   units in the last place away then rounds to the right side.
//!
//! If only a few codes still differ, the decode map gives them a working value that decodes correctly.

use anyhow::Context;
use recast_kernels::{ElementType, Scalar};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, Entries, JsonScalar, ScalarMap, ScaleOffset,
};

use super::attributes::{ADD_OFFSET, Arithmetic, Attributes, Codes, SCALE_FACTOR};
use crate::check::difference::Differences;
use crate::choose::inverse::{beside_inverse, closest};
use crate::error::Result;
use crate::scan::number::{neighbours, rounded};

/// Codecs, and how they decode.
#[derive(Clone, Debug)]
pub(crate) struct Inversion {
    pub(crate) codecs: Vec<Codec>,
    pub(crate) chain: Chain,
    /// The differences from CF's decoding, over all codes except missing values.
    pub(crate) differences: Differences,
    /// Entries of the decode map that only correct the last bits.
    pub(crate) patched: usize,
}

/// Scales that are tried, in units in the last place from the inverse of `scale_factor`.
const DIRECT_STEPS: i64 = 8;
const WIDE_STEPS: i64 = 64;
/// The most map entries that correct the last bits.
const MOST_PATCHES: u64 = 256;
/// The largest distance of such an entry from its code, in units in the last place.
const PATCH_STEPS: i64 = 8;

/// The codecs before the last cast: either of the two ways, with one scale.
#[derive(Clone, Copy, Debug)]
struct Arrangement {
    decoded: ElementType,
    /// The type in which the codes are divided.
    working: ElementType,
    offset: Option<f64>,
    scale: Option<f64>,
}

impl Arrangement {
    fn head(&self) -> Vec<Codec> {
        let scalar = |number: Option<f64>, element_type| {
            number.and_then(|number| rounded(number, element_type)).map(JsonScalar::from)
        };
        let offset = scalar(self.offset, self.decoded);
        let scale = scalar(self.scale, self.working);
        if self.working == self.decoded {
            return match (&offset, &scale) {
                (None, None) => Vec::new(),
                _ => vec![ScaleOffset::new(offset, scale).into()],
            };
        }
        let mut codecs = Vec::new();
        if offset.is_some() {
            codecs.push(ScaleOffset::new(offset, None).into());
        }
        codecs.push(CastValue::new(self.working).into());
        codecs.push(ScaleOffset::new(None, scale).into());
        codecs
    }

    /// The codecs; entries of the last cast's map take NaN to a code and each missing code to NaN,
    /// and give some codes another working value.
    fn codecs(&self, code_type: ElementType, map: &Map<'_>) -> Vec<Codec> {
        let mut last = CastValue::new(code_type);
        let nan = Scalar::nan(self.working);
        let nans = map.missing.iter().filter_map(|&code| Some((code, nan?)));
        let decode: Entries = nans.chain(map.fill).chain(map.patches.iter().copied()).collect();
        let nan_code = nan.zip(map.nan_code);
        let fill = map.fill.map(|(code, value)| (value, code));
        let encode: Entries = nan_code.into_iter().chain(fill).collect();
        if !decode.is_empty() {
            let encode = (!encode.is_empty()).then_some(encode);
            last.scalar_map = Some(ScalarMap { encode, decode: Some(decode) });
        }
        let mut codecs = self.head();
        codecs.push(last.into());
        codecs
    }

    /// Whether the value of a code comes back from each codec before the last cast.
    fn keeps_fill(&self, chain: &Chain, fill: Scalar) -> bool {
        let value = chain.decode(&fill.to_ne_bytes()).ok();
        let value = value.and_then(|value| Scalar::from_ne_bytes(self.decoded, &value));
        value.is_some_and(|value| encoded_one_by_one(&self.head(), value).is_ok())
    }

    /// The codecs before the last cast, bound.
    fn head_chain(&self) -> Result<Chain> {
        Ok(Chain::bind(self.decoded, None, &self.head(), &BindOptions::default())?)
    }
}

/// The contents of the last cast's map.
#[derive(Clone, Debug)]
struct Map<'a> {
    missing: &'a [Scalar],
    nan_code: Option<Scalar>,
    /// The code of the fill value, and its working value.
    fill: Option<(Scalar, Scalar)>,
    /// Codes with the working values that decode to CF's.
    patches: Vec<(Scalar, Scalar)>,
}

/// Finds codecs for an array; `fill` is the code of its fill value.
pub(crate) fn invert(
    attributes: &Attributes,
    arithmetic: &Arithmetic,
    codes: &Codes,
    fill: Scalar,
) -> Result<Inversion> {
    let Attributes { code_type, missing, .. } = attributes;
    let decoded = arithmetic.decoded_type();
    let nan_code = if missing.contains(&fill) { Some(fill) } else { missing.first().copied() };
    let expected = arithmetic.decode(&codes.bytes)?;
    let try_one = |arrangement: &Arrangement, map: &Map<'_>| -> Result<Inversion> {
        let list = arrangement.codecs(*code_type, map);
        let chain = Chain::bind(decoded, None, &list, &BindOptions::default())?;
        let found = chain.decode(&codes.bytes)?;
        let differences = Differences::between(decoded, &expected, &found)?;
        Ok(Inversion { codecs: list, chain, differences, patched: map.patches.len() })
    };
    let mut map = Map { missing, nan_code, fill: None, patches: Vec::new() };
    let arrangements = arrangements(attributes, decoded);
    let best = |must_keep_fill: bool| {
        let tried = arrangements.iter().filter_map(|arrangement| {
            let inversion = try_one(arrangement, &map).ok()?;
            let is_fit = !must_keep_fill || arrangement.keeps_fill(&inversion.chain, fill);
            is_fit.then_some(Ok((inversion.differences, (*arrangement, inversion))))
        });
        closest(tried, |d| (d.differing, d.max_ulps))
    };
    let best = match best(true)? {
        // The error names the value that the fill value becomes.
        None => best(false)?,
        found => found,
    };
    let (_, (arrangement, mut inversion)) = best.with_context(|| {
        format!(
            "{SCALE_FACTOR} and {ADD_OFFSET} say {}, and no finite scale of {decoded} gives these values; {}",
            attributes.formula(),
            way_out(decoded)
        )
    })?;
    if (1..=MOST_PATCHES).contains(&inversion.differences.differing) {
        map.patches = patches(&arrangement, *code_type, codes, &expected, &inversion.chain)?;
        let patched = try_one(&arrangement, &map)?;
        if patched.differences.is_none() {
            inversion = patched;
        } else {
            map.patches.clear();
        }
    }
    // The fill value must survive each codec alone, also the last one.
    let value = inversion.chain.decode(&fill.to_ne_bytes())?;
    let working = arrangement.head_chain()?.encode(&value)?;
    let working = Scalar::from_ne_bytes(arrangement.working, &working).context("no fill value")?;
    if !working.is_nan() && !working.equals(fill) {
        map.patches.retain(|&(code, _)| code != fill);
        map.fill = Some((fill, working));
        inversion = try_one(&arrangement, &map)?;
    }
    Ok(inversion)
}

/// The stored value of a fill value. It must come back from each codec alone, because readers check the codecs one by one.
pub(super) fn encoded_one_by_one(codecs: &[Codec], fill: Scalar) -> Result<Scalar> {
    codecs.iter().try_fold(fill, |fill, codec| {
        let codec = std::slice::from_ref(codec);
        let bound = Chain::bind(fill.element_type(), Some(fill), codec, &BindOptions::default())?;
        bound.encoded_fill_value().context("no stored fill value")
    })
}

/// The way out for values that a type does not hold.
pub(super) fn way_out(decoded: ElementType) -> &'static str {
    match decoded {
        ElementType::Float32 => "decode to float64, or correct the attributes",
        _ => "correct the attributes",
    }
}

fn arrangements(attributes: &Attributes, decoded: ElementType) -> Vec<Arrangement> {
    let offset = attributes.add_offset;
    let Some(factor) = attributes.scale_factor else {
        return vec![Arrangement { decoded, working: decoded, offset, scale: None }];
    };
    let factor = if decoded == ElementType::Float32 { f64::from(factor as f32) } else { factor };
    let mut arrangements = Vec::new();
    let mut add = |working, steps| {
        let scales = beside_inverse(factor, working, steps);
        arrangements.extend(scales.into_iter().map(|scale| Arrangement {
            decoded,
            working,
            offset,
            scale: Some(scale),
        }));
    };
    add(decoded, DIRECT_STEPS);
    if decoded == ElementType::Float32 {
        add(ElementType::Float64, WIDE_STEPS);
    }
    arrangements
}

/// For each code that does not decode to CF's value, a working value that does.
fn patches(
    arrangement: &Arrangement,
    code_type: ElementType,
    codes: &Codes,
    expected: &[u8],
    chain: &Chain,
) -> Result<Vec<(Scalar, Scalar)>> {
    let Arrangement { decoded, working, .. } = *arrangement;
    let found = chain.decode(&codes.bytes)?;
    let head = arrangement.head_chain()?;
    let size = decoded.size();
    let all = codes.bytes.chunks_exact(code_type.size());
    let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
    let mut patches = Vec::new();
    for (code, (expected, found)) in all.zip(pairs) {
        if Differences::between(decoded, expected, found)?.is_none() {
            continue;
        }
        let Some(code) = Scalar::from_ne_bytes(code_type, code) else { continue };
        let value = neighbours(code.to_f64(), working, PATCH_STEPS).into_iter().find(|&value| {
            let value = rounded(value, working);
            let decoded = value.and_then(|value| head.decode(&value.to_ne_bytes()).ok());
            decoded.is_some_and(|decoded| decoded == expected)
        });
        patches.extend(value.and_then(|value| Some((code, rounded(value, working)?))));
    }
    Ok(patches)
}
