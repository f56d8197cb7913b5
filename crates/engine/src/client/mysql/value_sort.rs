//! What sort of value a prepared statement gives, as its description says.

use super::CapturableStatement;

/// What sort of value an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueSort {
    /// A whole number.
    Int,
    /// A floating-point number.
    Real,
    /// A decimal number.
    Decimal,
    /// Anything else: it is computed as text.
    Text,
}

impl CapturableStatement {
    /// What the first column holds; `None` for a statement without columns.
    pub fn first_value_sort(&self) -> Option<ValueSort> {
        // Numbers of types: the protocol's `enum_field_types`.
        Some(match self.columns.first()?.kind {
            0x01 | 0x02 | 0x03 | 0x08 | 0x09 | 0x0d | 0x10 => ValueSort::Int,
            0x04 | 0x05 => ValueSort::Real,
            0x00 | 0xf6 => ValueSort::Decimal,
            _ => ValueSort::Text,
        })
    }
}
