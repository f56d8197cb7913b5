//! The rows of a new database: each a function of seed, table and key, as clause 4.3.3 says what is in them.
//!
//! Rows come in groups that follow the primary key: a group is one row, or one order with its lines. Where the specification
//! wants the date and time of the load, rows have [`LOAD_MOMENT`], so that the same seed gives the same bytes on any day.
//! Never knows: how rows reach a server.

mod random_text;
mod sinks;

#[cfg(test)]
mod tests;

pub(super) use self::sinks::{FieldSink, TabbedRows, ValueRows};

use super::load_record::LoadRecord;
use super::nonuniform::{non_uniform, write_last_name};
use super::schema::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS, TpccTable};
use crate::base::random::Rng;

use self::random_text::{put_address, put_data, put_letters, write_digits, write_letters};

/// Date and time of everything that the load makes.
pub(super) const LOAD_MOMENT: &[u8] = b"2026-01-01 00:00:00";
/// Customers of a district with bad credit: a tenth.
const BAD_CREDIT: u16 = CUSTOMERS as u16 / 10;
/// Orders of a district that are not delivered yet.
const NEW_ORDERS: u32 = ORDERS + 1 - FIRST_NEW_ORDER;

/// Streams of random numbers behind those of the tables.
const CUSTOMERS_OF_ORDERS: u64 = 100;
const CREDITS: u64 = 101;

/// Makes rows. Keeps the two orders of chance of the district at hand.
#[derive(Clone, Debug)]
pub(super) struct RowMaker {
    record: LoadRecord,
    /// Customers by order: each of a district has one (clause 4.3.3.1).
    customers: DistrictShuffle,
    /// Places of the customers in an order of chance: the first tenth has bad credit.
    credits: DistrictShuffle,
}

/// The numbers from 0 to 2999 in an order of chance that belongs to one district.
#[derive(Clone, Debug)]
struct DistrictShuffle {
    stream: u64,
    /// Which district; 0 before there is one.
    of: u64,
    places: Vec<u16>,
}

impl DistrictShuffle {
    fn new(stream: u64) -> DistrictShuffle {
        DistrictShuffle { stream, of: 0, places: Vec::new() }
    }

    fn place(&mut self, seed: u64, district: u64, number: u32) -> u16 {
        if self.of != district || self.places.is_empty() {
            self.of = district;
            self.places.clear();
            self.places.extend(0..CUSTOMERS as u16);
            let mut rng = Rng::new(seed, self.stream, district);
            for at in (1..self.places.len()).rev() {
                self.places.swap(at, rng.uniform_below(at as u64 + 1) as usize);
            }
        }
        self.places[number as usize]
    }
}

/// A district's number among all.
fn district_number(warehouse: u32, district: u32) -> u64 {
    u64::from(warehouse) * u64::from(DISTRICTS) + u64::from(district - 1)
}

/// Groups of rows that a table has for each warehouse, the items as a whole.
pub(super) fn group_count(table: TpccTable) -> u32 {
    match table {
        TpccTable::Item | TpccTable::Stock => ITEMS,
        TpccTable::Warehouse => 1,
        TpccTable::District => DISTRICTS,
        TpccTable::Customer | TpccTable::History => DISTRICTS * CUSTOMERS,
        TpccTable::Orders | TpccTable::OrderLine => DISTRICTS * ORDERS,
        TpccTable::NewOrder => DISTRICTS * NEW_ORDERS,
    }
}

impl RowMaker {
    pub(super) fn new(record: LoadRecord) -> RowMaker {
        let customers = DistrictShuffle::new(CUSTOMERS_OF_ORDERS);
        RowMaker { record, customers, credits: DistrictShuffle::new(CREDITS) }
    }

    fn rng(&self, table: TpccTable, key: u64) -> Rng {
        Rng::new(self.record.seed, table as u64, key)
    }

    /// Writes a group of rows, numbered from 0; gives how many rows it has. The warehouse of items is 0.
    pub(super) fn write_group(
        &mut self,
        table: TpccTable,
        warehouse: u32,
        group: u32,
        sink: &mut impl FieldSink,
    ) -> u32 {
        let in_district = |each: u32| (group / each + 1, group % each + 1);
        match table {
            TpccTable::Item => self.write_item(group + 1, sink),
            TpccTable::Warehouse => self.write_warehouse(warehouse, sink),
            TpccTable::District => self.write_district(warehouse, group + 1, sink),
            TpccTable::Customer => {
                let (district, customer) = in_district(CUSTOMERS);
                self.write_customer(warehouse, district, customer, sink);
            }
            TpccTable::History => {
                let (district, customer) = in_district(CUSTOMERS);
                self.write_history(warehouse, district, customer, sink);
            }
            TpccTable::Orders => {
                let (district, order) = in_district(ORDERS);
                self.write_order(warehouse, district, order, sink);
            }
            TpccTable::NewOrder => {
                let (district, order) = in_district(NEW_ORDERS);
                sink.put_number(u64::from(warehouse));
                sink.put_number(u64::from(district));
                sink.put_number(u64::from(order + FIRST_NEW_ORDER - 1));
                sink.end_row();
            }
            TpccTable::OrderLine => {
                let (district, order) = in_district(ORDERS);
                return self.write_lines(warehouse, district, order, sink);
            }
            TpccTable::Stock => self.write_stock(warehouse, group + 1, sink),
        }
        1
    }

    fn write_item(&self, item: u32, sink: &mut impl FieldSink) {
        let rng = &mut self.rng(TpccTable::Item, u64::from(item));
        sink.put_number(u64::from(item));
        sink.put_number(rng.uniform_between(1, 10_000));
        put_letters(sink, rng, 14, 24);
        sink.put_decimal(rng.uniform_between(100, 10_000) as i64, 2);
        put_data(sink, rng);
        sink.end_row();
    }

    fn write_warehouse(&self, warehouse: u32, sink: &mut impl FieldSink) {
        let rng = &mut self.rng(TpccTable::Warehouse, u64::from(warehouse));
        sink.put_number(u64::from(warehouse));
        put_letters(sink, rng, 6, 10);
        put_address(sink, rng);
        sink.put_decimal(rng.uniform_between(0, 2_000) as i64, 4);
        sink.put_decimal(30_000_000, 2);
        sink.end_row();
    }

    fn write_district(&self, warehouse: u32, district: u32, sink: &mut impl FieldSink) {
        let rng = &mut self.rng(TpccTable::District, district_number(warehouse, district));
        sink.put_number(u64::from(warehouse));
        sink.put_number(u64::from(district));
        put_letters(sink, rng, 6, 10);
        put_address(sink, rng);
        sink.put_decimal(rng.uniform_between(0, 2_000) as i64, 4);
        sink.put_decimal(3_000_000, 2);
        sink.put_number(u64::from(ORDERS + 1));
        sink.end_row();
    }

    fn write_customer(
        &mut self,
        warehouse: u32,
        district: u32,
        customer: u32,
        sink: &mut impl FieldSink,
    ) {
        let of = district_number(warehouse, district);
        let place = self.credits.place(self.record.seed, of, customer - 1);
        let key = of * u64::from(CUSTOMERS) + u64::from(customer);
        let rng = &mut self.rng(TpccTable::Customer, key);
        sink.put_number(u64::from(warehouse));
        sink.put_number(u64::from(district));
        sink.put_number(u64::from(customer));
        put_letters(sink, rng, 8, 16);
        sink.put_bytes(b"OE");
        let name = match customer {
            1..=1000 => customer - 1,
            _ => non_uniform(rng, 255, 0, 999, self.record.constants.last_name_load),
        };
        let mut last = [0; 16];
        let length = write_last_name(name, &mut last);
        sink.put_bytes(&last[..length]);
        put_address(sink, rng);
        sink.put_text(16, |out| write_digits(rng, out));
        sink.put_bytes(LOAD_MOMENT);
        sink.put_bytes(if place < BAD_CREDIT { b"BC" } else { b"GC" });
        sink.put_decimal(5_000_000, 2);
        sink.put_decimal(rng.uniform_between(0, 5_000) as i64, 4);
        sink.put_decimal(-1_000, 2);
        sink.put_decimal(1_000, 2);
        sink.put_number(1);
        sink.put_number(0);
        put_letters(sink, rng, 300, 500);
        sink.end_row();
    }

    fn write_history(
        &self,
        warehouse: u32,
        district: u32,
        customer: u32,
        sink: &mut impl FieldSink,
    ) {
        let of = district_number(warehouse, district);
        let key = of * u64::from(CUSTOMERS) + u64::from(customer);
        let rng = &mut self.rng(TpccTable::History, key);
        sink.put_number(u64::from(customer));
        for _ in 0..2 {
            sink.put_number(u64::from(district));
            sink.put_number(u64::from(warehouse));
        }
        sink.put_bytes(LOAD_MOMENT);
        sink.put_decimal(1_000, 2);
        put_letters(sink, rng, 12, 24);
        sink.end_row();
    }

    /// Lines of an order: the first thing that its stream of random numbers says.
    fn line_count(rng: &mut Rng) -> u32 {
        rng.uniform_between(5, 15) as u32
    }

    fn order_key(warehouse: u32, district: u32, order: u32) -> u64 {
        district_number(warehouse, district) * u64::from(ORDERS) + u64::from(order)
    }

    fn write_order(
        &mut self,
        warehouse: u32,
        district: u32,
        order: u32,
        sink: &mut impl FieldSink,
    ) {
        let of = district_number(warehouse, district);
        let customer = self.customers.place(self.record.seed, of, order - 1) + 1;
        let rng = &mut self.rng(TpccTable::Orders, Self::order_key(warehouse, district, order));
        let lines = Self::line_count(rng);
        sink.put_number(u64::from(warehouse));
        sink.put_number(u64::from(district));
        sink.put_number(u64::from(order));
        sink.put_number(u64::from(customer));
        sink.put_bytes(LOAD_MOMENT);
        if order < FIRST_NEW_ORDER {
            sink.put_number(rng.uniform_between(1, 10));
        } else {
            sink.put_null();
        }
        sink.put_number(u64::from(lines));
        sink.put_number(1);
        sink.end_row();
    }

    fn write_lines(
        &self,
        warehouse: u32,
        district: u32,
        order: u32,
        sink: &mut impl FieldSink,
    ) -> u32 {
        let key = Self::order_key(warehouse, district, order);
        let lines = Self::line_count(&mut self.rng(TpccTable::Orders, key));
        for line in 1..=lines {
            let rng = &mut self.rng(TpccTable::OrderLine, key * 16 + u64::from(line));
            sink.put_number(u64::from(warehouse));
            sink.put_number(u64::from(district));
            sink.put_number(u64::from(order));
            sink.put_number(u64::from(line));
            sink.put_number(rng.uniform_between(1, u64::from(ITEMS)));
            sink.put_number(u64::from(warehouse));
            if order < FIRST_NEW_ORDER {
                sink.put_bytes(LOAD_MOMENT);
            } else {
                sink.put_null();
            }
            sink.put_number(5);
            let amount = if order < FIRST_NEW_ORDER { 0 } else { rng.uniform_between(1, 999_999) };
            sink.put_decimal(amount as i64, 2);
            sink.put_text(24, |out| write_letters(rng, out));
            sink.end_row();
        }
        lines
    }

    fn write_stock(&self, warehouse: u32, item: u32, sink: &mut impl FieldSink) {
        let key = u64::from(warehouse) * u64::from(ITEMS) + u64::from(item);
        let rng = &mut self.rng(TpccTable::Stock, key);
        sink.put_number(u64::from(warehouse));
        sink.put_number(u64::from(item));
        sink.put_number(rng.uniform_between(10, 100));
        for _ in 0..DISTRICTS {
            sink.put_text(24, |out| write_letters(rng, out));
        }
        for _ in 0..3 {
            sink.put_number(0);
        }
        put_data(sink, rng);
        sink.end_row();
    }
}
