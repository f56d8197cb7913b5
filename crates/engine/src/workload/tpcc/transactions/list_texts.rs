//! Texts of statements that depend on the length of a list.

pub(super) fn read_items(count: usize) -> String {
    format!(
        "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})",
        repeat_list("?", ", ", count)
    )
}

pub(super) fn lock_stocks(count: usize) -> String {
    format!(
        "SELECT s_i_id, s_quantity, s_data, ELT(?, s_dist_01, s_dist_02, s_dist_03, s_dist_04, \
         s_dist_05, s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) FROM stock \
         WHERE s_w_id = ? AND s_i_id IN ({}) FOR UPDATE",
        repeat_list("?", ", ", count)
    )
}

pub(super) fn update_stocks(count: usize) -> String {
    let cases = repeat_list("WHEN ? THEN ?", " ", count);
    format!(
        "UPDATE stock SET s_quantity = CASE s_i_id {cases} END, \
         s_ytd = s_ytd + CASE s_i_id {cases} END, \
         s_order_cnt = s_order_cnt + CASE s_i_id {cases} END, \
         s_remote_cnt = s_remote_cnt + ? * CASE s_i_id {cases} END \
         WHERE s_w_id = ? AND s_i_id IN ({})",
        repeat_list("?", ", ", count)
    )
}

pub(super) fn insert_lines(count: usize) -> String {
    format!(
        "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, \
         ol_supply_w_id, ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES {}",
        repeat_list("(?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)", ", ", count)
    )
}

pub(super) fn delete_new_orders(count: usize) -> String {
    let keys = any_order("no_w_id", "no_d_id", "no_o_id", count);
    format!("DELETE FROM new_order WHERE {keys}")
}

pub(super) fn read_order_customers(count: usize) -> String {
    let keys = any_order("o_w_id", "o_d_id", "o_id", count);
    format!("SELECT o_d_id, o_c_id FROM orders WHERE {keys} FOR UPDATE")
}

pub(super) fn set_carriers(count: usize) -> String {
    let keys = any_order("o_w_id", "o_d_id", "o_id", count);
    format!("UPDATE orders SET o_carrier_id = ? WHERE {keys}")
}

pub(super) fn set_delivery_dates(count: usize) -> String {
    let keys = any_order("ol_w_id", "ol_d_id", "ol_o_id", count);
    format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {keys}")
}

pub(super) fn sum_lines_by_order(count: usize) -> String {
    let keys = any_order("ol_w_id", "ol_d_id", "ol_o_id", count);
    format!("SELECT ol_d_id, SUM(ol_amount) FROM order_line WHERE {keys} GROUP BY ol_d_id")
}

/// Orders of one warehouse, each by district and number. Ranges of the primary key, which an IN of pairs is not everywhere.
fn any_order(warehouse: &str, district: &str, order: &str, count: usize) -> String {
    let one = format!("({warehouse} = ? AND {district} = ? AND {order} = ?)");
    repeat_list(&one, " OR ", count)
}

fn repeat_list(part: &str, between: &str, count: usize) -> String {
    vec![part; count].join(between)
}
