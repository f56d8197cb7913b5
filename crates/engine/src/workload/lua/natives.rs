//! What scripts call through FFI: plain C functions over one context per Lua state. All unsafe code of scripts is here and in
//! `interrupt.rs`.
//!
//! A context belongs to one state, and a state runs on one thread at a time. Its natives are called while Lua runs; the worker
//! touches the context only while Lua does not: so no two references to it ever live at once.
//! The list [`NATIVES`] and the fields of [`SharedFields`] stand once more in `prelude/host.lua`.
#![expect(unsafe_code, reason = "LuaJIT calls C functions with a pointer to their context")]

use std::ffi::c_char;
use std::mem::transmute;
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};

use super::connection::{ParameterText, ScriptConnections};
use super::random::ScriptRandom;
use super::request::{ScriptRequest, perform_request};
use super::statements::StatementTimes;
use crate::base::Stop;
use crate::base::reactor::block_on;
use crate::recorder::{ClassId, EventError, EventErrorKind, EventOutcome, MOST_COUNTERS, Tally};
use crate::workload::{WorkerPace, sql};

/// Kinds of counters as sysbench numbers them: other, read, write, event, error, reconnect, bytes read, bytes written.
const SCRIPT_COUNTERS: usize = 8;
const COUNTER_EVENT: usize = 3;
const COUNTER_ERROR: usize = 4;
/// Where errors that scripts count themselves are in `Tally::counts`.
pub(super) const SCRIPT_ERRORS: usize = 4;

/// What a request may answer besides its status: it waits, and the coroutine shall yield.
pub(super) const PENDING: i32 = -1;

/// What the prelude reads of a context.
#[derive(Debug)]
#[repr(C)]
pub(super) struct SharedFields {
    /// What the last request made: a connection, a statement.
    pub(super) handle: i32,
    /// Rows and columns of the last result.
    pub(super) row_count: u32,
    pub(super) field_count: u32,
    /// The server's number of the last error, or the client library's for a lost connection.
    pub(super) error_code: u32,
    /// A text made for the script, until the next one.
    pub(super) text_length: u32,
    pub(super) text: *const u8,
}

/// One state's side of the natives.
#[repr(C)]
pub(super) struct ScriptContext {
    pub(super) shared: SharedFields,
    pub(super) request: ScriptRequest,
    /// The text that the request is about.
    pub(super) sql: Vec<u8>,
    /// Whether requests may block this thread.
    pub(super) blocks: bool,
    pub(super) connections: ScriptConnections,
    pub(super) random: ScriptRandom,
    pub(super) tally: Tally,
    pub(super) abandon: Stop,
    pub(super) times: StatementTimes,
    scratch: Vec<u8>,
    /// All that was counted, for `sb_counter_val`.
    counted: [u64; SCRIPT_COUNTERS],
    /// The worker's pace, while it runs.
    pace: Option<NonNull<dyn WorkerPace>>,
    in_event: bool,
    over: bool,
}

impl ScriptContext {
    pub(super) fn new(
        blocks: bool,
        connections: ScriptConnections,
        random: ScriptRandom,
        times: StatementTimes,
        abandon: Stop,
    ) -> ScriptContext {
        ScriptContext {
            shared: SharedFields {
                handle: -1,
                row_count: 0,
                field_count: 0,
                error_code: 0,
                text_length: 0,
                text: std::ptr::null(),
            },
            request: ScriptRequest::None,
            sql: Vec::new(),
            blocks,
            connections,
            random,
            tally: Tally::default(),
            abandon,
            times,
            scratch: Vec::new(),
            counted: [0; SCRIPT_COUNTERS],
            pace: None,
            in_event: false,
            over: false,
        }
    }

    /// Lends the pace to the script while `self` runs its events; taken back by `take_pace`.
    pub(super) fn lend_pace(&mut self, pace: &mut (dyn WorkerPace + '_)) {
        let pace: NonNull<dyn WorkerPace + '_> = NonNull::from(pace);
        // SAFETY: only the lifetime is forgotten. The worker owns the pace in the same future that owns this context, and
        // takes it back before either goes.
        self.pace = Some(unsafe {
            transmute::<NonNull<dyn WorkerPace + '_>, NonNull<dyn WorkerPace + 'static>>(pace)
        });
        self.tally = Tally::default();
        self.times.clear();
        self.over = false;
    }

    /// Takes the pace back; gives whether an event was left open.
    pub(super) fn take_pace(&mut self) -> bool {
        self.pace = None;
        std::mem::take(&mut self.in_event)
    }

    /// The pace, while it is lent.
    pub(super) fn pace(&mut self) -> Option<&mut dyn WorkerPace> {
        lent_pace(&mut self.pace)
    }

    /// Whether there is another event; pending if that is not known yet.
    pub(super) fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        if self.over {
            return Poll::Ready(false);
        }
        let Some(pace) = self.pace() else { return Poll::Ready(false) };
        let own = Some(pace.now());
        let polled = pace.poll_event_start(cx, own);
        match polled {
            Poll::Ready(true) => self.in_event = true,
            Poll::Ready(false) => self.over = true,
            Poll::Pending => {}
        }
        polled
    }

    /// The event under way has ended well.
    fn end_event(&mut self) {
        if !std::mem::take(&mut self.in_event) {
            return;
        }
        let tally = std::mem::take(&mut self.tally);
        let Some(pace) = lent_pace(&mut self.pace) else { return };
        pace.end_event(EventOutcome { class: ClassId(0), error: None }, &tally);
        if !self.times.steps().is_empty() {
            pace.note_steps(self.times.steps());
            self.times.clear();
        }
    }

    /// An error that restarts the event; its number and words are kept beside those of events that failed.
    pub(super) fn note_ignored(&mut self, code: u32, text: &str) {
        let error = EventError { kind: EventErrorKind::Server, code: code as u16 };
        self.counted[COUNTER_ERROR] += 1;
        let outcome = EventOutcome { class: ClassId(0), error: Some(error) };
        if let Some(pace) = self.pace() {
            if pace.restart_event(outcome, &Tally::default()) {
                pace.error_text(error, text);
            }
        }
    }

    fn count(&mut self, kind: usize, by: u64) {
        let Some(total) = self.counted.get_mut(kind) else { return };
        *total += by;
        const PLACES: [Option<usize>; SCRIPT_COUNTERS] = [
            Some(sql::OTHER),
            Some(sql::READS),
            Some(sql::WRITES),
            None,
            Some(SCRIPT_ERRORS),
            None,
            None,
            None,
        ];
        if let Some(place) = PLACES[kind] {
            self.tally.counts[place] += by;
        }
    }

    fn set_text(&mut self) {
        self.shared.text = self.scratch.as_ptr();
        self.shared.text_length = self.scratch.len() as u32;
    }
}

/// The pace, while it is lent; the rest of the context stays free for use beside it.
fn lent_pace(pace: &mut Option<NonNull<dyn WorkerPace>>) -> Option<&mut dyn WorkerPace> {
    // SAFETY: see `lend_pace`; nobody else uses it while Lua or a request runs.
    pace.as_mut().map(|pace| unsafe { pace.as_mut() as &mut dyn WorkerPace })
}

const _: () = assert!(SCRIPT_ERRORS < MOST_COUNTERS);

/// The natives, as the prelude declares them: one C function each, at its place.
#[repr(C)]
pub(super) struct Natives {
    more: extern "C" fn(&mut ScriptContext) -> i32,
    stop: extern "C" fn(&mut ScriptContext),
    is_given_up: extern "C" fn(&mut ScriptContext) -> i32,
    count: extern "C" fn(&mut ScriptContext, i32, f64),
    counted: extern "C" fn(&mut ScriptContext, i32) -> f64,
    random: extern "C" fn(&mut ScriptContext, i32, f64, f64) -> f64,
    random_u64: extern "C" fn(&mut ScriptContext) -> u64,
    random_fraction: extern "C" fn(&mut ScriptContext) -> f64,
    random_string: unsafe extern "C" fn(&mut ScriptContext, *const c_char, u32),
    random_length_string: extern "C" fn(&mut ScriptContext, u32, u32),
    set_sql: unsafe extern "C" fn(&mut ScriptContext, *const c_char, u32),
    request: extern "C" fn(&mut ScriptContext, i32, i32, i32) -> i32,
    new_parameter: extern "C" fn(&mut ScriptContext) -> i32,
    set_null: extern "C" fn(&mut ScriptContext, i32),
    set_integer: extern "C" fn(&mut ScriptContext, i32, i64),
    set_double: extern "C" fn(&mut ScriptContext, i32, f64),
    set_text: unsafe extern "C" fn(&mut ScriptContext, i32, *const c_char, u32),
    bind: extern "C" fn(&mut ScriptContext, i32, i32, i32, i32) -> i32,
    random_wide: extern "C" fn(&mut ScriptContext, i32, u64, u64) -> u64,
}

/// The functions that `prelude/host.lua` declares in this order.
pub(super) static NATIVES: Natives = Natives {
    more,
    stop,
    is_given_up,
    count,
    counted,
    random,
    random_u64,
    random_fraction,
    random_string,
    random_length_string,
    set_sql,
    request,
    new_parameter,
    set_null,
    set_integer,
    set_double,
    set_text,
    bind,
    random_wide,
};

extern "C" fn more(context: &mut ScriptContext) -> i32 {
    match context.poll_more(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(more) => i32::from(more),
        Poll::Pending => {
            context.request = ScriptRequest::More;
            PENDING
        }
    }
}

extern "C" fn stop(context: &mut ScriptContext) {
    context.counted[COUNTER_EVENT] += 1;
    context.end_event();
}

/// Whether there is no point in beginning an event again: the load is over, or given up.
extern "C" fn is_given_up(context: &mut ScriptContext) -> i32 {
    let cx = &mut Context::from_waker(Waker::noop());
    let is_over = |pace: &mut dyn WorkerPace| pace.poll_over(cx).is_ready();
    i32::from(context.abandon.is_set() || context.pace().is_some_and(is_over))
}

extern "C" fn count(context: &mut ScriptContext, kind: i32, by: f64) {
    context.count(usize::try_from(kind).unwrap_or(COUNTER_ERROR), by as u64);
}

extern "C" fn counted(context: &mut ScriptContext, kind: i32) -> f64 {
    let kind = usize::try_from(kind).unwrap_or(usize::MAX);
    context.counted.get(kind).map_or(0.0, |count| *count as f64)
}

extern "C" fn random(context: &mut ScriptContext, kind: i32, low: f64, high: f64) -> f64 {
    context.random.draw_number(kind, low, high)
}

extern "C" fn random_wide(context: &mut ScriptContext, kind: i32, low: u64, high: u64) -> u64 {
    context.random.draw_key(usize::try_from(kind).unwrap_or_default(), low, high)
}

extern "C" fn random_u64(context: &mut ScriptContext) -> u64 {
    context.random.draw_bits()
}

extern "C" fn random_fraction(context: &mut ScriptContext) -> f64 {
    context.random.draw_fraction()
}

/// # Safety
/// `text` must point to `length` bytes, as LuaJIT gives a string.
unsafe extern "C" fn random_string(context: &mut ScriptContext, text: *const c_char, length: u32) {
    // SAFETY: the caller's word.
    let format = unsafe { bytes_at(text, length) };
    let mut scratch = std::mem::take(&mut context.scratch);
    context.random.fill_format(format, &mut scratch);
    context.scratch = scratch;
    context.set_text();
}

extern "C" fn random_length_string(context: &mut ScriptContext, least: u32, most: u32) {
    let mut scratch = std::mem::take(&mut context.scratch);
    context.random.fill_length(least, most, &mut scratch);
    context.scratch = scratch;
    context.set_text();
}

/// # Safety
/// `text` must point to `length` bytes, as LuaJIT gives a string.
unsafe extern "C" fn set_sql(context: &mut ScriptContext, text: *const c_char, length: u32) {
    context.sql.clear();
    // SAFETY: the caller's word.
    context.sql.extend_from_slice(unsafe { bytes_at(text, length) });
}

/// Runs a request at once where this thread may block, else keeps it for the worker and says that it is pending.
extern "C" fn request(context: &mut ScriptContext, kind: i32, first: i32, second: i32) -> i32 {
    context.request = ScriptRequest::from_numbers(kind, first, second);
    if context.blocks { block_on(perform_request(context)) } else { PENDING }
}

extern "C" fn new_parameter(context: &mut ScriptContext) -> i32 {
    context.connections.new_parameter()
}

extern "C" fn set_null(context: &mut ScriptContext, parameter: i32) {
    context.connections.set_parameter(parameter, ParameterText::Null);
}

extern "C" fn set_integer(context: &mut ScriptContext, parameter: i32, value: i64) {
    context.connections.set_parameter(parameter, ParameterText::Integer(value));
}

extern "C" fn set_double(context: &mut ScriptContext, parameter: i32, value: f64) {
    context.connections.set_parameter(parameter, ParameterText::Double(value));
}

/// # Safety
/// `text` must point to `length` bytes, as LuaJIT gives a string.
unsafe extern "C" fn set_text(
    context: &mut ScriptContext,
    parameter: i32,
    text: *const c_char,
    length: u32,
) {
    // SAFETY: the caller's word.
    let bytes = unsafe { bytes_at(text, length) };
    context.connections.set_parameter(parameter, ParameterText::Bytes(bytes));
}

extern "C" fn bind(
    context: &mut ScriptContext,
    connection: i32,
    statement: i32,
    index: i32,
    parameter: i32,
) -> i32 {
    i32::from(context.connections.bind(connection, statement, index, parameter))
}

/// The bytes of a Lua string.
///
/// # Safety
/// `text` must point to `length` bytes that live as long as the caller uses them.
unsafe fn bytes_at<'a>(text: *const c_char, length: u32) -> &'a [u8] {
    if text.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: the caller's word.
    unsafe { std::slice::from_raw_parts(text.cast::<u8>(), length as usize) }
}
