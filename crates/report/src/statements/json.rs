//! For programs. Times are seconds, instants RFC 3339 UTC; what is not known is null.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::seen_times;
use crate::analysis::{StatementClass, StatementFindings};

pub(super) fn write_json(found: &StatementFindings, out: &mut dyn Write) -> io::Result<()> {
    let mut value = json!(found);
    value["schema"] = json!("sweat-statements-v1");
    value["classes"] = found.classes.iter().map(class_json).collect();
    writeln!(out, "{value:#}")
}

fn class_json(class: &StatementClass) -> Value {
    let mut value = json!(class);
    let (first, last) = seen_times(class);
    value["first"] = json!(first);
    value["last"] = json!(last);
    value
}
