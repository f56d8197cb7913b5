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

use TpccStatement as S;

impl TpccStatement {
    /// All of them, in their order.
    pub(in super::super) const ALL: [TpccStatement; 49] = [
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
        S::Rollback,
        S::ReadItems,
        S::LockStocks,
        S::UpdateStocks,
        S::InsertLines,
        S::PayWarehouseDistrict,
        S::ReadWarehouseDistrict,
        S::DeleteNewOrders,
        S::ReadOrderCustomers,
        S::SetCarriers,
        S::SetDeliveryDates,
        S::SumLinesByOrder,
        S::CallNewOrder,
        S::CallPayment,
        S::CallOrderStatus,
        S::CallDelivery,
        S::CallStockLevel,
    ];

    /// Whether it only reads.
    pub(in super::super) fn is_read(self) -> bool {
        matches!(
            self,
            S::LockDistrict
                | S::ReadCustomerTax
                | S::ReadItem
                | S::LockStock
                | S::ReadWarehouse
                | S::ReadDistrict
                | S::FindCustomers
                | S::LockCustomer
                | S::ReadCustomerData
                | S::ReadCustomer
                | S::ReadLastOrder
                | S::ReadLines
                | S::LockOldestOrder
                | S::ReadOrderCustomer
                | S::SumLines
                | S::ReadNextOrder
                | S::CountLowStock
                | S::ReadItems
                | S::LockStocks
                | S::ReadWarehouseDistrict
                | S::ReadOrderCustomers
                | S::SumLinesByOrder
                | S::CallOrderStatus
                | S::CallStockLevel
        )
    }

    /// Whether it begins or ends a transaction.
    pub(in super::super) fn is_boundary(self) -> bool {
        matches!(self, S::Commit | S::Rollback)
    }

    /// Whether its text depends on the length of a list.
    pub(in super::super) fn has_list(self) -> bool {
        matches!(
            self,
            S::ReadItems
                | S::LockStocks
                | S::UpdateStocks
                | S::InsertLines
                | S::DeleteNewOrders
                | S::ReadOrderCustomers
                | S::SetCarriers
                | S::SetDeliveryDates
                | S::SumLinesByOrder
        )
    }

    /// Name of the step in reports.
    pub(in super::super) fn step_name(self) -> &'static str {
        match self {
            S::LockDistrict => "new_order: lock district",
            S::AdvanceDistrict => "new_order: advance district",
            S::ReadCustomerTax => "new_order: read customer and tax",
            S::InsertOrder => "new_order: insert order",
            S::InsertNewOrder => "new_order: insert new_order",
            S::ReadItem => "new_order: read item",
            S::LockStock => "new_order: lock stock",
            S::UpdateStock => "new_order: update stock",
            S::InsertLine => "new_order: insert order line",
            S::PayWarehouse => "payment: update warehouse",
            S::ReadWarehouse => "payment: read warehouse",
            S::PayDistrict => "payment: update district",
            S::ReadDistrict => "payment: read district",
            S::FindCustomers => "find customers by name",
            S::LockCustomer => "payment: lock customer",
            S::ReadCustomerData => "payment: read customer data",
            S::PayCustomer => "payment: update customer",
            S::PayBadCustomer => "payment: update bad-credit customer",
            S::InsertHistory => "payment: insert history",
            S::ReadCustomer => "order_status: read customer",
            S::ReadLastOrder => "order_status: read last order",
            S::ReadLines => "order_status: read order lines",
            S::LockOldestOrder => "delivery: lock oldest new_order",
            S::DeleteNewOrder => "delivery: delete new_order",
            S::ReadOrderCustomer => "delivery: read order",
            S::SetCarrier => "delivery: update order",
            S::SetDeliveryDate => "delivery: update order lines",
            S::SumLines => "delivery: sum order lines",
            S::DeliverCustomer => "delivery: update customer",
            S::ReadNextOrder => "stock_level: read district",
            S::CountLowStock => "stock_level: count low stock",
            S::Commit => "commit",
            S::Rollback => "rollback",
            S::ReadItems => "new_order: read items",
            S::LockStocks => "new_order: lock stock rows",
            S::UpdateStocks => "new_order: update stock rows",
            S::InsertLines => "new_order: insert order lines",
            S::PayWarehouseDistrict => "payment: update warehouse and district",
            S::ReadWarehouseDistrict => "payment: read warehouse and district",
            S::DeleteNewOrders => "delivery: delete new_order rows",
            S::ReadOrderCustomers => "delivery: read orders",
            S::SetCarriers => "delivery: update orders",
            S::SetDeliveryDates => "delivery: update all order lines",
            S::SumLinesByOrder => "delivery: sum lines by order",
            S::CallNewOrder => "call tpcc_new_order",
            S::CallPayment => "call tpcc_payment",
            S::CallOrderStatus => "call tpcc_order_status",
            S::CallDelivery => "call tpcc_delivery",
            S::CallStockLevel => "call tpcc_stock_level",
        }
    }

    /// The text; `count` is the length of its list where it has one.
    pub(in super::super) fn sql_text(self, count: usize) -> String {
        let fixed = match self {
            S::LockDistrict => {
                "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE"
            }
            S::AdvanceDistrict => {
                "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?"
            }
            S::ReadCustomerTax => {
                "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
                 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?"
            }
            S::InsertOrder => {
                "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
                 o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), NULL, ?, ?)"
            }
            S::InsertNewOrder => {
                "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)"
            }
            S::ReadItem => "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?",
            S::LockStock => {
                "SELECT s_quantity, s_data, ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
                 s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock \
                 WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE"
            }
            S::UpdateStock => {
                "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? \
                 WHERE s_w_id = ? AND s_i_id = ?"
            }
            S::InsertLine => return insert_lines(1),
            S::PayWarehouse => {
                "UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)) WHERE w_id = ?"
            }
            S::ReadWarehouse => {
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse \
                 WHERE w_id = ?"
            }
            S::PayDistrict => {
                "UPDATE district SET d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) \
                 WHERE d_w_id = ? AND d_id = ?"
            }
            S::ReadDistrict => {
                "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
                 WHERE d_w_id = ? AND d_id = ?"
            }
            S::FindCustomers => {
                "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? \
                 ORDER BY c_first, c_id"
            }
            S::LockCustomer => {
                "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, \
                 c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance \
                 FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE"
            }
            S::ReadCustomerData => {
                "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? \
                 FOR UPDATE"
            }
            S::PayCustomer => {
                "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), \
                 c_payment_cnt = c_payment_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            S::PayBadCustomer => {
                "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)), \
                 c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), \
                 c_payment_cnt = c_payment_cnt + 1, c_data = ? \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            S::InsertHistory => {
                "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, \
                 h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)"
            }
            S::ReadCustomer => {
                "SELECT c_balance, c_first, c_middle, c_last FROM customer \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            S::ReadLastOrder => {
                "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
                 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1"
            }
            S::ReadLines => {
                "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d \
                 FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            S::LockOldestOrder => {
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? \
                 ORDER BY no_o_id LIMIT 1 FOR UPDATE"
            }
            S::DeleteNewOrder => {
                "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?"
            }
            S::ReadOrderCustomer => {
                "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? \
                 FOR UPDATE"
            }
            S::SetCarrier => {
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?"
            }
            S::SetDeliveryDate => {
                "UPDATE order_line SET ol_delivery_d = NOW() \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            S::SumLines => {
                "SELECT SUM(ol_amount) FROM order_line \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?"
            }
            S::DeliverCustomer => {
                "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)), \
                 c_delivery_cnt = c_delivery_cnt + 1 \
                 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?"
            }
            S::ReadNextOrder => "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?",
            S::CountLowStock => {
                "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
                 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? \
                 AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < ?"
            }
            S::Commit => "COMMIT",
            S::Rollback => "ROLLBACK",
            S::ReadItems => {
                return format!(
                    "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})",
                    repeat_list("?", ", ", count)
                );
            }
            S::LockStocks => {
                return format!(
                    "SELECT s_i_id, s_quantity, s_data, ELT(?, s_dist_01, s_dist_02, s_dist_03, \
                     s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, \
                     s_dist_10) FROM stock WHERE s_w_id = ? AND s_i_id IN ({}) FOR UPDATE",
                    repeat_list("?", ", ", count)
                );
            }
            S::UpdateStocks => {
                let cases = repeat_list("WHEN ? THEN ?", " ", count);
                return format!(
                    "UPDATE stock SET s_quantity = CASE s_i_id {cases} END, \
                     s_ytd = s_ytd + CASE s_i_id {cases} END, \
                     s_order_cnt = s_order_cnt + CASE s_i_id {cases} END, \
                     s_remote_cnt = s_remote_cnt + ? * CASE s_i_id {cases} END \
                     WHERE s_w_id = ? AND s_i_id IN ({})",
                    repeat_list("?", ", ", count)
                );
            }
            S::InsertLines => return insert_lines(count),
            S::PayWarehouseDistrict => {
                "UPDATE warehouse, district SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)), \
                 d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) \
                 WHERE w_id = ? AND d_w_id = w_id AND d_id = ?"
            }
            S::ReadWarehouseDistrict => {
                "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip, d_name, \
                 d_street_1, d_street_2, d_city, d_state, d_zip FROM warehouse, district \
                 WHERE w_id = ? AND d_w_id = w_id AND d_id = ?"
            }
            S::DeleteNewOrders => {
                return format!(
                    "DELETE FROM new_order WHERE {}",
                    any_order("no_w_id", "no_d_id", "no_o_id", count)
                );
            }
            S::ReadOrderCustomers => {
                return format!(
                    "SELECT o_d_id, o_c_id FROM orders WHERE {} FOR UPDATE",
                    any_order("o_w_id", "o_d_id", "o_id", count)
                );
            }
            S::SetCarriers => {
                return format!(
                    "UPDATE orders SET o_carrier_id = ? WHERE {}",
                    any_order("o_w_id", "o_d_id", "o_id", count)
                );
            }
            S::SetDeliveryDates => {
                return format!(
                    "UPDATE order_line SET ol_delivery_d = NOW() WHERE {}",
                    any_order("ol_w_id", "ol_d_id", "ol_o_id", count)
                );
            }
            S::SumLinesByOrder => {
                return format!(
                    "SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {} GROUP BY ol_d_id",
                    any_order("ol_w_id", "ol_d_id", "ol_o_id", count)
                );
            }
            S::CallNewOrder => "CALL tpcc_new_order(?, ?, ?, ?, ?, ?, ?, ?)",
            S::CallPayment => "CALL tpcc_payment(?, ?, ?, ?, ?, ?, ?)",
            S::CallOrderStatus => "CALL tpcc_order_status(?, ?, ?, ?)",
            S::CallDelivery => "CALL tpcc_delivery(?, ?)",
            S::CallStockLevel => "CALL tpcc_stock_level(?, ?, ?)",
        };
        fixed.to_owned()
    }
}

fn insert_lines(count: usize) -> String {
    format!(
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
        repeat_list("(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)", ", ", count)
    )
}

/// Orders of one warehouse, each by district and number. Ranges of the primary key, which an IN of pairs is not everywhere.
fn any_order(warehouse: &str, district: &str, order: &str, count: usize) -> String {
    let one = format!("({warehouse} = ? AND {district} = ? AND {order} = ?)");
    repeat_list(&one, " OR ", count)
}

fn repeat_list(part: &str, between: &str, count: usize) -> String {
    vec![part; count].join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_stands_at_its_own_place() {
        for (place, statement) in TpccStatement::ALL.into_iter().enumerate() {
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
