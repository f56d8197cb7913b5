//! What the specification asks of a run besides speed: that inputs have their shares, that terminals keep their pace. Counted by
//! each terminal, summed when the load has ended; whether a number will do is for those who read it.
//! Source: TPC-C 5.11, clauses 5.2.3, 5.2.5, 5.4.5 and 5.5.1.5.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::inputs::{CustomerInput, TransactionInput, TransactionKind};
use super::options::TpccSettings;
use super::schema::DISTRICTS;
use super::transactions::TransactionEnding;
use super::worker::RETRIED;
use crate::base::Nanos;
use crate::recorder::{AuditBand, AuditCount, DurationCounts, LatencyLimit, LoadAudit, NamedRate};

/// Name of the class of deliveries that a terminal has queued.
pub(super) const DEFERRED_NAME: &str = "deferred_delivery";
/// So many transactions, times the root of the number of terminals, tell a share of the mix from its bound: decks are exact,
/// and the one that each terminal has not dealt to its end adds three standard deviations of at most 3.8 payments, where the
/// shares are 0.33 % and more above their bounds (0.17 % for the small shares, at 1.6 cards).
const DECK_SAMPLES: f64 = 3_500.0;
/// Bins of the think times after new orders, and their width in seconds at full scale: up to four times the mean, as clause
/// 5.6.3 wants it drawn.
const THINK_BINS: usize = 96;
const THINK_BIN_S: f64 = 0.5;
/// Most new orders a minute that a warehouse's ten terminals can enter: 12.86 (clause 4.2.1).
const MOST_ORDERS_PER_MINUTE: f64 = 12.86;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What one terminal has counted. Only it adds.
        #[derive(Debug, Default)]
        pub(super) struct AuditCounts { $($(#[$doc])* $name: AtomicU64,)* }

        /// The sum over all terminals.
        #[derive(Clone, Copy, Debug, Default)]
        struct AuditSums { $($name: u64,)* }

        impl AuditSums {
            fn add(&mut self, counts: &AuditCounts) {
                $(self.$name += counts.$name.load(Ordering::Relaxed);)*
            }
        }
    };
}

counts! {
    new_orders,
    /// New orders with an item that is not there.
    rolled_back,
    lines,
    remote_lines,
    payments,
    remote_payments,
    payments_by_name,
    order_statuses,
    statuses_by_name,
    deliveries,
    /// Deliveries that found a district without an order.
    skipped_deliveries,
    stock_levels,
    /// Of paced new orders: how many, and the sum of their think times in nanoseconds.
    thoughts,
    think_ns,
}

fn bump(count: &AtomicU64, by: u64) {
    // One writer: no need for more.
    count.store(count.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

impl AuditCounts {
    /// A transaction was done.
    pub(super) fn note_done(&self, input: &TransactionInput, warehouse: u32) {
        match input {
            TransactionInput::NewOrder(order) => {
                let remote = order.lines().iter().filter(|l| l.supply_warehouse != warehouse);
                bump(&self.new_orders, 1);
                bump(&self.rolled_back, u64::from(order.is_rolled_back()));
                bump(&self.lines, order.lines().len() as u64);
                bump(&self.remote_lines, remote.count() as u64);
            }
            TransactionInput::Payment(payment) => {
                let is_by_name = matches!(payment.customer, CustomerInput::LastName(_));
                bump(&self.payments, 1);
                bump(&self.remote_payments, u64::from(payment.customer_warehouse != warehouse));
                bump(&self.payments_by_name, u64::from(is_by_name));
            }
            TransactionInput::OrderStatus(status) => {
                let is_by_name = matches!(status.customer, CustomerInput::LastName(_));
                bump(&self.order_statuses, 1);
                bump(&self.statuses_by_name, u64::from(is_by_name));
            }
            TransactionInput::Delivery { .. } => bump(&self.deliveries, 1),
            TransactionInput::StockLevel { .. } => bump(&self.stock_levels, 1),
        }
    }

    /// How it ended.
    pub(super) fn note_ending(&self, ending: &TransactionEnding) {
        if let TransactionEnding::Delivered { orders } = ending {
            bump(&self.skipped_deliveries, u64::from(orders.contains(&0)));
        }
    }

    /// A terminal has thought about the answer to a new order.
    pub(super) fn note_thought(&self, think: Nanos) {
        bump(&self.thoughts, 1);
        bump(&self.think_ns, think.0);
    }
}

/// The counts of all terminals of a load.
#[derive(Debug)]
pub(super) struct AuditBook {
    counts: Mutex<Vec<Arc<AuditCounts>>>,
    /// Think times after new orders, by bin; the last one holds the longer ones.
    thinks: [AtomicU64; THINK_BINS + 1],
}

impl Default for AuditBook {
    fn default() -> AuditBook {
        AuditBook { counts: Mutex::default(), thinks: [const { AtomicU64::new(0) }; _] }
    }
}

impl AuditBook {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<AuditCounts>>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A load begins.
    pub(super) fn clear(&self) {
        self.lock().clear();
        self.thinks.iter().for_each(|bin| bin.store(0, Ordering::Relaxed));
    }

    /// A terminal has thought about the answer to a new order. Terminals share the bins, as they think seldom.
    pub(super) fn note_think(&self, think: Nanos, time_scale: f64) {
        let width = THINK_BIN_S * time_scale;
        let bin = if width > 0.0 { (think.to_seconds() / width) as usize } else { 0 };
        self.thinks[bin.min(THINK_BINS)].fetch_add(1, Ordering::Relaxed);
    }

    /// Clause 5.6.3.
    fn think_times(&self, settings: &TpccSettings) -> Option<DurationCounts> {
        let mut counts: Vec<u64> =
            self.thinks.iter().map(|bin| bin.load(Ordering::Relaxed)).collect();
        if settings.time_scale <= 0.0 || counts.iter().all(|count| *count == 0) {
            return None;
        }
        Some(DurationCounts {
            clause: "5.6.3".to_owned(),
            label: "think time, new order".to_owned(),
            bin_s: THINK_BIN_S * settings.time_scale,
            longer: counts.pop().unwrap_or(0),
            counts,
        })
    }

    /// The counts of one more terminal.
    pub(super) fn new_counts(&self) -> Arc<AuditCounts> {
        let counts = Arc::new(AuditCounts::default());
        self.lock().push(Arc::clone(&counts));
        counts
    }

    /// What was counted, with what the specification wants.
    pub(super) fn sum_up(&self, settings: &TpccSettings, warehouses: u32) -> LoadAudit {
        let mut sums = AuditSums::default();
        self.lock().iter().for_each(|counts| sums.add(counts));
        let terminals = match settings.paced {
            true => (warehouses * DISTRICTS) as usize,
            false => self.lock().len(),
        };
        let durations = self.think_times(settings).into_iter().collect();
        LoadAudit { durations, ..sums.into_audit(settings, warehouses, terminals) }
    }
}

/// A share in percent, and how many samples it takes to tell it from its bounds at three standard deviations.
fn share(
    clause: &'static str,
    label: &str,
    (count, of): (u64, u64),
    (low, high): (f64, Option<f64>),
    samples: u64,
) -> AuditCount {
    AuditCount {
        clause: clause.to_owned(),
        label: label.to_owned(),
        unit: "%".to_owned(),
        count,
        of,
        factor: 100.0,
        band: AuditBand { low, high },
        samples_needed: samples,
    }
}

/// Clause 5.2.5.3.
fn latency_limits(is_paced: bool) -> Vec<LatencyLimit> {
    let limit = |class: &str, most_s| LatencyLimit {
        clause: "5.2.5.3".to_owned(),
        class: class.to_owned(),
        percentile: 90.0,
        most_s,
    };
    let most_s = |kind| if kind == TransactionKind::StockLevel { 20.0 } else { 5.0 };
    let mut limits: Vec<LatencyLimit> =
        TransactionKind::ALL.map(|kind| limit(kind.name(), most_s(kind))).into();
    if is_paced {
        limits.push(limit(DEFERRED_NAME, 80.0));
    }
    limits
}

impl AuditSums {
    fn into_audit(self, settings: &TpccSettings, warehouses: u32, terminals: usize) -> LoadAudit {
        let all = self.new_orders
            + self.payments
            + self.order_statuses
            + self.deliveries
            + self.stock_levels;
        let unfinished = (terminals as f64).sqrt();
        let samples = (DECK_SAMPLES * unfinished) as u64;
        let mix = |label, count, low| share("5.2.3", label, (count, all), (low, None), samples);
        let band = |label, part, low, high, samples| {
            share("5.5.1.5", label, part, (low, Some(high)), samples)
        };
        let mut counts = vec![
            mix("payments", self.payments, 43.0),
            mix("order-status", self.order_statuses, 4.0),
            mix("deliveries", self.deliveries, 4.0),
            mix("stock-level", self.stock_levels, 4.0),
            band("rolled back", (self.rolled_back, self.new_orders), 0.9, 1.1, 89_000),
            AuditCount {
                clause: "5.5.1.5".to_owned(),
                label: "lines per order".to_owned(),
                unit: String::new(),
                count: self.lines,
                of: self.new_orders,
                factor: 1.0,
                band: AuditBand { low: 9.5, high: Some(10.5) },
                samples_needed: 360,
            },
        ];
        if warehouses > 1 {
            let lines = (self.remote_lines, self.lines);
            counts.push(band("remote lines", lines, 0.95, 1.05, 356_000));
            let payments = (self.remote_payments, self.payments);
            counts.push(band("remote payments", payments, 14.0, 16.0, 11_500));
        }
        let by_name = (self.payments_by_name, self.payments);
        counts.push(band("payments by name", by_name, 57.0, 63.0, 2_400));
        let by_name = (self.statuses_by_name, self.order_statuses);
        counts.push(band("status by name", by_name, 57.0, 63.0, 2_400));
        let skipped = (self.skipped_deliveries, self.deliveries);
        let skips = share("5.4.5", "skipping deliveries", skipped, (0.0, Some(1.0)), 900);
        counts.push(skips);
        if settings.paced && self.thoughts > 0 {
            counts.push(AuditCount {
                clause: "5.2.5.4".to_owned(),
                label: "think time, new order".to_owned(),
                unit: "s".to_owned(),
                count: self.think_ns / 1_000_000,
                of: self.thoughts,
                factor: 0.001 / settings.time_scale,
                band: AuditBand { low: 12.0 * 0.98, high: None },
                samples_needed: 22_500,
            });
        }
        LoadAudit {
            header: "TPC-C-like, not audited, not comparable with published results".to_owned(),
            counts,
            rates: self.order_rates(settings, warehouses),
            limits: latency_limits(settings.paced),
            durations: Vec::new(),
            restart_codes: RETRIED.to_vec(),
        }
    }

    /// New orders per minute, by both counts.
    fn order_rates(&self, settings: &TpccSettings, warehouses: u32) -> Vec<NamedRate> {
        let committed = self.new_orders - self.rolled_back;
        let mut rates = vec![
            NamedRate::per_minute("tpmC", "new orders/min, rolled back ones too", self.new_orders),
            NamedRate::per_minute("NOPM", "committed new orders/min", committed),
        ];
        rates[0].class = Some(TransactionKind::NewOrder.name().to_owned());
        if settings.paced && settings.time_scale > 0.0 {
            let most = MOST_ORDERS_PER_MINUTE * f64::from(warehouses) / settings.time_scale;
            rates[0].most_per_minute = Some(most);
        }
        rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_are_counted_in_bins_of_their_scale() {
        let settings = TpccSettings { paced: true, time_scale: 0.1, ..TpccSettings::default() };
        let book = AuditBook::default();
        assert_eq!(book.think_times(&settings), None);
        for milliseconds in [0, 49, 51, 4_799, 4_801, 12_000] {
            book.note_think(Nanos(milliseconds * 1_000_000), settings.time_scale);
        }
        let found = book.think_times(&settings).unwrap();
        assert!((found.bin_s - 0.05).abs() < 1e-12);
        assert_eq!((found.counts.len(), found.counts[0], found.counts[1]), (96, 2, 1));
        assert_eq!((found.counts[95], found.longer), (1, 2));
        book.clear();
        assert_eq!(book.think_times(&settings), None);
    }
}
