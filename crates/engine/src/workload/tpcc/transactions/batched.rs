//! The transactions with lists where the specification has loops: fewer statements, the same rows.

use super::clauses::{DistrictInfo, LinePlan, WarehouseName, order_lines, restock, uint};
use super::money::AmountText;
use super::plain::{find_customer, pay_customer};
use super::runner::TransactionRunner;
use super::statements::TpccStatement as S;
use super::{DeliveredOrders, TransactionEnding};
use crate::client::ParameterValue;
use crate::recorder::{EventError, Tally};
use crate::workload::tpcc::inputs::{MOST_LINES, NewOrderInput, PaymentInput, UNUSED_ITEM};
use crate::workload::tpcc::schema::DISTRICTS;

/// A row of stock that an order takes from, once for all lines that name it.
#[derive(Clone, Copy, Debug)]
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
    let mut stock = stock_rows(input);
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
    let amounts = line_amounts(input, &prices);
    let mut values = Vec::with_capacity(9 * MOST_LINES);
    let mut inserted = 0;
    for LinePlan { number, line } in order_lines(lines) {
        let same =
            |row: &&StockRow| (row.warehouse, row.item) == (line.supply_warehouse, line.item);
        let Some(row) = stock.iter().find(same) else { continue };
        inserted += 1;
        values.extend([
            w,
            d,
            uint(order),
            uint(number),
            uint(line.item),
            uint(line.supply_warehouse),
            uint(line.quantity),
            amounts[number as usize - 1].value(),
            row.info.value(),
        ]);
    }
    runner.run_list(tally, S::InsertLines, inserted, &values).await?;
    if input.is_rolled_back() {
        runner.end_transaction(tally, S::Rollback).await?;
        return Ok(TransactionEnding::RolledBack);
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Ordered { district: input.district, order })
}

/// The rows of stock that an order takes from, by warehouse and item.
fn stock_rows(input: &NewOrderInput) -> Vec<StockRow> {
    let mut stock: Vec<StockRow> = Vec::with_capacity(MOST_LINES);
    let valid = order_lines(input.lines()).filter(|plan| plan.line.item != UNUSED_ITEM);
    for LinePlan { line, .. } in valid {
        let same =
            |row: &&mut StockRow| (row.warehouse, row.item) == (line.supply_warehouse, line.item);
        match stock.iter_mut().find(same) {
            Some(row) => row.lines += 1,
            None => stock.push(StockRow {
                warehouse: line.supply_warehouse,
                item: line.item,
                quantity: 0,
                taken: 0,
                lines: 1,
                info: DistrictInfo::from_bytes(&[]),
            }),
        }
    }
    stock
}

/// Prices in cents, by the place of the line; 0 for an item that is not there.
async fn read_prices(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    input: &NewOrderInput,
) -> Result<[i64; MOST_LINES], EventError> {
    let lines = input.lines();
    let mut values = [ParameterValue::Null; MOST_LINES];
    for (value, line) in values.iter_mut().zip(lines) {
        *value = uint(line.item);
    }
    runner.run_list(tally, S::ReadItems, lines.len(), &values[..lines.len()]).await?;
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
    let mut values = [ParameterValue::Null; MOST_LINES + 2];
    values[0] = district;
    values[1] = uint(rows[0].warehouse);
    for (value, row) in values[2..].iter_mut().zip(&*rows) {
        *value = uint(row.item);
    }
    let count = rows.len();
    runner.run_list(tally, S::LockStocks, count, &values[..count + 2]).await?;
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

/// Writes back rows of stock of one warehouse.
async fn update_stock(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    home: u32,
    rows: &[StockRow],
) -> Result<(), EventError> {
    let mut values = Vec::with_capacity(9 * MOST_LINES + 2);
    let mut push_cases = |value_of: &dyn Fn(&StockRow) -> ParameterValue<'static>| {
        for row in rows {
            values.extend([uint(row.item), value_of(row)]);
        }
    };
    push_cases(&|row| ParameterValue::Int(row.quantity));
    push_cases(&|row| uint(row.taken));
    push_cases(&|row| uint(row.lines));
    values.push(uint(u32::from(rows[0].warehouse != home)));
    for row in rows {
        values.extend([uint(row.item), uint(row.lines)]);
    }
    values.push(uint(rows[0].warehouse));
    values.extend(rows.iter().map(|row| uint(row.item)));
    runner.run_list(tally, S::UpdateStocks, rows.len(), &values).await?;
    runner.expect_changed(S::UpdateStocks, 0, rows.len() as u64)
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
    let mut orders: Vec<(u32, u32)> = Vec::with_capacity(DISTRICTS as usize);
    for district in 1..=DISTRICTS {
        runner.run(tally, S::LockOldestOrder, &[w, uint(district)]).await?;
        if let Some(order) = runner.first_row().and_then(|mut row| row.next_int()) {
            orders.push((district, order as u32));
        }
    }
    if orders.is_empty() {
        runner.end_transaction(tally, S::Commit).await?;
        return Ok(TransactionEnding::Delivered { orders: DeliveredOrders::default() });
    }
    let count = orders.len();
    let mut keys = vec![uint(carrier)];
    for (district, order) in &orders {
        keys.extend([w, uint(*district), uint(*order)]);
    }
    runner.run_list(tally, S::DeleteNewOrders, count, &keys[1..]).await?;
    runner.expect_changed(S::DeleteNewOrders, 0, count as u64)?;
    let customers = read_by_district(runner, tally, S::ReadOrderCustomers, &keys[1..], 0).await?;
    runner.run_list(tally, S::SetCarriers, count, &keys).await?;
    runner.expect_changed(S::SetCarriers, 0, count as u64)?;
    // Before the sum: rows that this transaction has changed are seen whenever its snapshot was taken.
    runner.run_list(tally, S::SetDeliveryDates, count, &keys[1..]).await?;
    let sums = read_by_district(runner, tally, S::SumLinesByOrder, &keys[1..], 2).await?;
    for (district, _) in &orders {
        let (sum, customer) = (sums[*district as usize], customers[*district as usize]);
        let (Some(cents), Some(customer)) = (sum, customer) else {
            return runner.read_row(S::SumLinesByOrder, usize::MAX, |_| None);
        };
        let amount = AmountText::from_cents(cents);
        let values = [amount.value(), w, uint(*district), uint(customer as u32)];
        runner.run(tally, S::DeliverCustomer, &values).await?;
        runner.expect_changed(S::DeliverCustomer, 0, 1)?;
    }
    runner.end_transaction(tally, S::Commit).await?;
    Ok(TransactionEnding::Delivered { orders: by_district(&orders) })
}

/// Orders with their districts, as a list by district.
pub(super) fn by_district(orders: &[(u32, u32)]) -> DeliveredOrders {
    let mut all = DeliveredOrders::default();
    for (district, order) in orders {
        all[*district as usize - 1] = *order;
    }
    all
}

/// Runs a statement that gives a district and a number in each row; gives the numbers by district.
async fn read_by_district(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    statement: S,
    keys: &[ParameterValue<'_>],
    digits: u32,
) -> Result<[Option<i64>; DISTRICTS as usize + 1], EventError> {
    runner.run_list(tally, statement, keys.len() / 3, keys).await?;
    let mut numbers = [None; DISTRICTS as usize + 1];
    if let Some(found) = runner.result(0) {
        for mut row in (0..found.row_count()).filter_map(|row| found.row(row)) {
            let district = row.next_int().and_then(|district| usize::try_from(district).ok());
            if let Some(number) = district.and_then(|district| numbers.get_mut(district)) {
                *number = row.next_scaled(digits);
            }
        }
    }
    Ok(numbers)
}
