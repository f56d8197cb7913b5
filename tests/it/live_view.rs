//! The live view in a terminal: its keys, small sizes, and how it ends.

use crate::cli::{World, until};
use crate::first_use::{Terminal, has_tmux};
use crate::fixture;

#[test]
fn keys_of_the_live_view_do_what_it_says() {
    if !has_tmux() {
        fixture::record_skipped_test("tmux");
        return;
    }
    let world = World::new();
    let terminal = Terminal::new(&world, "live");
    let press = |key: &str| drop(terminal.tmux(&["send-keys", key]));
    let sees = |text: &str| until(text, || terminal.screen().contains(text));
    terminal.start("sweat bench null --threads=2 --rate=2000 --time=120");
    sees("q stop  space pause  tab checks  ? help");
    sees("so far");
    sees("latency");
    press("?");
    sees("close this help");
    press("?");
    for text in ["no check is named", "events have ended", "latency  to"] {
        press("Tab");
        sees(text);
    }
    sees("done     ");
    press("Space");
    sees("the load goes on");
    press("Space");
    sees("q stop");
    drop(terminal.tmux(&["resize-window", "-x", "40", "-y", "10"]));
    until("a small view", || {
        let screen = terminal.screen();
        screen.contains("so far") && screen.contains("q stop") && !screen.contains("host")
    });
    drop(terminal.tmux(&["resize-window", "-x", "80", "-y", "24"]));
    press("q");
    let (code, lines) = terminal.end();
    let text = lines.join("\n");
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("Interrupted: what follows was measured until then."), "{text}");
}

#[test]
fn plans_show_their_loads_and_how_far_they_are() {
    if !has_tmux() {
        fixture::record_skipped_test("tmux");
        return;
    }
    let world = World::new();
    let terminal = Terminal::new(&world, "plan");
    terminal.start("sweat sweep threads=1,2 null --time=3");
    until("the second load", || {
        let screen = terminal.screen();
        screen.contains("[  2/3]") && screen.contains("left in all") && screen.contains("q stop")
    });
    (0..3).for_each(|_| drop(terminal.tmux(&["send-keys", "Tab"])));
    until("its steps", || {
        let screen = terminal.screen();
        screen.contains("steps    [  1/3]") || screen.contains("steps    [  2/3]")
    });
    let (code, lines) = terminal.end();
    assert_eq!(code, Some(0), "{}", lines.join("\n"));
}
