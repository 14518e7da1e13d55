//! Makes the conformance vectors from the oracle of the kernels' tests. The kernels and the metadata
//! layer have no part in it.
#![allow(clippy::format_push_string)] // the texts are short

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use recast_kernels::{
    Affine, Cast, ElementType, FloatOverflow, OutOfRange, Reason, Rounding, Scalar, Step,
};

use crate::invalid::INVALID;
use crate::oracle::edges::{Random, edges};
use crate::oracle::{self, Value};

/// Names and contents of the files.
pub(crate) fn files() -> [(&'static str, String); 5] {
    [
        ("cast.jsonl", casts()),
        ("scale_offset.jsonl", scale_offsets()),
        ("scalars.jsonl", scalars()),
        ("chains.jsonl", chains()),
        ("invalid.jsonl", invalid()),
    ]
}

fn header(kind: &str) -> String {
    format!(r#"{{"format":"zarr-recast conformance vectors","version":1,"kind":"{kind}"}}"#) + "\n"
}

/// A line that cannot fail to be written: it goes to memory.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{
        let written = writeln!($text, $($format)*);
        assert!(written.is_ok());
    }};
}

fn hex(element_type: ElementType, bits: u64) -> String {
    let digits = 2 * element_type.size();
    format!("\"{bits:0digits$x}\"")
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Nan => "nan",
        Reason::Infinite => "infinite",
        Reason::OutOfRange => "out-of-range",
        Reason::Overflow => "overflow",
        Reason::InexactDivision => "inexact-division",
        other => panic!("no name for {other:?}"),
    }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(",")
}

// --- cast.jsonl ---------------------------------------------------------------------------------

/// The results of one rounding: error, clamp, wrap.
type Modes = [Result<u64, Reason>; 3];

fn outcome(target: ElementType, modes: Modes) -> String {
    match modes {
        [Ok(bits), ..] => hex(target, bits),
        [Err(Reason::OutOfRange), Ok(clamp), wrap] => {
            let wrap = wrap.map(|bits| format!(",\"wrap\":{}", hex(target, bits)));
            format!("{{\"clamp\":{}{}}}", hex(target, clamp), wrap.unwrap_or_default())
        }
        [Err(error), ..] => format!("{{\"error\":\"{}\"}}", reason(error)),
    }
}

fn outcomes(source: ElementType, bits: u64, target: ElementType) -> [Modes; 5] {
    // By index, for the arrays here are as long as the lists.
    std::array::from_fn(|rounding| {
        let rounding = Rounding::ALL[rounding];
        std::array::from_fn(|mode| {
            let mode = OutOfRange::ALL[mode];
            if mode == OutOfRange::Wrap && target.is_float() {
                return Err(Reason::OutOfRange);
            }
            oracle::cast(source, bits, target, rounding, mode)
        })
    })
}

/// What tells cases apart: which roundings agree, what kind of result each has, and whether that is a
/// zero, the least magnitude or the end of the range.
fn signature(target: ElementType, negative: bool, outcomes: &[Modes; 5]) -> String {
    let mut signature = String::from(if negative { "-" } else { "+" });
    let sign_bit = if target.is_signed() { 1_u64 << (target.bits() - 1) } else { 0 };
    for modes in outcomes {
        let first = outcomes.iter().position(|other| other == modes).unwrap_or_default();
        let kind = match modes[0] {
            Err(error) => reason(error),
            Ok(bits) if target.is_float() && bits & !sign_bit == 0 => "zero",
            Ok(bits) if target.is_float() && bits & !sign_bit == 1 => "least",
            Ok(bits) if bits == target.max_bits() || bits == target.min_bits() => "end",
            Ok(0) => "zero",
            Ok(_) => "value",
        };
        signature += &format!("{first}{kind} ");
    }
    signature
}

/// Elements from which the cases of a pair are picked.
fn candidates(source: ElementType, target: ElementType, edges: &[u64]) -> Vec<u64> {
    let mut random = Random::new(source as u64 * 100 + target as u64);
    if source.size() == 1 {
        return (0..600).map(|_| *random.pick(edges)).collect();
    }
    let mut candidates: Vec<u64> = (0..900).map(|_| *random.pick(edges)).collect();
    candidates.extend((0..150).map(|_| random.element(source)));
    for step in -2..=2 {
        for bits in [target.max_bits(), target.min_bits(), random.element(target), 0, 1] {
            let near = oracle::cast(target, bits, source, Rounding::TowardsZero, OutOfRange::Clamp);
            let all = u64::MAX >> (64 - 8 * source.size());
            candidates.extend(near.map(|bits| bits.wrapping_add_signed(step) & all).ok());
        }
    }
    candidates
}

fn casts() -> String {
    const MOST_OF_A_KIND: usize = 4;
    const MOST: usize = 64;
    let mut text = header("cast");
    for &source in ElementType::ALL {
        let edges = edges(source);
        for &target in ElementType::ALL {
            let mut of_a_kind: BTreeMap<String, usize> = BTreeMap::new();
            let mut picked = Vec::new();
            let mut candidates = candidates(source, target, &edges);
            let mut seen = BTreeSet::new();
            candidates.retain(|&bits| seen.insert(bits));
            for bits in candidates {
                let outcomes = outcomes(source, bits, target);
                let negative = bits >> (source.bits() - 1) & 1 == 1;
                let seen = of_a_kind.entry(signature(target, negative, &outcomes)).or_default();
                *seen += 1;
                if *seen <= MOST_OF_A_KIND && picked.len() < MOST {
                    picked.push((bits, outcomes));
                }
            }
            picked.sort_unstable_by_key(|(bits, _)| *bits);
            let cases = picked.iter().map(|(bits, outcomes)| {
                let shown = outcomes.map(|modes| outcome(target, modes));
                let shown = if shown.iter().all(|other| *other == shown[0]) {
                    shown[0].clone()
                } else {
                    format!("[{}]", list(shown))
                };
                format!("[{},{shown}]", hex(source, *bits))
            });
            line!(text, r#"{{"source":"{source}","target":"{target}","cases":[{}]}}"#, list(cases));
        }
    }
    text
}

// --- scale_offset.jsonl -------------------------------------------------------------------------

fn scale_offset_outcome(
    element_type: ElementType,
    bits: u64,
    step: impl Fn(FloatOverflow) -> Step,
) -> String {
    let run = |overflow| oracle::step(element_type, bits, &step(overflow));
    match (run(FloatOverflow::Error), run(FloatOverflow::Infinity)) {
        (Ok(strict), _) => hex(element_type, strict),
        (Err(_), Ok(ieee)) => format!("{{\"ieee\":{}}}", hex(element_type, ieee)),
        (Err(error), Err(_)) => format!("{{\"error\":\"{}\"}}", reason(error)),
    }
}

/// Which numbers parameters and maps have: usual ones, or those where implementations take other ways. Vectors of the second
/// kind stand behind those of the first, which they leave as they are.
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    Usual,
    Extreme,
}

/// Near a power of two, or at the ends of the type.
fn extreme(element_type: ElementType, random: &mut Random) -> u64 {
    let ends = [element_type.max_bits(), element_type.min_bits(), 1];
    if random.below(3) == 0 { *random.pick(&ends) } else { random.near_power(element_type) }
}

/// Often a usual number, sometimes any bits; `None` where the type has no such parameter.
fn parameter(element_type: ElementType, numbers: Numbers, random: &mut Random) -> Option<u64> {
    const USUAL: [f64; 12] = [0.0, 1.0, 2.0, 3.0, 5.0, 10.0, 0.5, 0.1, -1.0, -4.0, 100.0, 273.15];
    let bits = match random.below(4) {
        0 => return None,
        _ if numbers == Numbers::Extreme => extreme(element_type, random),
        1 => random.element(element_type),
        _ => {
            let number = random.pick(&USUAL).to_bits();
            let (towards_zero, clamp) = (Rounding::TowardsZero, OutOfRange::Clamp);
            oracle::cast(ElementType::Float64, number, element_type, towards_zero, clamp).ok()?
        }
    };
    let bits = oracle::canonical(element_type, bits);
    matches!(Value::of(element_type, bits), Value::Finite(_)).then_some(bits)
}

fn is_zero(element_type: ElementType, bits: u64) -> bool {
    Value::of(element_type, bits).equals(Value::of(ElementType::UInt8, 0))
}

/// Offset and scale, at least one of them.
fn parameters(
    element_type: ElementType,
    numbers: Numbers,
    random: &mut Random,
) -> (Option<u64>, Option<u64>) {
    loop {
        let offset = parameter(element_type, numbers, random);
        let scale =
            parameter(element_type, numbers, random).filter(|&bits| !is_zero(element_type, bits));
        if offset.is_some() || scale.is_some() {
            return (offset, scale);
        }
    }
}

fn scale_offsets() -> String {
    let mut text = header("scale_offset");
    for &element_type in ElementType::ALL {
        let mut random = Random::new(element_type as u64);
        let edges = edges(element_type);
        for turn in 0..12 {
            let numbers = if turn < 8 { Numbers::Usual } else { Numbers::Extreme };
            let (offset, scale) = parameters(element_type, numbers, &mut random);
            let with = |overflow| {
                let scalar = |bits| Scalar::from_bits(element_type, bits);
                Affine::new(offset.map(scalar), scale.map(scalar)).overflow(overflow)
            };
            let mut elements: Vec<u64> = (0..10).map(|_| random.element(element_type)).collect();
            elements.extend((0..6).map(|_| *random.pick(&edges)));
            // What can be decoded, because it was encoded.
            let encoded: Vec<u64> = elements
                .iter()
                .filter_map(|&bits| {
                    oracle::step(element_type, bits, &Step::Scale(with(FloatOverflow::Error))).ok()
                })
                .collect();
            let cases = |elements: &[u64], step: &dyn Fn(FloatOverflow) -> Step| {
                list(elements.iter().map(|&bits| {
                    let outcome = scale_offset_outcome(element_type, bits, step);
                    format!("[{},{outcome}]", hex(element_type, bits))
                }))
            };
            let encode = cases(&elements, &|overflow| Step::Scale(with(overflow)));
            elements.extend(encoded);
            let decode = cases(&elements, &|overflow| Step::InverseScale(with(overflow)));
            let member = |name, bits: Option<u64>| {
                bits.map(|bits| format!("\"{name}\":{},", hex(element_type, bits)))
                    .unwrap_or_default()
            };
            line!(
                text,
                r#"{{"data_type":"{element_type}",{}{}"encode":[{encode}],"decode":[{decode}]}}"#,
                member("offset", offset),
                member("scale", scale),
            );
        }
    }
    text
}

// --- scalars.jsonl ------------------------------------------------------------------------------

/// JSON texts of scalars that are read, or refused, by every type.
const SCALARS: [&str; 47] = [
    "0",
    "-0",
    "0.0",
    "-0.0",
    "1",
    "-1",
    "2",
    "3",
    "3.0",
    "1e2",
    "1.5",
    "3.5",
    "-3.5",
    "0.1",
    "6.5",
    "127",
    "128",
    "-128",
    "-129",
    "255",
    "256",
    "32767",
    "65504",
    "65519.99",
    "65520",
    "16777217",
    "2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9007199254740993.0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e-400",
    "1e39",
    "1e300",
    "5e-324",
    "\"NaN\"",
    "\"Infinity\"",
    "\"+Infinity\"",
    "\"-Infinity\"",
    "\"1\"",
    "\"nan\"",
];

/// JSON that is no scalar of any type.
const NO_SCALARS: [&str; 7] = ["null", "true", "[]", "[1]", "{}", "\"\"", "1e400"];

fn scalars() -> String {
    let mut text = header("scalars");
    for &element_type in ElementType::ALL {
        let digits = 2 * element_type.size();
        let mut random = Random::new(element_type as u64);
        let mut texts: Vec<String> = SCALARS.iter().chain(&NO_SCALARS).map(|&s| s.into()).collect();
        let mut patterns = vec![0, 1, element_type.max_bits(), element_type.min_bits()];
        patterns.extend(element_type.nan_bits().into_iter().flat_map(|nan| [nan, nan | 1]));
        patterns.push(u64::MAX >> (64 - 8 * element_type.size()));
        patterns.extend((0..3).map(|_| random.element(element_type)));
        texts.extend(patterns.iter().map(|bits| format!("\"0x{bits:0digits$x}\"")));
        texts.push(format!("\"0x{:0width$x}\"", 0, width = digits + 1));
        texts.push(format!("\"0x{:0width$x}\"", 0, width = digits - 1));
        texts.push("\"0x\"".into());
        for json in texts {
            let result = match scalar(element_type, &json) {
                Some(bits) => format!("\"bits\":{}", hex(element_type, bits)),
                None => "\"error\":true".into(),
            };
            let json = json.replace('"', "\\\"");
            line!(text, r#"{{"data_type":"{element_type}","json":"{json}",{result}}}"#);
        }
    }
    text
}

/// Reads one of the texts above by the rules of the specification.
fn scalar(element_type: ElementType, json: &str) -> Option<u64> {
    if NO_SCALARS.contains(&json) {
        return None;
    }
    if element_type.is_integer() {
        let value = integer(json)?;
        let max = i128::from(element_type.max_bits());
        let least = if element_type.is_signed() { -max - 1 } else { 0 };
        if !(least..=max).contains(&value) {
            return None;
        }
        return Some(oracle::canonical(element_type, value as u64));
    }
    let from_f64 = |number: f64| {
        let (nearest, error) = (Rounding::NearestEven, OutOfRange::Error);
        oracle::cast(ElementType::Float64, number.to_bits(), element_type, nearest, error).ok()
    };
    let Some(constant) = json.strip_prefix('"').map(|rest| rest.trim_end_matches('"')) else {
        return from_f64(json.parse().ok()?);
    };
    match constant {
        "NaN" => element_type.nan_bits(),
        "Infinity" | "+Infinity" => from_f64(f64::INFINITY),
        "-Infinity" => from_f64(f64::NEG_INFINITY),
        _ => {
            let digits = constant.strip_prefix("0x")?;
            let bits = u64::from_str_radix(digits, 16).ok()?;
            let fits = digits.len() == 2 * element_type.size()
                && oracle::canonical(element_type, bits) == bits;
            fits.then_some(bits)
        }
    }
}

/// The texts above that stand for a whole number of at most 128 bits.
fn integer(json: &str) -> Option<i128> {
    match json {
        "-0.0" | "0.0" => Some(0),
        "3.0" => Some(3),
        "1e2" => Some(100),
        "9007199254740993.0" => Some(9_007_199_254_740_993),
        _ => json.parse().ok(),
    }
}

// --- chains.jsonl -------------------------------------------------------------------------------

/// A scalar as JSON that is read back to the same bits: a number if it is finite.
fn scalar_json(element_type: ElementType, bits: u64) -> String {
    if element_type.is_integer() {
        let unused = 64 - 8 * element_type.size() as u32;
        let signed = (bits << unused) as i64 >> unused;
        return if element_type.is_signed() { signed.to_string() } else { bits.to_string() };
    }
    let (zero, error) = (Rounding::TowardsZero, OutOfRange::Error);
    match (
        Value::of(element_type, bits),
        oracle::cast(element_type, bits, ElementType::Float64, zero, error),
    ) {
        (Value::Finite(_), Ok(wide)) => format!("{:?}", f64::from_bits(wide)),
        (Value::Infinite { negative: true }, _) => "\"-Infinity\"".into(),
        (Value::Infinite { .. }, _) => "\"Infinity\"".into(),
        _ if Some(bits) == element_type.nan_bits() => "\"NaN\"".into(),
        _ => format!("\"0x{}", &hex(element_type, bits)[1..]),
    }
}

/// A codec: its JSON, and its steps in both directions.
struct Part {
    json: String,
    target: ElementType,
    encode: Step,
    decode: Step,
}

fn scale_offset_part(element_type: ElementType, numbers: Numbers, random: &mut Random) -> Part {
    let (offset, scale) = parameters(element_type, numbers, random);
    let member = |name, bits: Option<u64>| {
        bits.map(|bits| format!("\"{name}\":{}", scalar_json(element_type, bits)))
    };
    let members = list([member("offset", offset), member("scale", scale)].into_iter().flatten());
    let scalar = |bits| Scalar::from_bits(element_type, bits);
    let parameters = Affine::new(offset.map(scalar), scale.map(scalar));
    Part {
        json: format!(r#"{{"name":"scale_offset","configuration":{{{members}}}}}"#),
        target: element_type,
        encode: Step::Scale(parameters),
        decode: Step::InverseScale(parameters),
    }
}

fn cast_part(source: ElementType, numbers: Numbers, random: &mut Random) -> Part {
    let target = *random.pick(ElementType::ALL);
    let rounding = *random.pick(Rounding::ALL);
    let mode = *random.pick(OutOfRange::ALL);
    let mode = if target.is_float() && mode == OutOfRange::Wrap { OutOfRange::Clamp } else { mode };
    let mut map = |source: ElementType, target: ElementType| -> Vec<(Scalar, Scalar)> {
        let entries = *random.pick(&[0, 0, 1, 2, 3]);
        let scalar = |element_type: ElementType, random: &mut Random| match numbers {
            Numbers::Usual => random.element(element_type),
            Numbers::Extreme => random.near_power(element_type),
        };
        (0..entries)
            .map(|_| {
                let key = match source.nan_bits() {
                    Some(nan) if random.below(2) == 0 => nan,
                    _ => scalar(source, &mut *random),
                };
                let value = scalar(target, &mut *random);
                (Scalar::from_bits(source, key), Scalar::from_bits(target, value))
            })
            .collect()
    };
    let (encode, decode) = (map(source, target), map(target, source));
    let mut json = format!(r#"{{"name":"cast_value","configuration":{{"data_type":"{target}""#);
    if rounding != Rounding::NearestEven {
        json += &format!(r#","rounding":"{rounding}""#);
    }
    if mode != OutOfRange::Error {
        let name = mode.name();
        json += &format!(r#","out_of_range":"{name}""#);
    }
    let pairs = |map: &[(Scalar, Scalar)]| {
        list(map.iter().map(|(key, value)| {
            let json = |scalar: &Scalar| scalar_json(scalar.element_type(), scalar.bits());
            format!("[{},{}]", json(key), json(value))
        }))
    };
    let maps = [("encode", &encode), ("decode", &decode)]
        .into_iter()
        .filter(|(_, map)| !map.is_empty())
        .map(|(name, map)| format!("\"{name}\":[{}]", pairs(map)));
    let maps = list(maps);
    if !maps.is_empty() {
        json += &format!(r#","scalar_map":{{{maps}}}"#);
    }
    json += "}}";
    let step = |target: ElementType, map| {
        // `wrap` has no meaning towards a float type.
        let applies = mode != OutOfRange::Wrap || target.is_integer();
        let mode = if applies { mode } else { OutOfRange::Error };
        Step::Cast(Cast::new(target).rounding(rounding).out_of_range(mode).map(map))
    };
    Part { json, target, encode: step(target, encode), decode: step(source, decode) }
}

/// A fill value that comes back from every codec by itself.
fn fill_value(source: ElementType, parts: &[Part], random: &mut Random) -> Option<(u64, u64)> {
    let survives = |fill: u64| {
        let mut current = (source, fill);
        for part in parts {
            let (element_type, bits) = current;
            let encoded = oracle::step(element_type, bits, &part.encode).ok()?;
            let decoded = oracle::step(part.target, encoded, &part.decode).ok()?;
            if !Value::of(element_type, decoded).equals(Value::of(element_type, bits)) {
                return None;
            }
            current = (part.target, encoded);
        }
        Some((fill, current.1))
    };
    (0..200).find_map(|_| survives(oracle::canonical(source, random.element(source))))
}

/// Elements, and what becomes of them: of those that pass, and of all with the first failure.
fn run(
    source: ElementType,
    target: ElementType,
    steps: &[Step],
    elements: &[u64],
    codecs: &[usize],
) -> String {
    let (mut passing, mut results, mut failing) = (Vec::new(), Vec::new(), Vec::new());
    for &bits in elements {
        match oracle::run(source, bits, steps) {
            Ok(result) => {
                passing.push(hex(source, bits));
                results.push(hex(target, result));
            }
            Err((step, _, why)) => failing.push(format!(
                r#"[{},{{"codec":{},"error":"{}"}}]"#,
                hex(source, bits),
                codecs[step],
                reason(why)
            )),
        }
    }
    format!(
        r#"{{"input":[{}],"output":[{}],"failing":[{}]}}"#,
        list(passing),
        list(results),
        list(failing)
    )
}

/// The keys of a step's map.
fn keys(step: &Step) -> Vec<u64> {
    let Step::Cast(cast) = step else { return Vec::new() };
    cast.map.iter().map(|(key, _)| key.bits()).collect()
}

fn chains() -> String {
    const CHAINS: usize = 250;
    const EXTREME: usize = 100;
    let mut text = header("chains");
    let mut count = 0;
    for seed in 0.. {
        let numbers = if count < CHAINS { Numbers::Usual } else { Numbers::Extreme };
        let mut random = Random::new(1000 + seed);
        let source = *random.pick(ElementType::ALL);
        let mut parts: Vec<Part> = Vec::new();
        let mut current = source;
        for _ in 0..=random.below(4) {
            let part = if random.below(2) == 0 {
                scale_offset_part(current, numbers, &mut random)
            } else {
                cast_part(current, numbers, &mut random)
            };
            current = part.target;
            parts.push(part);
        }
        let Some((fill, encoded_fill)) = fill_value(source, &parts, &mut random) else { continue };
        let encode: Vec<Step> = parts.iter().map(|part| part.encode.clone()).collect();
        let decode: Vec<Step> = parts.iter().rev().map(|part| part.decode.clone()).collect();
        let forth: Vec<usize> = (0..parts.len()).collect();
        let back: Vec<usize> = forth.iter().rev().copied().collect();
        let mut decoded: Vec<u64> = (0..14).map(|_| random.element(source)).collect();
        if numbers == Numbers::Extreme {
            decoded.extend(keys(&parts[0].encode));
        }
        let mut encoded: Vec<u64> =
            decoded.iter().filter_map(|&bits| oracle::run(source, bits, &encode).ok()).collect();
        encoded.extend((0..8).map(|_| random.element(current)));
        if numbers == Numbers::Extreme
            && let Some(last) = parts.last()
        {
            encoded.extend(keys(&last.decode));
        }
        let encode = run(source, current, &encode, &decoded, &forth);
        let decode = run(current, source, &decode, &encoded, &back);
        line!(
            text,
            r#"{{"data_type":"{source}","fill_value":{},"codecs":[{}],"encoded_data_type":"{current}","encoded_fill_value":{},"encode":{encode},"decode":{decode}}}"#,
            scalar_json(source, fill),
            list(parts.into_iter().map(|part| part.json)),
            hex(current, encoded_fill),
        );
        count += 1;
        if count == CHAINS + EXTREME {
            break;
        }
    }
    text
}

// --- invalid.jsonl ------------------------------------------------------------------------------

fn invalid() -> String {
    let mut text = header("invalid");
    for [data_type, fill_value, codecs, field] in INVALID {
        line!(
            text,
            r#"{{"data_type":{data_type},"fill_value":{fill_value},"codecs":{codecs},"field":"{field}"}}"#
        );
    }
    text
}
