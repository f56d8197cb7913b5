//! One thread of sysbench's model as a worker: its state, its functions in their order, its events.

use std::future::{Future, poll_fn};
use std::pin::Pin;

use super::LuaWorkload;
use super::settings::ScriptError;
use super::state::LuaState;
use crate::base::reactor;
use crate::recorder::EventErrorKind;
use crate::workload::{BoxedWorker, OpenError, WorkerPace};

/// One worker.
pub(super) struct LuaWorker<'w> {
    pub(super) workload: &'w LuaWorkload,
    pub(super) state: LuaState,
    pub(super) thread: usize,
}

impl Drop for LuaWorker<'_> {
    fn drop(&mut self) {
        self.workload.end_worker();
    }
}

impl LuaWorker<'_> {
    async fn run_thread(&mut self, pace: &mut dyn WorkerPace) {
        if !poll_fn(|cx| pace.poll_open(cx)).await {
            return;
        }
        // What blocks a thread of its own waits on a reactor's.
        self.state.context().blocks = !reactor::is_running();
        let thread = Some(self.thread);
        let begun = self.state.call_hook("thread_init", thread).await;
        let opened = begun.as_ref().copied().map_err(open_error);
        let usable = opened.is_ok();
        if let Err(error) = begun {
            pace.fail_start(function_failed("thread_init", &error));
        }
        pace.note_opened(opened);
        if usable {
            if poll_fn(|cx| pace.poll_load_start(cx)).await {
                self.run_events(pace).await;
            }
            self.state.context().close_connections().await;
        }
    }

    async fn run_events(&mut self, pace: &mut dyn WorkerPace) {
        let thread = Some(self.thread);
        self.state.context().lend_pace(pace);
        let ran = self.state.call_hook("thread_run", thread).await;
        if self.state.context().take_pace() {
            pace.discard_event();
        }
        let is_given_up = self.state.context().abandon.is_set();
        let (name, ended) = match ran {
            Ok(()) if is_given_up => return,
            Ok(()) => ("thread_done", self.state.call_hook("thread_done", thread).await),
            Err(error) => ("thread_run", Err(error)),
        };
        if let Err(error) = ended {
            if !is_given_up {
                pace.fail_load(function_failed(name, &error));
            }
        }
    }
}

impl BoxedWorker for LuaWorker<'_> {
    fn run<'a>(
        mut self: Box<Self>,
        mut pace: Box<dyn WorkerPace + 'a>,
    ) -> Pin<Box<dyn Future<Output = ()> + 'a>>
    where
        Self: 'a,
    {
        Box::pin(async move { self.run_thread(&mut *pace).await })
    }
}

fn function_failed(name: &str, error: &ScriptError) -> String {
    format!("`{name}' function failed: {}", error.full_text())
}

fn open_error(error: &ScriptError) -> OpenError {
    OpenError { kind: EventErrorKind::Protocol, code: 0, text: error.message.clone() }
}
