//! The zarrs side.
