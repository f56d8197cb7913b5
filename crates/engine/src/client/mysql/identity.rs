//! Which server this is: from what it says, never from a file name.

/// The product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerProduct {
    /// MariaDB.
    MariaDb,
    /// MySQL by Oracle.
    MySql,
    /// Percona Server for MySQL.
    Percona,
}

impl ServerProduct {
    /// The name its makers use.
    pub fn name(self) -> &'static str {
        match self {
            ServerProduct::MariaDb => "MariaDB",
            ServerProduct::MySql => "MySQL",
            ServerProduct::Percona => "Percona Server",
        }
    }
}

/// Version, first three numbers. MySQL's calendar versions (26.7) come after all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion(pub u16, pub u16, pub u16);

impl ServerVersion {
    /// The numbers at the start of a text; those that are missing are 0.
    pub fn parse(text: &str) -> ServerVersion {
        let mut numbers = text.split('.').map(|part| {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            (part[..digits].parse().unwrap_or(0), digits == part.len())
        });
        let mut found = [0; 3];
        for slot in &mut found {
            let Some((number, whole)) = numbers.next() else { break };
            *slot = number;
            if !whole {
                break;
            }
        }
        ServerVersion(found[0], found[1], found[2])
    }
}

impl std::fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// Product and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerIdentity {
    /// The product.
    pub product: ServerProduct,
    /// The version.
    pub version: ServerVersion,
    /// The version text as sent by the server, without MariaDB's `5.5.5-`.
    pub text: String,
}

impl ServerIdentity {
    /// From the version text alone, as a greeting carries it.
    pub fn from_greeting(text: &str) -> ServerIdentity {
        let maria = text.to_ascii_lowercase().contains("mariadb");
        // Old replicas of MySQL refuse two-digit versions, so MariaDB hides behind this one.
        let honest = if maria { text.strip_prefix("5.5.5-").unwrap_or(text) } else { text };
        let product = if maria { ServerProduct::MariaDb } else { ServerProduct::MySql };
        ServerIdentity { product, version: ServerVersion::parse(honest), text: honest.to_owned() }
    }

    /// The same with what `@@version_comment` adds.
    #[must_use]
    pub fn with_comment(&self, comment: &str) -> ServerIdentity {
        let comment = comment.to_ascii_lowercase();
        let mut identity = self.clone();
        if comment.contains("mariadb") {
            identity.product = ServerProduct::MariaDb;
        } else if comment.contains("percona") && identity.product != ServerProduct::MariaDb {
            identity.product = ServerProduct::Percona;
        }
        identity
    }
}

impl std::fmt::Display for ServerIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.product.name(), self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_products() {
        let cases = [
            (
                "5.5.5-10.11.14-MariaDB-0+deb12u2",
                "",
                ServerProduct::MariaDb,
                ServerVersion(10, 11, 14),
            ),
            ("11.8.3-MariaDB-log", "", ServerProduct::MariaDb, ServerVersion(11, 8, 3)),
            ("9.7.0", "MySQL Community Server - GPL", ServerProduct::MySql, ServerVersion(9, 7, 0)),
            ("26.7", "MySQL Community Server - GPL", ServerProduct::MySql, ServerVersion(26, 7, 0)),
            (
                "8.0.36-28",
                "Percona Server (GPL), Release 28",
                ServerProduct::Percona,
                ServerVersion(8, 0, 36),
            ),
            ("5.7.44-log", "Source distribution", ServerProduct::MySql, ServerVersion(5, 7, 44)),
            (
                "10.6.18-acme",
                "mariadb.org binary",
                ServerProduct::MariaDb,
                ServerVersion(10, 6, 18),
            ),
            ("8.4", "", ServerProduct::MySql, ServerVersion(8, 4, 0)),
            ("", "", ServerProduct::MySql, ServerVersion(0, 0, 0)),
            ("999999999999.1.1", "", ServerProduct::MySql, ServerVersion(0, 1, 1)),
        ];
        for (text, comment, product, version) in cases {
            let identity = ServerIdentity::from_greeting(text).with_comment(comment);
            assert_eq!((identity.product, identity.version), (product, version), "{text}");
        }
    }
}
