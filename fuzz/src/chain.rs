//! Chains of both codecs.

use arbitrary::{Result, Unstructured};
use recast_kernels::{FloatOverflow, Format, OutOfRange, Rounding, Step, reference};
use zarr_recast::{
    BindOptions, CastValue, Chain, Codec, ElementType, JsonScalar, Plan, RunError, Scalar,
    ScalarMap, ScaleOffset,
};

use crate::{every_level_equals_the_reference, input};

pub(crate) fn check(u: &mut Unstructured) -> Result<()> {
    let source = input::element_type(u)?;
    let overflow = *u.choose(&[FloatOverflow::Error, FloatOverflow::Infinity])?;
    let options = BindOptions::default().float_overflow(overflow);
    let mut codecs = Vec::new();
    let mut current = source;
    for _ in 0..u.int_in_range(0..=4)? {
        let codec = codec(u, current, overflow)?;
        if let Codec::CastValue(cast) = &codec {
            current = cast.data_type;
        }
        codecs.push(codec);
    }
    let chain = match Chain::bind(source, None, &codecs, &options) {
        Ok(chain) => chain,
        Err(error) => panic!("{codecs:?}: {error}"),
    };
    for codec in &codecs {
        let json = codec.to_json();
        match Codec::from_json(&json.to_string()) {
            Ok(read) => assert_eq!(read.to_json(), json),
            Err(error) => panic!("{json}: {error}"),
        }
    }

    let decoded = input::elements(u, source)?;
    let steps = chain.encoder().steps();
    let mut encoded = input::elements(u, current)?;
    let ways: Vec<_> = decoded
        .iter()
        .filter_map(|&element| Way::through(&chain, Scalar::from_bits(source, element)))
        .collect();
    encoded.extend(ways.iter().map(|way| way.encoded.bits()));
    for way in &ways {
        way.check_bound(&chain, steps, overflow);
    }

    let parts: Vec<Chain> = codecs
        .iter()
        .scan(source, |current, codec| {
            // As it is read back from its JSON, which must not change what it does.
            let read = Codec::from_json(&codec.to_json().to_string()).ok()?;
            let part = Chain::bind(*current, None, &[read], &options).ok()?;
            *current = part.encoded_type();
            Some(part)
        })
        .collect();
    assert_eq!(parts.len(), codecs.len());
    let encoders: Vec<&Plan> = parts.iter().map(Chain::encoder).collect();
    let decoders: Vec<&Plan> = parts.iter().rev().map(Chain::decoder).collect();
    at_once_equals_step_by_step(chain.encoder(), &encoders, &bytes(source, &decoded));
    at_once_equals_step_by_step(chain.decoder(), &decoders, &bytes(current, &encoded));

    every_level_equals_the_reference(u, source, steps, decoded)?;
    every_level_equals_the_reference(u, current, chain.decoder().steps(), encoded)
}

fn codec(u: &mut Unstructured, source: ElementType, overflow: FloatOverflow) -> Result<Codec> {
    if u.arbitrary()? {
        let parameters = input::scale_offset(u, source, overflow)?;
        let (offset, scale) = (parameters.offset, parameters.scale);
        return Ok(ScaleOffset::new(offset.map(Into::into), scale.map(Into::into)).into());
    }
    let cast = input::cast_without_map(u)?;
    let mut codec = CastValue::new(cast.target);
    codec.out_of_range = cast.out_of_range;
    if cast.rounding != Rounding::NearestEven || u.arbitrary()? {
        codec.rounding = Some(cast.rounding);
    }
    if u.arbitrary()? {
        let pairs = |pairs: Vec<(Scalar, Scalar)>| {
            Some(pairs.into_iter().map(|(key, value)| (json(key), json(value))).collect())
        };
        let encode = pairs(input::map(u, source, cast.target)?);
        let decode = pairs(input::map(u, cast.target, source)?);
        codec.scalar_map = Some(ScalarMap { encode, decode });
    }
    Ok(codec.into())
}

fn json(scalar: Scalar) -> JsonScalar {
    let json = JsonScalar::from(scalar);
    assert_eq!(json.to_scalar(scalar.element_type()), Ok(scalar), "{json:?}");
    json
}

fn bytes(element_type: ElementType, elements: &[u64]) -> Vec<u8> {
    elements.iter().flat_map(|&bits| Scalar::from_bits(element_type, bits).to_ne_bytes()).collect()
}

fn run(plan: &Plan, input: &[u8]) -> std::result::Result<Vec<u8>, RunError> {
    let mut output = vec![0; input.len() / plan.source().size() * plan.target().size()];
    plan.run(input, &mut output).map(|()| output)
}

/// The same bytes; the error of the lowest failing element, in whichever step that is.
fn at_once_equals_step_by_step(plan: &Plan, parts: &[&Plan], input: &[u8]) {
    let step_by_step = |input: &[u8]| {
        let mut bytes = input.to_vec();
        for (step, part) in parts.iter().enumerate() {
            bytes = run(part, &bytes).map_err(|error| (step, error))?;
        }
        Ok(bytes)
    };
    match run(plan, input) {
        Ok(output) => assert_eq!(step_by_step(input), Ok(output), "{plan:?}"),
        Err(RunError::Element(error)) => {
            let size = plan.source().size();
            let (before, from) = input.split_at(error.index * size);
            assert!(step_by_step(before).is_ok(), "{plan:?}: {error} is not the first");
            match step_by_step(&from[..size]) {
                Err((step, RunError::Element(found))) => {
                    let alone = (step, found.value, found.target, found.reason);
                    let expected = (error.step, error.value, error.target, error.reason);
                    assert_eq!(alone, expected, "{plan:?}: {error}");
                }
                other => panic!("{plan:?}: {error}, but {other:?} step by step"),
            }
        }
        Err(error) => panic!("{plan:?}: {error}"),
    }
}

/// A value, what it is encoded to, and what comes back.
struct Way {
    value: Scalar,
    encoded: Scalar,
    decoded: Scalar,
}

impl Way {
    /// `None` unless the value passes both ways.
    fn through(chain: &Chain, value: Scalar) -> Option<Self> {
        let encoded = reference::run(value, chain.encoder().steps(), 0).ok()?;
        let decoded = reference::run(encoded, chain.decoder().steps(), 0).ok()?;
        Some(Self { value, encoded, decoded })
    }

    /// Checks the bound of `fuzz/README.md`, for the chains that have one.
    fn check_bound(&self, chain: &Chain, steps: &[Step], overflow: FloatOverflow) {
        let Self { value, encoded, decoded } = *self;
        let source = value.element_type();
        let maps = |steps: &[Step]| {
            steps.iter().any(|step| matches!(step, Step::Cast(cast) if !cast.map.is_empty()))
        };
        if maps(steps) || maps(chain.decoder().steps()) || !value.is_finite() {
            return;
        }
        let x = value.to_f64();
        let error = (decoded.to_f64() - x).abs();
        match steps {
            [Step::Cast(cast)] if cast.out_of_range == OutOfRange::Error && source.bits() < 64 => {
                let part = part_of_unit(cast.rounding);
                let bound = part * (unit(encoded) + unit(decoded));
                assert!(error <= bound, "{value:?} came back as {decoded:?}; {steps:?}");
            }
            [Step::Scale(_), Step::Cast(cast)] | [Step::Cast(cast), Step::Scale(_)]
                if source.is_integer()
                    && cast.target.is_integer()
                    && cast.out_of_range == OutOfRange::Error =>
            {
                assert_eq!(decoded, value, "{steps:?}");
            }
            [Step::Scale(parameters), Step::Cast(cast)]
                if source.is_float()
                    && cast.target.is_integer()
                    && cast.out_of_range == OutOfRange::Error
                    && overflow == FloatOverflow::Error =>
            {
                let Format::Float(format) = source.format() else { return };
                let roundoff = 0.5_f64.powi(format.mantissa_bits as i32 + 1);
                let subnormal = 2_f64.powi(format.min_exponent() - format.mantissa_bits as i32);
                let offset = parameters.offset.map_or(0.0, Scalar::to_f64).abs();
                let scale = parameters.scale.map_or(1.0, Scalar::to_f64).abs();
                let quantum = part_of_unit(cast.rounding) / scale;
                let bound = quantum
                    + 16.0 * roundoff * (x.abs() + offset + quantum)
                    + 4.0 * subnormal * (1.0 + 1.0 / scale);
                // 64-bit integers reach this through a rounding of their own.
                let exact = cast.target.bits() < 64 && source.bits() < 64;
                assert!(!exact || error <= bound, "{value:?} came back as {decoded:?}; {steps:?}");
            }
            _ => {}
        }
    }
}

/// How much of the distance between two neighbours a rounding may move a value.
fn part_of_unit(rounding: Rounding) -> f64 {
    match rounding {
        Rounding::NearestEven | Rounding::NearestAway => 0.5,
        _ => 1.0,
    }
}

/// The distance from a finite value to its neighbour of greater magnitude, which at the end need not
/// be in the type.
fn unit(value: Scalar) -> f64 {
    let element_type = value.element_type();
    let Format::Float(format) = element_type.format() else { return 1.0 };
    if format.mantissa_bits == 0 {
        return value.to_f64();
    }
    let sign = if element_type.is_signed() { 1_u64 << (element_type.bits() - 1) } else { 0 };
    let magnitude = (value.bits() & !sign).min(element_type.max_bits() - 1);
    let at = |bits| Scalar::from_bits(element_type, bits).to_f64();
    at(magnitude + 1) - at(magnitude)
}
