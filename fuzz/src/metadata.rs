//! Metadata documents.

use recast_kernels::{Scalar, reference};
use zarr_recast::{
    BindOptions, Chain, Codec, ElementType, FillCheck, JsonScalar, data_type, fill_value,
};

/// No message repeats more of a document than this.
const LONGEST_MESSAGE: usize = 1500;

pub(crate) fn check(text: &str) {
    let mut parts = text.splitn(3, '\n');
    let mut part = || parts.next().unwrap_or_default();
    let (data_type, fill, codecs) = (part(), part(), part());

    let element_type = said(data_type::parse(data_type));
    if let Some(element_type) = element_type {
        assert_eq!(data_type::parse(element_type.name()), Ok(element_type));
    }
    let element_type = element_type.unwrap_or(ElementType::Float32);
    let fill = said(fill_value::from_json_str(element_type, fill));
    if let Some(fill) = fill {
        let json = fill_value::to_json(fill);
        assert_eq!(fill_value::from_json(element_type, &json), Ok(fill), "{json}");
        assert_eq!(fill_value::from_json_str(element_type, &json.to_string()), Ok(fill), "{json}");
        assert_eq!(JsonScalar::from(fill).to_scalar(element_type), Ok(fill), "{json}");
    }
    if let Some(filter) = said(Codec::from_v2_filter(codecs)) {
        let written = filter.to_json();
        match Codec::from_v2_filter(&written) {
            Ok(again) => {
                assert_eq!(again.to_json(), written);
                assert_bind_alike(element_type, fill, &[filter], &[again]);
            }
            Err(error) => panic!("{written}: {error}"),
        }
    }
    let Some(codecs) = said(Codec::list_from_json(codecs)) else { return };
    let again: Vec<Codec> = codecs
        .iter()
        .map(|codec| {
            let written = codec.to_json();
            match Codec::from_json(&written) {
                Ok(codec) => {
                    assert_eq!(codec.to_json(), written);
                    codec
                }
                Err(error) => panic!("{written}: {error}"),
            }
        })
        .collect();
    assert_bind_alike(element_type, fill, &codecs, &again);
}

/// What was read; of an error, that its text is one short line.
fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Option<T> {
    result
        .map_err(|error| {
            let message = error.to_string();
            assert!(!message.contains(['\n', '\r']), "{message:?}");
            assert!(message.len() < LONGEST_MESSAGE, "{} bytes: {message}", message.len());
        })
        .ok()
}

/// What binds must bind alike once it was written and read again. (What is refused may be accepted then:
/// a fraction that f64 rounds to a whole number is written as that.)
fn assert_bind_alike(
    element_type: ElementType,
    fill: Option<Scalar>,
    codecs: &[Codec],
    again: &[Codec],
) {
    let pairs = bind(element_type, fill, codecs).into_iter().zip(bind(element_type, fill, again));
    for (bound, bound_again) in pairs {
        assert!(bound.is_none() || bound == bound_again, "{codecs:?}: {bound:?}, {bound_again:?}");
    }
}

/// Binds codecs with each fill check; gives what the encoder and the decoder do, `None` of a refusal.
fn bind(element_type: ElementType, fill: Option<Scalar>, codecs: &[Codec]) -> [Option<String>; 3] {
    [FillCheck::Create, FillCheck::Open, FillCheck::ReportOnly].map(|fill_check| {
        let options = BindOptions::default().fill_check(fill_check);
        let chain = said(Chain::bind(element_type, fill, codecs, &options))?;
        check_fill_value(&chain);
        for warning in chain.warnings() {
            said(Err::<(), _>(warning));
        }
        Some(format!("{:?} {:?}", chain.encoder(), chain.decoder()))
    })
}

/// The encoded fill value is what the chain makes of the fill value.
fn check_fill_value(chain: &Chain) {
    if let (Some(decoded), Some(encoded)) = (chain.decoded_fill_value(), chain.encoded_fill_value())
    {
        let steps = chain.encoder().steps();
        assert_eq!(reference::run(decoded, steps, 0), Ok(encoded), "{steps:?}");
        assert_eq!(chain.encode(&decoded.to_ne_bytes()), Ok(encoded.to_ne_bytes()), "{steps:?}");
    }
}
