//! Hosts as people type them: with a port or without, of IPv6 with brackets or without.

/// Takes `HOST`, `HOST:PORT`, `ADDRESS` or `[ADDRESS]:PORT` apart. What has several colons and no brackets is an address of
/// IPv6 alone. The host is without brackets and not looked at further.
///
/// # Errors
/// What is wrong with it, in words.
pub fn split_host_port(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']').ok_or("a bracket of the host is not closed")?;
        match rest.strip_prefix(':') {
            None if !rest.is_empty() => {
                return Err("behind the host's bracket comes a port or nothing");
            }
            port => (host, port),
        }
    } else {
        match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => (host, Some(port)),
            _ => (text, None),
        }
    };
    if host.is_empty() {
        return Err("it names no host");
    }
    let Some(port) = port else { return Ok((host, None)) };
    match port.parse() {
        Ok(0) | Err(_) => Err("the port is not a number from 1 to 65535"),
        Ok(port) => Ok((host, Some(port))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_told_apart() {
        for (text, host, port) in [
            ("db1", "db1", None),
            ("db1:3307", "db1", Some(3307)),
            ("::1", "::1", None),
            ("fe80::2", "fe80::2", None),
            ("[fe80::2]", "fe80::2", None),
            ("[::1]:3307", "::1", Some(3307)),
        ] {
            assert_eq!(split_host_port(text), Ok((host, port)), "{text}");
        }
        for wrong in ["", ":", "db1:", "db1:0", "db1:70000", ":3306", "[::1", "[::1]3306", "[]:1"] {
            assert!(split_host_port(wrong).is_err(), "{wrong}");
        }
    }
}
