//! What the ways to put transactions into SQL share: rules of the specification that are no statements.

use std::io::Write as _;

use crate::client::ParameterValue;
use crate::workload::tpcc::inputs::{LineInput, MOST_LINES, PaymentInput, UNUSED_ITEM};
use crate::workload::tpcc::nonuniform::write_last_name;

/// A number as a parameter.
#[inline]
pub(super) fn uint(number: u32) -> ParameterValue<'static> {
    ParameterValue::Uint(number.into())
}

/// A line and its number in the order, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LinePlan {
    pub(super) number: u32,
    pub(super) line: LineInput,
}

/// The lines in the order in which they are worked on: by warehouse and item, so that two orders lock rows of stock in the
/// same order; an item that is not there comes last, when all valid ones were worked on (clause 2.4.2.3).
pub(super) fn order_lines(lines: &[LineInput]) -> impl Iterator<Item = LinePlan> + use<> {
    let mut plans = [LinePlan::default(); MOST_LINES];
    for ((plan, line), number) in plans.iter_mut().zip(lines).zip(1..) {
        *plan = LinePlan { number, line: *line };
    }
    let count = lines.len();
    plans[..count].sort_unstable_by_key(|plan| {
        let line = plan.line;
        (line.item == UNUSED_ITEM, line.supply_warehouse, line.item, plan.number)
    });
    plans.into_iter().take(count)
}

/// What is in stock after so many were taken: refilled by 91 where fewer than ten would be left (clause 2.4.2.2).
pub(super) fn restock(quantity: i64, taken: u32) -> i64 {
    let taken = i64::from(taken);
    if quantity >= taken + 10 { quantity - taken } else { quantity - taken + 91 }
}

/// Which of so many rows is the middle one, from 0: the one at n/2 rounded up (clause 2.5.2.2).
pub(super) fn middle_row(rows: usize) -> Option<usize> {
    rows.div_ceil(2).checked_sub(1)
}

/// The name of a warehouse, kept while its district is read: at most ten characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WarehouseName {
    bytes: [u8; 10],
    length: usize,
}

impl WarehouseName {
    pub(super) fn from_bytes(name: &[u8]) -> WarehouseName {
        let mut kept = WarehouseName { length: name.len().min(10), ..WarehouseName::default() };
        kept.bytes[..kept.length].copy_from_slice(&name[..kept.length]);
        kept
    }

    /// H_DATA: this name and that of the district, with four blanks between (clause 2.5.2.2).
    pub(super) fn history_data(&self, district: &[u8]) -> HistoryData {
        let mut data = HistoryData { bytes: [b' '; 24], length: self.length + 4 };
        data.bytes[..self.length].copy_from_slice(&self.bytes[..self.length]);
        let length = district.len().min(10);
        data.bytes[data.length..data.length + length].copy_from_slice(&district[..length]);
        data.length += length;
        data
    }
}

/// H_DATA of a payment.
#[derive(Clone, Copy, Debug)]
pub(super) struct HistoryData {
    bytes: [u8; 24],
    length: usize,
}

impl HistoryData {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The name of a customer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastName {
    bytes: [u8; 16],
    length: usize,
}

impl LastName {
    /// The name that belongs to this number, 0 to 999.
    pub(super) fn from_number(number: u32) -> LastName {
        let mut name = LastName { bytes: [0; 16], length: 0 };
        name.length = write_last_name(number, &mut name.bytes);
        name
    }

    pub(super) fn value(&self) -> ParameterValue<'_> {
        ParameterValue::Bytes(&self.bytes[..self.length])
    }
}

/// What a line of an order says of its district: 24 characters.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DistrictInfo([u8; 24]);

impl DistrictInfo {
    pub(super) fn from_bytes(bytes: &[u8]) -> DistrictInfo {
        let mut info = DistrictInfo([b' '; 24]);
        let length = bytes.len().min(24);
        info.0[..length].copy_from_slice(&bytes[..length]);
        info
    }

    pub(super) fn value(&self) -> ParameterValue<'_> {
        ParameterValue::Bytes(self.0.trim_ascii_end())
    }
}

/// What a customer with bad credit gets in C_DATA: the payment before what was there, cut at 500 characters (clause 2.5.2.2).
pub(super) fn bad_credit_data(
    out: &mut Vec<u8>,
    warehouse: u32,
    customer: u32,
    input: &PaymentInput,
    old: &[u8],
) {
    let PaymentInput { district, customer_warehouse, customer_district, amount_cents, .. } = *input;
    out.clear();
    write!(
        out,
        "{customer} {customer_district} {customer_warehouse} {district} {warehouse} {}.{:02}|",
        amount_cents / 100,
        amount_cents % 100
    )
    .expect("a vector takes all bytes");
    out.extend_from_slice(old);
    out.truncate(500);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::inputs::CustomerInput;

    #[test]
    fn stock_is_refilled_where_fewer_than_ten_would_be_left() {
        assert_eq!(restock(20, 10), 10);
        assert_eq!(restock(19, 10), 100);
        assert_eq!(restock(10, 1), 100);
        assert_eq!(restock(11, 1), 10);
    }

    #[test]
    fn the_middle_row_is_rounded_up() {
        let rows: Vec<_> = (0..6).map(middle_row).collect();
        assert_eq!(rows, [None, Some(0), Some(0), Some(1), Some(1), Some(2)]);
    }

    #[test]
    fn lines_are_worked_on_by_stock_row_and_the_missing_item_last() {
        let line = |item, supply_warehouse| LineInput { item, supply_warehouse, quantity: 1 };
        let lines = [line(9, 2), line(UNUSED_ITEM, 1), line(7, 1), line(9, 1), line(7, 1)];
        let numbers: Vec<_> = order_lines(&lines).map(|plan| plan.number).collect();
        assert_eq!(numbers, [3, 5, 4, 1, 2]);
    }

    #[test]
    fn history_holds_both_names_with_four_blanks_between() {
        let data = WarehouseName::from_bytes(b"abcdef").history_data(b"0123456789");
        assert_eq!(data.as_bytes(), b"abcdef    0123456789");
        let data = WarehouseName::from_bytes(b"0123456789").history_data(b"0123456789");
        assert_eq!(data.as_bytes().len(), 24);
    }

    #[test]
    fn bad_credit_pushes_the_payment_in_front() {
        let input = PaymentInput {
            district: 3,
            customer_warehouse: 5,
            customer_district: 4,
            customer: CustomerInput::Id(1),
            amount_cents: 123_405,
        };
        let mut out = Vec::new();
        bad_credit_data(&mut out, 2, 1, &input, &[b'x'; 500]);
        assert_eq!(out.len(), 500);
        assert!(out.starts_with(b"1 4 5 3 2 1234.05|xxx"));
    }
}
