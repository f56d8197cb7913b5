//! What a script asks of servers and of time, done for it: at once where its thread may block, by its worker where not.

use std::future::poll_fn;
use std::mem::take;

use super::connection::{BoundStatement, fill_holes};
use super::natives::ScriptContext;
use crate::base::Nanos;
use crate::client::{self, CapturedResults, StatementReply};
use crate::recorder::{EventError, EventErrorKind, Tally};
use crate::workload::pause::let_time_pass;
use crate::workload::sql;

/// What a script waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptRequest {
    /// Nothing.
    None,
    /// The next event.
    More,
    /// Time to pass, microseconds.
    Sleep(i32),
    /// A new connection; its number becomes the handle.
    Connect,
    /// To run the text on a connection.
    Query(i32),
    /// To prepare the text on a connection; the statement's number becomes the handle.
    Prepare(i32),
    /// To run a statement of a connection.
    Execute(i32, i32),
    /// To forget a statement of a connection.
    CloseStatement(i32, i32),
    /// To close a connection.
    Disconnect(i32),
    /// To open a connection again, however long that takes while the load goes on.
    Reconnect(i32),
}

/// The last request succeeded and gave rows.
pub(super) const ROWS: i32 = 0;
/// It succeeded and gave none.
pub(super) const NO_ROWS: i32 = 1;
/// The server, or the way to it, refused.
pub(super) const REFUSED: i32 = 2;
/// There is no such connection or statement.
pub(super) const MISUSED: i32 = 3;
/// The number of the client library for a connection that went away during a statement.
const LOST: u32 = 2013;
/// And for one that could not be made.
const NO_CONNECTION: u32 = 2003;
/// A statement that the server can't prepare.
const NOT_PREPARABLE: u16 = 1295;
/// How long to wait between attempts to connect again.
const RETRY: Nanos = Nanos(20_000_000);

impl ScriptRequest {
    /// As the prelude numbers them.
    pub(super) fn from_numbers(kind: i32, first: i32, second: i32) -> ScriptRequest {
        match kind {
            1 => ScriptRequest::Sleep(first),
            2 => ScriptRequest::Connect,
            3 => ScriptRequest::Query(first),
            4 => ScriptRequest::Prepare(first),
            5 => ScriptRequest::Execute(first, second),
            6 => ScriptRequest::CloseStatement(first, second),
            7 => ScriptRequest::Disconnect(first),
            8 => ScriptRequest::Reconnect(first),
            _ => ScriptRequest::None,
        }
    }
}

/// Does what was asked; gives the status for the script.
pub(super) async fn perform_request(context: &mut ScriptContext) -> i32 {
    match take_request(context) {
        ScriptRequest::None => MISUSED,
        ScriptRequest::More => i32::from(poll_fn(|cx| context.poll_more(cx)).await),
        ScriptRequest::Sleep(time_us) => {
            let_time_pass(Nanos(u64::from(time_us.unsigned_abs()) * 1000), &context.abandon).await;
            NO_ROWS
        }
        ScriptRequest::Connect => connect(context).await,
        ScriptRequest::Query(number) => run_query(context, number).await,
        ScriptRequest::Prepare(number) => prepare(context, number).await,
        ScriptRequest::Execute(number, statement) => execute(context, number, statement).await,
        ScriptRequest::CloseStatement(number, statement) => {
            close_statement(context, number, statement).await
        }
        ScriptRequest::Disconnect(number) => disconnect(context, number).await,
        ScriptRequest::Reconnect(number) => reconnect(context, number).await,
    }
}

fn take_request(context: &mut ScriptContext) -> ScriptRequest {
    std::mem::replace(&mut context.request, ScriptRequest::None)
}

async fn connect(context: &mut ScriptContext) -> i32 {
    let number = context.connections.add_connection();
    context.shared.handle = number as i32;
    open_connection(context, number as i32).await
}

/// Opens a connection, for the first time or again.
async fn open_connection(context: &mut ScriptContext, number: i32) -> i32 {
    let dry_run = context.connections.driver.dry_run;
    let abandon = context.abandon.clone();
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    connection.session = None;
    connection.statements.clear();
    let Some(target) = connection.target.clone().filter(|_| !dry_run) else { return NO_ROWS };
    match target.open_session(&abandon).await {
        Ok(session) => {
            connection.session = Some(session);
            NO_ROWS
        }
        Err(error) => {
            let code = error.server_code().map_or(NO_CONNECTION, u32::from);
            connection.error_state = "HY000".to_owned();
            connection.error_text = error.to_string();
            context.shared.error_code = code;
            REFUSED
        }
    }
}

async fn reconnect(context: &mut ScriptContext, number: i32) -> i32 {
    let began = context.times.now();
    let mut has_failed = false;
    loop {
        let status = open_connection(context, number).await;
        if status != REFUSED || context.abandon.is_set() {
            let outage = context.times.now().since(began);
            if let Some(pace) = context.pace().filter(|_| has_failed) {
                pace.note_outage(outage);
            }
            return status;
        }
        has_failed = true;
        let_time_pass(RETRY, &context.abandon).await;
    }
}

async fn run_query(context: &mut ScriptContext, number: i32) -> i32 {
    let ScriptContext { connections, sql, tally, times, .. } = context;
    if connections.driver.dry_run {
        return note_dry_run(context, number);
    }
    let Some(connection) = connections.connection(number) else { return MISUSED };
    let Some(session) = &mut connection.session else { return MISUSED };
    let (step, began) = (times.class_of(sql), times.now());
    let ran = session.execute_captured(tally, sql, &mut connection.results).await;
    times.note_end(step, began, ran.is_err());
    note_result(context, number, ran)
}

async fn execute(context: &mut ScriptContext, number: i32, statement: i32) -> i32 {
    let ScriptContext { connections, tally, times, .. } = context;
    if connections.driver.dry_run {
        return note_dry_run(context, number);
    }
    let Some(parts) = connections.statement_parts(number, statement) else { return MISUSED };
    let Some(session) = parts.session else { return MISUSED };
    let (values, results) = (&parts.values, parts.results);
    let (step, began) = (parts.statement.step, times.now());
    let ran = match &parts.statement.prepared {
        Some(prepared) if usize::from(prepared.prepared.parameters) == values.len() => {
            session.execute_prepared_captured(tally, prepared, values, results).await
        }
        Some(_) => return MISUSED,
        None => {
            let mut text = Vec::new();
            fill_holes(&parts.statement.text, values, &mut text);
            session.execute_captured(tally, &text, results).await
        }
    };
    times.note_end(step, began, ran.is_err());
    note_result(context, number, ran)
}

async fn prepare(context: &mut ScriptContext, number: i32) -> i32 {
    let (fill, dry_run) =
        (context.connections.driver.fill_holes, context.connections.driver.dry_run);
    let text = context.sql.clone();
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    let mut prepared = None;
    if !fill && !dry_run {
        let Some(session) = &mut connection.session else { return MISUSED };
        match session.prepare_captured(&String::from_utf8_lossy(&text)).await {
            Ok(done) => prepared = Some(done),
            Err(client::Error::Server { code: NOT_PREPARABLE, .. }) => {}
            Err(error) => {
                let event = error.to_event_error();
                return note_error(context, number, event, &error);
            }
        }
    }
    let step = context.times.class_of(&text);
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    connection.statements.push(Some(BoundStatement::new(prepared, text, step)));
    context.shared.handle = connection.statements.len() as i32 - 1;
    NO_ROWS
}

async fn close_statement(context: &mut ScriptContext, number: i32, statement: i32) -> i32 {
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    let place = usize::try_from(statement).ok();
    let Some(found) = place.and_then(|place| connection.statements.get_mut(place)) else {
        return MISUSED;
    };
    let Some(closed) = found.take() else { return MISUSED };
    if let (Some(prepared), Some(session)) = (closed.prepared, &mut connection.session) {
        if session.is_usable() {
            // The session is as good as before, or it is gone, which its next statement tells.
            let _ = session.close_statement(prepared.prepared).await;
        }
    }
    NO_ROWS
}

async fn disconnect(context: &mut ScriptContext, number: i32) -> i32 {
    let dry_run = context.connections.driver.dry_run;
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    connection.statements.clear();
    match connection.session.take() {
        Some(mut session) => session.quit().await,
        None if dry_run => {}
        None => return MISUSED,
    }
    context.connections.free_connection(number);
    NO_ROWS
}

/// A statement that was not sent: it counts as one that reads nothing and changes nothing.
fn note_dry_run(context: &mut ScriptContext, number: i32) -> i32 {
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    connection.results.clear();
    context.shared.row_count = 0;
    context.shared.field_count = 0;
    context.tally.counts[sql::OTHER] += 1;
    NO_ROWS
}

fn note_result(
    context: &mut ScriptContext,
    number: i32,
    ran: Result<StatementReply, EventError>,
) -> i32 {
    match ran {
        Ok(reply) => {
            let Some(connection) = context.connections.connection(number) else { return MISUSED };
            let (rows, fields) = first_shape(&connection.results);
            context.shared.row_count = rows;
            context.shared.field_count = fields;
            count_statement(&mut context.tally, fields > 0, reply.affected);
            if fields > 0 { ROWS } else { NO_ROWS }
        }
        Err(event) => {
            let Some(connection) = context.connections.connection(number) else { return MISUSED };
            let Some(session) = &connection.session else { return MISUSED };
            let error = session.error_from_event(event);
            note_error(context, number, event, &error)
        }
    }
}

/// Rows and columns of the first result.
fn first_shape(results: &CapturedResults) -> (u32, u32) {
    let first = results.results().first();
    first.map_or((0, 0), |result| (result.row_count() as u32, result.column_count() as u32))
}

/// A statement with a result reads, one that changed rows writes, others are others: as sysbench counts.
fn count_statement(tally: &mut Tally, gave_rows: bool, affected: u64) {
    let place = match (gave_rows, affected > 0) {
        (true, _) => sql::READS,
        (false, true) => sql::WRITES,
        (false, false) => sql::OTHER,
    };
    tally.counts[place] += 1;
}

/// Keeps what the server said for the script.
fn note_error(
    context: &mut ScriptContext,
    number: i32,
    event: EventError,
    error: &client::Error,
) -> i32 {
    let Some(connection) = context.connections.connection(number) else { return MISUSED };
    let (state, text) = match error {
        client::Error::Server { state, text, .. } => (state.clone(), text.clone()),
        other => ("HY000".to_owned(), other.to_string()),
    };
    connection.error_state = state;
    connection.error_text = text;
    connection.results.clear();
    context.shared.error_code = match event.kind {
        EventErrorKind::Server | EventErrorKind::Check => u32::from(event.code),
        // A server that says why it ends the session is quoted; for one that just went there is the client's number.
        EventErrorKind::Lost if event.code >= 1000 => u32::from(event.code),
        EventErrorKind::Lost | EventErrorKind::Protocol => LOST,
    };
    REFUSED
}

impl ScriptContext {
    /// Says good-bye on all connections that are left.
    pub(super) async fn close_connections(&mut self) {
        for connection in &mut take(&mut self.connections.all) {
            if let Some(mut session) = connection.session.take() {
                session.quit().await;
            }
        }
    }
}
