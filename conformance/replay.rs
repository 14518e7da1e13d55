//! Replays conformance vectors: the format of `conformance/README.md`, against the kernels and the
//! metadata layer.

use serde_json::Value;
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, ElementType, FloatOverflow, JsonScalar, Level,
    OutOfRange, Plan, Reason, Rounding, RunError, Scalar, ScaleOffset, data_type, fill_value,
};

/// Replays a file on a level; returns how many results were compared.
///
/// # Errors
/// The number of the first line that is not as expected, and what is wrong there.
pub(crate) fn replay(text: &str, level: Level) -> Result<usize, String> {
    let mut lines = text.lines();
    let header = parse(lines.next().unwrap_or_default())?;
    if header["format"] != "zarr-recast conformance vectors" || header["version"] != 1 {
        return Err("line 1: no header of conformance vectors, version 1".into());
    }
    let check = match header["kind"].as_str() {
        Some("cast") => cast,
        Some("scale_offset") => scale_offset,
        Some("scalars") => |line: &Value, _| scalar(line),
        Some("chains") => chain,
        Some("invalid") => |line: &Value, _| invalid(line),
        _ => return Err(format!("line 1: unknown kind {}", header["kind"])),
    };
    let mut count = 0;
    for (number, line) in (2..).zip(lines) {
        let compared = parse(line).and_then(|line| check(&line, level));
        count += compared.map_err(|error| format!("line {number}: {error}"))?;
    }
    if count == 0 {
        return Err("nothing to compare".into());
    }
    Ok(count)
}

fn parse(line: &str) -> Result<Value, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

fn element_type(json: &Value) -> Result<ElementType, String> {
    data_type::from_json(json).map_err(|error| error.to_string())
}

fn list<'a>(json: &'a Value, name: &str) -> Result<&'a [Value], String> {
    json[name].as_array().map(Vec::as_slice).ok_or_else(|| format!("no list {name:?}"))
}

fn element(element_type: ElementType, json: &Value) -> Result<Scalar, String> {
    json.as_str()
        .filter(|text| text.len() == 2 * element_type.size())
        .and_then(|text| u64::from_str_radix(text, 16).ok())
        .map(|bits| Scalar::from_bits(element_type, bits))
        .ok_or_else(|| format!("{json} is no element of {element_type}"))
}

/// An element as it stands in the vectors, unused bits and all, in native byte order.
fn bytes(element_type: ElementType, json: &Value) -> Result<Vec<u8>, String> {
    element(element_type, json)?;
    let text = json.as_str().unwrap_or_default();
    let mut bytes: Vec<u8> = (0..text.len() / 2)
        .filter_map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok())
        .collect();
    if cfg!(target_endian = "little") {
        bytes.reverse();
    }
    Ok(bytes)
}

/// What must become of an element.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Passes(Vec<u8>),
    Fails(Reason),
}

fn reason(json: &Value) -> Result<Reason, String> {
    match json.as_str() {
        Some("nan") => Ok(Reason::Nan),
        Some("infinite") => Ok(Reason::Infinite),
        Some("out-of-range") => Ok(Reason::OutOfRange),
        Some("overflow") => Ok(Reason::Overflow),
        Some("inexact-division") => Ok(Reason::InexactDivision),
        _ => Err(format!("{json} is no error")),
    }
}

/// Runs a plan on elements that all pass, at once and repeated so that vectors are filled; then on
/// each failing one, behind those that pass.
fn compare(plan: &Plan, cases: &[(Vec<u8>, Outcome)]) -> Result<usize, String> {
    let (mut input, mut expected) = (Vec::<u8>::new(), Vec::<u8>::new());
    for (element, outcome) in cases.iter().cycle().take(4 * cases.len()) {
        if let Outcome::Passes(result) = outcome {
            input.extend(element);
            expected.extend(result);
        }
    }
    let run = |input: &[u8]| {
        let mut output = vec![0; input.len() / plan.source().size() * plan.target().size()];
        plan.run(input, &mut output).map(|()| output)
    };
    let output = run(&input).map_err(|error| format!("{plan:?}: {error}"))?;
    if output != expected {
        let size = plan.target().size();
        let pairs = output.chunks(size).zip(expected.chunks(size));
        let at = pairs.take_while(|(found, expected)| found == expected).count();
        let element = &input[at * plan.source().size()..][..plan.source().size()];
        return Err(format!(
            "{plan:?}: {element:02x?} becomes {:02x?}, not {:02x?} (bytes in native order)",
            &output[at * size..][..size],
            &expected[at * size..][..size]
        ));
    }
    let passing = input.len() / plan.source().size();
    for (element, outcome) in cases {
        let Outcome::Fails(reason) = outcome else { continue };
        let mut input = input.clone();
        input.extend(element);
        match run(&input) {
            Err(RunError::Element(error)) if error.index == passing && error.reason == *reason => {}
            other => {
                return Err(format!("{plan:?}: {element:02x?} gives {other:?}, not {reason:?}"));
            }
        }
    }
    Ok(cases.len())
}

fn bind(source: ElementType, codec: Codec, options: &BindOptions) -> Result<Chain, String> {
    Chain::bind(source, None, &[codec], options).map_err(|error| error.to_string())
}

fn cast(line: &Value, level: Level) -> Result<usize, String> {
    let (source, target) = (element_type(&line["source"])?, element_type(&line["target"])?);
    let cases = list(line, "cases")?;
    let options = BindOptions::default().level(level);
    let mut count = 0;
    for (at, rounding) in Rounding::ALL.iter().copied().enumerate() {
        for &mode in OutOfRange::ALL {
            if mode == OutOfRange::Wrap && target.is_float() {
                continue;
            }
            let mut codec = CastValue::new(target);
            codec.rounding = Some(rounding);
            codec.out_of_range = mode;
            let chain = bind(source, codec.into(), &options)?;
            let outcomes = cases
                .iter()
                .map(|case| {
                    let result = case[1].as_array().map_or(&case[1], |results| &results[at]);
                    let in_mode = &result[mode.name()];
                    let outcome = if result.is_string() {
                        Outcome::Passes(bytes(target, result)?)
                    } else if !result["error"].is_null() {
                        Outcome::Fails(reason(&result["error"])?)
                    } else if in_mode.is_null() {
                        Outcome::Fails(Reason::OutOfRange)
                    } else {
                        Outcome::Passes(bytes(target, in_mode)?)
                    };
                    Ok((bytes(source, &case[0])?, outcome))
                })
                .collect::<Result<Vec<_>, String>>()?;
            count += compare(chain.encoder(), &outcomes)?;
        }
    }
    Ok(count)
}

fn scale_offset(line: &Value, level: Level) -> Result<usize, String> {
    let element_type = element_type(&line["data_type"])?;
    let parameter = |name: &str| {
        let json = &line[name];
        if json.is_null() {
            Ok(None)
        } else {
            element(element_type, json).map(JsonScalar::from).map(Some)
        }
    };
    let codec = Codec::from(ScaleOffset::new(parameter("offset")?, parameter("scale")?));
    let mut count = 0;
    for float_overflow in [FloatOverflow::Error, FloatOverflow::Infinity] {
        let options = BindOptions::default().level(level).float_overflow(float_overflow);
        let chain = bind(element_type, codec.clone(), &options)?;
        for (plan, name) in [(chain.encoder(), "encode"), (chain.decoder(), "decode")] {
            let outcomes = list(line, name)?
                .iter()
                .map(|case| {
                    let result = &case[1];
                    let outcome = if result.is_string() {
                        Outcome::Passes(bytes(element_type, result)?)
                    } else if !result["error"].is_null() {
                        Outcome::Fails(reason(&result["error"])?)
                    } else if float_overflow == FloatOverflow::Infinity {
                        Outcome::Passes(bytes(element_type, &result["ieee"])?)
                    } else {
                        Outcome::Fails(Reason::Overflow)
                    };
                    Ok((bytes(element_type, &case[0])?, outcome))
                })
                .collect::<Result<Vec<_>, String>>()?;
            count += compare(plan, &outcomes)?;
        }
    }
    Ok(count)
}

fn scalar(line: &Value) -> Result<usize, String> {
    let element_type = element_type(&line["data_type"])?;
    let json = line["json"].as_str().unwrap_or_default();
    let read = fill_value::from_json_str(element_type, json);
    match (read, &line["bits"]) {
        (Ok(found), bits @ Value::String(_)) => {
            let expected = element(element_type, bits)?;
            if found != expected {
                return Err(format!(
                    "{element_type} {json} is read as {found:?}, not {expected:?}"
                ));
            }
            let written = fill_value::to_json(found);
            let again = fill_value::from_json(element_type, &written);
            if again != Ok(found) {
                return Err(format!("{found:?} is written as {written}, and read as {again:?}"));
            }
            Ok(1)
        }
        (Err(_), Value::Null) if line["error"] == true => Ok(1),
        (Err(error), _) => Err(error.to_string()),
        (Ok(found), _) => Err(format!("{element_type} {json} is read as {found:?}, not refused")),
    }
}

fn chain(line: &Value, level: Level) -> Result<usize, String> {
    let source = element_type(&line["data_type"])?;
    let target = element_type(&line["encoded_data_type"])?;
    let text = |error: zarr_recast::MetadataError| error.to_string();
    let fill = fill_value::from_json(source, &line["fill_value"]).map_err(text)?;
    let codecs = Codec::list_from_json(&line["codecs"]).map_err(text)?;
    let options = BindOptions::default().level(level);
    let chain = Chain::bind(source, Some(fill), &codecs, &options).map_err(|e| e.to_string())?;
    let encoded_fill = element(target, &line["encoded_fill_value"])?;
    if (chain.encoded_type(), chain.encoded_fill_value()) != (target, Some(encoded_fill)) {
        let found = chain.encoded_fill_value();
        return Err(format!("the encoded fill value is {found:?}, not {encoded_fill:?}"));
    }
    let mut count = 1;
    for (plan, name) in [(chain.encoder(), "encode"), (chain.decoder(), "decode")] {
        let way = &line[name];
        let passing = list(way, "input")?.iter().zip(list(way, "output")?).map(|(from, to)| {
            Ok((bytes(plan.source(), from)?, Outcome::Passes(bytes(plan.target(), to)?)))
        });
        let failing = list(way, "failing")?.iter().map(|case| {
            Ok((bytes(plan.source(), &case[0])?, Outcome::Fails(reason(&case[1]["error"])?)))
        });
        count += compare(plan, &passing.chain(failing).collect::<Result<Vec<_>, String>>()?)?;
    }
    Ok(count)
}

fn invalid(line: &Value) -> Result<usize, String> {
    let field = line["field"].as_str().unwrap_or_default();
    let names_it = |error: String| {
        error.strip_prefix(field).is_some_and(|rest| rest.starts_with([':', '.', '[']))
    };
    match Chain::from_json(
        &line["data_type"],
        &line["fill_value"],
        &line["codecs"],
        &BindOptions::default(),
    ) {
        Err(error) if names_it(error.to_string()) => Ok(1),
        Err(error) => Err(format!("refused, but not for {field}: {error}")),
        Ok(_) => Err(format!("not refused for {field}")),
    }
}
