//! The statements of `plain`, several of them sent before the replies to the first are read. What needs a reply waits for it,
//! and a COMMIT of changes always goes alone: a server that refuses one statement runs those behind it all the same.

use super::batched::undelivered;
use super::clauses::{DistrictInfo, LastName, LinePlan, WarehouseName, order_lines, restock, uint};
use super::money::AmountText;
use super::plain::{middle_customer, read_bad_credit, read_bad_credit_data, read_stock};
use super::runner::TransactionRunner;
use super::statements::TpccStatement as S;
use super::{DeliveredOrders, TransactionEnding};
use crate::client::ParameterValue;
use crate::recorder::{EventError, Tally};
use crate::workload::tpcc::inputs::{
    CustomerInput, MOST_LINES, NewOrderInput, OrderStatusInput, PaymentInput, UNUSED_ITEM,
};
use crate::workload::tpcc::schema::DISTRICTS;

/// What an order's line needs of the rows that were read for it.
#[derive(Clone, Copy, Debug, Default)]
struct ReadLine {
    plan: LinePlan,
    price_cents: i64,
    quantity: i64,
    info: DistrictInfo,
}

pub(super) async fn run_new_order(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &NewOrderInput,
) -> Result<TransactionEnding, EventError> {
    let [w, d] = [uint(warehouse), uint(input.district)];
    runner.push(S::LockDistrict, &[w, d]).await?;
    runner.push(S::AdvanceDistrict, &[w, d]).await?;
    runner.push(S::ReadCustomerTax, &[w, d, uint(input.customer)]).await?;
    for LinePlan { line, .. } in order_lines(input.lines()) {
        runner.push(S::ReadItem, &[uint(line.item)]).await?;
        if line.item != UNUSED_ITEM {
            let values = [d, uint(line.supply_warehouse), uint(line.item)];
            runner.push(S::LockStock, &values).await?;
        }
    }
    runner.run_pipeline(tally).await?;
    let order = runner.read_row(S::LockDistrict, 0, |mut row| row.next_int())? as u32;
    runner.expect_changed(S::AdvanceDistrict, 1, 1)?;
    runner.read_row(S::ReadCustomerTax, 2, |mut row| row.next_scaled(4))?;
    let mut read = [ReadLine::default(); MOST_LINES];
    let mut count = 0;
    for plan in order_lines(input.lines()).filter(|plan| plan.line.item != UNUSED_ITEM) {
        let place = 3 + 2 * count;
        let price_cents = runner.read_row(S::ReadItem, place, |mut row| row.next_scaled(2))?;
        let (mut quantity, info) = runner.read_row(S::LockStock, place + 1, read_stock)?;
        let same = |known: &&ReadLine| {
            let (one, other) = (known.plan.line, plan.line);
            (one.supply_warehouse, one.item) == (other.supply_warehouse, other.item)
        };
        // It was read before the line before it took from it.
        if let Some(before) = read[..count].iter().rev().find(same) {
            quantity = restock(before.quantity, before.plan.line.quantity);
        }
        read[count] = ReadLine { plan, price_cents, quantity, info };
        count += 1;
    }
    let lines = &read[..count];
    let count = uint(input.lines().len() as u32);
    let is_local = uint(u32::from(input.is_local(warehouse)));
    let values = [w, d, uint(order), uint(input.customer), count, is_local];
    runner.push(S::InsertOrder, &values).await?;
    runner.push(S::InsertNewOrder, &[w, d, uint(order)]).await?;
    for read in lines {
        push_line(runner, (warehouse, input.district, order), read).await?;
    }
    runner.run_pipeline(tally).await?;
    for place in 0..lines.len() {
        runner.expect_changed(S::UpdateStock, 2 + 2 * place, 1)?;
    }
    if input.is_rolled_back() {
        runner.end_transaction(tally, S::Rollback).await?;
        return Ok(TransactionEnding::RolledBack);
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Ordered { district: input.district, order })
}

async fn push_line(
    runner: &mut TransactionRunner,
    (warehouse, district, order): (u32, u32, u32),
    read: &ReadLine,
) -> Result<(), EventError> {
    let ReadLine { plan: LinePlan { number, line }, price_cents, quantity, info } = *read;
    let key = [uint(line.supply_warehouse), uint(line.item)];
    let values = [
        ParameterValue::Int(restock(quantity, line.quantity)),
        uint(line.quantity),
        uint(u32::from(line.supply_warehouse != warehouse)),
        key[0],
        key[1],
    ];
    runner.push(S::UpdateStock, &values).await?;
    let amount = AmountText::from_cents(price_cents * i64::from(line.quantity));
    let values = [
        uint(warehouse),
        uint(district),
        uint(order),
        uint(number),
        key[1],
        key[0],
        uint(line.quantity),
        amount.value(),
        info.value(),
    ];
    runner.push(S::InsertLine, &values).await
}

pub(super) async fn run_payment(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &PaymentInput,
) -> Result<TransactionEnding, EventError> {
    let amount = AmountText::from_cents(i64::from(input.amount_cents));
    let [w, d] = [uint(warehouse), uint(input.district)];
    let [cw, cd] = [uint(input.customer_warehouse), uint(input.customer_district)];
    runner.push(S::PayWarehouse, &[amount.value(), w]).await?;
    runner.push(S::ReadWarehouse, &[w]).await?;
    runner.push(S::PayDistrict, &[amount.value(), w, d]).await?;
    runner.push(S::ReadDistrict, &[w, d]).await?;
    match input.customer {
        CustomerInput::Id(id) => runner.push(S::LockCustomer, &[cw, cd, uint(id)]).await?,
        CustomerInput::LastName(number) => {
            let name = LastName::from_number(number);
            runner.push(S::FindCustomers, &[cw, cd, name.value()]).await?;
        }
    }
    runner.run_pipeline(tally).await?;
    runner.expect_changed(S::PayWarehouse, 0, 1)?;
    runner.expect_changed(S::PayDistrict, 2, 1)?;
    let name = runner
        .read_row(S::ReadWarehouse, 1, |mut row| row.next_bytes().map(WarehouseName::from_bytes))?;
    let history = runner.read_row(S::ReadDistrict, 3, |mut row| {
        row.next_bytes().map(|district| name.history_data(district))
    })?;
    let (customer, is_bad) = match input.customer {
        CustomerInput::Id(id) => (id, runner.read_row(S::LockCustomer, 4, read_bad_credit)?),
        CustomerInput::LastName(_) => {
            let id = middle_customer(runner, 4)?;
            runner.run(tally, S::LockCustomer, &[cw, cd, uint(id)]).await?;
            (id, runner.read_row(S::LockCustomer, 0, read_bad_credit)?)
        }
    };
    let key = [cw, cd, uint(customer)];
    let paid = match is_bad {
        false => {
            let values = [amount.value(), amount.value(), cw, cd, key[2]];
            runner.push(S::PayCustomer, &values).await?;
            S::PayCustomer
        }
        true => {
            let data = read_bad_credit_data(runner, tally, (warehouse, customer), input).await?;
            let text = ParameterValue::Bytes(&data);
            let values = [amount.value(), amount.value(), text, cw, cd, key[2]];
            runner.push(S::PayBadCustomer, &values).await?;
            runner.credit_data = data;
            S::PayBadCustomer
        }
    };
    let history = ParameterValue::Bytes(history.as_bytes());
    let values = [key[2], cd, cw, d, w, amount.value(), history];
    runner.push(S::InsertHistory, &values).await?;
    runner.run_pipeline(tally).await?;
    runner.expect_changed(paid, 0, 1)?;
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Paid { district: input.district })
}

pub(super) async fn run_order_status(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &OrderStatusInput,
) -> Result<TransactionEnding, EventError> {
    let [w, d] = [uint(warehouse), uint(input.district)];
    let customer = match input.customer {
        CustomerInput::Id(id) => id,
        CustomerInput::LastName(number) => {
            let name = LastName::from_number(number);
            runner.run(tally, S::FindCustomers, &[w, d, name.value()]).await?;
            middle_customer(runner, 0)?
        }
    };
    let key = [w, d, uint(customer)];
    runner.push(S::ReadCustomer, &key).await?;
    runner.push(S::ReadLastOrder, &key).await?;
    runner.run_pipeline(tally).await?;
    runner.read_row(S::ReadCustomer, 0, |mut row| row.next_scaled(2))?;
    let order = runner.read_row(S::ReadLastOrder, 1, |mut row| row.next_int())? as u32;
    // It only reads, so its end may go along.
    runner.push(S::ReadLines, &[w, d, uint(order)]).await?;
    runner.push(S::Commit, &[]).await?;
    runner.run_pipeline(tally).await?;
    runner.read_row(S::ReadLines, 0, |mut row| row.next_int())?;
    Ok(TransactionEnding::Read)
}

pub(super) async fn run_delivery(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    carrier: u32,
) -> Result<TransactionEnding, EventError> {
    let w = uint(warehouse);
    for district in 1..=DISTRICTS {
        runner.push(S::LockOldestOrder, &[w, uint(district)]).await?;
    }
    runner.run_pipeline(tally).await?;
    let mut orders = DeliveredOrders::default();
    for (known, found) in orders.iter_mut().zip(runner.results()) {
        *known = found.row(0).and_then(|mut row| row.next_int()).unwrap_or(0) as u32;
    }
    for (district, order) in undelivered(&orders) {
        let key = [w, uint(district), uint(order)];
        runner.push(S::DeleteNewOrder, &key).await?;
        runner.push(S::ReadOrderCustomer, &key).await?;
        runner.push(S::SetCarrier, &[uint(carrier), w, key[1], key[2]]).await?;
        // Before the sum: rows that this transaction has changed are seen whenever its snapshot was taken.
        runner.push(S::SetDeliveryDate, &key).await?;
        runner.push(S::SumLines, &key).await?;
    }
    runner.run_pipeline(tally).await?;
    let mut owed = [(0, 0, 0); DISTRICTS as usize];
    let mut count = 0;
    for (district, _) in undelivered(&orders) {
        let first = 5 * count;
        runner.expect_changed(S::DeleteNewOrder, first, 1)?;
        let customer =
            runner.read_row(S::ReadOrderCustomer, first + 1, |mut row| row.next_int())?;
        runner.expect_changed(S::SetCarrier, first + 2, 1)?;
        let cents = runner.read_row(S::SumLines, first + 4, |mut row| row.next_scaled(2))?;
        owed[count] = (district, customer as u32, cents);
        count += 1;
    }
    for (district, customer, cents) in owed.into_iter().take(count) {
        let amount = AmountText::from_cents(cents);
        let values = [amount.value(), w, uint(district), uint(customer)];
        runner.push(S::DeliverCustomer, &values).await?;
    }
    runner.run_pipeline(tally).await?;
    for place in 0..count {
        runner.expect_changed(S::DeliverCustomer, place, 1)?;
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Delivered { orders })
}
