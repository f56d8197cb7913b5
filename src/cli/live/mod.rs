//! The load in a view that stays in place at the foot of the terminal, without an alternate screen: what was printed
//! before stays readable, and the summary replaces the view.
//! Start reading at `screen::LoadScreen` and `watch_screen::WatchScreen`, which say what is shown; this file is about the
//! terminal and its keys.

mod keys;
mod panes;
mod parts;
mod screen;
mod watch_screen;

use std::io::{self, Stderr};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{
    cursor::MoveTo,
    execute,
    terminal::{Clear, ClearType},
};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::load_display::LoadHeader;
use crate::analysis::{LiveStats, SteadyOutlook};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::experiment::AgentProgress;
use crate::probe::ProbeSample;
use keys::TypedKey;
use screen::LoadScreen;
use watch_screen::WatchScreen;

pub(super) use keys::StdinEchoGuard;
pub(super) use parts::{format_clock, sparkline};

/// Least time between two drawings: 4 a second.
const REDRAW: Nanos = Nanos(250_000_000);
/// How often keys are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What a view shows, as lines for any size of terminal.
pub(in crate::cli) trait LiveScreen: Send + 'static {
    /// What is shown on so many columns and lines.
    fn lines(&self, width: u16, height: u16) -> Vec<Line<'static>>;
    fn toggle_freeze(&mut self);
    fn toggle_help(&mut self);
    /// The next of several pictures, where there are any.
    fn show_next_pane(&mut self) {}
    /// The user wants to stop. Whether that is new.
    fn start_stopping(&mut self) -> bool;
}

/// The view of a load.
pub(super) type LiveLoadView = LiveView<LoadScreen>;
/// The view of a watch.
pub(super) type LiveWatchView = LiveView<WatchScreen>;

/// A view. Its keys are read on a thread of their own.
pub(in crate::cli) struct LiveView<S> {
    shared: Arc<Mutex<ViewState<S>>>,
    /// The thread that reads keys ends when this is dropped.
    until: Option<Sender<()>>,
    reader: Option<JoinHandle<()>>,
    _quiet: Option<StdinEchoGuard>,
}

/// What the load's thread and the one that reads keys share.
struct ViewState<S> {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    clock: RealClock,
    drawn: Option<Nanos>,
    /// There is something new to draw.
    is_stale: bool,
    screen: S,
}

impl LiveLoadView {
    /// Makes room for the view at the cursor. `stop` is set by its key.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(header: LoadHeader, colour: bool, stop: &Stop) -> io::Result<LiveLoadView> {
        LiveView::open_screen(|has_keys| LoadScreen::new(header, colour, has_keys), stop)
    }

    /// Takes in how steady the load is; the next drawing shows it.
    pub(super) fn set_outlook(&mut self, outlook: &SteadyOutlook) {
        lock_state(&self.shared).screen.set_outlook(outlook);
    }

    /// Takes in how far the agents are that run the load; the next drawing shows it.
    pub(super) fn set_agents(&mut self, agents: &[AgentProgress]) {
        lock_state(&self.shared).screen.set_agents(agents);
    }

    /// Takes in what the load is at; the next drawing shows it.
    pub(super) fn set_work(&mut self, text: String) {
        lock_state(&self.shared).screen.set_work(text);
    }

    /// Shows the state of the load, unless something was drawn just now: then a little later.
    pub(super) fn draw(&mut self, stats: &LiveStats) {
        self.update(|screen| screen.set_stats(stats));
    }
}

impl LiveWatchView {
    /// Makes room for the view at the cursor. `stop` is set by its key.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(title: String, colour: bool, stop: &Stop) -> io::Result<LiveWatchView> {
        LiveView::open_screen(|has_keys| WatchScreen::new(title, colour, has_keys), stop)
    }

    /// Takes in a sample.
    pub(super) fn add_sample(&mut self, sample: &ProbeSample, unix_ns: u64) {
        self.update(|screen| screen.add_sample(sample, unix_ns));
    }

    /// Takes in what happened.
    pub(super) fn add_event(&mut self, text: String) {
        self.update(|screen| screen.add_event(text));
    }
}

impl<S: LiveScreen> LiveView<S> {
    fn open_screen(make: impl FnOnce(bool) -> S, stop: &Stop) -> io::Result<LiveView<S>> {
        let quiet = StdinEchoGuard::take_keys();
        let screen = make(quiet.is_some());
        let rows = ratatui::crossterm::terminal::size().map_or(24, |(_, rows)| rows);
        // All but the line that was printed last, and the one of the cursor.
        let height = rows.saturating_sub(2).max(1);
        let options = TerminalOptions { viewport: Viewport::Inline(height) };
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options)?;
        let clock = RealClock::start_now();
        let state = ViewState { terminal, clock, drawn: None, is_stale: false, screen };
        let shared = Arc::new(Mutex::new(state));
        let (until, ended) = mpsc::channel();
        let (seen, stop, has_keys) = (shared.clone(), stop.clone(), quiet.is_some());
        let reader = std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                lock_state(&seen).look_around(&stop, has_keys);
            }
        })?;
        Ok(LiveView { shared, until: Some(until), reader: Some(reader), _quiet: quiet })
    }

    /// Shows what has changed, unless something was drawn just now: then a little later.
    fn update(&mut self, change: impl FnOnce(&mut S)) {
        let mut state = lock_state(&self.shared);
        change(&mut state.screen);
        state.is_stale = true;
        state.draw_if_due();
    }
}

fn lock_state<S>(shared: &Mutex<ViewState<S>>) -> MutexGuard<'_, ViewState<S>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: LiveScreen> ViewState<S> {
    /// Does what keys ask for. They are read while the state is locked: a drawing may ask the terminal where its cursor
    /// stands, and the answer comes the same way as keys.
    fn look_around(&mut self, stop: &Stop, has_keys: bool) {
        let typed = if has_keys { keys::read_keys() } else { Vec::new() };
        let mut is_changed = !typed.is_empty();
        for key in typed {
            match key {
                TypedKey::Quit => stop.set(StopReason::Interrupted),
                TypedKey::Freeze => self.screen.toggle_freeze(),
                TypedKey::NextPane => self.screen.show_next_pane(),
                TypedKey::Help => self.screen.toggle_help(),
            }
        }
        if stop.reason() == Some(StopReason::Interrupted) {
            is_changed |= self.screen.start_stopping();
        }
        if is_changed {
            self.draw_now();
        }
        self.draw_if_due();
    }

    fn draw_if_due(&mut self) {
        let now = self.clock.now();
        if self.is_stale && self.drawn.is_none_or(|last| now.since(last) >= REDRAW) {
            self.draw_now();
        }
    }

    fn draw_now(&mut self) {
        self.drawn = Some(self.clock.now());
        self.is_stale = false;
        let screen = &self.screen;
        // A terminal that went away shows nothing any more; the load goes on.
        let _ = self.terminal.draw(|frame| {
            let area = frame.area();
            frame.render_widget(Paragraph::new(screen.lines(area.width, area.height)), area);
        });
    }
}

impl<S> Drop for LiveView<S> {
    /// Takes the view away and leaves the cursor where it began.
    fn drop(&mut self) {
        self.until = None;
        if let Some(reader) = self.reader.take() {
            // One that panicked has told so on its own.
            let _ = reader.join();
        }
        let mut state = lock_state(&self.shared);
        // Line by line: tmux keeps what a clear of the whole screen takes away, and shows it above the summary.
        let area = state.terminal.get_frame().area();
        let mut err = io::stderr();
        for row in area.top()..area.bottom() {
            let _ = execute!(err, MoveTo(0, row), Clear(ClearType::CurrentLine));
        }
        let _ = execute!(err, MoveTo(0, area.top()));
        let _ = state.terminal.show_cursor();
    }
}
