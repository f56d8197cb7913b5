//! Cookies of one worker (RFC 6265): which replies set them, and which requests carry them. Pure.

use std::net::IpAddr;

use crate::client::HttpUrl;

/// Most cookies that are kept; the oldest go first.
const MOST_COOKIES: usize = 300;
/// Longest cookie, bytes.
const LONGEST: usize = 4096;

/// What a server set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    /// For this host only, not for those below it.
    is_host_only: bool,
    path: String,
    /// Seconds since 1970; none for as long as the worker lives.
    expires_s: Option<i64>,
    is_secure: bool,
}

/// The cookies of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct CookieJar(Vec<Cookie>);

impl CookieJar {
    /// Takes a field `Set-Cookie` of a reply from this address. One that the address may not set is passed over.
    pub(super) fn store_cookie(&mut self, url: &HttpUrl, field: &str, now_s: i64) {
        let Some(cookie) = read_cookie(url, field, now_s) else { return };
        let is_same = |old: &Cookie| {
            (&old.name, &old.domain, &old.path) == (&cookie.name, &cookie.domain, &cookie.path)
        };
        let is_over = cookie.expires_s.is_some_and(|at| at <= now_s);
        match (self.0.iter().position(is_same), is_over) {
            (Some(place), true) => drop(self.0.remove(place)),
            (Some(place), false) => self.0[place] = cookie,
            (None, true) => {}
            (None, false) => {
                if self.0.len() == MOST_COOKIES {
                    self.0.remove(0);
                }
                self.0.push(cookie);
            }
        }
    }

    /// The value of the field `Cookie` of a request; empty where there is none to send.
    pub(super) fn field_value(&self, url: &HttpUrl, now_s: i64) -> String {
        let path = url.path.split('?').next().unwrap_or_default();
        let is_sent = |cookie: &&Cookie| {
            let is_host = match cookie.is_host_only {
                true => cookie.domain == url.host,
                false => is_below(&url.host, &cookie.domain),
            };
            is_host
                && is_path_below(path, &cookie.path)
                && (url.is_tls || !cookie.is_secure)
                && cookie.expires_s.is_none_or(|at| at > now_s)
        };
        let mut sent: Vec<&Cookie> = self.0.iter().filter(is_sent).collect();
        // Those of longer paths come first.
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs = sent.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value));
        pairs.collect::<Vec<_>>().join("; ")
    }
}

fn read_cookie(url: &HttpUrl, field: &str, now_s: i64) -> Option<Cookie> {
    let mut parts = field.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() || field.len() > LONGEST || field.bytes().any(|byte| byte.is_ascii_control())
    {
        return None;
    }
    let own = url.path.split('?').next().unwrap_or_default();
    let folder = own.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut cookie = Cookie {
        name: name.to_owned(),
        value: value.to_owned(),
        domain: url.host.clone(),
        is_host_only: true,
        path: if folder.is_empty() { "/".to_owned() } else { folder.to_owned() },
        expires_s: None,
        is_secure: false,
    };
    let mut age_s = None;
    for part in parts {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match key.trim().to_ascii_lowercase().as_str() {
            "domain" if !value.trim_start_matches('.').is_empty() => {
                let domain = value.trim_start_matches('.').to_ascii_lowercase();
                // A domain without a dot would be a whole top level.
                let is_wide = !domain.contains('.') && domain != url.host;
                if is_wide || !is_below(&url.host, &domain) {
                    return None;
                }
                cookie.is_host_only = url.host.parse::<IpAddr>().is_ok();
                cookie.domain = domain;
            }
            "path" if value.starts_with('/') => cookie.path = value.to_owned(),
            "secure" => cookie.is_secure = true,
            "max-age" => age_s = value.parse::<i64>().ok().or(age_s),
            "expires" => cookie.expires_s = parse_date(value).or(cookie.expires_s),
            _ => {}
        }
    }
    if let Some(age_s) = age_s {
        cookie.expires_s = Some(now_s.saturating_add(age_s));
    }
    // Only a server that was reached through TLS may set what goes through TLS only.
    (url.is_tls || !cookie.is_secure).then_some(cookie)
}

/// Whether a host is this domain or below it.
fn is_below(host: &str, domain: &str) -> bool {
    host == domain
        || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
            && host.parse::<IpAddr>().is_err()
}

/// Whether a path is this one or below it.
fn is_path_below(path: &str, own: &str) -> bool {
    path.strip_prefix(own)
        .is_some_and(|rest| rest.is_empty() || own.ends_with('/') || rest.starts_with('/'))
}

/// Seconds since 1970 of a date as cookies have it: `Wed, 21 Oct 2015 07:28:00 GMT`, with dashes, in any order.
fn parse_date(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut day, mut month, mut year, mut time) = (None, None, None, None);
    for word in text.split([' ', ',', '-']).filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        let number = word.parse::<i64>().ok();
        if word.contains(':') {
            let mut parts = word.split(':').map(|part| part.parse::<i64>().ok());
            let mut next = || parts.next().flatten();
            let (hour, minute, second) = (next()?, next()?, next()?);
            let fits = (0..24).contains(&hour) && (0..60).contains(&minute);
            time =
                (fits && (0..61).contains(&second)).then_some(hour * 3600 + minute * 60 + second);
        } else if let Some(number) = number {
            match (day, word.len()) {
                (None, 1 | 2) => day = Some(number),
                (_, 4) => year = Some(number),
                (_, 2) => year = Some(if number < 70 { 2000 + number } else { 1900 + number }),
                _ => return None,
            }
        } else if let Some(place) = MONTHS.iter().position(|name| lower.starts_with(name)) {
            month = Some(place as i64 + 1);
        }
    }
    let (day, month, year) = (day?, month?, year?);
    if !(1..=31).contains(&day) || !(1601..=9999).contains(&year) {
        return None;
    }
    // Days of the Gregorian calendar, with years that begin in March.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(days * 86_400 + time?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> HttpUrl {
        HttpUrl::from_text(text).unwrap()
    }

    /// What is sent to an address once another has set a cookie.
    fn sent(from: &str, field: &str, to: &str) -> String {
        let mut jar = CookieJar::default();
        jar.store_cookie(&url(from), field, 1000);
        jar.field_value(&url(to), 1000)
    }

    #[test]
    fn cookies_go_to_their_host_and_path() {
        let from = "http://shop.test/cart/add?x=1";
        for (field, to, expected) in [
            ("a=1", "http://shop.test/cart/", "a=1"),
            ("a=1", "http://shop.test:81/cart", "a=1"),
            ("a=1", "http://shop.test/cartoon", ""),
            ("a=1", "http://www.shop.test/cart/", ""),
            ("a=1", "http://other.test/cart/", ""),
            ("a=b=c; Path=/; HttpOnly", "http://shop.test/", "a=b=c"),
            ("a=1; domain=.SHOP.test; path=/", "http://www.shop.test/", "a=1"),
            ("a=1; domain=shop.test; path=/", "http://myshop.test/", ""),
            ("a=1; domain=other.test; path=/", "http://other.test/", ""),
            ("a=1; domain=test; path=/", "http://shop.test/", ""),
            ("a=1; Secure; path=/", "https://shop.test/", ""),
            ("a=1; Max-Age=0; path=/", "http://shop.test/", ""),
            ("a=1; Max-Age=9; Expires=Wed, 21 Oct 1970 07:28:00 GMT; path=/", from, "a=1"),
            ("a=1; Expires=Thu, 01-Jan-70 00:00:01 GMT; path=/", "http://shop.test/", ""),
            ("=1; path=/", "http://shop.test/", ""),
            ("a", "http://shop.test/cart/", ""),
            ("a=x\u{1}y; path=/", "http://shop.test/", ""),
        ] {
            assert_eq!(sent(from, field, to), expected, "{field} {to}");
        }
        let secure = "a=1; Secure; path=/";
        assert_eq!(sent("https://h/", secure, "https://h/"), "a=1");
        assert_eq!(sent("https://h/", secure, "http://h/"), "");
        let address = "a=1; domain=10.0.0.1; path=/";
        assert_eq!(sent("http://10.0.0.1/", address, "http://10.0.0.1/"), "a=1");
        assert_eq!(sent("http://127.0.0.1/", "a=1; domain=0.0.1", "http://127.0.0.1/"), "");
    }

    #[test]
    fn a_cookie_is_replaced_and_ends() {
        let (mut jar, home) = (CookieJar::default(), url("http://h/a/b"));
        for field in ["x=1; path=/", "y=2; path=/a", "x=3; path=/"] {
            jar.store_cookie(&home, field, 0);
        }
        assert_eq!(jar.field_value(&home, 0), "y=2; x=3");
        jar.store_cookie(&home, "x=4; path=/; max-age=10", 0);
        assert_eq!(jar.field_value(&home, 9), "y=2; x=4");
        assert_eq!(jar.field_value(&home, 10), "y=2");
        jar.store_cookie(&home, "y=; path=/a; expires=Thu, 01 Jan 1970 00:00:00 GMT", 20);
        assert_eq!(jar.field_value(&home, 10), "");
        (0..1000).for_each(|n| jar.store_cookie(&home, &format!("n{n}=1"), 0));
        assert_eq!(jar.0.len(), MOST_COOKIES);
    }

    #[test]
    fn dates_are_read() {
        assert_eq!(parse_date("Wed, 21 Oct 2015 07:28:00 GMT"), Some(1_445_412_480));
        assert_eq!(parse_date("Thursday, 01-Jan-70 00:00:01 GMT"), Some(1));
        assert_eq!(parse_date("29 feb 2024 23:59:59"), Some(1_709_251_199));
        for wrong in ["", "soon", "21 Oct 2015", "40 Oct 2015 07:28:00", "1 Oct 2015 25:00:00"] {
            assert_eq!(parse_date(wrong), None, "{wrong}");
        }
    }
}
