//! Connections, statements and parameters of one script state, by the numbers that the script's objects carry.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::settings::DriverSettings;
use crate::client::{CapturableStatement, CapturedResults, ParameterValue, Session, Target};
use crate::recorder::StepId;

/// A value as the natives bring it.
pub(super) enum ParameterText<'a> {
    Null,
    Integer(i64),
    Double(f64),
    Bytes(&'a [u8]),
}

/// A value that waits for its statement; its text keeps its memory.
#[derive(Debug, Default)]
struct ScriptParameter {
    kind: ParameterKind,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum ParameterKind {
    #[default]
    Null,
    Integer(i64),
    Double(f64),
    Bytes,
}

impl ScriptParameter {
    fn value(&self) -> ParameterValue<'_> {
        match self.kind {
            ParameterKind::Null => ParameterValue::Null,
            ParameterKind::Integer(value) => ParameterValue::Int(value),
            ParameterKind::Double(value) => ParameterValue::Double(value),
            ParameterKind::Bytes => ParameterValue::Bytes(&self.bytes),
        }
    }
}

/// A statement: prepared by the server, or its text with holes.
#[derive(Debug)]
pub(super) struct BoundStatement {
    /// `None` where the client fills the holes.
    pub(super) prepared: Option<CapturableStatement>,
    pub(super) text: Vec<u8>,
    pub(super) step: StepId,
    /// The parameter of each hole.
    bound: Vec<i32>,
}

impl BoundStatement {
    pub(super) fn new(
        prepared: Option<CapturableStatement>,
        text: Vec<u8>,
        step: StepId,
    ) -> BoundStatement {
        BoundStatement { prepared, text, step, bound: Vec::new() }
    }
}

/// One connection of a script.
#[derive(Debug)]
pub(super) struct ScriptConnection {
    /// Where it leads; opened again there.
    pub(super) target: Option<Target>,
    /// `None` once it was closed or lost, and in a dry run.
    pub(super) session: Option<Session>,
    pub(super) statements: Vec<Option<BoundStatement>>,
    pub(super) results: CapturedResults,
    /// The last error.
    pub(super) error_state: String,
    pub(super) error_text: String,
}

/// All of one state.
#[derive(Debug)]
pub(super) struct ScriptConnections {
    pub(super) driver: Arc<DriverSettings>,
    /// Connections made so far by all states: targets take turns.
    turn: Arc<AtomicUsize>,
    /// Number of the script's thread.
    thread: usize,
    pub(super) all: Vec<ScriptConnection>,
    /// Numbers of connections that were closed.
    free: Vec<usize>,
    parameters: Vec<ScriptParameter>,
}

impl ScriptConnections {
    pub(super) fn new(
        driver: Arc<DriverSettings>,
        turn: Arc<AtomicUsize>,
        thread: usize,
    ) -> ScriptConnections {
        ScriptConnections {
            driver,
            turn,
            thread,
            all: Vec::new(),
            free: Vec::new(),
            parameters: Vec::new(),
        }
    }

    /// Makes room for a connection to the target whose turn it is; gives its number.
    pub(super) fn add_connection(&mut self) -> usize {
        let targets = &self.driver.targets;
        let turn = match self.driver.deals_threads {
            true => self.thread,
            false => self.turn.fetch_add(1, Ordering::Relaxed),
        };
        let target = (!targets.is_empty()).then(|| targets[turn % targets.len()].clone());
        let made = ScriptConnection {
            target,
            session: None,
            statements: Vec::new(),
            results: CapturedResults::default(),
            error_state: String::new(),
            error_text: String::new(),
        };
        match self.free.pop() {
            Some(place) => {
                self.all[place] = made;
                place
            }
            None => {
                self.all.push(made);
                self.all.len() - 1
            }
        }
    }

    /// The number of a connection that was closed may be given to another.
    pub(super) fn free_connection(&mut self, number: i32) {
        self.free.extend(usize::try_from(number).ok());
    }

    pub(super) fn connection(&mut self, number: i32) -> Option<&mut ScriptConnection> {
        self.all.get_mut(usize::try_from(number).ok()?)
    }

    pub(super) fn new_parameter(&mut self) -> i32 {
        self.parameters.push(ScriptParameter::default());
        self.parameters.len() as i32 - 1
    }

    pub(super) fn set_parameter(&mut self, parameter: i32, value: ParameterText<'_>) {
        let place = usize::try_from(parameter).ok();
        let Some(parameter) = place.and_then(|place| self.parameters.get_mut(place)) else {
            return;
        };
        parameter.kind = match value {
            ParameterText::Null => ParameterKind::Null,
            ParameterText::Integer(value) => ParameterKind::Integer(value),
            ParameterText::Double(value) => ParameterKind::Double(value),
            ParameterText::Bytes(bytes) => {
                parameter.bytes.clear();
                parameter.bytes.extend_from_slice(bytes);
                ParameterKind::Bytes
            }
        };
    }

    /// Says which parameter fills a hole; the first call of index 0 begins anew.
    pub(super) fn bind(
        &mut self,
        connection: i32,
        statement: i32,
        index: i32,
        parameter: i32,
    ) -> bool {
        let (Ok(statement), Ok(index)) = (usize::try_from(statement), usize::try_from(index))
        else {
            return false;
        };
        let found = self.connection(connection).and_then(|c| c.statements.get_mut(statement));
        let Some(Some(statement)) = found else { return false };
        statement.bound.truncate(index);
        statement.bound.push(parameter);
        true
    }

    /// A statement of a connection with the values of its holes, and the session and the results that it goes to.
    pub(super) fn statement_parts(
        &mut self,
        connection: i32,
        statement: i32,
    ) -> Option<StatementParts<'_>> {
        let ScriptConnections { all, parameters, .. } = self;
        let connection = all.get_mut(usize::try_from(connection).ok()?)?;
        let found = connection.statements.get(usize::try_from(statement).ok()?)?.as_ref()?;
        let value = |place: &i32| {
            let parameter = usize::try_from(*place).ok().and_then(|place| parameters.get(place));
            parameter.map_or(ParameterValue::Null, ScriptParameter::value)
        };
        Some(StatementParts {
            statement: found,
            values: found.bound.iter().map(value).collect(),
            session: connection.session.as_mut(),
            results: &mut connection.results,
        })
    }
}

/// What executing a statement needs, borrowed apart.
pub(super) struct StatementParts<'a> {
    pub(super) statement: &'a BoundStatement,
    pub(super) values: Vec<ParameterValue<'a>>,
    pub(super) session: Option<&'a mut Session>,
    pub(super) results: &'a mut CapturedResults,
}

/// Text with its holes filled, for servers or users that want no prepared statements.
///
/// Every `?` is a hole, as sysbench has it, those in quotes too; unlike there, values are quoted so that they stay values.
pub(super) fn fill_holes(text: &[u8], values: &[ParameterValue<'_>], out: &mut Vec<u8>) {
    use std::io::Write as _;
    let mut values = values.iter();
    for byte in text {
        if *byte != b'?' {
            out.push(*byte);
            continue;
        }
        // Nothing can go wrong in writing to memory.
        let _ = match values.next() {
            None | Some(ParameterValue::Null) => out.write_all(b"NULL"),
            Some(ParameterValue::Int(value)) => write!(out, "{value}"),
            Some(ParameterValue::Uint(value)) => write!(out, "{value}"),
            Some(ParameterValue::Double(value)) => write!(out, "{value:?}"),
            Some(ParameterValue::Bytes(bytes)) => {
                out.push(b'\'');
                for byte in *bytes {
                    match byte {
                        b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
                        0 => out.extend_from_slice(b"\\0"),
                        other => out.push(*other),
                    }
                }
                out.push(b'\'');
                Ok(())
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_filled_with_values_that_stay_values() {
        let mut out = Vec::new();
        let values = [
            ParameterValue::Int(-3),
            ParameterValue::Bytes(b"a'b\\c"),
            ParameterValue::Null,
            ParameterValue::Double(0.5),
        ];
        fill_holes(b"SELECT ?,?,?,?,?", &values, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "SELECT -3,'a\\'b\\\\c',NULL,0.5,NULL");
    }
}
