//! The transactions with one statement for each step of the specification.
//! Source: TPC-C 5.11, clauses 2.4.2, 2.5.2, 2.6.2, 2.7.4, 2.8.2.

use super::clauses::{
    DistrictInfo, HistoryData, LastName, LinePlan, WarehouseName, bad_credit_data, middle_row,
    order_lines, restock, uint,
};
use super::money::AmountText;
use super::runner::TransactionRunner;
use super::statements::TpccStatement as S;
use super::{DeliveredOrders, TransactionEnding};
use crate::client::{ParameterValue, RowReader};
use crate::recorder::{EventError, Tally};
use crate::workload::tpcc::inputs::{
    CustomerInput, NewOrderInput, OrderStatusInput, PaymentInput, UNUSED_ITEM,
};
use crate::workload::tpcc::schema::DISTRICTS;

pub(super) async fn run_new_order(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &NewOrderInput,
) -> Result<TransactionEnding, EventError> {
    let place = [uint(warehouse), uint(input.district)];
    runner.run(tally, S::LockDistrict, &place).await?;
    let order = runner.read_row(S::LockDistrict, 0, |mut row| row.next_int())? as u32;
    runner.run(tally, S::AdvanceDistrict, &place).await?;
    runner.expect_changed(S::AdvanceDistrict, 0, 1)?;
    let customer = [uint(warehouse), uint(input.district), uint(input.customer)];
    runner.run(tally, S::ReadCustomerTax, &customer).await?;
    runner.read_row(S::ReadCustomerTax, 0, |mut row| row.next_scaled(4))?;
    let [w, d] = place;
    let is_local = u32::from(input.is_local(warehouse));
    let lines = input.lines();
    let values =
        [w, d, uint(order), uint(input.customer), uint(lines.len() as u32), uint(is_local)];
    runner.run(tally, S::InsertOrder, &values).await?;
    runner.run(tally, S::InsertNewOrder, &[w, d, uint(order)]).await?;
    for LinePlan { number, line } in order_lines(lines) {
        runner.run(tally, S::ReadItem, &[uint(line.item)]).await?;
        if line.item == UNUSED_ITEM && runner.first_row().is_none() {
            runner.end_transaction(tally, S::Rollback).await?;
            return Ok(TransactionEnding::RolledBack);
        }
        let price_cents = runner.read_row(S::ReadItem, 0, |mut row| row.next_scaled(2))?;
        let key = [uint(line.supply_warehouse), uint(line.item)];
        runner.run(tally, S::LockStock, &[d, key[0], key[1]]).await?;
        let (quantity, info) = runner.read_row(S::LockStock, 0, read_stock)?;
        let is_remote = u32::from(line.supply_warehouse != warehouse);
        let values = [
            ParameterValue::Int(restock(quantity, line.quantity)),
            uint(line.quantity),
            uint(is_remote),
            key[0],
            key[1],
        ];
        runner.run(tally, S::UpdateStock, &values).await?;
        runner.expect_changed(S::UpdateStock, 0, 1)?;
        let amount = AmountText::from_cents(price_cents * i64::from(line.quantity));
        let values = [
            w,
            d,
            uint(order),
            uint(number),
            key[1],
            key[0],
            uint(line.quantity),
            amount.value(),
            info.value(),
        ];
        runner.run(tally, S::InsertLine, &values).await?;
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Ordered { district: input.district, order })
}

/// Quantity and district's text of a row of stock.
pub(super) fn read_stock(mut row: RowReader<'_>) -> Option<(i64, DistrictInfo)> {
    let quantity = row.next_int()?;
    row.next_bytes()?;
    Some((quantity, DistrictInfo::from_bytes(row.next_bytes()?)))
}

pub(super) async fn run_payment(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &PaymentInput,
) -> Result<TransactionEnding, EventError> {
    let amount = AmountText::from_cents(i64::from(input.amount_cents));
    let [w, d] = [uint(warehouse), uint(input.district)];
    runner.run(tally, S::PayWarehouse, &[amount.value(), w]).await?;
    runner.expect_changed(S::PayWarehouse, 0, 1)?;
    runner.run(tally, S::ReadWarehouse, &[w]).await?;
    let name = runner
        .read_row(S::ReadWarehouse, 0, |mut row| row.next_bytes().map(WarehouseName::from_bytes))?;
    runner.run(tally, S::PayDistrict, &[amount.value(), w, d]).await?;
    runner.expect_changed(S::PayDistrict, 0, 1)?;
    runner.run(tally, S::ReadDistrict, &[w, d]).await?;
    let history = runner.read_row(S::ReadDistrict, 0, |mut row| {
        row.next_bytes().map(|district| name.history_data(district))
    })?;
    let customer = find_customer(
        runner,
        tally,
        input.customer_warehouse,
        input.customer_district,
        input.customer,
    )
    .await?;
    pay_customer(runner, tally, (warehouse, customer), input, &history).await
}

/// The customer's part of a payment, and its end.
pub(super) async fn pay_customer(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    (warehouse, customer): (u32, u32),
    input: &PaymentInput,
    history: &HistoryData,
) -> Result<TransactionEnding, EventError> {
    let amount = AmountText::from_cents(i64::from(input.amount_cents));
    let [cw, cd] = [uint(input.customer_warehouse), uint(input.customer_district)];
    let key = [cw, cd, uint(customer)];
    runner.run(tally, S::LockCustomer, &key).await?;
    let is_bad = runner.read_row(S::LockCustomer, 0, read_bad_credit)?;
    let paid = match is_bad {
        false => {
            let values = [amount.value(), amount.value(), cw, cd, key[2]];
            runner.run(tally, S::PayCustomer, &values).await?;
            S::PayCustomer
        }
        true => {
            let data = read_bad_credit_data(runner, tally, (warehouse, customer), input).await?;
            let text = ParameterValue::Bytes(&data);
            let values = [amount.value(), amount.value(), text, cw, cd, key[2]];
            runner.run(tally, S::PayBadCustomer, &values).await?;
            runner.credit_data = data;
            S::PayBadCustomer
        }
    };
    runner.expect_changed(paid, 0, 1)?;
    let values = [
        key[2],
        cd,
        cw,
        uint(input.district),
        uint(warehouse),
        amount.value(),
        ParameterValue::Bytes(history.as_bytes()),
    ];
    runner.run(tally, S::InsertHistory, &values).await?;
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Paid { district: input.district })
}

/// Whether a customer has bad credit.
pub(super) fn read_bad_credit(mut row: RowReader<'_>) -> Option<bool> {
    for _name_address_phone_since in 0..10 {
        row.next_value()?;
    }
    Some(row.next_bytes()? == b"BC")
}

/// Reads what a customer with bad credit has in C_DATA, and puts the payment before it: in the runner's memory, which whoever
/// has sent it gives back.
pub(super) async fn read_bad_credit_data(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    (warehouse, customer): (u32, u32),
    input: &PaymentInput,
) -> Result<Vec<u8>, EventError> {
    let key = [uint(input.customer_warehouse), uint(input.customer_district), uint(customer)];
    runner.run(tally, S::ReadCustomerData, &key).await?;
    let mut data = std::mem::take(&mut runner.credit_data);
    runner.read_row(S::ReadCustomerData, 0, |mut row| {
        bad_credit_data(&mut data, warehouse, customer, input, row.next_bytes()?);
        Some(())
    })?;
    Ok(data)
}

/// The customer's number: as keyed in, or the middle one of those with the name, ordered by first name (clause 2.5.2.2).
pub(super) async fn find_customer(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    district: u32,
    customer: CustomerInput,
) -> Result<u32, EventError> {
    let number = match customer {
        CustomerInput::Id(id) => return Ok(id),
        CustomerInput::LastName(number) => number,
    };
    let name = LastName::from_number(number);
    let values = [uint(warehouse), uint(district), name.value()];
    runner.run(tally, S::FindCustomers, &values).await?;
    middle_customer(runner, 0)
}

/// The middle one of the customers that the statement at this place has found.
pub(super) fn middle_customer(
    runner: &mut TransactionRunner,
    place: usize,
) -> Result<u32, EventError> {
    let found = runner.result(place).and_then(|result| {
        let middle = middle_row(result.row_count())?;
        result.row(middle)?.next_int()
    });
    match found {
        Some(customer) => Ok(customer as u32),
        // A statement without rows has no first row either: this is the error for it.
        None => runner.read_row(S::FindCustomers, usize::MAX, |_| None),
    }
}

pub(super) async fn run_order_status(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &OrderStatusInput,
) -> Result<TransactionEnding, EventError> {
    let customer = find_customer(runner, tally, warehouse, input.district, input.customer).await?;
    let key = [uint(warehouse), uint(input.district), uint(customer)];
    runner.run(tally, S::ReadCustomer, &key).await?;
    runner.read_row(S::ReadCustomer, 0, |mut row| row.next_scaled(2))?;
    runner.run(tally, S::ReadLastOrder, &key).await?;
    let order = runner.read_row(S::ReadLastOrder, 0, |mut row| row.next_int())? as u32;
    runner.run(tally, S::ReadLines, &[key[0], key[1], uint(order)]).await?;
    runner.read_row(S::ReadLines, 0, |mut row| row.next_int())?;
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Read)
}

pub(super) async fn run_delivery(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    carrier: u32,
) -> Result<TransactionEnding, EventError> {
    let w = uint(warehouse);
    let mut orders = DeliveredOrders::default();
    for district in 1..=DISTRICTS {
        let d = uint(district);
        runner.run(tally, S::LockOldestOrder, &[w, d]).await?;
        let Some(order) = runner.first_row().and_then(|mut row| row.next_int()) else {
            continue;
        };
        orders[district as usize - 1] = order as u32;
        let key = [w, d, uint(order as u32)];
        runner.run(tally, S::DeleteNewOrder, &key).await?;
        runner.expect_changed(S::DeleteNewOrder, 0, 1)?;
        runner.run(tally, S::ReadOrderCustomer, &key).await?;
        let customer = runner.read_row(S::ReadOrderCustomer, 0, |mut row| row.next_int())? as u32;
        runner.run(tally, S::SetCarrier, &[uint(carrier), w, d, key[2]]).await?;
        runner.expect_changed(S::SetCarrier, 0, 1)?;
        // Before the sum: rows that this transaction has changed are seen whenever its snapshot was taken.
        runner.run(tally, S::SetDeliveryDate, &key).await?;
        runner.run(tally, S::SumLines, &key).await?;
        let cents = runner.read_row(S::SumLines, 0, |mut row| row.next_scaled(2))?;
        let amount = AmountText::from_cents(cents);
        runner.run(tally, S::DeliverCustomer, &[amount.value(), w, d, uint(customer)]).await?;
        runner.expect_changed(S::DeliverCustomer, 0, 1)?;
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Delivered { orders })
}

pub(super) async fn run_stock_level(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    (warehouse, district): (u32, u32),
    threshold: u32,
) -> Result<TransactionEnding, EventError> {
    let [w, d] = [uint(warehouse), uint(district)];
    runner.run(tally, S::ReadNextOrder, &[w, d]).await?;
    let next = runner.read_row(S::ReadNextOrder, 0, |mut row| row.next_int())?;
    let (first, next) = (uint((next - 20).max(0) as u32), uint(next as u32));
    runner.run(tally, S::CountLowStock, &[w, d, first, next, uint(threshold)]).await?;
    runner.read_row(S::CountLowStock, 0, |mut row| row.next_int())?;
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Read)
}
