//! The integers of a size, and names in `NumPy`.

use recast_kernels::ElementType;

/// An element type as `NumPy` spells it, little-endian; `None` if it lacks the type.
pub(crate) fn numpy_name(element_type: ElementType) -> Option<String> {
    let kind = match element_type {
        ElementType::Int8 | ElementType::Int16 | ElementType::Int32 | ElementType::Int64 => 'i',
        ElementType::UInt8 | ElementType::UInt16 | ElementType::UInt32 | ElementType::UInt64 => 'u',
        ElementType::Float16 | ElementType::Float32 | ElementType::Float64 => 'f',
        _ => return None,
    };
    let size = element_type.size();
    let order = if size == 1 { '|' } else { '<' };
    Some(format!("{order}{kind}{size}"))
}

/// The integer type with the bits of another one, with a sign or without.
pub(crate) fn with_sign(element_type: ElementType, is_signed: bool) -> ElementType {
    let is_it = |one: &ElementType| {
        one.is_integer() && one.bits() == element_type.bits() && one.is_signed() == is_signed
    };
    ElementType::ALL.iter().copied().find(is_it).unwrap_or(element_type)
}
