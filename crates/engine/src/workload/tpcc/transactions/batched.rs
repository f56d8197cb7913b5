//! The transactions with lists where the specification has loops: fewer statements, the same rows.

use super::clauses::{DistrictInfo, LinePlan, WarehouseName, order_lines, restock, uint};
use super::money::AmountText;
use super::plain::{find_customer, pay_customer};
use super::runner::TransactionRunner;
use super::statements::TpccStatement as S;
use super::{DeliveredOrders, TransactionEnding};
use crate::client::ParameterValue;
use crate::recorder::{EventError, Tally};
use crate::workload::tpcc::inputs::{
    LineInput, MOST_LINES, NewOrderInput, PaymentInput, UNUSED_ITEM,
};
use crate::workload::tpcc::schema::DISTRICTS;

/// Values of a statement, gathered on the stack by functions that don't wait: the statement is written before the session waits, so
/// a session at rest has no room for them.
struct ListValues<'a, const MOST: usize> {
    values: [ParameterValue<'a>; MOST],
    count: usize,
}

impl<'a, const MOST: usize> ListValues<'a, MOST> {
    fn new() -> ListValues<'a, MOST> {
        ListValues { values: [ParameterValue::Null; MOST], count: 0 }
    }

    fn add_all<const N: usize>(&mut self, values: [ParameterValue<'a>; N]) {
        self.values[self.count..self.count + N].copy_from_slice(&values);
        self.count += N;
    }

    fn as_slice(&self) -> &[ParameterValue<'a>] {
        &self.values[..self.count]
    }
}

/// A row of stock that an order takes from, once for all lines that name it.
#[derive(Clone, Copy, Debug, Default)]
struct StockRow {
    warehouse: u32,
    item: u32,
    quantity: i64,
    taken: u32,
    lines: u32,
    info: DistrictInfo,
}

pub(super) async fn run_new_order(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &NewOrderInput,
) -> Result<TransactionEnding, EventError> {
    let [w, d] = [uint(warehouse), uint(input.district)];
    runner.run(tally, S::LockDistrict, &[w, d]).await?;
    let order = runner.read_row(S::LockDistrict, 0, |mut row| row.next_int())? as u32;
    runner.run(tally, S::AdvanceDistrict, &[w, d]).await?;
    runner.expect_changed(S::AdvanceDistrict, 0, 1)?;
    runner.run(tally, S::ReadCustomerTax, &[w, d, uint(input.customer)]).await?;
    runner.read_row(S::ReadCustomerTax, 0, |mut row| row.next_scaled(4))?;
    let lines = input.lines();
    let is_local = uint(u32::from(input.is_local(warehouse)));
    let count = uint(lines.len() as u32);
    let values = [w, d, uint(order), uint(input.customer), count, is_local];
    runner.run(tally, S::InsertOrder, &values).await?;
    runner.run(tally, S::InsertNewOrder, &[w, d, uint(order)]).await?;
    let prices = read_prices(runner, tally, input).await?;
    let (mut stock, count) = stock_rows(input);
    let stock = &mut stock[..count];
    for rows in stock.chunk_by_mut(|a, b| a.warehouse == b.warehouse) {
        lock_stock(runner, tally, d, rows).await?;
    }
    for LinePlan { line, .. } in order_lines(lines) {
        let same =
            |row: &&mut StockRow| (row.warehouse, row.item) == (line.supply_warehouse, line.item);
        if let Some(row) = stock.iter_mut().find(same) {
            row.quantity = restock(row.quantity, line.quantity);
            row.taken += line.quantity;
        }
    }
    for rows in stock.chunk_by(|a, b| a.warehouse == b.warehouse) {
        update_stock(runner, tally, warehouse, rows).await?;
    }
    let inserted = lines.iter().filter(|line| line.item != UNUSED_ITEM).count();
    runner.prepare(S::InsertLines, inserted).await?;
    push_lines(runner, (warehouse, order), input, &prices, stock);
    runner.run_pipeline(tally).await?;
    if input.is_rolled_back() {
        runner.end_transaction(tally, S::Rollback).await?;
        return Ok(TransactionEnding::RolledBack);
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Ordered { district: input.district, order })
}

/// The lines of an order, but for an item that is not there.
fn push_lines(
    runner: &mut TransactionRunner,
    (warehouse, order): (u32, u32),
    input: &NewOrderInput,
    prices: &[i64; MOST_LINES],
    stock: &[StockRow],
) {
    let amounts = line_amounts(input, prices);
    let mut values = ListValues::<{ 9 * MOST_LINES }>::new();
    let mut inserted = 0;
    for LinePlan { number, line } in order_lines(input.lines()) {
        let same =
            |row: &&StockRow| (row.warehouse, row.item) == (line.supply_warehouse, line.item);
        let Some(row) = stock.iter().find(same) else { continue };
        inserted += 1;
        values.add_all([
            uint(warehouse),
            uint(input.district),
            uint(order),
            uint(number),
            uint(line.item),
            uint(line.supply_warehouse),
            uint(line.quantity),
            amounts[number as usize - 1].value(),
            row.info.value(),
        ]);
    }
    runner.push_list(S::InsertLines, inserted, values.as_slice());
}

/// The rows of stock that an order takes from, by warehouse and item, and how many there are.
fn stock_rows(input: &NewOrderInput) -> ([StockRow; MOST_LINES], usize) {
    let mut stock = [StockRow::default(); MOST_LINES];
    let mut count = 0;
    let valid = order_lines(input.lines()).filter(|plan| plan.line.item != UNUSED_ITEM);
    for LinePlan { line, .. } in valid {
        let same =
            |row: &&mut StockRow| (row.warehouse, row.item) == (line.supply_warehouse, line.item);
        match stock[..count].iter_mut().find(same) {
            Some(row) => row.lines += 1,
            None => {
                let (warehouse, item) = (line.supply_warehouse, line.item);
                stock[count] = StockRow { warehouse, item, lines: 1, ..StockRow::default() };
                count += 1;
            }
        }
    }
    (stock, count)
}

/// Prices in cents, by the place of the line; 0 for an item that is not there.
async fn read_prices(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    input: &NewOrderInput,
) -> Result<[i64; MOST_LINES], EventError> {
    let lines = input.lines();
    runner.prepare(S::ReadItems, lines.len()).await?;
    push_items(runner, lines);
    runner.run_pipeline(tally).await?;
    let mut prices = [-1; MOST_LINES];
    let rows = runner
        .result(0)
        .into_iter()
        .flat_map(|found| (0..found.row_count()).filter_map(|row| found.row(row)));
    for mut row in rows {
        let (Some(item), Some(price)) = (row.next_int(), row.next_scaled(2)) else { continue };
        for (known, line) in prices.iter_mut().zip(lines) {
            if i64::from(line.item) == item {
                *known = price;
            }
        }
    }
    let is_complete =
        prices.iter().zip(lines).all(|(price, line)| *price >= 0 || line.item == UNUSED_ITEM);
    match is_complete {
        true => Ok(prices.map(|price| price.max(0))),
        false => runner.read_row(S::ReadItems, usize::MAX, |_| None),
    }
}

fn push_items(runner: &mut TransactionRunner, lines: &[LineInput]) {
    let mut values = ListValues::<MOST_LINES>::new();
    lines.iter().for_each(|line| values.add_all([uint(line.item)]));
    runner.push_list(S::ReadItems, lines.len(), values.as_slice());
}

fn line_amounts(input: &NewOrderInput, prices: &[i64; MOST_LINES]) -> [AmountText; MOST_LINES] {
    let mut amounts = [AmountText::from_cents(0); MOST_LINES];
    for ((amount, line), price) in amounts.iter_mut().zip(input.lines()).zip(prices) {
        *amount = AmountText::from_cents(price * i64::from(line.quantity));
    }
    amounts
}

/// Locks and reads rows of stock of one warehouse.
async fn lock_stock(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    district: ParameterValue<'static>,
    rows: &mut [StockRow],
) -> Result<(), EventError> {
    let count = rows.len();
    runner.prepare(S::LockStocks, count).await?;
    push_stock_keys(runner, district, rows);
    runner.run_pipeline(tally).await?;
    let found = runner.result(0).map_or(0, |found| found.row_count());
    for place in 0..found {
        let Some(mut read) = runner.result(0).and_then(|found| found.row(place)) else { break };
        let (Some(item), Some(quantity)) = (read.next_int(), read.next_int()) else { break };
        let _data = read.next_bytes();
        let Some(info) = read.next_bytes() else { break };
        if let Some(row) = rows.iter_mut().find(|row| i64::from(row.item) == item) {
            row.quantity = quantity;
            row.info = DistrictInfo::from_bytes(info);
        }
    }
    match found == count {
        true => Ok(()),
        false => runner.read_row(S::LockStocks, usize::MAX, |_| None),
    }
}

fn push_stock_keys(
    runner: &mut TransactionRunner,
    district: ParameterValue<'static>,
    rows: &[StockRow],
) {
    let mut values = ListValues::<{ MOST_LINES + 2 }>::new();
    values.add_all([district, uint(rows[0].warehouse)]);
    rows.iter().for_each(|row| values.add_all([uint(row.item)]));
    runner.push_list(S::LockStocks, rows.len(), values.as_slice());
}

/// Writes back rows of stock of one warehouse.
async fn update_stock(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    home: u32,
    rows: &[StockRow],
) -> Result<(), EventError> {
    runner.prepare(S::UpdateStocks, rows.len()).await?;
    push_stock_changes(runner, home, rows);
    runner.run_pipeline(tally).await?;
    runner.expect_changed(S::UpdateStocks, 0, rows.len() as u64)
}

fn push_stock_changes(runner: &mut TransactionRunner, home: u32, rows: &[StockRow]) {
    let mut values = ListValues::<{ 9 * MOST_LINES + 2 }>::new();
    let mut add_cases = |value_of: &dyn Fn(&StockRow) -> ParameterValue<'static>| {
        rows.iter().for_each(|row| values.add_all([uint(row.item), value_of(row)]));
    };
    add_cases(&|row| ParameterValue::Int(row.quantity));
    add_cases(&|row| uint(row.taken));
    add_cases(&|row| uint(row.lines));
    values.add_all([uint(u32::from(rows[0].warehouse != home))]);
    rows.iter().for_each(|row| values.add_all([uint(row.item), uint(row.lines)]));
    values.add_all([uint(rows[0].warehouse)]);
    rows.iter().for_each(|row| values.add_all([uint(row.item)]));
    runner.push_list(S::UpdateStocks, rows.len(), values.as_slice());
}

pub(super) async fn run_payment(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    warehouse: u32,
    input: &PaymentInput,
) -> Result<TransactionEnding, EventError> {
    let amount = AmountText::from_cents(i64::from(input.amount_cents));
    let [w, d] = [uint(warehouse), uint(input.district)];
    let values = [amount.value(), amount.value(), w, d];
    runner.run(tally, S::PayWarehouseDistrict, &values).await?;
    runner.expect_changed(S::PayWarehouseDistrict, 0, 2)?;
    runner.run(tally, S::ReadWarehouseDistrict, &[w, d]).await?;
    let history = runner.read_row(S::ReadWarehouseDistrict, 0, |mut row| {
        let name = WarehouseName::from_bytes(row.next_bytes()?);
        for _address in 0..5 {
            row.next_value()?;
        }
        Some(name.history_data(row.next_bytes()?))
    })?;
    let [cw, cd] = [input.customer_warehouse, input.customer_district];
    let customer = find_customer(runner, tally, cw, cd, input.customer).await?;
    pay_customer(runner, tally, (warehouse, customer), input, &history).await
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
        runner.run(tally, S::LockOldestOrder, &[w, uint(district)]).await?;
        if let Some(order) = runner.first_row().and_then(|mut row| row.next_int()) {
            orders[district as usize - 1] = order as u32;
        }
    }
    let count = undelivered(&orders).count();
    if count == 0 {
        runner.end_transaction(tally, S::Commit).await?;
        return Ok(TransactionEnding::Delivered { orders });
    }
    run_on_orders(runner, tally, S::DeleteNewOrders, None, (warehouse, &orders)).await?;
    runner.expect_changed(S::DeleteNewOrders, 0, count as u64)?;
    run_on_orders(runner, tally, S::ReadOrderCustomers, None, (warehouse, &orders)).await?;
    let customers = read_by_district(runner, 0);
    run_on_orders(runner, tally, S::SetCarriers, Some(carrier), (warehouse, &orders)).await?;
    runner.expect_changed(S::SetCarriers, 0, count as u64)?;
    // Before the sum: rows that this transaction has changed are seen whenever its snapshot was taken.
    run_on_orders(runner, tally, S::SetDeliveryDates, None, (warehouse, &orders)).await?;
    run_on_orders(runner, tally, S::SumLinesByOrder, None, (warehouse, &orders)).await?;
    let sums = read_by_district(runner, 2);
    for (district, _) in undelivered(&orders) {
        let (sum, customer) = (sums[district as usize], customers[district as usize]);
        let (Some(cents), Some(customer)) = (sum, customer) else {
            return runner.read_row(S::SumLinesByOrder, usize::MAX, |_| None);
        };
        let amount = AmountText::from_cents(cents);
        let values = [amount.value(), w, uint(district), uint(customer as u32)];
        runner.run(tally, S::DeliverCustomer, &values).await?;
        runner.expect_changed(S::DeliverCustomer, 0, 1)?;
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Delivered { orders })
}

/// The orders with their districts.
pub(super) fn undelivered(orders: &DeliveredOrders) -> impl Iterator<Item = (u32, u32)> + '_ {
    (1..).zip(orders).filter(|(_, order)| **order > 0).map(|(district, order)| (district, *order))
}

/// Runs a statement on all orders of a warehouse, behind a value of its own if it has one.
async fn run_on_orders(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    statement: S,
    first: Option<u32>,
    (warehouse, orders): (u32, &DeliveredOrders),
) -> Result<(), EventError> {
    runner.prepare(statement, undelivered(orders).count()).await?;
    push_order_keys(runner, statement, first, (warehouse, orders));
    runner.run_pipeline(tally).await
}

fn push_order_keys(
    runner: &mut TransactionRunner,
    statement: S,
    first: Option<u32>,
    (warehouse, orders): (u32, &DeliveredOrders),
) {
    let mut values = ListValues::<{ 3 * DISTRICTS as usize + 1 }>::new();
    first.into_iter().for_each(|value| values.add_all([uint(value)]));
    for (district, order) in undelivered(orders) {
        values.add_all([uint(warehouse), uint(district), uint(order)]);
    }
    runner.push_list(statement, undelivered(orders).count(), values.as_slice());
}

/// The numbers by district of a result that has a district and a number in each row.
fn read_by_district(
    runner: &TransactionRunner,
    digits: u32,
) -> [Option<i64>; DISTRICTS as usize + 1] {
    let mut numbers = [None; DISTRICTS as usize + 1];
    if let Some(found) = runner.result(0) {
        for mut row in (0..found.row_count()).filter_map(|row| found.row(row)) {
            let district = row.next_int().and_then(|district| usize::try_from(district).ok());
            if let Some(number) = district.and_then(|district| numbers.get_mut(district)) {
                *number = row.next_scaled(digits);
            }
        }
    }
    numbers
}
