//! The tests of clauses 3.2.2 and 3.4.2: two sessions whose statements are sent in a fixed order, each transaction reduced to the
//! statements that the test is about. They work on one district; what they commit is put back.
//! Never knows: the worker. To add a test: a function here, and its line in `TESTS`.

mod stepped;

use anyhow::Context as _;

use self::stepped::{SteppedOutcome, SteppedSession};
use crate::base::Stop;
use crate::client::{Session, Target};
use crate::recorder::{DataState, DataVerdict, DataVerdicts};
use crate::workload::{DataJob, JobProgress};

/// The district that all work on.
const PLACE: (u32, u32) = (1, 1);
/// Items whose prices are read.
const ITEMS: (u32, u32) = (1, 2);

/// What a test found: whether it is what the clause asks for, and what happened, in words.
type TestResult = anyhow::Result<(bool, String)>;

struct IsolationTest {
    id: &'static str,
    clause: &'static str,
    rule: &'static str,
    run: fn(&TestBench<'_>) -> TestResult,
}

const TESTS: [IsolationTest; 11] = [
    IsolationTest { id: "A1", clause: "3.2.2.1", rule: "Payment, commit", run: payment_commit },
    IsolationTest { id: "A2", clause: "3.2.2.2", rule: "Payment, rollback", run: payment_rollback },
    IsolationTest {
        id: "I1",
        clause: "3.4.2.1",
        rule: "Order-Status, New-Order commits",
        run: |bench| read_while_ordering(bench, "COMMIT"),
    },
    IsolationTest {
        id: "I2",
        clause: "3.4.2.2",
        rule: "Order-Status, New-Order rolls back",
        run: |bench| read_while_ordering(bench, "ROLLBACK"),
    },
    IsolationTest {
        id: "I3",
        clause: "3.4.2.3",
        rule: "two New-Orders, the first commits",
        run: |bench| order_while_ordering(bench, "COMMIT"),
    },
    IsolationTest {
        id: "I4",
        clause: "3.4.2.4",
        rule: "two New-Orders, the first rolls back",
        run: |bench| order_while_ordering(bench, "ROLLBACK"),
    },
    IsolationTest {
        id: "I5",
        clause: "3.4.2.5",
        rule: "Payment, Delivery commits",
        run: |bench| pay_while_delivering(bench, "COMMIT"),
    },
    IsolationTest {
        id: "I6",
        clause: "3.4.2.6",
        rule: "Payment, Delivery rolls back",
        run: |bench| pay_while_delivering(bench, "ROLLBACK"),
    },
    IsolationTest { id: "I7", clause: "3.4.2.7", rule: "prices read twice", run: prices_twice },
    IsolationTest {
        id: "I8",
        clause: "3.4.2.8",
        rule: "Delivery finds nothing, twice",
        run: deliveries_twice,
    },
    IsolationTest {
        id: "I9",
        clause: "3.4.2.9",
        rule: "last order read twice",
        run: last_order_twice,
    },
];

/// What the tests stand on.
struct TestBench<'a> {
    target: &'a Target,
    stop: &'a Stop,
    level: &'a str,
    before: DistrictBefore,
}

/// What stood in the rows that tests change.
struct DistrictBefore {
    next_order: u64,
    /// The oldest new order, its customer and the amount of its lines.
    oldest: u64,
    customer: u64,
    balance: String,
    delivered: String,
    prices: [String; 2],
}

/// Runs all tests at each of these levels.
///
/// # Errors
/// When the server refuses, or there are no data.
pub(super) fn run_tests(
    target: &Target,
    levels: &[&str],
    job: &mut DataJob<'_>,
) -> anyhow::Result<DataVerdicts> {
    let mut session = target.connect(job.stop)?;
    let mut list = Vec::new();
    let total = (levels.len() * TESTS.len()) as u64;
    for level in levels {
        for test in &TESTS {
            if job.stop.is_set() {
                break;
            }
            let label = format!("{level}: {}", test.rule);
            let done = list.len() as u64;
            (job.progress)(JobProgress { label, done, total, unit: "tests" });
            let before = DistrictBefore::read(&mut session)?;
            let bench = TestBench { target, stop: job.stop, level, before };
            let found = (test.run)(&bench);
            bench.before.put_back(&mut session).context("put the rows back")?;
            list.push(test.to_verdict(level, found));
        }
    }
    let subject = format!("warehouse {}, district {}", PLACE.0, PLACE.1);
    Ok(DataVerdicts { subject, list })
}

impl IsolationTest {
    fn to_verdict(&self, level: &str, found: TestResult) -> DataVerdict {
        let (state, note) = match found {
            Ok((true, note)) => (DataState::Holds, note),
            Ok((false, note)) => (DataState::Broken, note),
            Err(why) => (DataState::Broken, format!("{why:#}")),
        };
        let short: String = level.split(' ').filter_map(|word| word.chars().next()).collect();
        let short = if short.len() < 2 { "SER".to_owned() } else { short.to_uppercase() };
        let rule = format!("{short}: {}", self.rule);
        let [id, clause] = [self.id, self.clause].map(str::to_owned);
        DataVerdict { id, rule, clause, state, note, ..DataVerdict::default() }
    }
}

/// Rows of the district in a table whose columns begin so.
fn of_district(prefix: &str) -> String {
    let district = if prefix == "d" { "d_id".to_owned() } else { format!("{prefix}_d_id") };
    format!("{prefix}_w_id = {} AND {district} = {}", PLACE.0, PLACE.1)
}

impl DistrictBefore {
    fn read(session: &mut Session) -> anyhow::Result<DistrictBefore> {
        let mut value = |sql: String| -> anyhow::Result<String> {
            let value = session.query_scalar(&sql)?;
            value.with_context(|| format!("there is no row for: {sql}"))
        };
        let next = value(format!("SELECT d_next_o_id FROM district WHERE {}", of_district("d")))?;
        let of = of_district("no");
        let oldest = value(format!("SELECT MIN(no_o_id) FROM new_order WHERE {of}"))?;
        let of = format!("{} AND o_id = {oldest}", of_district("o"));
        let customer = value(format!("SELECT o_c_id FROM orders WHERE {of}"))?;
        let of = format!("{} AND c_id = {customer}", of_district("c"));
        let balance = value(format!("SELECT c_balance FROM customer WHERE {of}"))?;
        let of = format!("{} AND ol_o_id = {oldest}", of_district("ol"));
        let delivered = value(format!("SELECT SUM(ol_amount) FROM order_line WHERE {of}"))?;
        let mut price = |item| value(format!("SELECT i_price FROM item WHERE i_id = {item}"));
        let prices = [price(ITEMS.0)?, price(ITEMS.1)?];
        let (next_order, oldest) = (next.parse()?, oldest.parse()?);
        let customer = customer.parse()?;
        Ok(DistrictBefore { next_order, oldest, customer, balance, delivered, prices })
    }

    /// Undoes what the tests may have committed.
    fn put_back(&self, session: &mut Session) -> anyhow::Result<()> {
        let DistrictBefore { next_order, oldest, customer, balance, prices, .. } = self;
        let [of_line, of_new, of_order] = ["ol", "no", "o"].map(of_district);
        let place = format!("{}, {}", PLACE.0, PLACE.1);
        let statements = [
            "START TRANSACTION".to_owned(),
            format!("DELETE FROM order_line WHERE {of_line} AND ol_o_id >= {next_order}"),
            format!("DELETE FROM new_order WHERE {of_new} AND no_o_id >= {next_order}"),
            format!("DELETE FROM orders WHERE {of_order} AND o_id >= {next_order}"),
            format!("UPDATE district SET d_next_o_id = {next_order} WHERE {}", of_district("d")),
            format!("UPDATE orders SET o_carrier_id = NULL WHERE {of_order} AND o_id = {oldest}"),
            format!(
                "UPDATE order_line SET ol_delivery_d = NULL WHERE {of_line} AND ol_o_id = {oldest}"
            ),
            // New orders are those without a carrier, whichever of them a test has taken away.
            format!("DELETE FROM new_order WHERE {of_new}"),
            format!(
                "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) SELECT {place}, o_id \
                 FROM orders WHERE {of_order} AND o_carrier_id IS NULL"
            ),
            format!(
                "UPDATE customer SET c_balance = {balance} WHERE {} AND c_id = {customer}",
                of_district("c")
            ),
            format!("UPDATE item SET i_price = {} WHERE i_id = {}", prices[0], ITEMS.0),
            format!("UPDATE item SET i_price = {} WHERE i_id = {}", prices[1], ITEMS.1),
            "COMMIT".to_owned(),
        ];
        for sql in statements {
            session.run_command(&sql)?;
        }
        Ok(())
    }
}

impl TestBench<'_> {
    fn begin(&self) -> anyhow::Result<SteppedSession> {
        SteppedSession::begin(self.target, self.level, self.stop)
    }

    /// A value as a transaction of its own reads it.
    fn read_value(&self, sql: &str) -> anyhow::Result<String> {
        let mut session = self.begin()?;
        let value = session.value(sql)?;
        session.run("COMMIT")?;
        Ok(value)
    }

    /// Condition for the customer of the oldest new order.
    fn of_customer(&self) -> String {
        format!("{} AND c_id = {}", of_district("c"), self.before.customer)
    }

    /// The last order of the customer, as Order-Status reads it.
    fn last_order_sql(&self) -> String {
        let of = of_district("o");
        format!("SELECT MAX(o_id) FROM orders WHERE {of} AND o_c_id = {}", self.before.customer)
    }

    fn take_number_sql() -> String {
        format!("SELECT d_next_o_id FROM district WHERE {} FOR UPDATE", of_district("d"))
    }

    /// The rest of a New-Order that has its number, up to its end.
    fn insert_order(&self, session: &mut SteppedSession, order: &str) -> anyhow::Result<()> {
        for sql in self.insert_order_sql(order) {
            session.run(&sql)?;
        }
        Ok(())
    }

    fn insert_order_sql(&self, order: &str) -> [String; 3] {
        let (warehouse, district) = PLACE;
        [
            format!("UPDATE district SET d_next_o_id = {order} + 1 WHERE {}", of_district("d")),
            format!(
                "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, \
                 o_ol_cnt, o_all_local) \
                 VALUES ({warehouse}, {district}, {order}, {}, NOW(), NULL, 0, 1)",
                self.before.customer
            ),
            format!(
                "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) \
                 VALUES ({warehouse}, {district}, {order})"
            ),
        ]
    }

    /// A Delivery of the oldest new order, up to its end.
    fn deliver(&self, session: &mut SteppedSession) -> anyhow::Result<()> {
        let DistrictBefore { oldest, delivered, .. } = &self.before;
        session.run(&oldest_sql())?;
        let [of_line, of_new, of_order] = ["ol", "no", "o"].map(of_district);
        for sql in [
            format!("DELETE FROM new_order WHERE {of_new} AND no_o_id = {oldest}"),
            format!("UPDATE orders SET o_carrier_id = 1 WHERE {of_order} AND o_id = {oldest}"),
            format!(
                "UPDATE order_line SET ol_delivery_d = NOW() \
                 WHERE {of_line} AND ol_o_id = {oldest}"
            ),
            format!(
                "UPDATE customer SET c_balance = c_balance + {delivered} WHERE {}",
                self.of_customer()
            ),
        ] {
            session.run(&sql)?;
        }
        Ok(())
    }

    fn pay_sql(&self) -> String {
        format!("UPDATE customer SET c_balance = c_balance - 10 WHERE {}", self.of_customer())
    }

    /// The customer's balance as everybody sees it, beside the one before with a change, in cents.
    fn balances(&self, change: i64) -> anyhow::Result<(i64, i64)> {
        let sql = format!("SELECT c_balance FROM customer WHERE {}", self.of_customer());
        let now = to_cents(&self.read_value(&sql)?)?;
        Ok((now, to_cents(&self.before.balance)? + change))
    }
}

/// The oldest new order, locked, as Delivery reads it.
fn oldest_sql() -> String {
    let of = of_district("no");
    format!("SELECT no_o_id FROM new_order WHERE {of} ORDER BY no_o_id LIMIT 1 FOR UPDATE")
}

/// An amount with two decimals.
fn to_cents(text: &str) -> anyhow::Result<i64> {
    Ok(text.replace('.', "").parse()?)
}

fn payment_commit(bench: &TestBench<'_>) -> TestResult {
    atomic_payment(bench, "COMMIT", -1000)
}

fn payment_rollback(bench: &TestBench<'_>) -> TestResult {
    atomic_payment(bench, "ROLLBACK", 0)
}

fn atomic_payment(bench: &TestBench<'_>, end: &str, change: i64) -> TestResult {
    let mut session = bench.begin()?;
    session.run(&bench.pay_sql())?;
    session.run(end)?;
    let (now, expected) = bench.balances(change)?;
    let words = if change == 0 { "nothing has changed" } else { "all has changed" };
    Ok((now == expected, if now == expected { words.to_owned() } else { amounts(now, expected) }))
}

fn amounts(now: i64, expected: i64) -> String {
    format!("C_BALANCE is {now} cents, expected {expected}")
}

/// Tests 1 and 2: Order-Status sees the new order of a transaction under way only once that has committed.
fn read_while_ordering(bench: &TestBench<'_>, end: &str) -> TestResult {
    let old = bench.read_value(&bench.last_order_sql())?;
    let mut first = bench.begin()?;
    let order = first.value(&TestBench::take_number_sql())?;
    bench.insert_order(&mut first, &order)?;
    let mut second = bench.begin()?;
    let seen = match second.start(&bench.last_order_sql())? {
        SteppedOutcome::Done(rows) => (rows.text_value(0, 0).unwrap_or_default(), false),
        SteppedOutcome::Waits => {
            first.run(end)?;
            (second.finish()?.text_value(0, 0).unwrap_or_default(), true)
        }
    };
    let (last, has_waited) = seen;
    if !has_waited {
        first.run(end)?;
    }
    second.run("COMMIT")?;
    let is_committed = end == "COMMIT";
    let after = bench.read_value(&bench.last_order_sql())?;
    let expected = if has_waited && is_committed { &order } else { &old };
    let holds = last == *expected && after == *(if is_committed { &order } else { &old });
    let how = if has_waited { "it waits" } else { "it does not wait" };
    Ok((holds, format!("{how} and reads order {last}; then the last one is {after}")))
}

/// Tests 3 and 4: the second New-Order waits, and takes the next number or the one that was given up.
fn order_while_ordering(bench: &TestBench<'_>, end: &str) -> TestResult {
    let mut first = bench.begin()?;
    let order = first.value(&TestBench::take_number_sql())?;
    bench.insert_order(&mut first, &order)?;
    let mut second = bench.begin()?;
    let SteppedOutcome::Waits = second.start(&TestBench::take_number_sql())? else {
        return Ok((false, "the second one does not wait".to_owned()));
    };
    first.run(end)?;
    let next = second.finish()?.text_value(0, 0).unwrap_or_default();
    bench.insert_order(&mut second, &next)?;
    second.run("COMMIT")?;
    let expected = order.parse::<u64>()? + u64::from(end == "COMMIT");
    Ok((next == expected.to_string(), format!("the second one waits; orders {order}, then {next}")))
}

/// Tests 5 and 6: a Payment waits for a Delivery to the same customer, and neither is lost.
fn pay_while_delivering(bench: &TestBench<'_>, end: &str) -> TestResult {
    let mut first = bench.begin()?;
    bench.deliver(&mut first)?;
    let mut second = bench.begin()?;
    let SteppedOutcome::Waits = second.start(&bench.pay_sql())? else {
        return Ok((false, "the payment does not wait".to_owned()));
    };
    first.run(end)?;
    second.finish()?;
    second.run("COMMIT")?;
    let delivered = to_cents(&bench.before.delivered)?;
    let change = if end == "COMMIT" { delivered } else { 0 };
    let (now, expected) = bench.balances(change - 1000)?;
    let is_right = now == expected;
    let what = if is_right { "C_BALANCE is right".to_owned() } else { amounts(now, expected) };
    Ok((is_right, format!("the payment waits; {what}")))
}

/// How a change went on that another transaction must not see, and what that read before and after.
struct RepeatedRead {
    first: String,
    again: String,
    case: char,
}

impl RepeatedRead {
    fn into_result(self) -> TestResult {
        let RepeatedRead { first, again, case } = self;
        let how = match case {
            'A' => "the change waits",
            'B' => "the reader is rolled back",
            'C' => "the change is rolled back",
            _ => "the change does not wait",
        };
        let read = if first == again { "the same twice" } else { "another value" };
        Ok((first == again, format!("case {case}: {how}; read: {read}")))
    }
}

/// Whether a server ended a transaction for another's sake.
fn is_rolled_back(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref().and_then(|error| match error {
        crate::client::Error::Server { code, .. } => Some(*code),
        _ => None,
    });
    matches!(code, Some(1213 | 1205 | 1020))
}

/// A transaction reads, others change and commit, and it reads again.
fn read_twice(bench: &TestBench<'_>, read: &str, change: &[String]) -> TestResult {
    let mut reader = bench.begin()?;
    let first = rows_text(&reader.run(read)?);
    let mut writer = bench.begin()?;
    let mut case = 'D';
    let mut left = change.iter();
    for sql in left.by_ref() {
        match writer.start(sql) {
            Ok(SteppedOutcome::Done(_)) => {}
            Ok(SteppedOutcome::Waits) => {
                case = 'A';
                break;
            }
            Err(error) if is_rolled_back(&error) => {
                case = 'C';
                break;
            }
            Err(error) => return Err(error),
        }
    }
    if case == 'D' {
        writer.run("COMMIT")?;
    }
    let again = match reader.run(read) {
        Ok(rows) => rows_text(&rows),
        Err(error) if is_rolled_back(&error) => {
            case = 'B';
            first.clone()
        }
        Err(error) => return Err(error),
    };
    reader.run("COMMIT")?;
    if case == 'A' {
        writer.finish()?;
        for sql in left {
            writer.run(sql)?;
        }
        writer.run("COMMIT")?;
    }
    RepeatedRead { first, again, case }.into_result()
}

fn rows_text(rows: &crate::client::ResultSet) -> String {
    let texts = (0..rows.rows.len()).map(|row| rows.text_value(row, 0).unwrap_or_default());
    texts.collect::<Vec<_>>().join(", ")
}

/// Test 7: prices that another transaction raises in between.
fn prices_twice(bench: &TestBench<'_>) -> TestResult {
    let items = format!("i_id IN ({}, {})", ITEMS.0, ITEMS.1);
    let read = format!("SELECT i_price FROM item WHERE {items} ORDER BY i_id");
    read_twice(bench, &read, &[format!("UPDATE item SET i_price = i_price + 1 WHERE {items}")])
}

/// Test 8: no new orders in the district, and another transaction makes one.
fn deliveries_twice(bench: &TestBench<'_>) -> TestResult {
    let mut session = bench.begin()?;
    session.run(&format!("DELETE FROM new_order WHERE {}", of_district("no")))?;
    session.run("COMMIT")?;
    let order = bench.before.next_order.to_string();
    read_twice(bench, &oldest_sql(), &bench.insert_order_sql(&order))
}

/// Test 9: the last order of a customer, who orders again.
fn last_order_twice(bench: &TestBench<'_>) -> TestResult {
    let order = bench.before.next_order.to_string();
    read_twice(bench, &bench.last_order_sql(), &bench.insert_order_sql(&order))
}
