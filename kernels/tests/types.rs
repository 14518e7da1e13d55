//! The facts about the types, and the text of their values.

use half::f16;
use std::collections::HashSet;

use recast_kernels::{Cast, ElementType, OutOfRange, Plan, Rounding, Scalar};

#[test]
fn facts_agree_with_the_table_of_the_specification() {
    use ElementType as E;
    let nan = |t: E| t.nan_bits();
    assert_eq!(nan(E::Float8E3M4), Some(0x78));
    assert_eq!(nan(E::Float8E4M3), Some(0x7c));
    assert_eq!(nan(E::Float8E5M2), Some(0x7e));
    assert_eq!(nan(E::Float8E4M3Fn), Some(0x7f));
    assert_eq!(nan(E::Float8E4M3Fnuz), Some(0x80));
    assert_eq!(nan(E::Float8E8M0Fnu), Some(0xff));
    assert_eq!(nan(E::BFloat16), Some(0x7fc0));
    assert_eq!(nan(E::Float64), Some(f64::NAN.to_bits()));
    assert_eq!(nan(E::Float6E2M3Fn), None);
    assert_eq!(E::Float64.max_bits(), f64::MAX.to_bits());
    assert_eq!(E::Float32.min_bits(), u64::from(f32::MIN.to_bits()));
    assert_eq!(E::Int4.min_bits(), 0xf8);
    assert_eq!(E::Int64.min_bits(), i64::MIN as u64);
    assert_eq!(E::UInt2.max_bits(), 3);
    assert_eq!((E::Float8E4M3Fn.max_bits(), E::Float8E4M3Fn.min_bits()), (0x7e, 0xfe));
    assert_eq!(E::Float8E8M0Fnu.max_bits(), 0xfe);
    assert_eq!(E::ALL.len(), 27);
    assert_eq!(E::ALL.iter().collect::<HashSet<_>>().len(), 27, "ALL repeats none");
    assert!(E::ALL.is_sorted_by_key(|element_type| element_type.is_float()), "integers first");
}

#[test]
fn prints_64_bit_integers_exactly_and_floats_shortest() {
    let text = |scalar: Scalar| scalar.to_string();
    assert_eq!(text(u64::MAX.into()), "18446744073709551615");
    assert_eq!(text(i64::MIN.into()), "-9223372036854775808");
    assert_eq!(text(f16::from_bits(0x2e66).into()), "0.1");
    assert_eq!(text(0.1_f32.into()), "0.1");
    assert_eq!(text(1e300_f64.into()), "1e300");
    assert_eq!(text((-0.0_f64).into()), "-0.0");
    assert_eq!(text(Scalar::from_bits(ElementType::Int4, 0x08)), "-8");
    assert_eq!(text(f32::NEG_INFINITY.into()), "-Infinity");
}

/// Some readers may refuse 450 for 448.
#[test]
fn no_text_of_a_narrow_float_is_beyond_the_type_s_range() {
    let text = |element_type| Scalar::max(element_type).to_string();
    assert_eq!(text(ElementType::Float8E4M3Fn), "448.0");
    assert_eq!(text(ElementType::Float8E5M2), "57000.0");
    assert_eq!(text(ElementType::BFloat16), "3.3895e38");
    // The text of float32 is that of every other program: 3.4028235e38, a little beyond the greatest value.
    for &element_type in ElementType::ALL.iter().filter(|t| t.is_float() && t.size() < 4) {
        let ends = [Scalar::min(element_type), Scalar::max(element_type)];
        let [least, greatest] = ends.map(Scalar::to_f64);
        for end in ends {
            let read = end.to_string().parse::<f64>().expect("a number");
            assert!(least <= read && read <= greatest, "{end:?}");
        }
    }
}

#[test]
fn every_value_of_up_to_16_bits_is_parsed_from_its_text() {
    for element_type in ElementType::ALL.iter().copied().filter(|t| t.bits() <= 16) {
        for bits in 0..1_u64 << element_type.bits() {
            let scalar = Scalar::from_bits(element_type, bits);
            let text = scalar.to_string();
            let read = Scalar::parse(element_type, &text);
            // A NaN's text has neither its sign nor its payload.
            let expected = if scalar.is_nan() { Scalar::nan(element_type) } else { Some(scalar) };
            assert_eq!(read.ok(), expected, "{text}");
            assert_eq!(format!("{element_type} {text}").parse().ok(), expected, "{text}");
        }
    }
}

#[test]
fn text_that_is_no_value_of_the_type_is_refused_with_the_range() {
    for text in ["256", "-1", "1.5", "1e1", "+1", " 1", "", "NaN", "0x01"] {
        let error = Scalar::parse(ElementType::UInt8, text).unwrap_err().to_string();
        assert_eq!(error, format!("{text:?} is not a whole number from 0 to 255, as uint8 needs"));
    }
    for text in ["inf", "nan", "+1", "1e39", "", "-", "Infinite"] {
        assert!(Scalar::parse(ElementType::Float32, text).is_err(), "{text}");
    }
    assert!(Scalar::parse(ElementType::Float4E2M1Fn, "Infinity").is_err());
    assert_eq!(Scalar::parse(ElementType::Float32, "-0"), Ok((-0.0_f32).into()));
    assert_eq!(Scalar::parse(ElementType::UInt64, "18446744073709551615"), Ok(u64::MAX.into()));
    assert!("float32".parse::<Scalar>().is_err() && "float33 1".parse::<Scalar>().is_err());
}

#[test]
fn names_are_parsed_and_others_refused_with_those_there_are() {
    assert_eq!("float8_e4m3".parse(), Ok(ElementType::Float8E4M3));
    assert_eq!("nearest-away".parse(), Ok(Rounding::NearestAway));
    assert_eq!("wrap".parse(), Ok(OutOfRange::Wrap));
    let error = "nearest".parse::<Rounding>().unwrap_err().to_string();
    assert!(error.starts_with("\"nearest\" is not one of nearest-even, towards-zero"), "{error}");
    assert!("saturate".parse::<OutOfRange>().is_err());
}

/// What to write into Zarr metadata is for the crates that read those to say.
#[test]
fn errors_of_elements_speak_of_values_and_types_alone() {
    for (value, target) in [
        (f32::NAN, ElementType::UInt8),
        (f32::INFINITY, ElementType::UInt8),
        (300.0, ElementType::UInt8),
    ] {
        let plan = Plan::builder(ElementType::Float32).cast(Cast::new(target)).build().unwrap();
        let error = plan.run_to_vec(&value.to_ne_bytes()).unwrap_err().to_string();
        assert!(error.contains("uint8") && !error.contains("scalar_map"), "{error}");
    }
}

#[test]
fn errors_name_wrap_only_where_it_is_possible() {
    for (target, way_out) in [
        (ElementType::UInt8, "clamp, wrap or map it"),
        (ElementType::Float8E4M3Fn, "clamp or map it"),
    ] {
        let plan = Plan::builder(ElementType::Float32).cast(Cast::new(target)).build().unwrap();
        let error = plan.run_to_vec(&480_f32.to_ne_bytes()).unwrap_err().to_string();
        assert!(error.ends_with(&format!("; {way_out}")), "{error}");
    }
}

#[test]
fn every_finite_value_of_up_to_16_bits_reads_back_from_its_text() {
    for element_type in ElementType::ALL.iter().copied().filter(|t| t.bits() <= 16) {
        for bits in 0..1_u64 << element_type.bits() {
            let scalar = Scalar::from_bits(element_type, bits);
            if !scalar.is_finite() {
                continue;
            }
            let read = scalar.to_string().parse::<f64>().expect("a number");
            let back =
                Scalar::from(read).cast(element_type, Rounding::NearestEven, OutOfRange::Error);
            assert_eq!(back, Ok(scalar));
        }
    }
}

#[test]
#[cfg(not(feature = "avx512"))]
fn a_level_that_is_left_out_is_refused_with_its_feature() {
    use recast_kernels::Level;
    let refused = Plan::builder(ElementType::Int8).level(Level::Avx512).build().unwrap_err();
    let expected =
        "level avx512 is left out of this build; enable the feature avx512 of recast-kernels";
    assert_eq!(refused.to_string(), expected);
    assert!(!Level::available().contains(&Level::Avx512));
}
