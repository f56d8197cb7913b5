//! All that one warehouse's own rows and the history say: conditions 1 to 12, X11, X13 and X14.
//! Tables are read once each and put together here, both ways, so that missing and surplus rows are found.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::schema::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ORDERS};
use super::findings::ShareCount;
use super::rules::{MoneyCents, RuleId, RuleTally};

/// Orders that the load has delivered, per district.
const DELIVERED: i64 = FIRST_NEW_ORDER as i64 - 1;

/// Rows of the history that name one customer or one district, and their amounts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PaymentSums {
    pub(super) rows: i64,
    pub(super) amount: MoneyCents,
}

/// A row of ORDER with its lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OrderFacts {
    pub(super) district: i64,
    pub(super) id: i64,
    pub(super) customer: i64,
    /// Whether it has no carrier.
    pub(super) is_open: bool,
    /// `O_OL_CNT`.
    pub(super) said_lines: i64,
    /// Whether it is in NEW-ORDER.
    pub(super) is_new: bool,
    /// Its lines, and those not delivered.
    pub(super) lines: i64,
    pub(super) open_lines: i64,
}

/// The lines of an order.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineGroup {
    pub(super) district: i64,
    pub(super) order: i64,
    pub(super) lines: i64,
    pub(super) delivered_lines: i64,
    pub(super) delivered_amount: MoneyCents,
}

/// A row of CUSTOMER.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CustomerFacts {
    pub(super) district: i64,
    pub(super) id: i64,
    pub(super) balance: MoneyCents,
    pub(super) paid: MoneyCents,
    pub(super) payments: i64,
    pub(super) deliveries: i64,
}

#[derive(Clone, Debug, Default)]
struct DistrictFacts {
    /// Year-to-date amount and the next order's number, if there is such a row.
    row: Option<(MoneyCents, i64)>,
    orders: i64,
    last_order: i64,
    said_lines: i64,
    lines: i64,
    new_orders: i64,
    first_new: i64,
    last_new: i64,
    customers: i64,
    deliveries: i64,
    history: MoneyCents,
}

/// One warehouse as its tables tell.
#[derive(Clone, Debug, Default)]
pub(super) struct WarehouseFacts {
    /// What keys begin with: `w 1`.
    name: String,
    year_to_date: Option<MoneyCents>,
    districts: BTreeMap<i64, DistrictFacts>,
    orders: Vec<OrderFacts>,
    /// Per district and customer: amounts of delivered lines.
    delivered: HashMap<(i64, i64), MoneyCents>,
    /// Per district and customer: what the history holds.
    payments: HashMap<(i64, i64), PaymentSums>,
}

impl WarehouseFacts {
    pub(super) fn new(name: String, year_to_date: Option<MoneyCents>) -> WarehouseFacts {
        WarehouseFacts { name, year_to_date, ..WarehouseFacts::default() }
    }

    fn district(&mut self, id: i64) -> &mut DistrictFacts {
        self.districts.entry(id).or_default()
    }

    /// A row of DISTRICT.
    pub(super) fn add_district(&mut self, id: i64, year_to_date: MoneyCents, next_order: i64) {
        self.district(id).row = Some((year_to_date, next_order));
    }

    /// What the history says of a district of this warehouse.
    pub(super) fn add_district_payments(&mut self, id: i64, sums: PaymentSums) {
        self.district(id).history.0 += sums.amount.0;
    }

    /// What the history says of a customer of this warehouse.
    pub(super) fn add_customer_payments(&mut self, district: i64, id: i64, sums: PaymentSums) {
        self.payments.insert((district, id), sums);
    }

    /// All rows of ORDER; before those of the tables that refer to it.
    pub(super) fn set_orders(&mut self, mut orders: Vec<OrderFacts>) {
        // In the order of the key already, as servers give them.
        orders.sort_by_key(|order| (order.district, order.id));
        for order in &orders {
            let facts = self.districts.entry(order.district).or_default();
            facts.orders += 1;
            facts.last_order = facts.last_order.max(order.id);
            facts.said_lines += order.said_lines;
        }
        self.orders = orders;
    }

    /// In how many districts each order of the load has another customer.
    pub(super) fn count_permutations(&self, count: &mut ShareCount) {
        let loaded = |order: &&OrderFacts| order.id <= i64::from(ORDERS);
        let mut customers: BTreeMap<i64, HashSet<i64>> = BTreeMap::new();
        for order in self.orders.iter().filter(loaded) {
            customers.entry(order.district).or_default().insert(order.customer);
        }
        for (district, seen) in customers {
            let of_district = |order: &&OrderFacts| order.district == district;
            let orders = self.orders.iter().filter(loaded).filter(of_district).count();
            count.add(seen.len() == orders);
        }
    }

    fn order(&mut self, district: i64, id: i64) -> Option<&mut OrderFacts> {
        let at =
            self.orders.binary_search_by_key(&(district, id), |order| (order.district, order.id));
        at.ok().map(|at| &mut self.orders[at])
    }

    /// A row of NEW-ORDER.
    pub(super) fn add_new_order(&mut self, district: i64, id: i64, tally: &mut RuleTally) {
        let facts = self.district(district);
        facts.first_new = if facts.new_orders == 0 { id } else { facts.first_new.min(id) };
        facts.last_new = facts.last_new.max(id);
        facts.new_orders += 1;
        match self.order(district, id) {
            Some(order) => order.is_new = true,
            None => {
                let key = || format!("{}, d {district}, o {id}", self.name);
                tally.note_broken(RuleId::C5, key, "a new order without its order", "both");
            }
        }
    }

    /// The lines of an order.
    pub(super) fn add_lines(&mut self, group: LineGroup, tally: &mut RuleTally) {
        let (district, id) = (group.district, group.order);
        self.district(district).lines += group.lines;
        let Some(order) = self.order(district, id) else {
            let key = || format!("{}, d {district}, o {id}", self.name);
            return tally.note_broken(RuleId::C6, key, "lines without an order", "both");
        };
        order.lines = group.lines;
        order.open_lines = group.lines - group.delivered_lines;
        let customer = order.customer;
        if group.delivered_lines > 0 {
            self.delivered.entry((district, customer)).or_default().0 += group.delivered_amount.0;
        }
    }

    /// A row of CUSTOMER; after those of all other tables.
    pub(super) fn add_customer(&mut self, customer: CustomerFacts, tally: &mut RuleTally) {
        let CustomerFacts { district, id, balance, paid, .. } = customer;
        let facts = self.district(district);
        facts.customers += 1;
        facts.deliveries += customer.deliveries;
        let delivered = self.delivered.remove(&(district, id)).unwrap_or_default();
        let history = self.payments.remove(&(district, id)).unwrap_or_default();
        let key = || format!("{}, d {district}, c {id}", self.name);
        let owed = MoneyCents(delivered.0 - history.amount.0);
        tally.compare(RuleId::C10, balance, owed, key);
        tally.compare(RuleId::C12, MoneyCents(balance.0 + paid.0), delivered, key);
        tally.compare(RuleId::X13, customer.payments, history.rows, key);
        tally.compare(RuleId::X14, paid, history.amount, key);
    }

    /// Holds it all together against the rules, once every row is in.
    pub(super) fn judge(&self, tally: &mut RuleTally) {
        self.judge_leftovers(tally);
        self.judge_orders(tally);
        for (id, district) in &self.districts {
            self.judge_district(*id, district, tally);
        }
        let key = || self.name.clone();
        let rows = self.districts.values();
        let said: i64 = rows.clone().filter_map(|d| d.row).map(|(ytd, _)| ytd.0).sum();
        let paid: i64 = rows.clone().map(|d| d.history.0).sum();
        let there = rows.filter(|district| district.row.is_some()).count();
        tally.compare(RuleId::R1, there, DISTRICTS as usize, || format!("{}: d", self.name));
        match self.year_to_date {
            Some(own) => {
                tally.compare(RuleId::C1, own, MoneyCents(said), key);
                tally.compare(RuleId::C8, own, MoneyCents(paid), key);
            }
            None => tally.note_broken(RuleId::C1, key, "no such warehouse", MoneyCents(said)),
        }
    }

    /// What refers to customers that are not there.
    fn judge_leftovers(&self, tally: &mut RuleTally) {
        let mut left: Vec<_> = self.delivered.keys().map(|key| (*key, RuleId::C10)).collect();
        left.extend(self.payments.keys().map(|key| (*key, RuleId::X13)));
        left.sort_unstable_by_key(|(key, _)| *key);
        for ((district, id), rule) in left {
            let key = || format!("{}, d {district}, c {id}", self.name);
            tally.note_broken(rule, key, "no such customer", "one");
        }
    }

    fn judge_orders(&self, tally: &mut RuleTally) {
        for order in &self.orders {
            let key = || format!("{}, d {}, o {}", self.name, order.district, order.id);
            tally.compare(RuleId::C5, order.is_open, order.is_new, key);
            tally.compare(RuleId::C6, order.said_lines, order.lines, key);
            let open_lines = if order.is_open { order.lines } else { 0 };
            tally.compare(RuleId::C7, order.open_lines, open_lines, key);
        }
    }

    fn judge_district(&self, id: i64, district: &DistrictFacts, tally: &mut RuleTally) {
        let key = || format!("{}, d {id}", self.name);
        let DistrictFacts { orders, new_orders, last_new, .. } = *district;
        let Some((year_to_date, next_order)) = district.row else {
            return tally.note_broken(RuleId::C2, key, "no such district", "one");
        };
        tally.districts += 1;
        let is_fresh = next_order == i64::from(ORDERS) + 1 && district.deliveries == 0;
        tally.fresh_districts += u64::from(is_fresh);
        let last_new = (new_orders > 0).then_some(last_new);
        let found = [Some(district.last_order), last_new.or(Some(next_order - 1))];
        if found != [Some(next_order - 1); 2] {
            let found = last_new.map_or("none".to_owned(), |last| last.to_string());
            let found = format!("{} / {found}", district.last_order);
            tally.note_broken(RuleId::C2, key, found, next_order - 1);
        }
        if new_orders > 0 {
            let span = district.last_new - district.first_new + 1;
            tally.compare(RuleId::C3, new_orders, span, key);
        }
        tally.compare(RuleId::C4, district.said_lines, district.lines, key);
        tally.compare(RuleId::C9, year_to_date, district.history, key);
        tally.compare(RuleId::C11, orders - new_orders, DELIVERED, key);
        tally.compare(RuleId::X11, orders - new_orders, DELIVERED + district.deliveries, key);
        tally.compare(RuleId::R1, district.customers, i64::from(CUSTOMERS), || key() + ": c");
    }
}
