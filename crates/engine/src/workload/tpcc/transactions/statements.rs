//! The statements of the five transactions, as data: a name for the report and a text for the server.

/// A statement that is prepared once for each session, or once for each length of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum TpccStatement {
    LockDistrict,
    AdvanceDistrict,
    ReadCustomerTax,
    InsertOrder,
    InsertNewOrder,
    ReadItem,
    LockStock,
    UpdateStock,
    InsertLine,
    PayWarehouse,
    ReadWarehouse,
    PayDistrict,
    ReadDistrict,
    FindCustomers,
    LockCustomer,
    ReadCustomerData,
    PayCustomer,
    PayBadCustomer,
    InsertHistory,
    ReadCustomer,
    ReadLastOrder,
    ReadLines,
    LockOldestOrder,
    DeleteNewOrder,
    ReadOrderCustomer,
    SetCarrier,
    SetDeliveryDate,
    SumLines,
    DeliverCustomer,
    ReadNextOrder,
    CountLowStock,
    Commit,
    Rollback,
    // Batched.
    ReadItems,
    LockStocks,
    UpdateStocks,
    InsertLines,
    PayWarehouseDistrict,
    ReadWarehouseDistrict,
    DeleteNewOrders,
    ReadOrderCustomers,
    SetCarriers,
    SetDeliveryDates,
    SumLinesByOrder,
    // Procedures.
    CallNewOrder,
    CallPayment,
    CallOrderStatus,
    CallDelivery,
    CallStockLevel,
}

use super::list_texts::{
    delete_new_orders, insert_lines, lock_stocks, read_items, read_order_customers, set_carriers,
    set_delivery_dates, sum_lines_by_order, update_stocks,
};
use StatementEffect::{Boundary, Read, Write};
use StatementText::{Fixed, List};
use TpccStatement as S;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatementEffect {
    Read,
    Write,
    /// It ends a transaction.
    Boundary,
}

/// Its text.
#[derive(Clone, Copy, Debug)]
enum StatementText {
    Fixed(&'static str),
    /// It depends on the length of a list.
    List(fn(usize) -> String),
}

/// One statement.
#[derive(Clone, Copy, Debug)]
struct StatementSpec {
    statement: TpccStatement,
    /// Name of the step in reports.
    step: &'static str,
    effect: StatementEffect,
    text: StatementText,
}

const fn spec(
    statement: TpccStatement,
    step: &'static str,
    effect: StatementEffect,
    text: StatementText,
) -> StatementSpec {
    StatementSpec { statement, step, effect, text }
}

/// All of them, in their order.
const SPECS: [StatementSpec; TpccStatement::COUNT] = [
    spec(
        S::LockDistrict,
        "new_order: lock district",
        Read,
        Fixed("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE"),
    ),
    spec(
        S::AdvanceDistrict,
        "new_order: advance district",
        Write,
        Fixed("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"),
    ),
    spec(
        S::ReadCustomerTax,
        "new_order: read customer and tax",
        Read,
        Fixed(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
        ),
    ),
    spec(
        S::InsertOrder,
        "new_order: insert order",
        Write,
        Fixed(
            "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
                 o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)",
        ),
    ),
    spec(
        S::InsertNewOrder,
        "new_order: insert new_order",
        Write,
        Fixed("INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)"),
    ),
    spec(
        S::ReadItem,
        "new_order: read item",
        Read,
        Fixed("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?"),
    ),
    spec(
        S::LockStock,
        "new_order: lock stock",
        Read,
        Fixed(
            "SELECT s_quantity, s_data, ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                 s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock \
                 WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
        ),
    ),
    spec(
        S::UpdateStock,
        "new_order: update stock",
        Write,
        Fixed(
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
                 WHERE s_w_id = ? AND s_i_id = ?",
        ),
    ),
    spec(
        S::InsertLine,
        "new_order: insert order line",
        Write,
        Fixed(
            "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
             ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) \
             VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
        ),
    ),
    spec(
        S::PayWarehouse,
        "payment: update warehouse",
        Write,
        Fixed("UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)) WHERE w_id = ?"),
    ),
    spec(
        S::ReadWarehouse,
        "payment: read warehouse",
        Read,
        Fixed(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
                 WHERE w_id = ?",
        ),
    ),
    spec(
        S::PayDistrict,
        "payment: update district",
        Write,
        Fixed(
            "UPDATE district SET d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) \
                 WHERE d_w_id = ? AND d_id = ?",
        ),
    ),
    spec(
        S::ReadDistrict,
        "payment: read district",
        Read,
        Fixed(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                 WHERE d_w_id = ? AND d_id = ?",
        ),
    ),
    spec(
        S::FindCustomers,
        "find customers by name",
        Read,
        Fixed(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
                 ORDER BY c_first, c_id",
        ),
    ),
    spec(
        S::LockCustomer,
        "payment: lock customer",
        Read,
        Fixed(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                 c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
                 FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
        ),
    ),
    spec(
        S::ReadCustomerData,
        "payment: read customer data",
        Read,
        Fixed(
            "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? \
                 FOR UPDATE",
        ),
    ),
    spec(
        S::PayCustomer,
        "payment: update customer",
        Write,
        Fixed(
            "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), \
                 c_payment_cnt = c_payment_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
    ),
    spec(
        S::PayBadCustomer,
        "payment: update bad-credit customer",
        Write,
        Fixed(
            "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), \
                 c_payment_cnt = c_payment_cnt + 1, c_data = ? \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
    ),
    spec(
        S::InsertHistory,
        "payment: insert history",
        Write,
        Fixed(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
                 h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
        ),
    ),
    spec(
        S::ReadCustomer,
        "order_status: read customer",
        Read,
        Fixed(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
    ),
    spec(
        S::ReadLastOrder,
        "order_status: read last order",
        Read,
        Fixed(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
        ),
    ),
    spec(
        S::ReadLines,
        "order_status: read order lines",
        Read,
        Fixed(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
                 FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
    ),
    spec(
        S::LockOldestOrder,
        "delivery: lock oldest new_order",
        Read,
        Fixed(
            "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE",
        ),
    ),
    spec(
        S::DeleteNewOrder,
        "delivery: delete new_order",
        Write,
        Fixed("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"),
    ),
    spec(
        S::ReadOrderCustomer,
        "delivery: read order",
        Read,
        Fixed(
            "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? \
                 FOR UPDATE",
        ),
    ),
    spec(
        S::SetCarrier,
        "delivery: update order",
        Write,
        Fixed("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"),
    ),
    spec(
        S::SetDeliveryDate,
        "delivery: update order lines",
        Write,
        Fixed(
            "UPDATE order_line SET ol_delivery_d = NOW() \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
    ),
    spec(
        S::SumLines,
        "delivery: sum order lines",
        Read,
        Fixed(
            "SELECT SUM(ol_amount) FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
        ),
    ),
    spec(
        S::DeliverCustomer,
        "delivery: update customer",
        Write,
        Fixed(
            "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)), \
                 c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
        ),
    ),
    spec(
        S::ReadNextOrder,
        "stock_level: read district",
        Read,
        Fixed("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?"),
    ),
    spec(
        S::CountLowStock,
        "stock_level: count low stock",
        Read,
        Fixed(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? \
                 AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < ?",
        ),
    ),
    spec(S::Commit, "commit", Boundary, Fixed("COMMIT")),
    spec(S::Rollback, "rollback", Boundary, Fixed("ROLLBACK")),
    spec(S::ReadItems, "new_order: read items", Read, List(read_items)),
    spec(S::LockStocks, "new_order: lock stock rows", Read, List(lock_stocks)),
    spec(S::UpdateStocks, "new_order: update stock rows", Write, List(update_stocks)),
    spec(S::InsertLines, "new_order: insert order lines", Write, List(insert_lines)),
    spec(
        S::PayWarehouseDistrict,
        "payment: update warehouse and district",
        Write,
        Fixed(
            "UPDATE warehouse, district SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)), \
                 d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) \
                 WHERE w_id = ? AND d_w_id = w_id AND d_id = ?",
        ),
    ),
    spec(
        S::ReadWarehouseDistrict,
        "payment: read warehouse and district",
        Read,
        Fixed(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, \
                 d_street_1, d_street_2, d_city, d_state, d_zip FROM warehouse, district \
                 WHERE w_id = ? AND d_w_id = w_id AND d_id = ?",
        ),
    ),
    spec(S::DeleteNewOrders, "delivery: delete new_order rows", Write, List(delete_new_orders)),
    spec(S::ReadOrderCustomers, "delivery: read orders", Read, List(read_order_customers)),
    spec(S::SetCarriers, "delivery: update orders", Write, List(set_carriers)),
    spec(S::SetDeliveryDates, "delivery: update all order lines", Write, List(set_delivery_dates)),
    spec(S::SumLinesByOrder, "delivery: sum lines by order", Read, List(sum_lines_by_order)),
    spec(
        S::CallNewOrder,
        "call tpcc_new_order",
        Write,
        Fixed("CALL tpcc_new_order(?, ?, ?, ?, ?, ?, ?, ?)"),
    ),
    spec(
        S::CallPayment,
        "call tpcc_payment",
        Write,
        Fixed("CALL tpcc_payment(?, ?, ?, ?, ?, ?, ?)"),
    ),
    spec(
        S::CallOrderStatus,
        "call tpcc_order_status",
        Read,
        Fixed("CALL tpcc_order_status(?, ?, ?, ?)"),
    ),
    spec(S::CallDelivery, "call tpcc_delivery", Write, Fixed("CALL tpcc_delivery(?, ?)")),
    spec(S::CallStockLevel, "call tpcc_stock_level", Read, Fixed("CALL tpcc_stock_level(?, ?, ?)")),
];

impl TpccStatement {
    /// How many there are.
    pub(in super::super) const COUNT: usize = 49;

    /// All of them, in their order.
    pub(in super::super) fn all() -> impl Iterator<Item = TpccStatement> {
        SPECS.iter().map(|spec| spec.statement)
    }

    fn spec(self) -> &'static StatementSpec {
        &SPECS[self as usize]
    }

    /// Whether it only reads.
    pub(in super::super) fn is_read(self) -> bool {
        self.spec().effect == Read
    }

    /// Whether it ends a transaction.
    pub(in super::super) fn is_boundary(self) -> bool {
        self.spec().effect == Boundary
    }

    /// Whether its text depends on the length of a list.
    pub(in super::super) fn has_list(self) -> bool {
        matches!(self.spec().text, List(_))
    }

    /// Name of the step in reports.
    pub(in super::super) fn step_name(self) -> &'static str {
        self.spec().step
    }

    /// The text; `count` is the length of its list where it has one.
    pub(in super::super) fn sql_text(self, count: usize) -> String {
        match self.spec().text {
            Fixed(text) => text.to_owned(),
            List(text) => text(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_stands_at_its_own_place() {
        for (place, statement) in TpccStatement::all().enumerate() {
            assert_eq!(statement as usize, place, "{statement:?}");
        }
    }

    #[test]
    fn lists_have_as_many_holes_as_they_are_long() {
        let holes =
            |statement: TpccStatement, count| statement.sql_text(count).matches('?').count();
        assert_eq!(holes(S::ReadItems, 7), 7);
        assert_eq!(holes(S::LockStocks, 7), 9);
        assert_eq!(holes(S::UpdateStocks, 3), 4 * 6 + 2 + 3);
        assert_eq!(holes(S::InsertLines, 2), 18);
        assert_eq!(holes(S::SetCarriers, 10), 31);
        assert_eq!(holes(S::InsertLine, 1), 9);
    }
}
