//! The transactions as stored procedures: one call each. The same statements as `plain`, run where the rows are.

use super::clauses::{LastName, LinePlan, order_lines, uint};
use super::money::AmountText;
use super::runner::TransactionRunner;
use super::statements::TpccStatement as S;
use super::{DeliveredOrders, TerminalPlace, TransactionEnding};
use crate::client::{Error, ParameterValue, Session};
use crate::recorder::{EventError, Tally};
use crate::workload::tpcc::inputs::{CustomerInput, MOST_LINES, NewOrderInput, TransactionInput};

/// What the comment of each procedure holds: another one is made anew.
const MARK: &str = "sweat tpcc 2";

const NEW_ORDER: &str = "CREATE PROCEDURE tpcc_new_order(p_w INT UNSIGNED, p_d INT, p_c INT, \
p_local INT, p_items VARCHAR(90), p_supply VARCHAR(105), p_quantity VARCHAR(30), \
p_number VARCHAR(30)) MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'sweat tpcc 2'
proc: BEGIN
  DECLARE v_o, v_i, v_s INT UNSIGNED;
  DECLARE v_n, v_q, v_stock, v_missing INT DEFAULT 0;
  DECLARE v_count INT DEFAULT LENGTH(p_number) DIV 2;
  DECLARE v_dtax, v_wtax, v_discount DECIMAL(4,4);
  DECLARE v_price DECIMAL(5,2);
  DECLARE v_last, v_credit VARCHAR(16);
  DECLARE v_name, v_info VARCHAR(24);
  DECLARE v_idata, v_sdata VARCHAR(50);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  SELECT d_next_o_id, d_tax INTO v_o, v_dtax FROM district
    WHERE d_w_id = p_w AND d_id = p_d FOR UPDATE;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d;
  SELECT c_discount, c_last, c_credit, w_tax INTO v_discount, v_last, v_credit, v_wtax
    FROM customer, warehouse WHERE w_id = p_w AND c_w_id = w_id AND c_d_id = p_d AND c_id = p_c;
  INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
    VALUES (p_w, p_d, v_o, p_c, NOW(), NULL, v_count, p_local);
  INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (p_w, p_d, v_o);
  WHILE v_n < v_count DO
    SET v_i = SUBSTR(p_items, v_n * 6 + 1, 6), v_s = SUBSTR(p_supply, v_n * 7 + 1, 7),
      v_q = SUBSTR(p_quantity, v_n * 2 + 1, 2);
    SELECT i_price, i_name, i_data INTO v_price, v_name, v_idata FROM item WHERE i_id = v_i;
    IF v_missing THEN
      ROLLBACK;
      SELECT 0;
      LEAVE proc;
    END IF;
    SELECT s_quantity, s_data, ELT(p_d, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
        s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10) INTO v_stock, v_sdata, v_info
      FROM stock WHERE s_w_id = v_s AND s_i_id = v_i FOR UPDATE;
    UPDATE stock SET s_quantity = v_stock - v_q + IF(v_stock >= v_q + 10, 0, 91),
        s_ytd = s_ytd + v_q, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + (v_s <> p_w)
      WHERE s_w_id = v_s AND s_i_id = v_i;
    INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
        ol_delivery_d, ol_quantity, ol_amount, ol_dist_info)
      VALUES (p_w, p_d, v_o, SUBSTR(p_number, v_n * 2 + 1, 2), v_i, v_s, NULL, v_q,
        v_q * v_price, v_info);
    SET v_n = v_n + 1;
  END WHILE;
  IF v_missing THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is missing';
  END IF;
  COMMIT;
  SELECT v_o;
END";

const PAYMENT: &str = "CREATE PROCEDURE tpcc_payment(p_w INT UNSIGNED, p_d INT, \
p_cw INT UNSIGNED, p_cd INT, p_c INT, p_last VARCHAR(16), p_amount DECIMAL(12,2)) \
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'sweat tpcc 2'
BEGIN
  DECLARE v_c INT DEFAULT p_c;
  DECLARE v_middle, v_missing INT DEFAULT 0;
  DECLARE v_wname, v_dname VARCHAR(10);
  DECLARE v_credit CHAR(2);
  DECLARE v_balance DECIMAL(12,2);
  DECLARE v_data VARCHAR(500);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;
  SELECT w_name INTO v_wname FROM warehouse WHERE w_id = p_w;
  UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;
  SELECT d_name INTO v_dname FROM district WHERE d_w_id = p_w AND d_id = p_d;
  IF p_last IS NOT NULL THEN
    SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_middle FROM customer
      WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_last = p_last
      ORDER BY c_first, c_id LIMIT v_middle, 1;
  END IF;
  SELECT c_balance, c_credit INTO v_balance, v_credit FROM customer
    WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c FOR UPDATE;
  IF v_credit = 'BC' THEN
    SELECT c_data INTO v_data FROM customer
      WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
    UPDATE customer SET c_balance = c_balance - p_amount,
        c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1,
        c_data = LEFT(CONCAT(v_c, ' ', p_cd, ' ', p_cw, ' ', p_d, ' ', p_w, ' ', p_amount, '|',
          v_data), 500)
      WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
  ELSE
    UPDATE customer SET c_balance = c_balance - p_amount,
        c_ytd_payment = c_ytd_payment + p_amount, c_payment_cnt = c_payment_cnt + 1
      WHERE c_w_id = p_cw AND c_d_id = p_cd AND c_id = v_c;
  END IF;
  INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (v_c, p_cd, p_cw, p_d, p_w, NOW(), p_amount, CONCAT(v_wname, '    ', v_dname));
  IF v_missing THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is missing';
  END IF;
  COMMIT;
  SELECT v_c;
END";

const ORDER_STATUS: &str = "CREATE PROCEDURE tpcc_order_status(p_w INT UNSIGNED, p_d INT, \
p_c INT, p_last VARCHAR(16)) READS SQL DATA SQL SECURITY INVOKER COMMENT 'sweat tpcc 2'
BEGIN
  DECLARE v_c INT DEFAULT p_c;
  DECLARE v_middle, v_missing INT DEFAULT 0;
  DECLARE v_o INT UNSIGNED;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  IF p_last IS NOT NULL THEN
    SELECT (COUNT(*) + 1) DIV 2 - 1 INTO v_middle FROM customer
      WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last;
    SELECT c_id INTO v_c FROM customer WHERE c_w_id = p_w AND c_d_id = p_d AND c_last = p_last
      ORDER BY c_first, c_id LIMIT v_middle, 1;
  END IF;
  SELECT o_id INTO v_o FROM orders WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = v_c
    ORDER BY o_id DESC LIMIT 1;
  IF v_missing THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is missing';
  END IF;
  SELECT v_c, c_balance, c_first, c_middle, c_last FROM customer
    WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = v_c;
  SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = v_o;
  COMMIT;
END";

const DELIVERY: &str = "CREATE PROCEDURE tpcc_delivery(p_w INT UNSIGNED, p_carrier INT) \
MODIFIES SQL DATA SQL SECURITY INVOKER COMMENT 'sweat tpcc 2'
BEGIN
  DECLARE v_d INT DEFAULT 1;
  DECLARE v_missing INT DEFAULT 0;
  DECLARE v_orders VARCHAR(120) DEFAULT '';
  DECLARE v_o INT UNSIGNED;
  DECLARE v_c INT;
  DECLARE v_sum DECIMAL(12,2);
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_missing = 1;
  WHILE v_d <= 10 DO
    SET v_missing = 0, v_o = 0;
    SELECT no_o_id INTO v_o FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d
      ORDER BY no_o_id LIMIT 1 FOR UPDATE;
    IF NOT v_missing THEN
      DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = v_d AND no_o_id = v_o;
      SELECT o_c_id INTO v_c FROM orders WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o
        FOR UPDATE;
      UPDATE orders SET o_carrier_id = p_carrier
        WHERE o_w_id = p_w AND o_d_id = v_d AND o_id = v_o;
      UPDATE order_line SET ol_delivery_d = NOW()
        WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      SELECT SUM(ol_amount) INTO v_sum FROM order_line
        WHERE ol_w_id = p_w AND ol_d_id = v_d AND ol_o_id = v_o;
      UPDATE customer SET c_balance = c_balance + v_sum, c_delivery_cnt = c_delivery_cnt + 1
        WHERE c_w_id = p_w AND c_d_id = v_d AND c_id = v_c;
      IF v_missing THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a row is missing';
      END IF;
    END IF;
    SET v_orders = CONCAT(v_orders, IF(v_d > 1, ' ', ''), v_o), v_d = v_d + 1;
  END WHILE;
  COMMIT;
  SELECT v_orders;
END";

const STOCK_LEVEL: &str = "CREATE PROCEDURE tpcc_stock_level(p_w INT UNSIGNED, p_d INT, \
p_threshold INT) READS SQL DATA SQL SECURITY INVOKER COMMENT 'sweat tpcc 2'
BEGIN
  DECLARE v_next INT;
  SELECT d_next_o_id INTO v_next FROM district WHERE d_w_id = p_w AND d_id = p_d;
  SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock
    WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id >= v_next - 20 AND ol_o_id < v_next
    AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < p_threshold;
  COMMIT;
END";

/// The procedures, by name.
pub(in super::super) const PROCEDURES: [(&str, &str); 5] = [
    ("tpcc_new_order", NEW_ORDER),
    ("tpcc_payment", PAYMENT),
    ("tpcc_order_status", ORDER_STATUS),
    ("tpcc_delivery", DELIVERY),
    ("tpcc_stock_level", STOCK_LEVEL),
];

/// Makes the procedures that are missing, and those of another version anew.
///
/// # Errors
/// When the server refuses.
pub(in super::super) fn create_procedures(session: &mut Session) -> Result<(), Error> {
    let there = session.query_rows(
        "SELECT routine_name, routine_comment FROM information_schema.routines \
         WHERE routine_schema = DATABASE() AND routine_name LIKE 'tpcc%'",
    )?;
    for (name, sql) in PROCEDURES {
        let known = (0..there.rows.len()).find(|row| {
            there.text_value(*row, 0).is_some_and(|known| known.eq_ignore_ascii_case(name))
        });
        let comment = known.and_then(|row| there.text_value(row, 1));
        if comment.as_deref() == Some(MARK) {
            continue;
        }
        if known.is_some() {
            session.run_command(&format!("DROP PROCEDURE {name}"))?;
        }
        session.run_command(sql)?;
    }
    Ok(())
}

/// Runs a transaction.
pub(super) async fn run(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    place: TerminalPlace,
    input: &TransactionInput,
) -> Result<TransactionEnding, EventError> {
    let w = uint(place.warehouse);
    match input {
        TransactionInput::NewOrder(order) => call_new_order(runner, tally, place, order).await,
        TransactionInput::Payment(payment) => {
            let amount = AmountText::from_cents(i64::from(payment.amount_cents));
            let customer = CustomerWords::new(payment.customer);
            let [id, name] = customer.values();
            let [cw, cd] = [uint(payment.customer_warehouse), uint(payment.customer_district)];
            let values = [w, uint(payment.district), cw, cd, id, name, amount.value()];
            runner.run(tally, S::CallPayment, &values).await?;
            runner.read_row(S::CallPayment, 0, |mut row| row.next_int())?;
            Ok(TransactionEnding::Paid { district: payment.district })
        }
        TransactionInput::OrderStatus(status) => {
            let customer = CustomerWords::new(status.customer);
            let [id, name] = customer.values();
            let values = [w, uint(status.district), id, name];
            runner.run(tally, S::CallOrderStatus, &values).await?;
            runner.read_row(S::CallOrderStatus, 1, |mut row| row.next_int())?;
            Ok(TransactionEnding::Read)
        }
        TransactionInput::Delivery { carrier } => {
            runner.run(tally, S::CallDelivery, &[w, uint(*carrier)]).await?;
            let orders = runner.read_row(S::CallDelivery, 0, |mut row| {
                let mut orders = DeliveredOrders::default();
                let words = std::str::from_utf8(row.next_bytes()?).ok()?.split(' ');
                for (order, word) in orders.iter_mut().zip(words) {
                    *order = word.parse().ok()?;
                }
                Some(orders)
            })?;
            Ok(TransactionEnding::Delivered { orders })
        }
        TransactionInput::StockLevel { threshold } => {
            let values = [w, uint(place.district), uint(*threshold)];
            runner.run(tally, S::CallStockLevel, &values).await?;
            runner.read_row(S::CallStockLevel, 0, |mut row| row.next_int())?;
            Ok(TransactionEnding::Read)
        }
    }
}

async fn call_new_order(
    runner: &mut TransactionRunner,
    tally: &mut Tally,
    place: TerminalPlace,
    input: &NewOrderInput,
) -> Result<TransactionEnding, EventError> {
    let mut words = LineWords::default();
    for plan in order_lines(input.lines()) {
        words.push(&plan);
    }
    let values = [
        uint(place.warehouse),
        uint(input.district),
        uint(input.customer),
        uint(u32::from(input.is_local(place.warehouse))),
        words.value(0),
        words.value(1),
        words.value(2),
        words.value(3),
    ];
    runner.run(tally, S::CallNewOrder, &values).await?;
    match runner.read_row(S::CallNewOrder, 0, |mut row| row.next_int())? {
        0 => Ok(TransactionEnding::RolledBack),
        order => Ok(TransactionEnding::Ordered { district: input.district, order: order as u32 }),
    }
}

/// The two parameters that name a customer: number and last name, one of them NULL.
struct CustomerWords {
    id: Option<u32>,
    name: LastName,
}

impl CustomerWords {
    fn new(customer: CustomerInput) -> CustomerWords {
        match customer {
            CustomerInput::Id(id) => CustomerWords { id: Some(id), name: LastName::from_number(0) },
            CustomerInput::LastName(number) => {
                CustomerWords { id: None, name: LastName::from_number(number) }
            }
        }
    }

    fn values(&self) -> [ParameterValue<'_>; 2] {
        match self.id {
            Some(id) => [uint(id), ParameterValue::Null],
            None => [ParameterValue::Null, self.name.value()],
        }
    }
}

/// Digits of a number in each text: items, warehouses, quantities, numbers of lines.
const WIDTHS: [usize; 4] = [6, 7, 2, 2];
const WIDEST: usize = 7;

/// The lines of an order as four texts of numbers of fixed width.
struct LineWords {
    texts: [[u8; WIDEST * MOST_LINES]; 4],
    count: usize,
}

impl Default for LineWords {
    fn default() -> LineWords {
        LineWords { texts: [[b'0'; WIDEST * MOST_LINES]; 4], count: 0 }
    }
}

impl LineWords {
    fn push(&mut self, plan: &LinePlan) {
        let LinePlan { number, line } = plan;
        let numbers = [line.item, line.supply_warehouse, line.quantity, *number];
        for ((text, width), number) in self.texts.iter_mut().zip(WIDTHS).zip(numbers) {
            let mut rest = number;
            for place in (self.count * width..(self.count + 1) * width).rev() {
                text[place] = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        self.count += 1;
    }

    fn value(&self, text: usize) -> ParameterValue<'_> {
        ParameterValue::Bytes(&self.texts[text][..self.count * WIDTHS[text]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::tpcc::inputs::LineInput;

    #[test]
    fn lines_are_numbers_of_fixed_width() {
        let mut words = LineWords::default();
        for (number, item) in [(2, 100_001), (10, 7)] {
            let line = LineInput { item, supply_warehouse: 12, quantity: 3 };
            words.push(&LinePlan { number, line });
        }
        let texts: Vec<_> = (0..4).map(|text| words.value(text)).collect();
        let expected: [&[u8]; 4] = [b"100001000007", b"00000120000012", b"0303", b"0210"];
        assert_eq!(texts, expected.map(ParameterValue::Bytes));
    }

    #[test]
    fn each_procedure_bears_its_name_and_the_mark() {
        for (name, sql) in PROCEDURES {
            assert!(sql.starts_with(&format!("CREATE PROCEDURE {name}(")), "{name}");
            assert!(sql.contains(&format!("COMMENT '{MARK}'")), "{name}");
        }
    }
}
