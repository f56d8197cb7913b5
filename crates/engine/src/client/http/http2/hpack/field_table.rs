//! The fields that header blocks name by number: those of the standard (RFC 7541, appendix A), and those that came before.

use std::collections::VecDeque;

/// What an entry counts beside its bytes.
const ENTRY_COST: usize = 32;
/// Bytes of the table, as settings have it unless they say otherwise.
pub(super) const TABLE_BYTES: usize = 4096;

/// The fields of the standard, from 1 on.
pub(super) const STATIC_FIELDS: [(&str, &str); 61] = [
    (":authority", ""),
    (":method", "GET"),
    (":method", "POST"),
    (":path", "/"),
    (":path", "/index.html"),
    (":scheme", "http"),
    (":scheme", "https"),
    (":status", "200"),
    (":status", "204"),
    (":status", "206"),
    (":status", "304"),
    (":status", "400"),
    (":status", "404"),
    (":status", "500"),
    ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"),
    ("accept-language", ""),
    ("accept-ranges", ""),
    ("accept", ""),
    ("access-control-allow-origin", ""),
    ("age", ""),
    ("allow", ""),
    ("authorization", ""),
    ("cache-control", ""),
    ("content-disposition", ""),
    ("content-encoding", ""),
    ("content-language", ""),
    ("content-length", ""),
    ("content-location", ""),
    ("content-range", ""),
    ("content-type", ""),
    ("cookie", ""),
    ("date", ""),
    ("etag", ""),
    ("expect", ""),
    ("expires", ""),
    ("from", ""),
    ("host", ""),
    ("if-match", ""),
    ("if-modified-since", ""),
    ("if-none-match", ""),
    ("if-range", ""),
    ("if-unmodified-since", ""),
    ("last-modified", ""),
    ("link", ""),
    ("location", ""),
    ("max-forwards", ""),
    ("proxy-authenticate", ""),
    ("proxy-authorization", ""),
    ("range", ""),
    ("referer", ""),
    ("refresh", ""),
    ("retry-after", ""),
    ("server", ""),
    ("set-cookie", ""),
    ("strict-transport-security", ""),
    ("transfer-encoding", ""),
    ("user-agent", ""),
    ("vary", ""),
    ("via", ""),
    ("www-authenticate", ""),
];

/// Where a field is in the table's bytes.
#[derive(Clone, Copy, Debug)]
struct FieldPlace {
    start: usize,
    name: usize,
    value: usize,
}

impl FieldPlace {
    fn cost(self) -> usize {
        self.name + self.value + ENTRY_COST
    }
}

/// Fields that came before, the latest first; the oldest make room. Asks for no memory once it is full.
#[derive(Debug)]
pub(super) struct FieldTable {
    /// The fields' bytes, oldest first, without gaps.
    bytes: Vec<u8>,
    places: VecDeque<FieldPlace>,
    cost: usize,
    most: usize,
}

impl Default for FieldTable {
    fn default() -> FieldTable {
        FieldTable { bytes: Vec::new(), places: VecDeque::new(), cost: 0, most: TABLE_BYTES }
    }
}

impl FieldTable {
    /// The field of a number.
    pub(super) fn field_at(&self, number: usize) -> Option<(&[u8], &[u8])> {
        let place = number.checked_sub(1)?;
        if let Some((name, value)) = STATIC_FIELDS.get(place) {
            return Some((name.as_bytes(), value.as_bytes()));
        }
        let place = self.places.get(place - STATIC_FIELDS.len())?;
        let (name, value) = self.bytes[place.start..].split_at(place.name);
        Some((name, &value[..place.value]))
    }

    /// Allows so many bytes.
    pub(super) fn set_most(&mut self, most: usize) {
        self.most = most;
        self.make_room(0);
    }

    /// Adds a field: its name and value in one piece. One that is larger than the table empties it.
    pub(super) fn add_field(&mut self, field: &[u8], name: usize) {
        let place = FieldPlace { start: 0, name, value: field.len() - name };
        self.make_room(place.cost());
        if place.cost() > self.most {
            return;
        }
        if self.bytes.len() + field.len() > 2 * TABLE_BYTES {
            let kept = self.places.back().map_or(self.bytes.len(), |oldest| oldest.start);
            self.bytes.drain(..kept);
            self.places.iter_mut().for_each(|place| place.start -= kept);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(field);
        self.places.push_front(FieldPlace { start, ..place });
        self.cost += place.cost();
    }

    fn make_room(&mut self, cost: usize) {
        while self.cost + cost > self.most {
            let Some(oldest) = self.places.pop_back() else { return };
            self.cost -= oldest.cost();
        }
    }

    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        assert!(self.bytes.len() <= 2 * TABLE_BYTES);
        (self.places.len(), self.cost)
    }
}
