//! Sandboxes: started, changed, stopped, put back, cleaned up after.

use sweat::server::Control;

use crate::fixture;

#[test]
fn a_sandbox_answers_and_leaves_nothing() {
    let fixture = fixture::with(&[("max_connections", "77")]);
    println!("ready after {:.3} s", fixture.sandbox.ready_seconds());
    assert_eq!(fixture.sql("select @@max_connections, user()"), "77\troot@localhost");
    let dir = fixture.sandbox.dir().to_owned();
    let id = sweat::server::sandbox::ProcessId::of(fixture.sandbox.pid().unwrap()).unwrap();
    assert!(dir.join("data").is_dir());
    drop(fixture.sandbox);
    assert!(!id.is_alive());
    assert!(!dir.exists());
}
