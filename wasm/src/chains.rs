//! The chains that JavaScript has bound, and the buffers that it shares with them.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zarr_recast::data_type::ByteOrder;
use zarr_recast::{
    BindOptions, Chain, Codec, ElementType, Entries, FillCheck, FloatOverflow, Reason, RunError,
    Scalar, advice, data_type, fill_value,
};

use crate::metadata;

#[derive(Default)]
pub(crate) struct Chains {
    input: Vec<u8>,
    output: Vec<u8>,
    output_length: usize,
    /// By handle; `None` is free.
    bound: Vec<Option<Chain>>,
}

/// Members of an array's metadata, as they are written there; others are ignored.
#[derive(Deserialize)]
#[serde(expecting = "an object with data_type and codecs")]
struct Metadata<'a> {
    #[serde(borrow)]
    data_type: &'a RawValue,
    /// Left out, none is checked; `null` is no fill value.
    #[serde(borrow, default, deserialize_with = "present")]
    fill_value: Option<&'a RawValue>,
    #[serde(borrow)]
    codecs: &'a RawValue,
}

fn present<'de, D: Deserializer<'de>>(json: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(json).map(Some)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request<'a> {
    #[serde(borrow)]
    metadata: &'a RawValue,
    /// Whether encoded elements have big-endian bytes; `null` where codecs of Zarr v2 say it.
    big_endian: Option<bool>,
    /// Whether the array exists already: a fill value that does not survive is then no error.
    exists: bool,
    float_overflow: Overflow,
}

/// As `FloatOverflow`.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Overflow {
    Error,
    Infinity,
}

impl Request<'_> {
    fn bind(&self) -> Result<(Chain, Value), String> {
        let metadata: Metadata<'_> = serde_json::from_str(self.metadata.get())
            .map_err(|error| format!("metadata: {error}"))?;
        let data_type =
            data_type::parse(metadata.data_type.get()).map_err(|error| error.to_string())?;
        let fill_value = metadata
            .fill_value
            .map(|text| fill_value::from_json_str(data_type, text.get()))
            .transpose()
            .map_err(|error| error.to_string())?;
        let codecs =
            Codec::list_from_json(metadata.codecs.get()).map_err(|error| error.to_string())?;
        let check = if self.exists { FillCheck::ReportOnly } else { FillCheck::Create };
        let overflow = match self.float_overflow {
            Overflow::Error => FloatOverflow::Error,
            Overflow::Infinity => FloatOverflow::Infinity,
        };
        let bind = |big_endian| {
            let order = if big_endian { ByteOrder::Big } else { ByteOrder::Little };
            let options = BindOptions::default()
                .fill_check(check)
                .float_overflow(overflow)
                .encoded_byte_order(order);
            Chain::bind(data_type, fill_value, &codecs, &options).map_err(|error| error.to_string())
        };
        let mut chain = bind(self.big_endian.unwrap_or_default())?;
        if self.big_endian.is_none() && chain.legacy_byte_order() == Some(ByteOrder::Big) {
            chain = bind(true)?;
        }
        let warnings: Vec<_> = chain.warnings().iter().map(|d| &d.message).collect();
        let description = json!({
            "decodedType": chain.decoded_type().name(),
            "encodedType": chain.encoded_type().name(),
            "encodedSize": chain.encoded_type().size(),
            "encodedFill": chain.encoded_fill_value().map(hex),
            "warnings": warnings,
            "linear": linear(chain.decoded_type(), &codecs),
        });
        Ok((chain, description))
    }
}

/// The bits, two digits per byte.
fn hex(scalar: Scalar) -> String {
    format!("{:0width$x}", scalar.bits(), width = 2 * scalar.element_type().size())
}

/// What a shader needs to decode: `code / scale + offset`, but for the codes that the map names. Texts of numbers; `null`
/// where a chain does something else.
fn linear(decoded: ElementType, codecs: &[Codec]) -> Option<Value> {
    let (affine, cast) = match codecs {
        [Codec::ScaleOffset(affine), Codec::CastValue(cast)] => (Some(affine), cast),
        [Codec::CastValue(cast)] => (None, cast),
        _ => return None,
    };
    if !decoded.is_float() || !cast.data_type.is_integer() {
        return None;
    }
    let number = |json: Option<&zarr_recast::JsonScalar>, missing: f64| match json {
        None => Some(missing),
        Some(json) => json.to_scalar(decoded).ok().map(Scalar::to_f64),
    };
    let scale = number(affine.and_then(|affine| affine.scale.as_ref()), 1.0)?;
    let offset = number(affine.and_then(|affine| affine.offset.as_ref()), 0.0)?;
    let pairs = cast.scalar_map.as_ref().and_then(|map| map.decode.as_ref());
    let map: Option<Vec<_>> = pairs
        .into_iter()
        .flat_map(Entries::iter)
        .map(|(code, value)| {
            let code = code.to_scalar(cast.data_type).ok()?.to_string();
            let value = value.to_scalar(decoded).ok()?.to_f64();
            // Behind the cast the map's value is scaled as well.
            Some([code, text(value / scale + offset)])
        })
        .collect();
    Some(json!({ "scale": scale, "offset": offset, "map": map? }))
}

/// As JavaScript's `Number` reads it.
fn text(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    x.to_string()
}

fn message(text: impl Into<String>) -> Value {
    json!({ "message": text.into() })
}

/// The error of a block, whose first element is the chunk's element `first`.
fn failure(error: RunError, first: usize) -> Value {
    match error.after(first) {
        RunError::Element(element) => {
            json!({
                "message": format!("{element:#}; {}", advice(&element)),
                "index": element.index,
                "value": element.input.to_string(),
                "reason": match element.reason {
                    Reason::Nan => Some("nan"),
                    Reason::Infinite => Some("infinite"),
                    Reason::OutOfRange => Some("out-of-range"),
                    Reason::Overflow => Some("overflow"),
                    Reason::InexactDivision => Some("inexact-division"),
                    _ => None, // it may grow
                },
            })
        }
        error => message(error.to_string()),
    }
}

/// Makes a buffer at least this long. What it held is lost when it grows.
fn grow(buffer: &mut Vec<u8>, length: usize) -> Result<(), Value> {
    if buffer.len() < length {
        buffer.clear();
        buffer
            .try_reserve_exact(length)
            .map_err(|_| message(format!("no memory for {length} bytes")))?;
        buffer.resize(length, 0);
    }
    Ok(())
}

impl Chains {
    pub(crate) fn reserve(&mut self, length: usize) -> *mut u8 {
        match grow(&mut self.input, length) {
            Ok(()) => self.input.as_mut_ptr(),
            Err(_) => std::ptr::null_mut(),
        }
    }

    pub(crate) fn output(&self) -> &[u8] {
        &self.output[..self.output_length]
    }

    pub(crate) fn bind(&mut self, length: usize) -> i32 {
        let result = self.request(length).and_then(|text| {
            let request: Request<'_> =
                serde_json::from_slice(text).map_err(|error| message(error.to_string()))?;
            request.bind().map_err(message)
        });
        let (chain, description) = match result {
            Ok(bound) => bound,
            Err(error) => return self.fail(&error),
        };
        let handle = self.bound.iter().position(Option::is_none).unwrap_or(self.bound.len());
        let Ok(number) = i32::try_from(handle) else {
            return self.fail(&message("too many chains"));
        };
        match self.bound.get_mut(handle) {
            Some(place) => *place = Some(chain),
            None => self.bound.push(Some(chain)),
        }
        self.say(&description.to_string());
        number
    }

    pub(crate) fn unbind(&mut self, handle: usize) {
        if let Some(place) = self.bound.get_mut(handle) {
            *place = None;
        }
    }

    pub(crate) fn run(&mut self, handle: usize, length: usize, first: usize, encodes: bool) -> i32 {
        match self.try_run(handle, length, first, encodes) {
            Ok(length) => {
                self.output_length = length;
                0
            }
            Err(error) => self.fail(&error),
        }
    }

    pub(crate) fn exact(&mut self, length: usize, reuse: bool) -> i32 {
        let result = self
            .request(length)
            .and_then(|text| std::str::from_utf8(text).map_err(|error| message(error.to_string())))
            .and_then(|text| metadata::exact(text, reuse).map_err(message));
        match result {
            Ok(text) => {
                self.say(&text);
                0
            }
            Err(error) => self.fail(&error),
        }
    }

    fn try_run(
        &mut self,
        handle: usize,
        length: usize,
        first: usize,
        encodes: bool,
    ) -> Result<usize, Value> {
        let Some(Some(chain)) = self.bound.get(handle) else {
            return Err(message("this chain is freed"));
        };
        let plan = if encodes { chain.encoder() } else { chain.decoder() };
        let input =
            self.input.get(..length).ok_or_else(|| message("more bytes than were reserved"))?;
        let needed = length / plan.source().size() * plan.target().size();
        grow(&mut self.output, needed)?;
        plan.run(input, &mut self.output[..needed]).map_err(|error| failure(error, first))?;
        Ok(needed)
    }

    fn request(&self, length: usize) -> Result<&[u8], Value> {
        self.input.get(..length).ok_or_else(|| message("more bytes than were reserved"))
    }

    fn say(&mut self, text: &str) {
        self.output_length = text.len();
        self.output.resize(self.output.len().max(text.len()), 0);
        self.output[..text.len()].copy_from_slice(text.as_bytes());
    }

    fn fail(&mut self, error: &Value) -> i32 {
        self.say(&error.to_string());
        -1
    }
}
