//! When a scan goes slower, waits, or has done enough. Pure.

use crate::base::Nanos;
use crate::base::units::show_bytes;
use crate::warm::PoolStatus;

/// When the pool counts as full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::warm) enum FillLimit {
    /// When its free pages are gone.
    Whole,
    /// When this share of it holds data, 0 to 1.
    Share(f64),
    /// Never: pages of others may go.
    Endless,
}

impl FillLimit {
    /// Reads `90%`, `on` (free pages gone) or `off`.
    pub(super) fn parse_fill(text: &str) -> Option<FillLimit> {
        match text.trim() {
            "" | "on" => Some(FillLimit::Whole),
            "off" => Some(FillLimit::Endless),
            text => {
                let percent: f64 = text.strip_suffix('%').unwrap_or(text).trim().parse().ok()?;
                (percent > 0.0 && percent <= 100.0).then_some(FillLimit::Share(percent / 100.0))
            }
        }
    }

    /// Why the pool took no more, in words, from a look at it just after.
    pub(super) fn full_reason(self, after: &PoolStatus) -> String {
        match self {
            // Servers give up a few pages right after.
            FillLimit::Share(share) if after.data_share() + 0.02 >= share => {
                format!("{:.0} % of the pool holds data, as asked", share * 100.0)
            }
            _ if after.pages_free * 20 <= after.pages_total => "the pool is full".to_owned(),
            _ => format!(
                "the pool takes no more: the server keeps {} of {} free and gives up pages for \
                 new ones (innodb_lru_scan_depth)",
                show_bytes(after.pages_free * after.page_bytes),
                show_bytes(after.total_bytes())
            ),
        }
    }

    /// Whether enough was read since a look to tell by it whether the pool still grows.
    pub(super) fn can_tell(before: &PoolStatus, now: &PoolStatus) -> bool {
        now.pages_read.saturating_sub(before.pages_read) > (now.pages_total / 128).max(64)
    }

    /// Pages that may begin before the next look at the pool.
    pub(super) fn page_allowance(self, now: &PoolStatus) -> u64 {
        match self.remaining_pages(now) {
            u64::MAX => u64::MAX,
            pages => (pages / 2).max(64),
        }
    }

    /// Pages that still go into the pool.
    pub(in crate::warm) fn remaining_pages(self, now: &PoolStatus) -> u64 {
        match self {
            FillLimit::Endless => u64::MAX,
            FillLimit::Whole => now.pages_free,
            FillLimit::Share(share) => {
                let wanted = (now.pages_total as f64 * share) as u64;
                wanted.saturating_sub(now.pages_data).min(now.pages_free)
            }
        }
    }

    /// Whether the pool is full. Servers keep some pages free at all times by giving up old ones: then reads go
    /// on, and the number of pages with data does not.
    pub(super) fn is_full(self, before: &PoolStatus, now: &PoolStatus) -> bool {
        let gone = now.pages_free <= (now.pages_total / 256).max(16);
        let read = now.pages_read.saturating_sub(before.pages_read);
        let grown = now.pages_data.saturating_sub(before.pages_data);
        let low = now.pages_free <= (now.pages_total / 2).max(2_048);
        let traded = low && FillLimit::can_tell(before, now) && grown < read / 2;
        match self {
            FillLimit::Endless => false,
            FillLimit::Whole => gone || traded,
            FillLimit::Share(share) => now.data_share() >= share || gone || traded,
        }
    }
}

/// How long until the next look at the pool, given what was read since the last one and how long ago that was.
pub(super) fn next_check_delay(now: &PoolStatus, read: u64, since: Nanos) -> Nanos {
    const SOON: u64 = 10_000_000;
    const LATE: u64 = 100_000_000;
    let until_full = now.pages_free as f64 / read.max(1) as f64 * since.0 as f64;
    Nanos((until_full / 4.0) as u64).clamp(Nanos(SOON), Nanos(LATE))
}

/// A limit on what is read per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::warm) struct PageRate {
    /// Pages per second; infinite for no limit.
    pub pages: f64,
}

impl PageRate {
    /// When a piece may begin, given the pages of all pieces begun before it, counted from the scan's start.
    pub(in crate::warm) fn due_time(self, began: Nanos, pages_before: u64) -> Nanos {
        if self.pages.is_finite() {
            began + Nanos((pages_before as f64 / self.pages * 1e9) as u64)
        } else {
            began
        }
    }

    /// The largest piece under this limit: what half a second may read.
    pub(in crate::warm) fn largest_piece(self) -> u64 {
        if self.pages.is_finite() { ((self.pages / 2.0) as u64).max(1) } else { u64::MAX }
    }
}

/// Pages of one piece of an index: small enough to keep all sessions busy to the end and to stop soon when the
/// pool is full, large enough that read-ahead and the statement's own cost do not matter.
pub(super) fn piece_pages(index_pages: u64, sessions: u64, pool_pages: u64, rate: PageRate) -> u64 {
    const LEAST: u64 = 256;
    const MOST: u64 = 4_096;
    let shared = index_pages / (sessions.max(1) * 6);
    let polite = (pool_pages / 64).max(64);
    shared.clamp(LEAST, MOST).min(polite).min(rate.largest_piece())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(free: u64, data: u64, read: u64) -> PoolStatus {
        PoolStatus {
            pages_total: 16_384,
            pages_free: free,
            pages_data: data,
            pages_read: read,
            ..PoolStatus::default()
        }
    }

    #[test]
    fn fill_is_read() {
        assert_eq!(FillLimit::parse_fill("90%"), Some(FillLimit::Share(0.9)));
        assert_eq!(FillLimit::parse_fill("on"), Some(FillLimit::Whole));
        assert_eq!(FillLimit::parse_fill("off"), Some(FillLimit::Endless));
        assert_eq!(FillLimit::parse_fill("0%"), None);
        assert_eq!(FillLimit::parse_fill("120%"), None);
        assert_eq!(FillLimit::parse_fill("full"), None);
    }

    #[test]
    fn full_is_when_free_pages_are_gone() {
        let start = pool(16_000, 300, 0);
        assert!(!FillLimit::Whole.is_full(&start, &pool(2_000, 14_300, 14_000)));
        assert!(FillLimit::Whole.is_full(&start, &pool(30, 16_300, 16_000)));
        assert!(!FillLimit::Endless.is_full(&start, &pool(0, 16_384, 90_000)));
    }

    #[test]
    fn full_is_also_when_the_server_trades_old_pages_for_new_ones() {
        let before = pool(1_000, 15_000, 20_000);
        assert!(FillLimit::Whole.is_full(&before, &pool(1_000, 15_010, 20_600)));
        assert!(!FillLimit::Whole.is_full(&before, &pool(400, 15_590, 20_600)));
        assert!(
            !FillLimit::Whole.is_full(&before, &pool(1_000, 15_010, 20_050)),
            "too few to tell"
        );
    }

    #[test]
    fn a_pool_that_is_kept_partly_free_is_not_called_full() {
        let said = |fill: FillLimit, free, data| {
            fill.full_reason(&PoolStatus { page_bytes: 16_384, ..pool(free, data, 0) })
        };
        assert_eq!(said(FillLimit::Whole, 30, 16_300), "the pool is full");
        let kept = said(FillLimit::Whole, 6_000, 10_300);
        assert!(kept.starts_with("the pool takes no more: the server keeps 93.8 MiB"), "{kept}");
        assert!(kept.contains("innodb_lru_scan_depth"), "{kept}");
        assert_eq!(
            said(FillLimit::Share(0.9), 1_800, 14_600),
            "90 % of the pool holds data, as asked"
        );
        assert_eq!(said(FillLimit::Share(0.9), 6_000, 10_300), kept, "70 % are not 90 %");
        assert_eq!(said(FillLimit::Share(0.99), 30, 15_800), "the pool is full");
    }

    #[test]
    fn a_share_ends_the_scan_before_the_pool_is_full() {
        let start = pool(16_000, 300, 0);
        let half = FillLimit::Share(0.5);
        assert!(!half.is_full(&start, &pool(8_400, 7_900, 7_600)));
        assert!(half.is_full(&start, &pool(8_100, 8_200, 7_900)));
    }

    #[test]
    fn looks_come_closer_as_the_pool_fills() {
        let since = Nanos(20_000_000);
        assert_eq!(next_check_delay(&pool(16_000, 300, 0), 0, since), Nanos(100_000_000));
        assert_eq!(next_check_delay(&pool(8_000, 300, 0), 2_000, since), Nanos(20_000_000));
        assert_eq!(next_check_delay(&pool(100, 300, 0), 2_000, since), Nanos(10_000_000));
    }

    #[test]
    fn what_may_begin_shrinks_as_the_pool_fills() {
        assert_eq!(FillLimit::Whole.page_allowance(&pool(8_000, 8_000, 0)), 4_000);
        assert_eq!(FillLimit::Whole.page_allowance(&pool(10, 16_000, 0)), 64);
        assert_eq!(FillLimit::Share(0.5).page_allowance(&pool(8_384, 8_000, 0)), 96);
        assert_eq!(FillLimit::Endless.page_allowance(&pool(0, 16_384, 0)), u64::MAX);
        assert_eq!(FillLimit::Whole.remaining_pages(&pool(8_000, 8_000, 0)), 8_000);
        assert_eq!(FillLimit::Share(0.5).remaining_pages(&pool(8_384, 8_000, 0)), 192);
    }

    #[test]
    fn the_rate_gives_each_piece_its_time() {
        let rate = PageRate { pages: 1_000.0 };
        assert_eq!(rate.due_time(Nanos(5), 0), Nanos(5));
        assert_eq!(rate.due_time(Nanos(5), 500), Nanos(500_000_005));
        assert_eq!(PageRate { pages: f64::INFINITY }.due_time(Nanos(5), 1 << 40), Nanos(5));
        assert_eq!(rate.largest_piece(), 500);
    }

    #[test]
    fn pieces_are_neither_tiny_nor_huge() {
        let free = PageRate { pages: f64::INFINITY };
        assert_eq!(piece_pages(100, 4, 1 << 20, free), 256);
        assert_eq!(piece_pages(24_000, 4, 1 << 20, free), 1_000);
        assert_eq!(piece_pages(10_000_000, 4, 1 << 20, free), 4_096);
        assert_eq!(piece_pages(10_000_000, 4, 16_384, free), 256, "a small pool must not overflow");
        assert_eq!(piece_pages(24_000, 4, 1 << 20, PageRate { pages: 100.0 }), 50);
    }
}
