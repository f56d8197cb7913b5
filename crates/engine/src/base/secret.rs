//! A password that no formatter shows.

/// Text that never appears in debug output, plans, logs or reports.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }
    /// The password itself, for authentication only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
    /// Whether there is no password.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "(none)" } else { "(hidden)" })
    }
}
