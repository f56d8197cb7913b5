//! Reads the tables for one part of the rules, each part in one snapshot.

use std::collections::{BTreeMap, HashMap};

use super::super::schema::{DISTRICTS, ITEMS, ORDERS, TpccTable};
use super::PartTally;
use super::rules::{MoneyCents, RuleId};
use super::tables::{RowFields, TableReader};
use super::warehouse::{CustomerFacts, LineGroup, OrderFacts, PaymentSums, WarehouseFacts};

/// Everything but the stock for some warehouses: the history is read once for all of them.
pub(super) fn check_warehouses(
    reader: &mut TableReader,
    warehouses: &[i64],
    part: &mut PartTally,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let (Some(first), Some(last)) = (warehouses.first(), warehouses.last()) else { return Ok(()) };
    reader.begin_snapshot()?;
    let within = |column: &str| format!("{column} BETWEEN {first} AND {last}");
    let mut totals = BTreeMap::new();
    let mut keep = |row: RowFields<'_>| totals.extend([(row.number(0), row.money(1))]);
    let range = format!("WHERE {}", within("w_id"));
    reader.read("w_id, w_ytd", TpccTable::Warehouse, &range, &mut keep)?;
    let mut history = HistorySums::default();
    let range = format!("WHERE {} OR {}", within("h_w_id"), within("h_c_w_id"));
    let columns = "h_w_id, h_d_id, h_c_w_id, h_c_d_id, h_c_id, h_amount";
    let span = *first..=*last;
    reader.read(columns, TpccTable::History, &range, &mut |row| {
        let [warehouse, district, home] = [0, 1, 2].map(|at| row.number(at));
        let amount = row.money(5);
        if span.contains(&warehouse) {
            add_payment(history.districts.entry((warehouse, district)).or_default(), amount);
            part.shares.remote_payments.add(warehouse != home);
        }
        if span.contains(&home) {
            let customer = (home, row.number(3), row.number(4));
            add_payment(history.customers.entry(customer).or_default(), amount);
        }
    })?;
    for warehouse in warehouses {
        if is_stopped() {
            break;
        }
        let name = format!("{}w {warehouse}", reader.set.key_prefix());
        let mut facts = WarehouseFacts::new(name, totals.get(warehouse).copied());
        history.give_to(*warehouse, &mut facts);
        read_warehouse(reader, *warehouse, &mut facts, part)?;
        facts.judge(&mut part.rules);
    }
    reader.end_snapshot()
}

/// Per warehouse and district that was paid to, per customer who paid.
#[derive(Default)]
struct HistorySums {
    districts: HashMap<(i64, i64), PaymentSums>,
    customers: HashMap<(i64, i64, i64), PaymentSums>,
}

fn add_payment(sums: &mut PaymentSums, amount: MoneyCents) {
    sums.rows += 1;
    sums.amount.0 += amount.0;
}

impl HistorySums {
    fn give_to(&self, warehouse: i64, facts: &mut WarehouseFacts) {
        for ((_, district), sums) in self.districts.iter().filter(|(key, _)| key.0 == warehouse) {
            facts.add_district_payments(*district, *sums);
        }
        for ((_, district, id), sums) in self.customers.iter().filter(|(key, _)| key.0 == warehouse)
        {
            facts.add_customer_payments(*district, *id, *sums);
        }
    }
}

fn read_warehouse(
    reader: &mut TableReader,
    warehouse: i64,
    facts: &mut WarehouseFacts,
    part: &mut PartTally,
) -> anyhow::Result<()> {
    let of = |column: &str| format!("WHERE {column} = {warehouse}");
    let columns = "d_id, d_ytd, d_next_o_id";
    reader.read(columns, TpccTable::District, &of("d_w_id"), &mut |row| {
        facts.add_district(row.number(0), row.money(1), row.number(2));
    })?;
    let mut orders = Vec::new();
    let columns = "o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt";
    reader.read(columns, TpccTable::Orders, &of("o_w_id"), &mut |row| {
        orders.push(OrderFacts {
            district: row.number(0),
            id: row.number(1),
            customer: row.number(2),
            is_open: row.is_null(3),
            said_lines: row.number(4),
            ..OrderFacts::default()
        });
    })?;
    facts.set_orders(orders);
    facts.count_permutations(&mut part.shares.permutations);
    reader.read("no_d_id, no_o_id", TpccTable::NewOrder, &of("no_w_id"), &mut |row| {
        facts.add_new_order(row.number(0), row.number(1), &mut part.rules);
    })?;
    let columns = "ol_d_id, ol_o_id, COUNT(*), COUNT(ol_delivery_d), \
                   SUM(CASE WHEN ol_delivery_d IS NULL THEN 0 ELSE ol_amount END)";
    let grouped = of("ol_w_id") + " GROUP BY ol_w_id, ol_d_id, ol_o_id";
    reader.read(columns, TpccTable::OrderLine, &grouped, &mut |row| {
        let [district, order, lines, delivered_lines] = [0, 1, 2, 3].map(|at| row.number(at));
        let delivered_amount = row.money(4);
        let group = LineGroup { district, order, lines, delivered_lines, delivered_amount };
        facts.add_lines(group, &mut part.rules);
    })?;
    let columns =
        "c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_credit = 'BC'";
    reader.read(columns, TpccTable::Customer, &of("c_w_id"), &mut |row| {
        let customer = CustomerFacts {
            district: row.number(0),
            id: row.number(1),
            balance: row.money(2),
            paid: row.money(3),
            payments: row.number(4),
            deliveries: row.number(5),
        };
        facts.add_customer(customer, &mut part.rules);
        part.shares.bad_credit.add(row.number(6) != 0);
        part.customers += 1;
    })
}

/// What the lines since the load took from a row of STOCK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StockSums {
    quantity: i64,
    orders: i64,
    remote: i64,
}

impl std::fmt::Display for StockSums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, {}", self.quantity, self.orders, self.remote)
    }
}

/// The stock of some warehouses, from which orders of all warehouses take; `all` are those.
pub(super) fn check_stock(
    reader: &mut TableReader,
    warehouses: &[i64],
    all: &[i64],
    has_findings: bool,
    part: &mut PartTally,
) -> anyhow::Result<()> {
    let (Some(first), Some(last)) = (warehouses.first(), warehouses.last()) else { return Ok(()) };
    reader.begin_snapshot()?;
    let mut taken: HashMap<(i64, i64), StockSums> = HashMap::new();
    // A range of the key for each district: the lines of the load are not read.
    let list = |ids: &mut dyn Iterator<Item = i64>| {
        ids.map(|id| id.to_string()).collect::<Vec<_>>().join(",")
    };
    let (homes, districts) = (list(&mut all.iter().copied()), list(&mut (1..=DISTRICTS.into())));
    let rest = format!(
        "WHERE ol_w_id IN ({homes}) AND ol_d_id IN ({districts}) AND ol_o_id > {ORDERS} \
         AND ol_supply_w_id BETWEEN {first} AND {last}"
    );
    let columns = "ol_supply_w_id, ol_i_id, ol_quantity, ol_w_id";
    reader.read(columns, TpccTable::OrderLine, &rest, &mut |row| {
        let [supply, item, quantity, home] = [0, 1, 2, 3].map(|at| row.number(at));
        let sums = taken.entry((supply, item)).or_default();
        sums.quantity += quantity;
        sums.orders += 1;
        sums.remote += i64::from(supply != home);
        if has_findings {
            part.shares.remote_lines.add(supply != home);
            *part.shares.item_lines.entry(item).or_default() += 1;
        }
    })?;
    let prefix = reader.set.key_prefix();
    let key = |(warehouse, item): (i64, i64)| format!("{prefix}w {warehouse}, i {item}");
    let columns = "s_w_id, s_i_id, s_ytd, s_order_cnt, s_remote_cnt";
    let rest = format!(
        "WHERE s_w_id BETWEEN {first} AND {last} \
         AND (s_ytd <> 0 OR s_order_cnt <> 0 OR s_remote_cnt <> 0)"
    );
    reader.read(columns, TpccTable::Stock, &rest, &mut |row| {
        let at = (row.number(0), row.number(1));
        let [quantity, orders, remote] = [2, 3, 4].map(|at| row.number(at));
        let found = StockSums { quantity, orders, remote };
        let expected = taken.remove(&at).unwrap_or_default();
        part.rules.compare(RuleId::X15, found, expected, || key(at));
    })?;
    // Rows that counted nothing, or are not there.
    let mut left: Vec<_> = taken.into_iter().collect();
    left.sort_unstable_by_key(|(at, _)| *at);
    for (at, expected) in left {
        part.rules.compare(RuleId::X15, StockSums::default(), expected, || key(at));
    }
    let count = |data: &str| match has_findings {
        true => format!("COUNT(*), SUM(CAST({data} AS BINARY) LIKE '%ORIGINAL%')"),
        false => "COUNT(*), 0".to_owned(),
    };
    for warehouse in warehouses {
        let of = format!("WHERE s_w_id = {warehouse}");
        reader.read(&count("s_data"), TpccTable::Stock, &of, &mut |row| {
            let name = || format!("{prefix}w {warehouse}: s");
            part.rules.compare(RuleId::R1, row.number(0), i64::from(ITEMS), name);
            part.add_original(row);
        })?;
    }
    if all.first() == Some(first) {
        reader.read(&count("i_data"), TpccTable::Item, "", &mut |row| {
            part.rules.compare(RuleId::R1, row.number(0), ITEMS.into(), || format!("{prefix}i"));
            part.add_original(row);
        })?;
    }
    reader.end_snapshot()
}
