//! One value being drawn by its rule, into memory that is used again.

use std::sync::atomic::Ordering;

use super::draw::{
    DrawPart, DrawRule, GrowingSampler, SlotFormula, draw_length, fill_ycsb_text, hash_bytes,
    write_scalar, ycsb_key_number,
};
use super::formula::Scalar;
use super::pieces::date_of_days;
use super::spec::{LawSpec, LengthSpec, YcsbKeyForm};
use super::values::{CellKind, DrawSite, ValueCell, ValueState};
use crate::base::Clock as _;
use crate::base::random::Rng;

/// One value being drawn.
pub(super) struct DrawContext<'a, 'p> {
    pub(super) state: &'a ValueState<'p>,
    pub(super) rng: &'a mut Rng,
    /// How far the value is in what it takes in turn.
    pub(super) position: &'a mut u64,
    /// What it draws from where the range changes.
    pub(super) growing: &'a mut Option<Box<GrowingSampler>>,
}

impl DrawContext<'_, '_> {
    pub(super) fn draw(&mut self, rule: &DrawRule, cell: &mut ValueCell) {
        let table = self.state.table;
        match rule {
            DrawRule::Constant => {}
            DrawRule::Keys(keys) => cell.kind = CellKind::Int(keys.draw(self.rng)),
            DrawRule::Between(low, high) => self.draw_between(low, high, cell),
            DrawRule::Growing { low, high, law } => self.draw_growing(low, high, *law, cell),
            DrawRule::LastUnique { counter } => {
                let settled = table.settled[*counter].as_ref();
                cell.kind = settled.map_or(CellKind::Null, |of| CellKind::Int(of.last()));
            }
            DrawRule::Real { low, high, digits } => self.draw_real(low, high, *digits, cell),
            DrawRule::Letters { length, letters } => {
                cell.kind = CellKind::Text;
                for _ in 0..draw_length(length, self.rng) {
                    cell.text.push(letters[self.rng.uniform_below(letters.len() as u64) as usize]);
                }
            }
            DrawRule::Words { length, data } => self.draw_words(length, *data, cell),
            DrawRule::Pattern(pattern) => self.draw_pattern(pattern, cell),
            DrawRule::Template(parts) => self.draw_template(parts, cell),
            DrawRule::Pick { data, keys } => {
                let row = keys.draw(self.rng) as usize;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::PickNext { data } => {
                let rows = table.dictionaries[*data].row_count() as u64;
                let row = (*self.position % rows) as usize;
                *self.position += 1;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::PickShared { data } => {
                let taken = match self.state.site {
                    DrawSite::Row { row, .. } => row - 1,
                    DrawSite::Worker { .. } => table.shared[*data].fetch_add(1, Ordering::Relaxed),
                };
                let row = (taken % table.dictionaries[*data].row_count() as u64) as usize;
                cell.kind = CellKind::Entry { data: *data, row };
            }
            DrawRule::Unique { counter, is_shared } => {
                self.draw_unique(*counter, *is_shared, cell);
            }
            DrawRule::Uuid { version } => self.draw_uuid(*version, cell),
            DrawRule::Time { low, high } => {
                let drawn = self.rng.uniform_between(0, (high - low) as u64) as i64;
                write_moment(low + drawn, cell);
            }
            DrawRule::Mixture { total, rules } => {
                let mut at = self.rng.uniform_fraction() * total;
                let last = &rules[rules.len() - 1].1;
                let found = rules.iter().find(|(weight, _)| {
                    at -= weight;
                    at < 0.0
                });
                self.draw(found.map_or(last, |(_, rule)| rule), cell);
            }
            DrawRule::Computed(formula) => cell.set_scalar(self.state.evaluate(formula)),
            DrawRule::YcsbKey { number, form } => self.draw_ycsb_key(number, *form, cell),
            DrawRule::YcsbText { key, prefix, field, length } => {
                self.write_ycsb_field((key, prefix, field), cell);
                fill_ycsb_text(&mut cell.text, *length);
            }
            DrawRule::Hash(formula) => {
                write_scalar(self.state.evaluate(formula), &mut cell.text);
                let hash = hash_bytes(cell.text.iter().copied());
                cell.text.clear();
                cell.kind = CellKind::Int((hash >> 1) as i64);
            }
        }
    }

    fn draw_between(&mut self, low: &SlotFormula, high: &SlotFormula, cell: &mut ValueCell) {
        let low = self.state.evaluate(low).to_whole();
        let high = self.state.evaluate(high).to_whole();
        let Some((low, high)) = low.zip(high).filter(|(low, high)| low <= high) else { return };
        let span = high.wrapping_sub(low) as u64;
        let drawn = low.wrapping_add(self.rng.uniform_between(0, span) as i64);
        cell.kind = CellKind::Int(drawn);
    }

    fn draw_ycsb_key(&mut self, number: &SlotFormula, form: YcsbKeyForm, cell: &mut ValueCell) {
        let number = self.state.evaluate(number).to_whole().unwrap_or(0) as u64;
        let key = match form {
            YcsbKeyForm::Java => ycsb_key_number(number, false),
            YcsbKeyForm::Go => ycsb_key_number(number, true),
            YcsbKeyForm::Ordered => number,
        };
        cell.kind = CellKind::Text;
        cell.text.extend_from_slice(b"user");
        write_scalar(Scalar::Int(key as i64), &mut cell.text);
    }

    /// `KEY:FIELD`
    fn write_ycsb_field(
        &mut self,
        (key, prefix, field): (&SlotFormula, &[u8], &SlotFormula),
        cell: &mut ValueCell,
    ) {
        cell.kind = CellKind::Text;
        write_scalar(self.state.evaluate(key), &mut cell.text);
        cell.text.push(b':');
        cell.text.extend_from_slice(prefix);
        write_scalar(self.state.evaluate(field), &mut cell.text);
    }

    fn draw_growing(
        &mut self,
        low: &SlotFormula,
        high: &SlotFormula,
        law: LawSpec,
        cell: &mut ValueCell,
    ) {
        let low = self.state.evaluate(low).to_whole();
        let Some(ends) = low.zip(self.state.evaluate(high).to_whole()) else { return };
        if let Some(drawn) = GrowingSampler::draw(self.growing, ends, law, self.rng) {
            cell.kind = CellKind::Int(drawn);
        }
    }

    fn draw_real(
        &mut self,
        low: &SlotFormula,
        high: &SlotFormula,
        digits: Option<u8>,
        cell: &mut ValueCell,
    ) {
        let low = self.state.evaluate(low).to_real();
        let Some((low, high)) = low.zip(self.state.evaluate(high).to_real()) else { return };
        let drawn = low + (high - low) * self.rng.uniform_fraction();
        cell.kind = CellKind::Real(match digits {
            Some(digits) => {
                let scale = 10_f64.powi(i32::from(digits));
                (drawn * scale).round() / scale
            }
            None => drawn,
        });
    }

    fn draw_words(&mut self, length: &LengthSpec, data: usize, cell: &mut ValueCell) {
        let words = &self.state.table.dictionaries[data];
        let wanted = draw_length(length, self.rng);
        cell.kind = CellKind::Text;
        let rows = words.row_count() as u64;
        // Words may be empty: the text ends all the same.
        for _ in 0..wanted {
            if cell.text.len() >= wanted {
                break;
            }
            if !cell.text.is_empty() {
                cell.text.push(b' ');
            }
            let row = self.rng.uniform_below(rows) as usize;
            write_scalar(words.value(row, 0), &mut cell.text);
        }
        let mut end = wanted.min(cell.text.len());
        while end > 0 && end < cell.text.len() && cell.text[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        cell.text.truncate(end);
    }

    fn draw_pattern(&mut self, pattern: &[u8], cell: &mut ValueCell) {
        cell.kind = CellKind::Text;
        for byte in pattern {
            cell.text.push(match byte {
                b'#' => b'0' + self.rng.uniform_below(10) as u8,
                b'@' => b'a' + self.rng.uniform_below(26) as u8,
                other => *other,
            });
        }
    }

    fn draw_template(&mut self, parts: &[DrawPart], cell: &mut ValueCell) {
        cell.kind = CellKind::Text;
        for part in parts {
            match part {
                DrawPart::Literal(text) => cell.text.extend_from_slice(text),
                DrawPart::Letters(count) => {
                    for _ in 0..*count {
                        cell.text.push(b'a' + self.rng.uniform_below(26) as u8);
                    }
                }
                DrawPart::Digits(count) => {
                    for _ in 0..*count {
                        cell.text.push(b'0' + self.rng.uniform_below(10) as u8);
                    }
                }
                DrawPart::Value(formula, width) => {
                    let begin = cell.text.len();
                    write_scalar(self.state.evaluate(formula), &mut cell.text);
                    let written = cell.text.len() - begin;
                    let missing = width.saturating_sub(written);
                    cell.text.extend(std::iter::repeat_n(b'0', missing));
                    cell.text[begin..].rotate_right(missing);
                }
            }
        }
    }

    fn draw_unique(&mut self, counter: usize, is_shared: bool, cell: &mut ValueCell) {
        let base = self.state.bases[counter];
        let number = match self.state.site {
            DrawSite::Row { row, .. } => base.wrapping_add(row as i64 - 1),
            DrawSite::Worker { .. } if is_shared => {
                self.state.table.unique_next[counter].fetch_add(1, Ordering::Relaxed)
            }
            DrawSite::Worker { worker, workers } => {
                let number = *self.position * workers + worker;
                *self.position += 1;
                base.wrapping_add(number as i64)
            }
        };
        self.state.table.unique_highest[counter].fetch_max(number, Ordering::Relaxed);
        cell.kind = CellKind::Int(number);
    }

    /// As RFC 9562 has them.
    fn draw_uuid(&mut self, version: u8, cell: &mut ValueCell) {
        let mut bytes = [0; 16];
        self.rng.fill_bytes(&mut bytes);
        if version == 7 {
            let clock = &self.state.clock;
            let now_ms = (clock.origin_unix_ns() + clock.now().0) / 1_000_000;
            bytes[..6].copy_from_slice(&now_ms.to_be_bytes()[2..]);
        }
        bytes[6] = bytes[6] & 0x0f | version << 4;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        cell.kind = CellKind::Text;
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                cell.text.push(b'-');
            }
            const HEX: &[u8; 16] = b"0123456789abcdef";
            cell.text.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// `2024-02-29 12:30:00`.
fn write_moment(moment_s: i64, cell: &mut ValueCell) {
    use std::io::Write as _;
    let (year, month, day) = date_of_days(moment_s.div_euclid(86_400));
    let second = moment_s.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    cell.kind = CellKind::Text;
    let written =
        write!(cell.text, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    written.expect("a vector takes all bytes");
}
