//! The attributes with which the CF conventions pack integers, and their arithmetic.

use anyhow::{Context, bail};
use recast_kernels::{Cast, ElementType, Plan, Scalar};
use serde_json::{Map, Value, json};
use zarr_recast::JsonScalar;

use crate::array::source::Source;
use crate::error::Result;
pub(crate) use crate::metadata::cf_names::{ADD_OFFSET, SCALE_FACTOR, UNSIGNED, VALID};
use crate::metadata::cf_names::{VALID_MAX, VALID_MIN, VALID_RANGE};
use crate::metadata::document::values;
use crate::metadata::element_types::with_sign;
use crate::metadata::fill_attribute::{FILL_VALUE, MISSING_VALUE, marker};
use crate::scan::number::{NumberReader, integer_range};
use crate::text::count;

/// Attributes that readers apply to stored elements; beside value codecs they would apply twice.
pub(crate) const APPLIED: [&str; 5] =
    [SCALE_FACTOR, ADD_OFFSET, FILL_VALUE, MISSING_VALUE, UNSIGNED];

/// The attributes of a packed array.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    /// The type of the integers; with `_Unsigned`, not the stored type.
    pub(crate) code_type: ElementType,
    pub(crate) scale_factor: Option<f64>,
    pub(crate) add_offset: Option<f64>,
    /// The codes of missing values, the one of `_FillValue` first.
    pub(crate) missing: Vec<Scalar>,
    /// Warnings for readers.
    pub(crate) warnings: Vec<String>,
}

impl Attributes {
    /// Reads the attributes of an array of integers.
    pub(crate) fn read(attributes: &Map<String, Value>, stored: ElementType) -> Result<Self> {
        if !stored.is_integer() {
            bail!("the elements are {stored}; CF packs integers, so there is nothing to convert");
        }
        let code_type = match attributes.get(UNSIGNED) {
            None => stored,
            Some(flag) => with_sign(stored, !unsigned(flag)?),
        };
        let mut result = Self {
            code_type,
            scale_factor: number(attributes, SCALE_FACTOR)?,
            add_offset: number(attributes, ADD_OFFSET)?,
            missing: Vec::new(),
            warnings: Vec::new(),
        };
        if let Some(factor) = result.scale_factor.filter(|&factor| factor == 0.0) {
            bail!(
                "{SCALE_FACTOR} is {factor:?}, which makes all values equal; no codec does that, so \
                 correct the attribute, or store the decoded values"
            );
        }
        for name in [FILL_VALUE, MISSING_VALUE] {
            for value in values(attributes.get(name)) {
                match code(value, stored, code_type) {
                    Some(code) if result.missing.contains(&code) => {}
                    Some(code) => result.missing.push(code),
                    None if name == FILL_VALUE && !is_nan(value) => bail!(
                        "{FILL_VALUE} is {value}, which is not a value of {stored}, so no element \
                         can have it; correct or remove the attribute"
                    ),
                    None => result.warnings.push(format!(
                        "{name} is {value}, which is not a value of {stored}: no element has it, \
                         so it is left out"
                    )),
                }
            }
        }
        let is_packed = result.scale_factor.is_some() || result.add_offset.is_some();
        if !is_packed && result.missing.is_empty() && code_type == stored {
            let ignored = match result.warnings.as_slice() {
                [] => String::new(),
                warnings => format!(" ({})", warnings.join("; ")),
            };
            bail!(
                "none of the attributes {}{ignored}; this array is not packed by the CF conventions, so \
                 leave it as it is",
                APPLIED.join(", ")
            );
        }
        Ok(result)
    }

    /// The type in which xarray decodes: that of the attributes, if it is wide enough for the integers. JSON
    /// does not distinguish float32 from float64, so numbers that float32 holds exactly count as float32.
    pub(crate) fn natural_type(&self) -> ElementType {
        let numbers = [self.scale_factor, self.add_offset];
        let is_narrow = numbers.iter().flatten().all(|&x| f64::from(x as f32) == x);
        if self.code_type.bits() <= 16 && is_narrow {
            ElementType::Float32
        } else {
            ElementType::Float64
        }
    }

    /// The code of `_FillValue`, if it has one.
    pub(super) fn fill(&self, given: &Map<String, Value>, stored: ElementType) -> Option<Scalar> {
        code(values(given.get(FILL_VALUE)).first()?, stored, self.code_type)
    }

    /// The type in which xarray decodes arrays of Zarr, where each number with a point is a float64.
    pub(super) fn xarray_type(&self, given: &Map<String, Value>) -> ElementType {
        let is_integer = |number: &Value| number.is_i64() || number.is_u64();
        let scale = values(given.get(SCALE_FACTOR)).first();
        match (scale, self.add_offset) {
            (Some(scale), None) if is_integer(scale) => ElementType::Int64,
            (None, None) if self.missing.is_empty() => self.code_type,
            (None, None) if self.code_type.bits() <= 16 => ElementType::Float32,
            _ => ElementType::Float64,
        }
    }

    /// The attributes of decoded values, from those of the stored elements: without those that readers would apply
    /// again, and with those in the stored elements' type decoded; a negative `scale_factor` swaps the ends. If one of
    /// these is a float, or no code, all are of the values, and are kept with a warning.
    pub(super) fn of_values(
        &mut self,
        given: &Map<String, Value>,
        stored: ElementType,
        arithmetic: &Arithmetic,
    ) -> Result<Map<String, Value>> {
        let turns = self.scale_factor.is_some_and(|factor| factor < 0.0);
        let mut kept = given.clone();
        let mut decoded = Map::new();
        let valid = picked(given, &VALID);
        let is_code =
            |value: &Value| !value.is_f64() && code(value, stored, self.code_type).is_some();
        let are_codes = valid.values().all(|valid| values(Some(valid)).iter().all(is_code));
        if !are_codes {
            let named = valid.iter().map(|(name, value)| format!("{name} is {value}"));
            let named = named.collect::<Vec<_>>().join(", ");
            self.warnings
                .push(format!("{named}: of the values, not codes of {stored}, so left as it is"));
        }
        for (name, attribute) in valid.iter().filter(|_| are_codes) {
            let codes = values(Some(attribute)).iter();
            let codes = codes.filter_map(|value| code(value, stored, self.code_type));
            let mut numbers = Vec::new();
            for code in codes {
                let bytes = arithmetic.decode_present(&code.to_ne_bytes())?;
                let value = Scalar::from_ne_bytes(arithmetic.decoded_type(), &bytes);
                numbers.push(zarr_recast::fill_value::to_json(value.context("no element")?));
            }
            let name_of_values = match name.as_str() {
                VALID_MIN if turns => VALID_MAX,
                VALID_MAX if turns => VALID_MIN,
                name => name,
            };
            if turns {
                numbers.reverse();
            }
            let value = match numbers.as_slice() {
                [] => continue,
                [one] if name != VALID_RANGE => one.clone(),
                _ => json!(numbers),
            };
            kept.remove(name);
            decoded.insert(name_of_values.into(), value);
        }
        kept.extend(decoded);
        for name in APPLIED {
            kept.remove(name);
        }
        Ok(kept)
    }

    /// The arithmetic as a formula, for reports.
    pub(crate) fn formula(&self) -> String {
        let factor = self.scale_factor.map(|factor| format!(" · {factor:?}"));
        let offset = self.add_offset.map(|offset| format!(" + {offset:?}"));
        format!("code{}{}", factor.unwrap_or_default(), offset.unwrap_or_default())
    }
}

/// The sentence in reports about an array whose integers attributes of CF pack.
pub(crate) const PACKED_BY_CF: &str = "packed by scale_factor or add_offset; pack with --from-cf to turn these attributes \
                                       into codecs over the same integers";

/// Whether the integers of an array stand for other values by CF's attributes.
pub(crate) fn is_packed_by_cf(source: &Source) -> bool {
    is_packed(source.element_type(), source.array().attributes())
}

/// Whether CF's attributes change the values of elements of a type.
pub(crate) fn is_packed(element_type: ElementType, attributes: &Map<String, Value>) -> bool {
    element_type.is_integer()
        && [SCALE_FACTOR, ADD_OFFSET].into_iter().any(|name| attributes.contains_key(name))
}

/// CF's decoding in one float type: the code times `scale_factor`, rounded, plus `add_offset`, rounded;
/// missing values become NaN.
#[derive(Clone, Debug)]
pub(crate) struct Arithmetic {
    to_float: Plan,
    scale_factor: Option<f64>,
    add_offset: Option<f64>,
    /// The codes of missing values, in native byte order.
    missing: Vec<Vec<u8>>,
}

impl Arithmetic {
    pub(crate) fn new(attributes: &Attributes, decoded: ElementType) -> Result<Self> {
        let to_float = Plan::builder(attributes.code_type).cast(Cast::new(decoded)).build()?;
        let (scale_factor, add_offset) = (attributes.scale_factor, attributes.add_offset);
        let missing = attributes.missing.iter().map(|code| code.to_ne_bytes()).collect();
        Ok(Self { to_float, scale_factor, add_offset, missing })
    }

    pub(crate) fn decoded_type(&self) -> ElementType {
        self.to_float.target()
    }

    /// Whether a code is that of a missing value.
    pub(super) fn is_missing(&self, code: &[u8]) -> bool {
        self.missing.iter().any(|missing| missing == code)
    }

    /// Decodes codes.
    pub(crate) fn decode(&self, codes: &[u8]) -> Result<Vec<u8>> {
        let mut values = self.decode_present(codes)?;
        mask(&self.missing, self.decoded_type(), codes, &mut values)?;
        Ok(values)
    }

    /// Decodes codes to float64 as xarray does, which compares them as floats with those of missing values.
    pub(super) fn decode_masked(&self, codes: &[u8]) -> Result<Vec<f64>> {
        let reader = NumberReader::new(self.to_float.source())?;
        let missing: Vec<f64> = reader.read(&self.missing.concat())?;
        let mut values = reader.read(codes)?;
        for value in &mut values {
            if missing.contains(value) {
                *value = f64::NAN;
            } else {
                *value = self.scale_factor.map_or(*value, |scale| *value * scale);
                *value = self.add_offset.map_or(*value, |offset| *value + offset);
            }
        }
        Ok(values)
    }

    /// Decodes codes as if none were a missing value.
    pub(crate) fn decode_present(&self, codes: &[u8]) -> Result<Vec<u8>> {
        let count = codes.len() / self.to_float.source().size();
        let mut values = vec![0; count * self.decoded_type().size()];
        self.to_float.run(codes, &mut values)?;
        if self.decoded_type() == ElementType::Float32 {
            let (scale, offset) =
                (self.scale_factor.map(|x| x as f32), self.add_offset.map(|x| x as f32));
            let (elements, _) = values.as_chunks_mut();
            for bytes in elements {
                let mut value = f32::from_ne_bytes(*bytes);
                value = scale.map_or(value, |scale| value * scale);
                value = offset.map_or(value, |offset| value + offset);
                *bytes = value.to_ne_bytes();
            }
        } else {
            let (elements, _) = values.as_chunks_mut();
            for bytes in elements {
                let mut value = f64::from_ne_bytes(*bytes);
                value = self.scale_factor.map_or(value, |scale| value * scale);
                value = self.add_offset.map_or(value, |offset| value + offset);
                *bytes = value.to_ne_bytes();
            }
        }
        Ok(values)
    }
}

/// Puts NaN in place of the values of missing codes.
pub(super) fn mask(
    missing: &[Vec<u8>],
    value_type: ElementType,
    codes: &[u8],
    values: &mut [u8],
) -> Result<()> {
    let Some(first) = missing.first() else { return Ok(()) };
    let nan = Scalar::nan(value_type).context("a type without NaN")?.to_ne_bytes();
    let codes = codes.chunks_exact(first.len());
    for (value, code) in values.chunks_exact_mut(value_type.size()).zip(codes) {
        if missing.iter().any(|missing| missing == code) {
            value.copy_from_slice(&nan);
        }
    }
    Ok(())
}

/// The codes over which decodings are compared.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    /// In native byte order.
    pub(crate) bytes: Vec<u8>,
    /// Which they are, for reports.
    pub(crate) what: String,
}

/// The most codes that are compared one by one, apart from the elements themselves.
const MOST_CODES: i128 = 1 << 24;
/// The number of codes compared in a larger range.
const SOME_CODES: i128 = 1 << 16;

impl Codes {
    /// All codes of a type of up to 16 bits; for a wider type, those between two codes, or some of them if there are
    /// too many.
    pub(crate) fn new(code_type: ElementType, range: Option<(i128, i128)>) -> Self {
        let all = integer_range(code_type).unwrap_or_default();
        if code_type.bits() <= 16 {
            return Self { what: format!("codes of {code_type}"), ..Self::between(code_type, all) };
        }
        Self::between(code_type, range.unwrap_or(all))
    }

    /// The codes between two codes, or some of them if there are too many.
    pub(crate) fn between(code_type: ElementType, (least, greatest): (i128, i128)) -> Self {
        let extent = greatest - least + 1;
        let step = if extent <= MOST_CODES { 1 } else { (extent + SOME_CODES - 1) / SOME_CODES };
        let mut bytes = Vec::with_capacity((extent / step + 2) as usize * code_type.size());
        let mut push = |value: i128| {
            // Two's complement: the low bytes are the element in every integer type.
            let bits = Scalar::from_bits(code_type, value as u64);
            bytes.extend(bits.to_ne_bytes());
        };
        let mut value = least;
        while value < greatest {
            push(value);
            value += step;
        }
        push(greatest);
        let all = u64::try_from(extent).map_or_else(|_| extent.to_string(), count);
        let some = if step == 1 { String::new() } else { format!(" out of the {all}") };
        let what = format!("codes of {code_type}{some} from {least} to {greatest}");
        Self { bytes, what }
    }

    /// These, and others of the same type.
    pub(super) fn and(mut self, others: &[Scalar]) -> Self {
        for code in others.iter().map(|code| code.to_ne_bytes()) {
            if !self.bytes.chunks_exact(code.len()).any(|one| one == code) {
                self.bytes.extend(code);
            }
        }
        self
    }
}

/// The attributes with these names.
pub(super) fn picked(attributes: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let pick = |name: &&str| Some(((*name).to_owned(), attributes.get(*name)?.clone()));
    names.iter().filter_map(pick).collect()
}

fn number(attributes: &Map<String, Value>, name: &str) -> Result<Option<f64>> {
    let Some(value) = attributes.get(name) else { return Ok(None) };
    match values(Some(value)) {
        [one] => {
            let number = one.as_f64().filter(|number| number.is_finite());
            number.map(Some).with_context(|| {
                format!("attribute {name} is {value}; it must be a finite JSON number")
            })
        }
        _ => bail!("attribute {name} is {value}; it must be one number"),
    }
}

/// Whether the value of an attribute is NaN, in one of the forms that it may have.
fn is_nan(value: &Value) -> bool {
    marker(value, ElementType::Float64).is_some_and(Scalar::is_nan)
}

/// The code in an attribute, in the stored type or in the type of `_Unsigned`.
fn code(value: &Value, stored: ElementType, code_type: ElementType) -> Option<Scalar> {
    let scalar = JsonScalar::from_json(value).ok().filter(|_| value.is_number())?;
    let code = scalar.to_scalar(stored).or_else(|_| scalar.to_scalar(code_type)).ok()?;
    Some(Scalar::from_bits(code_type, code.bits()))
}

fn unsigned(flag: &Value) -> Result<bool> {
    match flag {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => bail!("attribute {UNSIGNED} is {flag}; it must be \"true\" or \"false\""),
    }
}
