//! Sandboxes: started, changed, stopped, put back, made cold. Their life and death is in `sandbox_life`.

use sweat::base::Stop;
use sweat::plan::{Mistake, SandboxPlan};
use sweat::server::sandbox::{Lifetime, ProcessId, Sandbox, SandboxOptions};
use sweat::server::{ColdProof, CopyMethod, DiskReads, ServerControl as _, restart_cold};

use crate::fixture::{self, Fixture};

/// Both products, MySQL only where its program is named.
fn each(test: impl Fn(Fixture), settings: &[(&str, &str)]) {
    test(fixture::with(settings));
    if let Some(fixture) = fixture::mysql_with(settings) {
        test(fixture);
    }
}

/// A table of about 20 MB with a key, filled by the server itself.
fn fill(fixture: &Fixture) {
    fixture.sql(
        "create database d; use d; \
         create table t (id int auto_increment primary key, k varchar(40) not null unique, \
         v varchar(255)); \
         insert into t (k, v) values (left(sha2(0, 256), 40), repeat('x', 200)); ",
    );
    for doubling in 0..16 {
        let rows = 1 << doubling;
        let key = format!("left(sha2(concat(id, 'after', {rows}), 256), 40)");
        let more = format!("insert into d.t (k, v) select {key}, v from d.t");
        fixture.sql(&more);
    }
}

#[test]
fn a_sandbox_answers_with_its_settings_and_leaves_nothing() {
    let test = |fixture: Fixture| {
        let version = fixture.sandbox.program().text.clone();
        println!("{version}: ready after {:.3} s", fixture.sandbox.ready_seconds());
        assert_eq!(fixture.sql("select @@max_connections, user()"), "77\troot@localhost");
        assert_eq!(fixture.sql("select count(*) from mysql.user where user = ''"), "0");
        let pool = "show variables like 'innodb_buffer_pool_load_at_startup'";
        assert!(fixture.sql(pool).ends_with("OFF"));
        assert_eq!(fixture.sql("select @@port, @@log_bin"), "0\t0");
        let mut session = fixture.target().connect(&Stop::new()).unwrap();
        assert_eq!(session.query_scalar("select 1 + 1").unwrap().as_deref(), Some("2"));
        drop(session);
        let dir = fixture.sandbox.dir().to_owned();
        let id = ProcessId::from_pid(fixture.sandbox.pid().unwrap()).unwrap();
        assert!(dir.join("data").is_dir());
        drop(fixture.sandbox);
        assert!(!id.is_alive());
        assert!(!dir.exists());
    };
    each(test, &[("max_connections", "77")]);
}

#[test]
fn it_stops_cleanly_and_starts_with_other_settings() {
    let test = |mut fixture: Fixture| {
        fixture.sql("create database d; create table d.t select 42 as answer");
        let first = ProcessId::from_pid(fixture.sandbox.pid().unwrap()).unwrap();
        fixture.sandbox.stop().unwrap();
        assert!(!first.is_alive());
        assert_eq!(fixture.sandbox.pid(), None);
        let other = vec![("innodb_io_capacity".to_owned(), "345".to_owned())];
        fixture.sandbox.start(&other).unwrap();
        let sql = "select answer, @@innodb_io_capacity, @@max_connections from d.t";
        assert_eq!(fixture.sql(sql), "42\t345\t66");
        assert!(fixture.sandbox.start(&other).is_err(), "a running server was started again");
    };
    each(test, &[("max_connections", "66")]);
}

#[test]
fn a_snapshot_brings_the_data_back() {
    let test = |mut fixture: Fixture| {
        fill(&fixture);
        let look = "select count(*), sum(crc32(v)), max(id) from d.t";
        let before = fixture.sql(look);
        let refused = fixture.sandbox.save_snapshot("start").unwrap_err();
        assert!(refused.to_string().contains("must be stopped"), "{refused:#}");
        fixture.sandbox.stop().unwrap();
        let saved = fixture.sandbox.save_snapshot("start").unwrap();
        fixture.sandbox.start(&Vec::new()).unwrap();
        fixture.sql("update d.t set v = 'y' where id < 100; delete from d.t where id % 50 = 0");
        fixture.sql("create database other; create table other.t select * from d.t limit 100");
        let after = fixture.sql(look);
        assert_ne!(before, after);
        fixture.sandbox.stop().unwrap();
        let back = fixture.sandbox.restore_snapshot("start").unwrap();
        println!("saved by {} {saved:?}\nput back by {} {back:?}", saved.way, back.way);
        assert!(back.bytes_written < back.bytes_total);
        assert_eq!(
            back.way,
            if saved.way == CopyMethod::Reflink {
                CopyMethod::Reflink
            } else {
                CopyMethod::PageDiff
            }
        );
        fixture.sandbox.start(&Vec::new()).unwrap();
        assert_eq!(fixture.sql(look), before);
        assert_eq!(fixture.sql("show databases like 'other'"), "");
    };
    each(test, &[]);
}

#[test]
fn a_cold_restart_is_cold_and_seen_to_be_so() {
    let test = |mut fixture: Fixture| {
        fill(&fixture);
        let refused = fixture.sandbox.evict_files().unwrap_err();
        assert!(refused.to_string().contains("must be stopped"), "{refused:#}");
        let restart = restart_cold(&mut fixture.sandbox, &Vec::new(), &Stop::new()).unwrap();
        println!("{}", restart.to_words().join("\n"));
        assert!(restart.evicted.bytes > 20 << 20);
        assert_eq!(restart.evicted.resident_bytes, Some(0));
        let mut proof = restart.proof;
        println!("{proof:?}");
        assert_eq!(proof.list_caveats(), Vec::<String>::new());
        let scan = "select sum(length(v)) from d.t; select count(k) from d.t force index (k)";
        let before = DiskReads::read_counters(&fixture.sandbox);
        fixture.sql(scan);
        let reads = DiskReads::read_counters(&fixture.sandbox).since(&before);
        println!("{reads:?}");
        assert!(reads.process_bytes.unwrap() > 10 << 20, "the reads did not reach the disk");
        assert!(reads.device_bytes.unwrap() > 10 << 20, "the device saw nothing of it");
        proof.first_reads = Some(reads);
        assert_eq!(proof.list_caveats(), Vec::<String>::new());

        // The same look at a warm server must not be taken for a cold one.
        let warm = ColdProof::inspect_server(&fixture.sandbox, &Stop::new()).unwrap();
        assert_eq!(warm.list_caveats().len(), 1, "{:?}", warm.list_caveats());
        let before = DiskReads::read_counters(&fixture.sandbox);
        fixture.sql(scan);
        let reads = DiskReads::read_counters(&fixture.sandbox).since(&before);
        assert_eq!(reads.process_bytes, Some(0), "a warm table was read from disk");
    };
    each(test, &[]);
}

fn create(plan: &SandboxPlan, dir: &std::path::Path) -> anyhow::Result<Sandbox> {
    let terms = SandboxOptions {
        home: fixture::home(dir),
        name: None,
        life: Lifetime::ThrowAway,
        stop: Stop::new(),
    };
    Sandbox::create(plan, &terms)
}

#[test]
fn a_setting_that_the_server_does_not_know_is_named_with_its_words() {
    let dir = tempfile::tempdir().unwrap();
    for server in [None].into_iter().chain(fixture::mysqld().map(Some)) {
        let settings = vec![("innodb_bogus".to_owned(), "1".to_owned())];
        let plan = SandboxPlan { server, settings, ..SandboxPlan::default() };
        let error = create(&plan, dir.path()).unwrap_err();
        let mistake = error.downcast_ref::<Mistake>().expect("the user's mistake");
        assert!(mistake.place.contains("innodb"), "{}", mistake.place);
        assert!(mistake.place.contains("bogus"), "{}", mistake.place);
        assert!(mistake.why.contains("| "), "the log is not quoted: {}", mistake.why);
        let left = std::fs::read_dir(dir.path().join("sandbox")).unwrap().count();
        assert_eq!(left, 0, "a failed start left its folder");
    }
}
