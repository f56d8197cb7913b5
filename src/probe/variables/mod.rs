//! The server's variables with the origin of their values, at the start and at the end.

use super::subject::text;
use super::{Kind, Missed, Probe, Rhythm, Subject, Values};

/// The kind.
pub struct Variables;

impl Kind for Variables {
    fn name(&self) -> &'static str {
        "variables"
    }
    fn about(&self) -> &'static str {
        "global variables and where each value comes from, at start and end"
    }
    fn rhythm(&self) -> Rhythm {
        Rhythm::Ends
    }
    fn asks_server(&self) -> bool {
        true
    }
    fn build(&self) -> Box<dyn Probe> {
        Box::new(Variables)
    }
}

/// From the one that tells most to the one that every server has; columns are name, value, origin.
const SOURCES: &[&str] = &[
    "SELECT VARIABLE_NAME, GLOBAL_VALUE, GLOBAL_VALUE_ORIGIN \
     FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL",
    "SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE, i.VARIABLE_SOURCE \
     FROM performance_schema.global_variables g \
     LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME",
    "SHOW GLOBAL VARIABLES",
];

impl Probe for Variables {
    fn sample(&mut self, subject: &mut Subject) -> Result<Values, Missed> {
        let mut why = Missed::Now(String::new());
        for statement in SOURCES {
            match subject.rows(statement) {
                Ok(rows) if !rows.rows.is_empty() => {
                    let row = |cells: &Vec<Option<Vec<u8>>>| {
                        let name = text(cells.first()).to_ascii_lowercase();
                        vec![name, text(cells.get(1)), origin(&text(cells.get(2)))]
                    };
                    let mut table: Vec<_> = rows.rows.iter().map(row).collect();
                    table.sort();
                    let columns = ["name", "value", "origin"].map(str::to_owned).to_vec();
                    return Ok(Values::Table(columns, table));
                }
                Ok(_) => {}
                Err(e @ Missed::Now(_)) => return Err(e),
                Err(e) => why = e,
            }
        }
        Err(why)
    }
}

/// One way to write an origin: lower case with dashes.
fn origin(raw: &str) -> String {
    match raw {
        "COMPILED" => "compile-time".to_owned(),
        raw => raw.to_ascii_lowercase().replace('_', "-"),
    }
}
