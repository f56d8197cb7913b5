//! Amounts: whole cents on our side, decimal text for the server.

use crate::client::ParameterValue;

/// An amount as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct AmountText {
    bytes: [u8; 24],
    start: usize,
}

impl AmountText {
    /// The text of an amount in cents: `12.30`.
    pub(super) fn from_cents(cents: i64) -> AmountText {
        let mut text = AmountText { bytes: [b'0'; 24], start: 24 };
        let mut rest = cents.unsigned_abs();
        for place in 0.. {
            if place > 2 && rest == 0 {
                break;
            }
            text.start -= 1;
            if place == 2 {
                text.bytes[text.start] = b'.';
                text.start -= 1;
            }
            text.bytes[text.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if cents < 0 {
            text.start -= 1;
            text.bytes[text.start] = b'-';
        }
        text
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn value(&self) -> ParameterValue<'_> {
        ParameterValue::Bytes(self.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cents_are_written_with_two_digits() {
        for (cents, text) in
            [(0, "0.00"), (5, "0.05"), (100, "1.00"), (-1_234_567, "-12345.67"), (99_999, "999.99")]
        {
            assert_eq!(AmountText::from_cents(cents).as_bytes(), text.as_bytes());
        }
        assert_eq!(AmountText::from_cents(i64::MIN).as_bytes().len(), 21);
    }
}
