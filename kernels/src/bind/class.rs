//! Element types by how they are worked on: the place where a new one has to say so.

use crate::ElementType;

/// How the elements of a type are worked on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// Integers of whole bytes.
    Int(IntType),
    /// Floats of two bytes and more.
    Float(FloatType),
    /// Integers of less than a byte: as those of a whole byte.
    SubByte,
    /// Floats of one byte: as `float32`.
    SmallFloat,
}

/// An integer type of whole bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntType {
    pub(crate) width: Width,
    pub(crate) signed: bool,
}

/// Bits of an integer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    W8,
    W16,
    W32,
    W64,
}

/// A float type of two bytes or more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FloatType {
    Float16,
    BFloat16,
    Float32,
    Float64,
}

impl Class {
    pub(crate) const fn of(element: ElementType) -> Self {
        const fn int(width: Width, signed: bool) -> Class {
            Class::Int(IntType { width, signed })
        }
        match element {
            ElementType::Int2 | ElementType::Int4 | ElementType::UInt2 | ElementType::UInt4 => {
                Self::SubByte
            }
            ElementType::Int8 => int(Width::W8, true),
            ElementType::Int16 => int(Width::W16, true),
            ElementType::Int32 => int(Width::W32, true),
            ElementType::Int64 => int(Width::W64, true),
            ElementType::UInt8 => int(Width::W8, false),
            ElementType::UInt16 => int(Width::W16, false),
            ElementType::UInt32 => int(Width::W32, false),
            ElementType::UInt64 => int(Width::W64, false),
            ElementType::Float4E2M1Fn
            | ElementType::Float6E2M3Fn
            | ElementType::Float6E3M2Fn
            | ElementType::Float8E3M4
            | ElementType::Float8E4M3
            | ElementType::Float8E4M3B11Fnuz
            | ElementType::Float8E4M3Fn
            | ElementType::Float8E4M3Fnuz
            | ElementType::Float8E5M2
            | ElementType::Float8E5M2Fnuz
            | ElementType::Float8E8M0Fnu => Self::SmallFloat,
            ElementType::BFloat16 => Self::Float(FloatType::BFloat16),
            ElementType::Float16 => Self::Float(FloatType::Float16),
            ElementType::Float32 => Self::Float(FloatType::Float32),
            ElementType::Float64 => Self::Float(FloatType::Float64),
        }
    }
}

impl IntType {
    pub(crate) const fn element(self) -> ElementType {
        match (self.width, self.signed) {
            (Width::W8, true) => ElementType::Int8,
            (Width::W16, true) => ElementType::Int16,
            (Width::W32, true) => ElementType::Int32,
            (Width::W64, true) => ElementType::Int64,
            (Width::W8, false) => ElementType::UInt8,
            (Width::W16, false) => ElementType::UInt16,
            (Width::W32, false) => ElementType::UInt32,
            (Width::W64, false) => ElementType::UInt64,
        }
    }
}

impl FloatType {
    /// The type of the registers that hold its values.
    pub(crate) const fn domain(self) -> ElementType {
        match self {
            Self::Float16 | Self::BFloat16 | Self::Float32 => ElementType::Float32,
            Self::Float64 => ElementType::Float64,
        }
    }
}

/// The type of whole bytes in which a narrow type's values are worked on.
pub(super) fn wide(element: ElementType) -> ElementType {
    match Class::of(element) {
        Class::SubByte if element.is_signed() => ElementType::Int8,
        Class::SubByte => ElementType::UInt8,
        Class::SmallFloat => ElementType::Float32,
        Class::Float(float) => float.domain(),
        Class::Int(_) => element,
    }
}
