//! Replies of web servers, in pieces: nothing breaks, and however the bytes come they mean the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sweat::client::{HttpUrl, ReplyLimits, ReplyScan, ReplySink, ScanProgress};

/// Sum of a body's bytes, and how many there were.
#[derive(Default, PartialEq, Debug)]
struct BodySum(u64, u64);

impl ReplySink for BodySum {
    fn take_body(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.wrapping_mul(31).wrapping_add(u64::from(*byte));
        }
        self.1 += bytes.len() as u64;
    }
}

/// The body, and how many bytes the reply took; nothing where it is malformed or has not ended.
fn scan(text: &[u8], piece: usize, is_head: bool) -> Option<(BodySum, usize, u16, bool)> {
    let (mut scan, mut sum, mut taken) = (ReplyScan::default(), BodySum::default(), 0);
    scan.start_reply(ReplyLimits { is_head, most_body: 1 << 16, is_http10: false });
    for bytes in text.chunks(piece) {
        match scan.feed_bytes(bytes, &mut sum) {
            Err(_) => return None,
            Ok(ScanProgress::More) => taken += bytes.len(),
            Ok(ScanProgress::Done { used }) => {
                assert!(used <= bytes.len());
                return Some((sum, taken + used, scan.status(), scan.keeps_alive()));
            }
        }
    }
    assert!(scan.body_bytes() <= 1 << 16 && sum.1 == scan.body_bytes());
    scan.ends_with_connection().then(|| (sum, taken, scan.status(), scan.keeps_alive()))
}

fuzz_target!(|data: &[u8]| {
    let Some((how, text)) = data.split_first() else { return };
    let is_head = how & 0x80 != 0;
    let whole = scan(text, text.len().max(1), is_head);
    assert_eq!(whole, scan(text, 1 + usize::from(how & 0x7F), is_head));
    if let Ok(text) = std::str::from_utf8(text) {
        if let Ok(url) = HttpUrl::from_text(text) {
            assert_eq!(HttpUrl::from_text(&url.full_text()), Ok(url.clone()));
        }
    }
});
