//! The five transactions as SQL: `statements` are their texts, `plain`, `batched`, `pipelined` and `procedures` four ways to
//! send them. All leave the same rows.

mod batched;
mod clauses;
mod list_texts;
mod money;
mod pipelined;
mod plain;
pub(super) mod procedures;
mod runner;
mod statements;

use super::inputs::TransactionInput;
use super::options::SqlVariant;
use crate::recorder::{EventError, EventErrorKind, Tally};

pub(super) use runner::TransactionRunner;
pub(super) use statements::TpccStatement;

/// An order for each district, 0 for none.
pub(super) type DeliveredOrders = [u32; super::schema::DISTRICTS as usize];

/// How a transaction ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionEnding {
    /// A new order with its number.
    Ordered {
        district: u32,
        order: u32,
    },
    /// A new order with an item that is not there.
    RolledBack,
    Paid {
        district: u32,
    },
    /// The orders that were delivered.
    Delivered {
        orders: DeliveredOrders,
    },
    /// It only read.
    Read,
}

/// Whose transaction it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalPlace {
    pub(super) warehouse: u32,
    /// The district of its stock-level transactions.
    pub(super) district: u32,
}

/// Runs a transaction to its commit or rollback. After an error of the server it is rolled back.
pub(super) async fn run_transaction(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    sql: SqlVariant,
    place: TerminalPlace,
    input: &TransactionInput,
) -> Result<TransactionEnding, EventError> {
    let ran = match sql {
        SqlVariant::Plain => run_plain(runner, tally, place, input).await,
        SqlVariant::Batched => run_batched(runner, tally, place, input).await,
        SqlVariant::Pipelined => run_pipelined(runner, tally, place, input).await,
        SqlVariant::Procedures => procedures::run(runner, tally, place, input).await,
    };
    match ran {
        Err(error) if !error.kind.ends_session() => {
            let text = runner.error_text().to_owned();
            match runner.end_transaction(tally, TpccStatement::Rollback).await {
                Err(worse) if worse.kind != EventErrorKind::Server => Err(worse),
                _ => Err(runner.restore_error(error, text)),
            }
        }
        other => other,
    }
}

async fn run_plain(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    place: TerminalPlace,
    input: &TransactionInput,
) -> Result<TransactionEnding, EventError> {
    let TerminalPlace { warehouse, district } = place;
    match input {
        TransactionInput::NewOrder(order) => {
            plain::run_new_order(runner, tally, warehouse, order).await
        }
        TransactionInput::Payment(payment) => {
            plain::run_payment(runner, tally, warehouse, payment).await
        }
        TransactionInput::OrderStatus(status) => {
            plain::run_order_status(runner, tally, warehouse, status).await
        }
        TransactionInput::Delivery { carrier } => {
            plain::run_delivery(runner, tally, warehouse, *carrier).await
        }
        TransactionInput::StockLevel { threshold } => {
            plain::run_stock_level(runner, tally, (warehouse, district), *threshold).await
        }
    }
}

async fn run_batched(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    place: TerminalPlace,
    input: &TransactionInput,
) -> Result<TransactionEnding, EventError> {
    let warehouse = place.warehouse;
    runner.clear_pipeline();
    match input {
        TransactionInput::NewOrder(order) => {
            batched::run_new_order(runner, tally, warehouse, order).await
        }
        TransactionInput::Payment(payment) => {
            batched::run_payment(runner, tally, warehouse, payment).await
        }
        TransactionInput::Delivery { carrier } => {
            batched::run_delivery(runner, tally, warehouse, *carrier).await
        }
        // Nothing to put together.
        TransactionInput::OrderStatus(_) | TransactionInput::StockLevel { .. } => {
            run_plain(runner, tally, place, input).await
        }
    }
}

async fn run_pipelined(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    place: TerminalPlace,
    input: &TransactionInput,
) -> Result<TransactionEnding, EventError> {
    let TerminalPlace { warehouse, .. } = place;
    runner.clear_pipeline();
    match input {
        TransactionInput::NewOrder(order) => {
            pipelined::run_new_order(runner, tally, warehouse, order).await
        }
        TransactionInput::Payment(payment) => {
            pipelined::run_payment(runner, tally, warehouse, payment).await
        }
        TransactionInput::OrderStatus(status) => {
            pipelined::run_order_status(runner, tally, warehouse, status).await
        }
        TransactionInput::Delivery { carrier } => {
            pipelined::run_delivery(runner, tally, warehouse, *carrier).await
        }
        TransactionInput::StockLevel { .. } => run_plain(runner, tally, place, input).await,
    }
}

/// The statements of the five transactions in the order in which they are sent, those of loops once.
pub(super) fn describe_statements(sql: SqlVariant) -> Vec<String> {
    use TpccStatement as S;
    let plain = [
        S::LockDistrict,
        S::AdvanceDistrict,
        S::ReadCustomerTax,
        S::InsertOrder,
        S::InsertNewOrder,
        S::ReadItem,
        S::LockStock,
        S::UpdateStock,
        S::InsertLine,
        S::PayWarehouse,
        S::ReadWarehouse,
        S::PayDistrict,
        S::ReadDistrict,
        S::FindCustomers,
        S::LockCustomer,
        S::ReadCustomerData,
        S::PayCustomer,
        S::PayBadCustomer,
        S::InsertHistory,
        S::ReadCustomer,
        S::ReadLastOrder,
        S::ReadLines,
        S::LockOldestOrder,
        S::DeleteNewOrder,
        S::ReadOrderCustomer,
        S::SetCarrier,
        S::SetDeliveryDate,
        S::SumLines,
        S::DeliverCustomer,
        S::ReadNextOrder,
        S::CountLowStock,
        S::Commit,
    ];
    let batched = |statement: &S| match statement {
        S::ReadItem => Some(S::ReadItems),
        S::LockStock => Some(S::LockStocks),
        S::UpdateStock => Some(S::UpdateStocks),
        S::InsertLine => Some(S::InsertLines),
        S::PayWarehouse => Some(S::PayWarehouseDistrict),
        S::ReadWarehouse => Some(S::ReadWarehouseDistrict),
        S::PayDistrict | S::ReadDistrict => None,
        S::DeleteNewOrder => Some(S::DeleteNewOrders),
        S::ReadOrderCustomer => Some(S::ReadOrderCustomers),
        S::SetCarrier => Some(S::SetCarriers),
        S::SetDeliveryDate => Some(S::SetDeliveryDates),
        S::SumLines => Some(S::SumLinesByOrder),
        other => Some(*other),
    };
    let text = |statement: S| statement.sql_text(2);
    match sql {
        SqlVariant::Plain | SqlVariant::Pipelined => plain.map(text).into(),
        SqlVariant::Batched => plain.iter().filter_map(batched).map(text).collect(),
        SqlVariant::Procedures => TpccStatement::all()
            .skip(S::CallNewOrder as usize)
            .map(|statement| statement.sql_text(1))
            .collect(),
    }
}
