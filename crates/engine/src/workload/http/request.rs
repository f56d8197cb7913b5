//! Requests as bytes, made once before the load.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::load::{HttpLoad, SizeCheck};
use super::reply_take::ACCEPTED;
use super::{MOST_CLASSES, OTHERS};
use crate::base::Secret;
use crate::client::{FieldPrivacy, HttpUrl, write_block_field};
use crate::plan::field_secret_at;

/// Nothing was seen yet.
const UNSEEN: u64 = u64::MAX;

/// A request, ready to be sent.
pub(super) struct RequestPlan {
    pub(super) bytes: Box<[u8]>,
    /// Its place among those connected to.
    pub(super) origin: usize,
    pub(super) class: u16,
    /// What the first reply came to: length, and sum of its bytes.
    first_size: AtomicU64,
    first_sum: AtomicU64,
}

impl RequestPlan {
    /// Whether a body has the length that is asked for.
    pub(super) fn has_size(&self, check: SizeCheck, size: u64) -> bool {
        match check {
            SizeCheck::Any => true,
            SizeCheck::Between(low, high) => (low..=high).contains(&size),
            SizeCheck::AsFirst => is_as_first(&self.first_size, size),
        }
    }

    /// Whether a body is that of the first reply.
    pub(super) fn has_sum(&self, sum: u32) -> bool {
        is_as_first(&self.first_sum, sum.into())
    }
}

fn is_as_first(first: &AtomicU64, value: u64) -> bool {
    let seen = first.load(Relaxed);
    if seen != UNSEEN {
        return seen == value;
    }
    first
        .compare_exchange(UNSEEN, value, Relaxed, Relaxed)
        .map_or_else(|seen| seen == value, |_| true)
}

/// Classes, requests, and the first URL of each place that is connected to.
pub(super) fn plan_requests(load: &HttpLoad) -> (Vec<String>, Vec<RequestPlan>, Vec<usize>) {
    let mut origins = BTreeMap::new();
    let mut places = Vec::new();
    for (place, url) in load.urls.iter().enumerate() {
        origins.entry(url.origin_text()).or_insert_with(|| {
            places.push(place);
            places.len() - 1
        });
    }
    let label = |url: &HttpUrl| match places.len() {
        1 => url.path.clone(),
        _ => url.full_text(),
    };
    let mut classes: Vec<String> = Vec::new();
    let mut numbers = BTreeMap::new();
    let mut requests = Vec::new();
    for url in &load.urls {
        let class = *numbers.entry(label(url)).or_insert_with_key(|label| {
            match classes.len() {
                MOST_CLASSES => classes.push(OTHERS.to_owned()),
                count if count < MOST_CLASSES => classes.push(label.clone()),
                _ => {}
            }
            classes.len() - 1
        });
        requests.push(RequestPlan {
            bytes: request_bytes(load, url).into(),
            origin: origins[&url.origin_text()],
            class: class as u16,
            first_size: AtomicU64::new(UNSEEN),
            first_sum: AtomicU64::new(UNSEEN),
        });
    }
    (classes, requests, places)
}

/// The request as it is sent.
pub(super) fn request_bytes(load: &HttpLoad, url: &HttpUrl) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = load.body.as_deref();
    let method = &load.method;
    let (is_home, is_base) = (true, true);
    let draft = RequestDraft { method, url, fields: &[], body, cookies: "", is_home, is_base };
    write_request(load, &draft, &mut bytes);
    bytes
}

/// What differs from request to request.
pub(super) struct RequestDraft<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a HttpUrl,
    /// Fields of its own; they go before those of the load of the same name.
    pub(super) fields: &'a [String],
    pub(super) body: Option<&'a [u8]>,
    /// Value of the field `Cookie`; empty for none.
    pub(super) cookies: &'a str,
    /// Whether it goes where its own fields are meant for: to other hosts no secrets go.
    pub(super) is_home: bool,
    /// The same of the load's fields.
    pub(super) is_base: bool,
}

/// Writes a request as it is sent, but for what HTTP/2 adds: there the body goes apart.
pub(super) fn write_request(load: &HttpLoad, draft: &RequestDraft<'_>, out: &mut Vec<u8>) {
    let name = |field: &str| field.split(':').next().unwrap_or_default().trim().to_owned();
    let is_named = |field: &str, name_: &str| name(field).eq_ignore_ascii_case(name_);
    let may_go = |field: &str, is_meant: bool| {
        is_meant || field_secret_at(field).is_none() && !is_named(field, "host")
    };
    let own = draft.fields.iter().map(String::as_str);
    let own = own.filter(|field| may_go(field, draft.is_home));
    let of_load = load.fields.iter().map(Secret::reveal);
    let of_load =
        of_load.filter(|field| !draft.fields.iter().any(|own| is_named(own, &name(field))));
    let of_load = of_load.filter(|field| may_go(field, draft.is_base));
    let fields: Vec<&str> = own.chain(of_load).collect();
    let mut head = HeadWriter::start_head(load, draft, &fields, out);
    let mut add = |name: &str, value: &str| {
        if !fields.iter().any(|field| is_named(field, name)) {
            head.add_field(name, value);
        }
    };
    if !load.is_http2 {
        add("Host", &draft.url.host_field());
    }
    add("User-Agent", concat!("sweat/", env!("CARGO_PKG_VERSION")));
    add("Accept", "*/*");
    if load.compressed {
        add("Accept-Encoding", ACCEPTED);
    }
    if !draft.cookies.is_empty() {
        add("Cookie", draft.cookies);
    }
    match (load.is_http10, load.keep_alive) {
        _ if load.is_http2 => {}
        (true, true) => add("Connection", "Keep-Alive"),
        (false, false) => add("Connection", "close"),
        (true, false) | (false, true) => {}
    }
    let has_body = ["POST", "PUT", "PATCH"].contains(&draft.method);
    if let Some(length) = draft.body.map(<[u8]>::len).or(has_body.then_some(0)) {
        add("Content-Length", &length.to_string());
    }
    for field in &fields {
        let (name, value) = field.split_once(':').unwrap_or((field, ""));
        head.add_field(name.trim(), value.trim());
    }
    head.end_head(draft.body.unwrap_or_default());
}

/// Writes the head of a request as its version has it; of HTTP/2 its header block, without the body.
enum HeadWriter<'o> {
    Lines(&'o mut Vec<u8>),
    Block(&'o mut Vec<u8>),
}

impl<'o> HeadWriter<'o> {
    fn start_head(
        load: &HttpLoad,
        draft: &RequestDraft<'_>,
        fields: &[&str],
        out: &'o mut Vec<u8>,
    ) -> HeadWriter<'o> {
        let RequestDraft { method, url, .. } = draft;
        if !load.is_http2 {
            let version = if load.is_http10 { "1.0" } else { "1.1" };
            out.extend_from_slice(format!("{method} {} HTTP/{version}\r\n", url.path).as_bytes());
            return HeadWriter::Lines(out);
        }
        let pairs = fields.iter().filter_map(|field| field.split_once(':'));
        let host = pairs.clone().find(|(name, _)| name.trim().eq_ignore_ascii_case("host"));
        let own_host = host.map(|(_, value)| value.trim().to_owned());
        let scheme = if url.is_tls { "https" } else { "http" };
        let mut add = |name, value: &str| write_block_field(name, value, FieldPrivacy::Open, out);
        add(":method", method);
        add(":scheme", scheme);
        add(":path", &url.path);
        add(":authority", &own_host.unwrap_or_else(|| url.host_field()));
        HeadWriter::Block(out)
    }

    fn add_field(&mut self, name: &str, value: &str) {
        match self {
            HeadWriter::Lines(out) => {
                for part in [name, ": ", value, "\r\n"] {
                    out.extend_from_slice(part.as_bytes());
                }
            }
            HeadWriter::Block(out) => {
                let name = name.to_ascii_lowercase();
                if OF_HTTP1.contains(&&*name) {
                    return;
                }
                let privacy = match field_secret_at(&format!("{name}: {value}")) {
                    Some(_) => FieldPrivacy::Secret,
                    None => FieldPrivacy::Open,
                };
                write_block_field(&name, value, privacy, out);
            }
        }
    }

    fn end_head(self, body: &[u8]) {
        if let HeadWriter::Lines(out) = self {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(body);
        }
    }
}

/// Fields that HTTP/2 says in other ways (RFC 9113, 8.2.2 and 8.3.1).
const OF_HTTP1: [&str; 6] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "upgrade"];

/// Whether a text is a word as methods and names of fields are.
pub(super) fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

/// Whether a line is a field that may be sent.
///
/// # Errors
/// Why it isn't one.
pub fn check_field(line: &str) -> Result<(), &'static str> {
    let (name, value) = line.split_once(':').ok_or("a field has a colon behind its name")?;
    if !is_token(name) {
        return Err("the name of a field has letters, digits and dashes");
    }
    if value.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7F) {
        return Err("the value of a field has no control characters");
    }
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return Err("bodies are sent with their length");
    }
    Ok(())
}
