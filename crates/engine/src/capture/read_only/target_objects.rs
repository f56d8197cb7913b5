//! What the filter must know of its target: a view may call a function whose effects no statement shows, and a stored
//! function may bear the name of a built-in one that this server lacks.

use super::{AllowList, FilterDecision, filter_statement, functions};
use crate::client::{Error, ResultSet, Session};

/// Whose views their makers answer for.
const SYSTEM: &str = "('mysql', 'information_schema', 'performance_schema', 'sys')";

/// Asks the target, blocking; what it tells is put into `allowed`. A view whose text our account may not see is taken
/// for one that calls something.
///
/// # Errors
/// As [`crate::client::Error`] tells apart.
pub fn read_target_objects(session: &mut Session, allowed: &mut AllowList) -> Result<(), Error> {
    let views = session.query_rows(&format!(
        "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS \
         WHERE TABLE_SCHEMA NOT IN {SYSTEM}"
    ))?;
    let stored = session.query_rows(&format!(
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES \
         WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA NOT IN {SYSTEM}"
    ))?;
    let names = (0..stored.rows.len()).filter_map(|row| stored.text_value(row, 0));
    let names = names.map(|name| name.to_lowercase());
    allowed.shadows = names.filter(|name| functions::is_reading(name)).collect();
    judge_views(&views, allowed);
    Ok(())
}

/// Views that call what is not allowed, and views over such, until no more are found.
fn judge_views(views: &ResultSet, allowed: &mut AllowList) {
    allowed.views.clear();
    loop {
        let mut found = Vec::new();
        for row in 0..views.rows.len() {
            let Some(name) = views.text_value(row, 0).map(|name| name.to_lowercase()) else {
                continue;
            };
            let text = views.rows[row].get(1).and_then(Option::as_deref).unwrap_or_default();
            let reads = matches!(filter_statement(text, allowed), FilterDecision::Read(_));
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
        let views = ResultSet {
            columns: Vec::new(),
            rows: vec![
                row("over", "select `d`.`Calls`.`a` AS `a` from `d`.`calls`"),
                row("Calls", "select `d`.`f`() AS `a`"),
                row("plain", "select `d`.`t`.`a` AS `a` from `d`.`t`"),
                row("hidden", ""),
            ],
        };
        let mut allowed = AllowList::default();
        judge_views(&views, &mut allowed);
        assert_eq!(allowed.views, ["calls", "hidden", "over"]);
        let mut allowed = AllowList { functions: vec!["d.f".to_owned()], ..AllowList::default() };
        judge_views(&views, &mut allowed);
        assert_eq!(allowed.views, ["hidden"]);
    }

    #[test]
    fn a_stored_function_with_a_built_in_name_is_no_built_in() {
        let shadows = vec!["uuid_to_bin".to_owned()];
        let allowed = AllowList { shadows, ..AllowList::default() };
        assert!(matches!(
            filter_statement(b"SELECT UUID_TO_BIN(a) FROM t", &allowed),
            FilterDecision::Refused(_)
        ));
        let none = AllowList::default();
        assert!(matches!(
            filter_statement(b"SELECT UUID_TO_BIN(a) FROM t", &none),
            FilterDecision::Read(_)
        ));
    }
}
