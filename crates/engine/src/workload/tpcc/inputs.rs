//! What terminals key in: the five transactions with their values.
//! Source: TPC-C 5.11, clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1.

use super::nonuniform::NonUniformConstants;
use super::schema::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::base::random::Rng;

/// Most lines of an order.
pub(super) const MOST_LINES: usize = 15;
/// An item that is not there: the order is rolled back.
pub(super) const UNUSED_ITEM: u32 = ITEMS + 1;

/// The five transactions; their order is that of the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionKind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl TransactionKind {
    pub(super) const ALL: [TransactionKind; 5] = [
        TransactionKind::NewOrder,
        TransactionKind::Payment,
        TransactionKind::OrderStatus,
        TransactionKind::Delivery,
        TransactionKind::StockLevel,
    ];

    /// Name of the class.
    pub(super) fn name(self) -> &'static str {
        match self {
            TransactionKind::NewOrder => "new_order",
            TransactionKind::Payment => "payment",
            TransactionKind::OrderStatus => "order_status",
            TransactionKind::Delivery => "delivery",
            TransactionKind::StockLevel => "stock_level",
        }
    }

    /// Keying time in seconds (clause 5.2.5.2).
    pub(super) fn keying_s(self) -> f64 {
        match self {
            TransactionKind::NewOrder => 18.0,
            TransactionKind::Payment => 3.0,
            _ => 2.0,
        }
    }

    /// Mean think time in seconds (clause 5.2.5.4).
    pub(super) fn think_s(self) -> f64 {
        match self {
            TransactionKind::NewOrder | TransactionKind::Payment => 12.0,
            TransactionKind::OrderStatus => 10.0,
            TransactionKind::Delivery | TransactionKind::StockLevel => 5.0,
        }
    }
}

/// One line of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineInput {
    pub(super) item: u32,
    pub(super) supply_warehouse: u32,
    pub(super) quantity: u32,
}

/// How a customer is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CustomerInput {
    Id(u32),
    /// The number of a last name, 0 to 999.
    LastName(u32),
}

/// Clause 2.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NewOrderInput {
    pub(super) district: u32,
    pub(super) customer: u32,
    lines: [LineInput; MOST_LINES],
    count: usize,
}

impl NewOrderInput {
    /// The lines in the order of their numbers.
    pub(super) fn lines(&self) -> &[LineInput] {
        &self.lines[..self.count]
    }

    /// Whether it ends in an item that is not there.
    pub(super) fn is_rolled_back(&self) -> bool {
        self.lines[self.count - 1].item == UNUSED_ITEM
    }

    /// Whether all lines are supplied by this warehouse.
    pub(super) fn is_local(&self, warehouse: u32) -> bool {
        self.lines().iter().all(|line| line.supply_warehouse == warehouse)
    }
}

/// Clause 2.5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PaymentInput {
    pub(super) district: u32,
    pub(super) customer_warehouse: u32,
    pub(super) customer_district: u32,
    pub(super) customer: CustomerInput,
    pub(super) amount_cents: u32,
}

/// Clause 2.6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrderStatusInput {
    pub(super) district: u32,
    pub(super) customer: CustomerInput,
}

/// A transaction with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransactionInput {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    /// The carrier, 1 to 10.
    Delivery {
        carrier: u32,
    },
    /// The threshold, 10 to 20.
    StockLevel {
        threshold: u32,
    },
}

/// Draws what one terminal keys in. Its warehouse stays the same for as long as it runs (clause 2.4.1.1).
#[derive(Clone, Debug)]
pub(super) struct InputGenerator {
    pub(super) rng: Rng,
    pub(super) constants: NonUniformConstants,
    /// The terminal's own.
    pub(super) warehouse: u32,
    /// All that there are.
    pub(super) warehouses: u32,
}

impl InputGenerator {
    pub(super) fn draw(&mut self, kind: TransactionKind) -> TransactionInput {
        match kind {
            TransactionKind::NewOrder => TransactionInput::NewOrder(self.draw_new_order()),
            TransactionKind::Payment => TransactionInput::Payment(self.draw_payment()),
            TransactionKind::OrderStatus => TransactionInput::OrderStatus(OrderStatusInput {
                district: self.draw_between(1, DISTRICTS),
                customer: self.draw_customer(),
            }),
            TransactionKind::Delivery => {
                TransactionInput::Delivery { carrier: self.draw_between(1, 10) }
            }
            TransactionKind::StockLevel => {
                TransactionInput::StockLevel { threshold: self.draw_between(10, 20) }
            }
        }
    }

    fn draw_new_order(&mut self) -> NewOrderInput {
        let district = self.draw_between(1, DISTRICTS);
        let customer = self.constants.draw_customer(&mut self.rng);
        let count = self.draw_between(5, MOST_LINES as u32) as usize;
        let is_rolled_back = self.draw_between(1, 100) == 1;
        let mut lines = [LineInput::default(); MOST_LINES];
        for line in &mut lines[..count] {
            line.item = self.constants.draw_item(&mut self.rng);
            let is_remote = self.draw_between(1, 100) == 1;
            line.supply_warehouse =
                if is_remote { self.draw_other_warehouse() } else { self.warehouse };
            line.quantity = self.draw_between(1, 10);
        }
        if is_rolled_back {
            lines[count - 1].item = UNUSED_ITEM;
        }
        NewOrderInput { district, customer, lines, count }
    }

    fn draw_payment(&mut self) -> PaymentInput {
        let district = self.draw_between(1, DISTRICTS);
        let is_remote = self.warehouses > 1 && self.draw_between(1, 100) > 85;
        let (customer_warehouse, customer_district) = match is_remote {
            true => (self.draw_other_warehouse(), self.draw_between(1, DISTRICTS)),
            false => (self.warehouse, district),
        };
        PaymentInput {
            district,
            customer_warehouse,
            customer_district,
            customer: self.draw_customer(),
            amount_cents: self.draw_between(100, 500_000),
        }
    }

    fn draw_customer(&mut self) -> CustomerInput {
        match self.draw_between(1, 100) <= 60 {
            true => CustomerInput::LastName(self.constants.draw_last_name(&mut self.rng)),
            false => CustomerInput::Id(self.constants.draw_customer(&mut self.rng)),
        }
    }

    /// Another warehouse than the terminal's own, where there is one.
    fn draw_other_warehouse(&mut self) -> u32 {
        if self.warehouses <= 1 {
            return self.warehouse;
        }
        let other = self.draw_between(1, self.warehouses - 1);
        if other < self.warehouse { other } else { other + 1 }
    }

    fn draw_between(&mut self, low: u32, high: u32) -> u32 {
        self.rng.uniform_between(u64::from(low), u64::from(high)) as u32
    }
}

const _: () = assert!(CUSTOMERS == 3_000, "the range that customers are drawn from");

#[cfg(test)]
mod tests {
    use super::*;

    fn generator(warehouse: u32, warehouses: u32) -> InputGenerator {
        let constants = NonUniformConstants::from_seed(3);
        InputGenerator { rng: Rng::new(1, 2, 3), constants, warehouse, warehouses }
    }

    #[test]
    fn a_million_inputs_keep_the_bands_of_the_specification() {
        // Clause 5.5.1.5.
        let mut generator = generator(3, 5);
        let (mut orders, mut rolled_back, mut lines, mut remote) = (0u32, 0, 0u32, 0);
        let mut by_count = [0u32; MOST_LINES + 1];
        for _ in 0..1_000_000 {
            let order = generator.draw_new_order();
            orders += 1;
            rolled_back += u32::from(order.is_rolled_back());
            by_count[order.lines().len()] += 1;
            for line in order.lines() {
                lines += 1;
                remote += u32::from(line.supply_warehouse != 3);
                assert!((1..=5).contains(&line.supply_warehouse));
                assert!((1..=10).contains(&line.quantity));
            }
        }
        let percent = |part: u32, of: u32| 100.0 * f64::from(part) / f64::from(of);
        assert!((0.95..1.05).contains(&percent(rolled_back, orders)));
        assert!((0.95..1.05).contains(&percent(remote, lines)));
        assert!((9.95..10.05).contains(&(f64::from(lines) / f64::from(orders))));
        for (count, of_it) in by_count.into_iter().enumerate().skip(5) {
            assert!((9.0..9.2).contains(&percent(of_it, orders)), "{count}");
        }
    }

    #[test]
    fn a_million_payments_keep_their_bands() {
        let mut generator = generator(1, 4);
        let (mut remote, mut by_name, mut other_district) = (0u32, 0, 0);
        for _ in 0..1_000_000 {
            let payment = generator.draw_payment();
            let is_remote = payment.customer_warehouse != 1;
            remote += u32::from(is_remote);
            by_name += u32::from(matches!(payment.customer, CustomerInput::LastName(_)));
            other_district += u32::from(payment.customer_district != payment.district);
            assert!((100..=500_000).contains(&payment.amount_cents));
            assert!(is_remote || payment.customer_district == payment.district);
        }
        assert!((148_500..151_500).contains(&remote), "{remote}");
        assert!((597_000..603_000).contains(&by_name), "{by_name}");
        assert!((133_000..137_000).contains(&other_district), "nine of ten of the remote ones");
    }

    #[test]
    fn one_warehouse_is_all_there_is() {
        let mut generator = generator(1, 1);
        for _ in 0..10_000 {
            assert!(generator.draw_new_order().is_local(1));
            assert_eq!(generator.draw_payment().customer_warehouse, 1);
        }
    }
}
