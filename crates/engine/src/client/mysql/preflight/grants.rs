//! What an account may do, from SHOW GRANTS of both products.

use crate::client::mysql::{Error, ServerIdentity, Session};

/// Privileges by which nothing is changed and nobody held up. What is not here counts as writing.
const READING: &[&str] = &[
    "AUDIT_ABORT_EXEMPT",
    "BINLOG MONITOR",
    "FIREWALL_EXEMPT",
    "PROCESS",
    "REPLICA MONITOR",
    "REPLICATION CLIENT",
    "REPLICATION REPLICA",
    "REPLICATION SLAVE",
    "SELECT",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SHOW CREATE ROUTINE",
    "SHOW DATABASES",
    "SHOW VIEW",
    "SHOW_ROUTINE",
    "SLAVE MONITOR",
    "USAGE",
    "XA_RECOVER_ADMIN",
];

/// What an account may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountGrants {
    /// Each privilege and on what, as `INSERT` and `` `d`.* ``.
    all: Vec<(String, String)>,
    /// Roles that it was given, as they are written.
    roles: Vec<String>,
}

impl AccountGrants {
    /// Asks for those of the session's own account, with all its roles, whether they are on or not.
    pub(super) fn from_session(session: &mut Session) -> Result<AccountGrants, Error> {
        let mut grants = AccountGrants::from_lines(&query_lines(session, "SHOW GRANTS")?);
        let mut seen = 0;
        while let Some(role) = grants.roles.get(seen).cloned() {
            seen += 1;
            // Who may not ask of a role by itself may still ask of the account with it; where both fail, the role may
            // be anything.
            let ways = [
                format!("SHOW GRANTS FOR {role}"),
                format!("SHOW GRANTS FOR CURRENT_USER() USING {role}"),
            ];
            let found = ways.iter().find_map(|sql| query_lines(session, sql).ok());
            match found {
                Some(lines) => grants.merge_from(&AccountGrants::from_lines(&lines)),
                None => grants.all.push(("UNKNOWN".to_owned(), format!("role {role}"))),
            }
        }
        Ok(grants)
    }

    /// Reads the lines of SHOW GRANTS.
    pub fn from_lines(lines: &[String]) -> AccountGrants {
        let mut grants = AccountGrants::default();
        for line in lines {
            let Some(rest) = line.strip_prefix("GRANT ") else { continue };
            match split_grant(rest) {
                Some((privileges, Some(on))) => {
                    let each = split_list(privileges).into_iter();
                    grants.all.extend(each.map(|one| (one.to_ascii_uppercase(), on.to_owned())));
                }
                Some((roles, None)) => grants.roles.extend(split_list(roles)),
                // A line that we can't read may grant anything.
                None => grants.all.push(("UNKNOWN".to_owned(), line.clone())),
            }
        }
        grants
    }

    fn merge_from(&mut self, other: &AccountGrants) {
        self.all.extend(other.all.iter().cloned());
        for role in &other.roles {
            if !self.roles.contains(role) {
                self.roles.push(role.clone());
            }
        }
        self.all.sort();
        self.all.dedup();
    }

    /// Whether it has a privilege everywhere.
    pub fn has_privilege(&self, privilege: &str) -> bool {
        let is_it = |name: &str| name == privilege || name.starts_with("ALL PRIVILEGES");
        self.all.iter().any(|(name, on)| on == "*.*" && is_it(name))
    }

    /// Those by which something could be changed, in words.
    pub fn write_privileges(&self) -> Vec<String> {
        let writes = |(name, _): &&(String, String)| {
            // Of some columns, in parentheses.
            let name = name.split('(').next().unwrap_or_default().trim_end();
            !READING.contains(&name)
        };
        self.all.iter().filter(writes).map(|(name, on)| format!("{name} ON {on}")).collect()
    }
}

fn query_lines(session: &mut Session, sql: &str) -> Result<Vec<String>, Error> {
    let rows = session.query_rows(sql)?;
    Ok((0..rows.rows.len()).filter_map(|row| rows.text_value(row, 0)).collect())
}

/// What stands between GRANT and ON, and between ON and TO; of roles there is no ON. `None` without TO.
fn split_grant(rest: &str) -> Option<(&str, Option<&str>)> {
    let to = find_unquoted(rest, " TO ")?;
    match find_unquoted(&rest[..to], " ON ") {
        Some(on) => Some((&rest[..on], Some(rest[on + 4..to].trim()))),
        None => Some((&rest[..to], None)),
    }
}

/// Where some text stands, outside of quotes.
fn find_unquoted(text: &str, wanted: &str) -> Option<usize> {
    let mut open = None;
    for (at, byte) in text.bytes().enumerate() {
        match open {
            None if matches!(byte, b'`' | b'\'' | b'"') => open = Some(byte),
            None if text.as_bytes()[at..].starts_with(wanted.as_bytes()) => return Some(at),
            Some(quote) if quote == byte => open = None,
            _ => {}
        }
    }
    None
}

/// The pieces between commas, outside of quotes and parentheses.
fn split_list(text: &str) -> Vec<String> {
    let (mut open, mut depth) = (None, 0_u32);
    let mut all = vec![String::new()];
    for c in text.chars() {
        match open {
            None if matches!(c, '`' | '\'' | '"') => open = Some(c),
            Some(quote) if quote == c => open = None,
            None if c == '(' => depth += 1,
            None if c == ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == ',' && open.is_none() && depth == 0 {
            all.push(String::new());
        } else if let Some(last) = all.last_mut() {
            last.push(c);
        }
    }
    all.into_iter().map(|one| one.trim().to_owned()).collect()
}

/// The statements that make an account which can read everything and write nothing.
pub fn reader_account(identity: &ServerIdentity) -> String {
    format!(
        "CREATE USER 'sweat'@'%' IDENTIFIED BY '...'; GRANT {} ON *.* TO 'sweat'@'%'",
        identity.reader_privileges()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> AccountGrants {
        AccountGrants::from_lines(&lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn lines_of_both_products() {
        let maria = of(&[
            "GRANT `r1` TO `a`@`%`",
            "GRANT SELECT, SHOW VIEW ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*B6'",
            "GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%` WITH GRANT OPTION",
            "GRANT SELECT (`x`), UPDATE (`a`, `b`) ON `d`.`t` TO `a`@`%`",
            "GRANT PROXY ON `root`@`localhost` TO `a`@`%`",
            "SET DEFAULT ROLE `r1` FOR `a`@`%`",
        ]);
        assert_eq!(maria.roles, ["`r1`"]);
        assert_eq!(
            maria.write_privileges(),
            [
                "ALL PRIVILEGES ON `d`.*",
                "UPDATE (`A`, `B`) ON `d`.`t`",
                "PROXY ON `root`@`localhost`"
            ]
        );
        let mysql = of(&[
            "GRANT SELECT, PROCESS, REPLICATION CLIENT ON *.* TO `s`@`%`",
            "GRANT SHOW_ROUTINE,CLONE_ADMIN ON *.* TO `s`@`%`",
            "GRANT EXECUTE ON FUNCTION `d`.`f` TO `s`@`%`",
            "GRANT `r1`@`%`,`r2`@`%` TO `s`@`%`",
        ]);
        assert_eq!(mysql.roles, ["`r1`@`%`", "`r2`@`%`"]);
        assert_eq!(mysql.write_privileges(), ["CLONE_ADMIN ON *.*", "EXECUTE ON FUNCTION `d`.`f`"]);
        assert!(mysql.has_privilege("PROCESS") && !mysql.has_privilege("SUPER"));
        assert!(of(&["GRANT ALL PRIVILEGES ON *.* TO `x`@`%`"]).has_privilege("PROCESS"));
    }

    #[test]
    fn names_may_hold_anything() {
        let grants = of(&["GRANT SELECT ON `a TO b ON, c`.* TO `INSERT ON x`@`%`"]);
        assert_eq!(grants.write_privileges(), Vec::<String>::new());
        assert_eq!(grants.all[0].1, "`a TO b ON, c`.*");
        // What can't be read is no proof of innocence.
        assert_eq!(of(&["GRANT nonsense"]).write_privileges().len(), 1);
    }
}
