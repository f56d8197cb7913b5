//! What the filter must know of its target: a view may call a function whose effects no statement shows, and a stored
//! function may bear the name of a built-in one that this server lacks.

use super::{Allowed, Ruling, functions, rule};
use crate::target::{Error, Rows, Session};

/// Whose views their makers answer for.
const SYSTEM: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

/// Asks the target, blocking; what it tells is put into `allowed`. A view whose text our account may not see is taken
/// for one that calls something.
///
/// # Errors
/// As [`Error`] tells apart.
pub fn learn(session: &mut Session, allowed: &mut Allowed) -> Result<(), Error> {
    let views = session.rows(&format!(
        "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS \
         WHERE TABLE_SCHEMA NOT IN {SYSTEM}"
    ))?;
    let stored = session.rows(&format!(
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES \
         WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA NOT IN {SYSTEM}"
    ))?;
    let names = (0..stored.rows.len()).filter_map(|row| stored.text(row, 0));
    let names = names.map(|name| name.to_lowercase());
    allowed.shadows = names.filter(|name| functions::is_reading(name)).collect();
    judge_views(&views, allowed);
    Ok(())
}

/// Views that call what is not allowed, and views over such, until no more are found.
fn judge_views(views: &Rows, allowed: &mut Allowed) {
    allowed.views.clear();
    loop {
        let mut found = Vec::new();
        for row in 0..views.rows.len() {
            let Some(name) = views.text(row, 0).map(|name| name.to_lowercase()) else { continue };
            let text = views.rows[row].get(1).and_then(Option::as_deref).unwrap_or_default();
            let reads = matches!(rule(text, allowed), Ruling::Read(_));
            if !reads && !allowed.views.contains(&name) && !found.contains(&name) {
                found.push(name);
            }
        }
        if found.is_empty() {
            break;
        }
        allowed.views.append(&mut found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_over_views_that_call_are_found() {
        let row = |name: &str, text: &str| {
            vec![Some(name.as_bytes().to_vec()), Some(text.as_bytes().to_vec())]
        };
        let views = Rows {
            columns: Vec::new(),
            rows: vec![
                row("over", "select `d`.`Calls`.`a` AS `a` from `d`.`calls`"),
                row("Calls", "select `d`.`f`() AS `a`"),
                row("plain", "select `d`.`t`.`a` AS `a` from `d`.`t`"),
                row("hidden", ""),
            ],
        };
        let mut allowed = Allowed::default();
        judge_views(&views, &mut allowed);
        assert_eq!(allowed.views, ["calls", "hidden", "over"]);
        let mut allowed = Allowed { functions: vec!["d.f".to_owned()], ..Allowed::default() };
        judge_views(&views, &mut allowed);
        assert_eq!(allowed.views, ["hidden"]);
    }

    #[test]
    fn a_stored_function_with_a_built_in_name_is_no_built_in() {
        let shadows = vec!["uuid_to_bin".to_owned()];
        let allowed = Allowed { shadows, ..Allowed::default() };
        assert!(matches!(rule(b"SELECT UUID_TO_BIN(a) FROM t", &allowed), Ruling::Refused(_)));
        let none = Allowed::default();
        assert!(matches!(rule(b"SELECT UUID_TO_BIN(a) FROM t", &none), Ruling::Read(_)));
    }
}
