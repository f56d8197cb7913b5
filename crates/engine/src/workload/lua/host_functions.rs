//! What the prelude asks of us where speed does not matter: rows, words of errors, printing.
#![expect(unsafe_code, reason = "Lua's functions hold their context by its address")]

use std::ptr::NonNull;

use mlua::{Lua, Table};

use super::natives::ScriptContext;
use super::settings::ScriptSetup;
use crate::workload::OpenError;

/// The context's address, as Lua's functions hold it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextPointer(pub(super) NonNull<ScriptContext>);

impl ContextPointer {
    /// The context, while nobody else looks at it.
    #[expect(clippy::mut_from_ref, reason = "the pointer is what is shared")]
    pub(super) fn context(&self) -> &mut ScriptContext {
        // SAFETY: the state that owns the context outlives its functions, and they run one at a time: see `natives.rs`.
        unsafe { &mut *self.0.as_ptr() }
    }
}

/// Puts all of them into the prelude's table.
pub(super) fn add_functions(
    lua: &Lua,
    prelude: &Table,
    setup: &ScriptSetup,
    pointer: ContextPointer,
) -> mlua::Result<()> {
    add_result_functions(lua, prelude, pointer)?;
    add_error_functions(lua, prelude, setup, pointer)?;
    let printer = setup.printer.clone();
    let print = move |_: &Lua, text: mlua::String| {
        match &printer {
            Some(printer) => printer(&text.as_bytes()),
            None => print_message(&text.to_string_lossy()),
        }
        Ok(())
    };
    prelude.set("print", lua.create_function(print)?)
}

/// Nobody wants what scripts print among results: it goes where messages go, unless somebody takes it.
#[expect(clippy::print_stderr, reason = "tests capture what is printed so")]
fn print_message(text: &str) {
    eprint!("{text}");
}

fn add_result_functions(lua: &Lua, prelude: &Table, pointer: ContextPointer) -> mlua::Result<()> {
    let fetch_row = move |lua: &Lua, (number, result, row): (i32, usize, usize)| {
        let Some(connection) = pointer.context().connections.connection(number) else {
            return Ok(None);
        };
        let Some(result) = connection.results.results().get(result) else { return Ok(None) };
        let values = lua.create_table_with_capacity(result.column_count(), 0)?;
        let (mut place, mut failed) = (0, None);
        result.for_each_value(row, &mut |value| {
            place += 1;
            let Some(value) = value else { return };
            let set = lua.create_string(value).and_then(|value| values.raw_set(place, value));
            failed = failed.take().or(set.err());
        });
        failed.map_or(Ok(Some(values)), Err)
    };
    prelude.set("fetch_row", lua.create_function(fetch_row)?)?;
    let result_count = move |_: &Lua, number: i32| {
        let connection = pointer.context().connections.connection(number);
        Ok(connection.map_or(0, |connection| connection.results.results().len()))
    };
    prelude.set("result_count", lua.create_function(result_count)?)?;
    let result_shape = move |_: &Lua, (number, result): (i32, usize)| {
        let connection = pointer.context().connections.connection(number);
        let result = connection.and_then(|c| c.results.results().get(result));
        Ok(result.map_or((0, 0), |result| (result.row_count(), result.column_count())))
    };
    prelude.set("result_shape", lua.create_function(result_shape)?)
}

fn add_error_functions(
    lua: &Lua,
    prelude: &Table,
    setup: &ScriptSetup,
    pointer: ContextPointer,
) -> mlua::Result<()> {
    let error_details = move |_: &Lua, number: i32| {
        let connection = pointer.context().connections.connection(number);
        Ok(connection.map(|c| (c.error_state.clone(), c.error_text.clone())).unwrap_or_default())
    };
    prelude.set("error_details", lua.create_function(error_details)?)?;
    let is_lost = move |_: &Lua, number: i32| {
        let connection = pointer.context().connections.connection(number);
        let session = connection.and_then(|connection| connection.session.as_ref());
        Ok(session.is_none_or(|session| !session.is_usable()))
    };
    prelude.set("is_lost", lua.create_function(is_lost)?)?;
    let note_ignored = move |_: &Lua, (code, text): (u32, String)| {
        pointer.context().note_ignored(code, &text);
        Ok(())
    };
    prelude.set("note_ignored", lua.create_function(note_ignored)?)?;
    let note_reconnect = move |_: &Lua, (): ()| {
        if let Some(pace) = pointer.context().pace() {
            pace.note_reopened(&Ok::<(), OpenError>(()));
        }
        Ok(())
    };
    prelude.set("note_reconnect", lua.create_function(note_reconnect)?)?;
    let fatal = setup.fatal_printer.clone();
    let report_fatal = move |_: &Lua, (code, text, query): FatalWords| {
        if let Some(fatal) = &fatal {
            let (text, query) = (text.to_string_lossy(), query.map(|q| q.to_string_lossy()));
            fatal(code, &text, query.as_deref());
        }
        Ok(())
    };
    prelude.set("report_fatal", lua.create_function(report_fatal)?)
}

/// Number, words, and the statement, where there was one.
type FatalWords = (u32, mlua::String, Option<mlua::String>);
