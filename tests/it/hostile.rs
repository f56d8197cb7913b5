//! Statements that must change nothing, against real servers: through the filter and the guards as an account that may
//! do anything, then without the filter as one that may only read. And ordinary ones that must be let through.

mod ordinary;
mod statements;

use std::time::Duration;

use sweat::base::Stop;
use sweat::base::reactor::block_on;
use sweat::capture::read_only::{AllowList, FilterDecision, filter_statement, read_target_objects};
use sweat::capture::writes::read_half;
use sweat::client::preflight::{
    PreflightCaveatKind, PreflightFacts, PreflightIntent, find_caveats,
};
use sweat::client::{ServerIdentity, ServerProduct, Session, SessionLimits, Target};
use sweat::plan::AddressPlan;
use sweat::recorder::Tally;

use crate::fixture::{self, Fixture};
use ordinary::{Fits, ORDINARY, SCHEMA};
use statements::{HOSTILE, Hostile, Says};

const SETTINGS: &[(&str, &str)] = &[
    ("log_bin", "bin"),
    ("server_id", "7"),
    ("log_bin_trust_function_creators", "ON"),
    ("local_infile", "ON"),
    ("secure_file_priv", ""),
];

const SETUP: &str = "
CREATE DATABASE d;
CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT, c VARCHAR(20), KEY k (k));
INSERT INTO d.t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c');
CREATE PROCEDURE d.p() DELETE FROM d.t;
DELIMITER //
CREATE FUNCTION d.f_writes() RETURNS INT BEGIN UPDATE d.t SET k = k + 1; RETURN 1; END//
CREATE FUNCTION d.f_sets() RETURNS INT BEGIN SET GLOBAL max_connections = 77; RETURN 1; END//
DELIMITER ;
CREATE VIEW d.v_writes AS SELECT d.f_writes() AS a;
CREATE VIEW d.v_sets AS SELECT d.f_sets() AS a;
CREATE VIEW d.v_over AS SELECT a FROM d.v_sets;
CREATE VIEW d.v_plain AS SELECT id, k FROM d.t WHERE k > 0;
CREATE USER reader@localhost;
GRANT SELECT, SHOW VIEW ON *.* TO reader@localhost;
";

/// So many statements are looked at together.
const FEW: usize = 5;

/// All that could be changed, in words.
struct Eye {
    session: Session,
    /// Asked often: it costs little.
    quick: Vec<&'static str>,
    /// Asked at the ends.
    thorough: Vec<String>,
}

impl Eye {
    fn open(fixture: &Fixture) -> Eye {
        let mut session = fixture.target().connect(&Stop::new()).unwrap();
        let is_maria = session.identity().product == ServerProduct::MariaDb;
        let mut quick = vec![
            "SHOW GLOBAL VARIABLES",
            "CHECKSUM TABLE d.t",
            "SELECT IS_USED_LOCK('sweat')",
            "XA RECOVER",
        ];
        quick.push(if is_maria { "SHOW MASTER STATUS" } else { "SHOW BINARY LOG STATUS" });
        let tables = session
            .query_rows(
                "SELECT CONCAT('`', TABLE_SCHEMA, '`.`', TABLE_NAME, '`') FROM \
                 information_schema.TABLES WHERE TABLE_TYPE IN ('BASE TABLE', 'SEQUENCE') AND \
                 TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') AND TABLE_NAME \
                 NOT IN ('general_log', 'slow_log', 'innodb_table_stats', 'innodb_index_stats', \
                 'gtid_executed')",
            )
            .unwrap();
        let names: Vec<String> =
            (0..tables.rows.len()).filter_map(|row| tables.text_value(row, 0)).collect();
        assert!(names.len() > 20, "{names:?}");
        let mut thorough = vec![format!("CHECKSUM TABLE {}", names.join(", "))];
        for what in [
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_TIME FROM \
             information_schema.TABLES WHERE TABLE_SCHEMA NOT IN ('information_schema', \
             'performance_schema')",
            "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, CREATED, LAST_ALTERED, SQL_MODE FROM \
             information_schema.ROUTINES",
            "SELECT TRIGGER_SCHEMA, TRIGGER_NAME FROM information_schema.TRIGGERS",
            "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS",
            "SELECT TABLE_SCHEMA, TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS",
            "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME FROM information_schema.SCHEMATA",
            "SELECT COUNT(*), MAX(id), SUM(k) FROM d.t",
            "SELECT * FROM mysql.user",
            "SHOW PLUGINS",
            "SHOW BINARY LOGS",
        ] {
            thorough.push(what.to_owned());
        }
        if is_maria {
            thorough.push("SELECT * FROM mysql.global_priv".to_owned());
        }
        Eye { session, quick, thorough }
    }

    fn quick(&mut self) -> String {
        let session = &mut self.session;
        let all =
            self.quick.iter().map(|sql| format!("{:?}", session.query_rows(sql).unwrap().rows));
        all.collect::<Vec<_>>().join("\n")
    }

    /// What some statements have changed, if anything; forgets them.
    fn changed(&mut self, before: &mut String, tried: &mut Vec<String>) -> Option<String> {
        let tried = std::mem::take(tried).join("\n");
        let after = std::mem::replace(before, self.quick());
        let difference = difference(&after, before)?;
        Some(format!("one of these changed {difference}\n{tried}"))
    }

    fn thorough(&mut self) -> String {
        let session = &mut self.session;
        let all =
            self.thorough.iter().map(|sql| format!("{:?}", session.query_rows(sql).unwrap().rows));
        all.collect::<Vec<_>>().join("\n")
    }
}

/// The first line that differs, cut to where it does.
fn difference(before: &str, after: &str) -> Option<String> {
    let (one, other) = before.lines().zip(after.lines()).find(|(one, other)| one != other)?;
    let at = one.bytes().zip(other.bytes()).position(|(a, b)| a != b).unwrap_or(0);
    let cut = |line: &str| {
        let bytes = line.as_bytes();
        let from = at.saturating_sub(80);
        String::from_utf8_lossy(&bytes[from..bytes.len().min(at + 80)]).into_owned()
    };
    Some(format!("{}\nbecame {}", cut(one), cut(other)))
}

fn guard() -> SessionLimits {
    SessionLimits { time_limit: Some(Duration::from_secs(2)), ..SessionLimits::default() }
}

fn open(target: &Target, is_guarded: bool) -> Session {
    let mut session = block_on(target.open_session(&Stop::new())).unwrap();
    if is_guarded {
        block_on(guard().set_up(&mut session)).unwrap();
    }
    session
}

fn send(session: &mut Session, text: &[u8]) -> Result<u64, String> {
    let reply = block_on(session.execute(&mut Tally::default(), text));
    reply.map(|reply| reply.rows).map_err(|_| session.error_text().to_owned())
}

/// What a replay does with a statement. Gives what was sent.
fn replay(
    session: &mut Session,
    text: &[u8],
    allowed: &AllowList,
) -> (FilterDecision<'static>, Vec<Vec<u8>>) {
    let again = guard().read_only_statement(session.identity()).unwrap().as_bytes().to_vec();
    let ruling = filter_statement(text, allowed);
    let (kind, sent) = match ruling {
        FilterDecision::Read(sent) => {
            let sent = sent.into_owned();
            (FilterDecision::Read(sent.clone().into()), vec![sent])
        }
        FilterDecision::Set(sent) => {
            let sent = sent.into_owned();
            (FilterDecision::Set(sent.clone().into()), vec![sent, again])
        }
        FilterDecision::Begin { is_snapshot } => {
            let sent = guard().transaction_start(is_snapshot).as_bytes().to_vec();
            (FilterDecision::Begin { is_snapshot }, vec![sent])
        }
        FilterDecision::End => (FilterDecision::End, vec![b"COMMIT".to_vec()]),
        FilterDecision::Use(name) => {
            let sent = [b"USE `", &name[..], b"`"].concat();
            (FilterDecision::Use(name), vec![sent])
        }
        FilterDecision::Write => {
            (FilterDecision::Write, read_half(text, allowed).into_iter().collect())
        }
        FilterDecision::Refused(refusal) => (FilterDecision::Refused(refusal), Vec::new()),
    };
    (kind, sent)
}

fn shown(parts: &[&[u8]]) -> String {
    parts.iter().map(|part| part.escape_ascii().to_string()).collect::<Vec<_>>().join(" || ")
}

fn prepare(fixture: &Fixture) -> AllowList {
    fixture.sql(SETUP);
    fixture.sql(SCHEMA);
    let mut session = fixture.target().connect(&Stop::new()).unwrap();
    if session.identity().product == ServerProduct::MariaDb {
        fixture.sql("CREATE SEQUENCE d.s");
    }
    let mut allowed = AllowList::default();
    read_target_objects(&mut session, &mut allowed).unwrap();
    assert_eq!(allowed.views.len(), 3, "{:?}", allowed.views);
    allowed
}

/// Plays each of these in a session of its own; afterwards nothing on the server may have changed, and `play` may have
/// no complaint.
fn check_nothing_changes<'h>(
    fixture: &Fixture,
    target: &Target,
    hostile: impl Iterator<Item = &'h Hostile>,
    mut play: impl FnMut(&mut Session, &Hostile) -> Option<String>,
) {
    let mut eye = Eye::open(fixture);
    let (all, mut before) = (eye.thorough(), eye.quick());
    let mut complaints = Vec::new();
    let mut tried = Vec::new();
    for one in hostile {
        complaints.extend(play(&mut open(target, true), one));
        tried.push(shown(one.1));
        if tried.len() == FEW {
            complaints.extend(eye.changed(&mut before, &mut tried));
        }
    }
    complaints.extend(eye.changed(&mut before, &mut tried));
    complaints.extend(difference(&all, &eye.thorough()));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Through all layers, as an account that may do anything.
fn through_all_layers(fixture: &Fixture, allowed: &AllowList) {
    check_nothing_changes(fixture, fixture.target(), HOSTILE.iter(), |session, (says, parts)| {
        let mut found = Vec::new();
        for part in *parts {
            let (ruling, sent) = replay(session, part, allowed);
            for text in sent {
                // A server may refuse what is harmless: tables that are not there, syntax of others.
                let _ = send(session, &text);
            }
            found.push(ruling);
        }
        let last = found.last().unwrap();
        let is_right = match says {
            Says::No | Says::Only => found.iter().any(|r| matches!(r, FilterDecision::Refused(_))),
            Says::Write => found.contains(&FilterDecision::Write),
            Says::Tame => !matches!(last, FilterDecision::Refused(_) | FilterDecision::Write),
        };
        (!is_right).then(|| format!("{}: {found:?}", shown(parts)))
    });
}

/// Without the filter: the guards, and an account that may only read.
fn through_guards(fixture: &Fixture) {
    let plan = AddressPlan {
        socket: Some(fixture.sandbox.meta().socket.clone()),
        user: Some("reader".to_owned()),
        ..AddressPlan::default()
    };
    let held = HOSTILE.iter().filter(|(says, _)| *says != Says::Only);
    check_nothing_changes(fixture, &Target::new(&plan).unwrap(), held, |session, (_, parts)| {
        for part in *parts {
            let _ = send(session, part);
        }
        None
    });
}

/// The guards alone, as an account that may do anything: rows and definitions are safe, settings are not. This is why
/// there is a filter.
fn what_guards_hold_alone(fixture: &Fixture) {
    let mut eye = Eye::open(fixture);
    let before = eye.quick();
    let verbs = [&b"INSERT"[..], b"REPLACE", b"UPDATE", b"DELETE", b"TRUNCATE", b"CREATE TABLE"];
    let is_write = |parts: &Hostile| verbs.iter().any(|verb| parts.1[0].starts_with(verb));
    let mut tried = 0;
    for (_, parts) in HOSTILE.iter().filter(|hostile| is_write(hostile)) {
        let mut session = open(fixture.target(), true);
        for part in *parts {
            let _ = send(&mut session, part);
        }
        tried += 1;
        assert_eq!(difference(&before, &eye.quick()), None, "{}", shown(parts));
    }
    assert!(tried > 15, "{tried}");
    // What nothing but the filter holds: were this to fail, its words in docs/safety.md would be wrong.
    let connections = |eye: &mut Eye| eye.session.query_scalar("SELECT @@max_connections").unwrap();
    let usual = connections(&mut eye).unwrap();
    let mut session = open(fixture.target(), true);
    send(&mut session, b"SELECT * FROM d.v_sets").unwrap();
    assert_eq!(connections(&mut eye).as_deref(), Some("77"), "views reach settings");
    eye.session.run_command(&format!("SET GLOBAL max_connections = {usual}")).unwrap();
    // And that the eye sees: without guards a write is one.
    let mut session = open(fixture.target(), false);
    send(&mut session, b"UPDATE d.t SET k = k + 1").unwrap();
    assert!(difference(&before, &eye.quick()).is_some(), "the eye is blind");
    send(&mut session, b"UPDATE d.t SET k = k - 1").unwrap();
}

fn fits(fits: Fits, identity: &ServerIdentity) -> bool {
    match fits {
        Fits::Both => true,
        Fits::Maria => identity.product == ServerProduct::MariaDb,
        Fits::Mysql => identity.product != ServerProduct::MariaDb,
    }
}

/// Ordinary statements are let through, and run.
fn ordinary_ones(fixture: &Fixture, allowed: &AllowList) {
    let mut session = open(fixture.target(), true);
    let mut complaints = Vec::new();
    send(&mut session, b"USE shop").unwrap();
    for (server, text) in ORDINARY {
        let (ruling, sent) = replay(&mut session, text.as_bytes(), allowed);
        if matches!(ruling, FilterDecision::Refused(_) | FilterDecision::Write) {
            complaints.push(format!("{text}: {ruling:?}"));
        }
        if !fits(*server, session.identity()) {
            continue;
        }
        for statement in sent {
            if let Err(why) = send(&mut session, &statement) {
                complaints.push(format!("{text}: {why}"));
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What is found out about this server before a replay.
fn before_the_start(fixture: &Fixture) {
    let socket = fixture.sandbox.meta().socket.clone();
    let facts = |user: &str| {
        let user = Some(user.to_owned());
        let plan = AddressPlan { socket: Some(socket.clone()), user, ..AddressPlan::default() };
        let mut session = Target::new(&plan).unwrap().connect(&Stop::new()).unwrap();
        PreflightFacts::from_session(&mut session).unwrap()
    };
    let kinds = |facts: &PreflightFacts, intent: &PreflightIntent<'_>| {
        find_caveats(facts, intent).into_iter().map(|caveat| caveat.kind).collect::<Vec<_>>()
    };
    fixture.sql(
        "CREATE ROLE writers; GRANT INSERT ON d.* TO writers; CREATE USER by_role@localhost; \
         GRANT SELECT ON *.* TO by_role@localhost; GRANT writers TO by_role@localhost",
    );
    let (root, reader) = (facts("root"), facts("reader"));
    assert!(!root.grants.write_privileges().is_empty());
    assert_eq!(reader.grants.write_privileges(), Vec::<String>::new());
    let by_role = facts("by_role").grants.write_privileges();
    assert!(!by_role.is_empty(), "a role that is off could be turned on");
    assert!(root.is_same_server(&reader) && root.is_writable);
    assert!(kinds(&root, &PreflightIntent::default()).contains(&PreflightCaveatKind::CanWrite));
    let logs = [root.logs[0].clone()];
    let intent = PreflightIntent {
        source: Some(&root),
        logs: &logs,
        may_disturb: true,
        ..PreflightIntent::default()
    };
    assert_eq!(
        kinds(&reader, &intent),
        [PreflightCaveatKind::IsSource, PreflightCaveatKind::IsOwnLog]
    );
    let name = root.uuid.clone().unwrap_or_else(|| root.hostname.clone());
    let owned = PreflightIntent {
        executes: true,
        owned: Some(&name),
        may_disturb: true,
        ..PreflightIntent::default()
    };
    assert_eq!(kinds(&root, &owned), []);
    // Another session of the server is seen, by those who may not look as well.
    let _other = open(fixture.target(), false);
    assert!(facts("root").clients >= 1 && facts("reader").clients >= 1);
    // The account that we propose is one that can't write.
    let line = sweat::client::preflight::reader_account(&root.identity);
    fixture.sql(&line.replace("'...'", "'Long-enough-1'"));
    let grants = fixture.sql("SHOW GRANTS FOR sweat@'%'");
    let lines: Vec<String> = grants.lines().map(str::to_owned).collect();
    assert_eq!(
        sweat::client::preflight::AccountGrants::from_lines(&lines).write_privileges(),
        Vec::<String>::new()
    );
}

fn all_of(fixture: &Fixture) {
    assert!(HOSTILE.len() >= 150 && ORDINARY.len() >= 150);
    let allowed = prepare(fixture);
    through_all_layers(fixture, &allowed);
    through_guards(fixture);
    what_guards_hold_alone(fixture);
    ordinary_ones(fixture, &allowed);
    before_the_start(fixture);
}

#[test]
fn mariadb_is_not_changed() {
    all_of(&fixture::with(SETTINGS));
}

#[test]
fn mysql_is_not_changed() {
    let Some(fixture) = fixture::mysql_with(SETTINGS) else { return };
    all_of(&fixture);
}
