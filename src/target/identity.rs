//! Which server this is: from what it says, never from a file name.

/// The product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// MariaDB.
    MariaDb,
    /// MySQL by Oracle.
    MySql,
    /// Percona Server for MySQL.
    Percona,
}

/// Version, first three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u16, pub u16, pub u16);

/// Product and version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The product.
    pub product: Product,
    /// The version.
    pub version: Version,
    /// The version text as sent by the server.
    pub text: String,
}
