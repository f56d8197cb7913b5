//! What is taken from a reply beside its figures: where it leads to, cookies, and its text, decoded.

use std::io::Read;

use crate::client::{ReplyField, ReplySink};

/// How the bytes of a body stand for its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum BodyCoding {
    #[default]
    Plain,
    Gzip,
    Brotli,
    Zstd,
    Unknown(String),
}

/// What a request says it can read.
pub(super) const ACCEPTED: &str =
    if cfg!(feature = "zstd") { "gzip, br, zstd" } else { "gzip, br" };

/// What is kept of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TakeSpec {
    /// The body.
    pub(super) body: bool,
    /// Its checksum, without keeping it where it comes as it is.
    pub(super) sum: bool,
    /// All fields of the head.
    pub(super) fields: bool,
    /// Longest body, also once it is decoded.
    pub(super) most: u64,
}

/// A reply in memory that is used again.
#[derive(Default)]
pub(super) struct ReplyTake {
    pub(super) spec: TakeSpec,
    /// The field `Location`.
    pub(super) location: Option<String>,
    /// Fields `Set-Cookie`.
    pub(super) cookies: Vec<String>,
    /// All fields, where they are asked for.
    pub(super) fields: Vec<(String, Vec<u8>)>,
    coding: BodyCoding,
    body: Vec<u8>,
    sum: flate2::Crc,
}

impl ReplyTake {
    pub(super) fn new(spec: TakeSpec) -> ReplyTake {
        ReplyTake { spec, ..ReplyTake::default() }
    }

    /// Another reply is to come.
    pub(super) fn start_reply(&mut self) {
        self.location = None;
        self.cookies.clear();
        self.fields.clear();
        self.coding = BodyCoding::Plain;
        self.body.clear();
        self.sum.reset();
    }

    /// The text of the body, where it was asked for.
    ///
    /// # Errors
    /// When it can't be decoded.
    pub(super) fn take_text(&mut self) -> Result<&[u8], String> {
        if self.coding != BodyCoding::Plain {
            let mut text = Vec::new();
            self.decode_body(&mut |piece| text.extend_from_slice(piece))?;
            self.body = text;
            self.coding = BodyCoding::Plain;
        }
        Ok(&self.body)
    }

    /// The checksum of the body's text.
    ///
    /// # Errors
    /// When it can't be decoded.
    pub(super) fn text_sum(&mut self) -> Result<u32, String> {
        if self.coding != BodyCoding::Plain {
            let mut sum = flate2::Crc::new();
            self.decode_body(&mut |piece| sum.update(piece))?;
            self.sum = sum;
        }
        Ok(self.sum.sum())
    }

    fn decode_body(&self, told: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        let body = &self.body[..];
        let most = self.spec.most;
        match &self.coding {
            BodyCoding::Gzip => read_pieces(flate2::read::MultiGzDecoder::new(body), most, told)
                .map_err(|why| format!("the body is not whole gzip: {why}")),
            BodyCoding::Brotli => {
                let decoder = brotli_decompressor::Decompressor::new(body, PIECE);
                read_pieces(decoder, most, told)
                    .map_err(|why| format!("the body is not whole brotli: {why}"))
            }
            #[cfg(feature = "zstd")]
            BodyCoding::Zstd => zstd::stream::read::Decoder::with_buffer(body)
                .map_err(|error| error.to_string())
                .and_then(|decoder| read_pieces(decoder, most, told))
                .map_err(|why| format!("the body is not whole zstd: {why}")),
            #[cfg(not(feature = "zstd"))]
            BodyCoding::Zstd => Err("the body is coded as zstd, which this program lacks".into()),
            BodyCoding::Unknown(name) => Err(format!("the body is coded as {name}")),
            BodyCoding::Plain => {
                told(body);
                Ok(())
            }
        }
    }
}

/// Bytes that are decoded at once.
const PIECE: usize = 16 << 10;

fn read_pieces(
    mut decoder: impl Read,
    most: u64,
    told: &mut dyn FnMut(&[u8]),
) -> Result<(), String> {
    let (mut piece, mut all) = ([0; PIECE], 0);
    loop {
        match decoder.read(&mut piece).map_err(|error| error.to_string())? {
            0 => return Ok(()),
            count => {
                all += count as u64;
                if all > most {
                    return Err("it is longer than is allowed".to_owned());
                }
                told(&piece[..count]);
            }
        }
    }
}

impl ReplySink for ReplyTake {
    fn note_head(&mut self, status: u16, fields: &[ReplyField<'_>]) {
        let text = |value: &[u8]| String::from_utf8_lossy(value).trim().to_owned();
        for field in fields {
            let is = |name: &str| field.name.eq_ignore_ascii_case(name);
            if is("location") {
                self.location = (status / 100 == 3).then(|| text(field.value));
            } else if is("set-cookie") {
                self.cookies.push(text(field.value));
            } else if is("content-encoding") {
                self.coding = match text(field.value).to_ascii_lowercase().as_str() {
                    "" | "identity" => BodyCoding::Plain,
                    "gzip" | "x-gzip" => BodyCoding::Gzip,
                    "br" => BodyCoding::Brotli,
                    "zstd" => BodyCoding::Zstd,
                    other => BodyCoding::Unknown(other.to_owned()),
                };
            }
            if self.spec.fields {
                self.fields.push((field.name.to_ascii_lowercase(), field.value.to_vec()));
            }
        }
    }

    fn take_body(&mut self, bytes: &[u8]) {
        let is_plain = self.coding == BodyCoding::Plain;
        if self.spec.body || self.spec.sum && !is_plain {
            self.body.extend_from_slice(bytes);
        }
        if self.spec.sum && is_plain {
            self.sum.update(bytes);
        }
    }

    fn wants_body(&self) -> bool {
        self.spec.body || self.spec.sum
    }
}
