//! Logging in: every method the servers here have, and TLS in all its modes.
#![expect(clippy::disallowed_methods, reason = "certificates come from the openssl command")]

use std::path::{Path, PathBuf};
use std::process::Command;

use sweat::base::Stop;
use sweat::base::reactor::block_on;
use sweat::client::{Error, ServerProduct, Target};
use sweat::plan::{AddressPlan, SslMode, SslPlan};

use crate::fixture;
use crate::target::{Server, on_reactor, open, root, works};

/// Authorities and certificates, made by the openssl command.
struct Certificates(tempfile::TempDir);

impl Certificates {
    fn make() -> Certificates {
        let made = Certificates(tempfile::tempdir().unwrap());
        made.authority("ca");
        made.authority("stranger");
        made.issue("server", "ca", "DNS:localhost,IP:127.0.0.1");
        made.issue("elsewhere", "ca", "DNS:db.example.com");
        made.issue("client", "ca", "DNS:client");
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl")
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .expect("the openssl command is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn authority(&self, name: &str) {
        let (key, cert, subject) =
            (format!("{name}.key"), format!("{name}.pem"), format!("/CN={name}"));
        self.openssl(&[
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", &key, "-out",
            &cert, "-subj", &subject,
        ]);
    }

    fn issue(&self, name: &str, authority: &str, names: &str) {
        let file = |end: &str| format!("{name}.{end}");
        let subject = format!("/CN={name}");
        self.openssl(&[
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            &file("key"),
            "-out",
            &file("csr"),
            "-subj",
            &subject,
        ]);
        std::fs::write(self.path(&file("ext")), format!("subjectAltName={names}\n")).unwrap();
        let (ca, key) = (format!("{authority}.pem"), format!("{authority}.key"));
        self.openssl(&[
            "x509",
            "-req",
            "-in",
            &file("csr"),
            "-CA",
            &ca,
            "-CAkey",
            &key,
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            &file("ext"),
            "-out",
            &file("pem"),
        ]);
    }

    fn server(&self, name: &str, more: &[(&str, &str)]) -> Server {
        let (ca, cert, key) = (
            self.text("ca.pem"),
            self.text(&format!("{name}.pem")),
            self.text(&format!("{name}.key")),
        );
        let mut settings = vec![("ssl_ca", &ca[..]), ("ssl_cert", &cert), ("ssl_key", &key)];
        settings.extend_from_slice(more);
        Server::start(&settings)
    }
}

fn with_tls(plan: &AddressPlan, mode: SslMode, ca: Option<PathBuf>) -> AddressPlan {
    let ssl = SslPlan { mode: Some(mode), ca, ..SslPlan::default() };
    AddressPlan { ssl, ..plan.clone() }
}

fn cipher(plan: &AddressPlan) -> Option<(String, String)> {
    let mut session = open(plan).unwrap_or_else(|error| panic!("{error}"));
    let told =
        session.query_rows("SHOW STATUS LIKE 'Ssl_cipher'").unwrap().text_value(0, 1).unwrap();
    let cipher = session.tls_cipher();
    assert_eq!(told.is_empty(), cipher.is_none(), "the server says {told:?}");
    if let Some((name, version)) = &cipher {
        let version_told =
            session.query_rows("SHOW STATUS LIKE 'Ssl_version'").unwrap().text_value(0, 1);
        assert_eq!(version_told.as_deref(), Some(&version[..]));
        assert!(version != "TLSv1.3" || *name == told, "{name} is not {told}");
    }
    cipher
}

#[test]
fn tls_in_five_modes() {
    let made = Certificates::make();
    let server = made.server("server", &[]);
    let (tcp, unix) = (server.tcp("far", ""), server.unix("root", ""));
    let ca = || Some(made.path("ca.pem"));
    assert_eq!(cipher(&with_tls(&tcp, SslMode::Disabled, None)), None);
    assert!(cipher(&tcp).is_some(), "preferred is what happens without a word");
    assert_eq!(cipher(&with_tls(&unix, SslMode::Preferred, None)), None);
    let (_, version) = cipher(&with_tls(&unix, SslMode::Required, None)).unwrap();
    assert_eq!(version, "TLSv1.3");
    assert!(cipher(&with_tls(&tcp, SslMode::VerifyCa, ca())).is_some());
    assert!(cipher(&with_tls(&tcp, SslMode::VerifyIdentity, ca())).is_some());
    let named = AddressPlan { host: Some("localhost".into()), ..tcp.clone() };
    assert!(cipher(&with_tls(&named, SslMode::VerifyIdentity, ca())).is_some());

    for mode in [SslMode::VerifyCa, SslMode::VerifyIdentity] {
        let error = open(&with_tls(&tcp, mode, Some(made.path("stranger.pem")))).unwrap_err();
        assert!(matches!(error, Error::Tls(_)), "{mode:?}: {error}");
        let error = open(&with_tls(&tcp, mode, None)).unwrap_err();
        assert!(matches!(&error, Error::TlsSetup(why) if why.contains("--ssl-ca")), "{error}");
    }
    let error = open(&with_tls(&tcp, SslMode::VerifyCa, Some("/nowhere.pem".into()))).unwrap_err();
    assert!(matches!(&error, Error::TlsSetup(why) if why.contains("/nowhere.pem")), "{error}");
    // A folder of authorities, with other files in it.
    let ssl = SslPlan {
        mode: Some(SslMode::VerifyCa),
        capath: Some(made.0.path().to_owned()),
        ..SslPlan::default()
    };
    assert!(cipher(&AddressPlan { ssl, ..tcp.clone() }).is_some());

    // The same session over TLS, in both engines.
    let target = Target::new(&with_tls(&tcp, SslMode::Required, None)).unwrap();
    let mut session = target.connect(&Stop::new()).unwrap();
    block_on(works(&mut session));
    let sql = "SELECT REPEAT('x', 20000000)";
    assert_eq!(session.query_rows(sql).unwrap().rows[0][0].as_ref().unwrap().len(), 20_000_000);
    on_reactor(async {
        let mut session = target.open_session(&Stop::new()).await.unwrap();
        assert!(session.tls_cipher().is_some());
        works(&mut session).await;
        let big = vec![b'x'; 20_000_000];
        let statement = session.prepare("SELECT LENGTH(?), REPEAT('y', 20000000)").await.unwrap();
        let mut tally = sweat::recorder::Tally::default();
        let values = [sweat::client::ParameterValue::Bytes(&big)];
        assert_eq!(
            session.execute_prepared(&mut tally, &statement, &values).await.unwrap().rows,
            1
        );
        session.quit().await;
    });
}

#[test]
fn tls_with_another_name_an_account_that_asks_for_it_and_an_older_version() {
    let made = Certificates::make();
    let server = made.server("elsewhere", &[("tls_version", "TLSv1.2")]);
    let tcp = server.tcp("far", "");
    let ca = || Some(made.path("ca.pem"));
    let (_, version) = cipher(&with_tls(&tcp, SslMode::VerifyCa, ca())).unwrap();
    assert_eq!(version, "TLSv1.2");
    let error = open(&with_tls(&tcp, SslMode::VerifyIdentity, ca())).unwrap_err();
    assert!(matches!(error, Error::Tls(_)), "{error}");

    root(&server).run_command("CREATE USER x@'%' REQUIRE X509").unwrap();
    let x = |cert: Option<&str>, key: Option<&str>| {
        let path = |name: Option<&str>| name.map(|name| made.path(name));
        let (cert, key) = (path(cert), path(key));
        let ssl = SslPlan { mode: Some(SslMode::VerifyCa), ca: ca(), cert, key, capath: None };
        open(&AddressPlan { ssl, database: None, ..server.tcp("x", "") })
    };
    assert!(x(Some("client.pem"), Some("client.key")).is_ok());
    let error = x(None, None).unwrap_err();
    assert!(matches!(error, Error::Login { code: 1045, .. }), "{error}");
    for (cert, key) in [
        (Some("client.pem"), None),
        (None, Some("client.key")),
        (Some("client.key"), Some("client.key")),
        (Some("client.pem"), Some("client.pem")),
        (Some("client.pem"), Some("server.key")),
    ] {
        let error = x(cert, key).unwrap_err();
        assert!(matches!(error, Error::TlsSetup(_)), "{cert:?} {key:?}: {error}");
    }
}

#[test]
fn a_server_without_tls() {
    let server = Server::start(&[("ssl", "OFF")]);
    let tcp = server.tcp("far", "");
    assert_eq!(cipher(&with_tls(&tcp, SslMode::Preferred, None)), None);
    let error = open(&with_tls(&tcp, SslMode::Required, None)).unwrap_err();
    assert!(matches!(&error, Error::Tls(why) if why.contains("offers none")), "{error}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of accounts, one after the other")]
fn the_login_methods_of_mariadb() {
    let server = Server::start(&[]);
    let mut admin = root(&server);
    if admin.identity().product != ServerProduct::MariaDb {
        return;
    }
    let system = admin.target().user().to_owned();
    assert_eq!(system, "root", "the account of the sandbox");
    admin.run_command("INSTALL SONAME 'auth_ed25519'").unwrap();
    let password = "pässwörd with 'quotes' and a length of more than thirty-two bytes";
    let quoted = password.replace('\'', "''");
    // Asks by a method that we lack, which must not keep us from the one behind it.
    let has_pam = admin.run_command("INSTALL SONAME 'auth_pam'").is_ok();
    if has_pam {
        admin
            .run_command(&format!(
                "CREATE USER second@'%' IDENTIFIED VIA pam \
                 OR mysql_native_password USING PASSWORD('{quoted}')"
            ))
            .unwrap();
    }
    for statement in [
        format!(
            "CREATE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('{quoted}')"
        ),
        format!("CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{quoted}')"),
        "CREATE USER nopass@'%'".to_owned(),
        format!(
            "CREATE USER either@'%' IDENTIFIED VIA unix_socket \
             OR ed25519 USING PASSWORD('{quoted}')"
        ),
        "CREATE USER gone@'%' IDENTIFIED VIA mysql_old_password USING '6f8c114b58f2ce9e'"
            .to_owned(),
    ] {
        admin.run_command(&statement).unwrap();
    }
    for way in
        [|s: &Server, u: &str, p: &str| s.unix(u, p), |s: &Server, u: &str, p: &str| s.tcp(u, p)]
    {
        let log_in = |user: &str, password: &str| {
            let plan = AddressPlan { database: None, ..way(&server, user, password) };
            let user = open(&plan)?.query_scalar("SELECT CURRENT_USER()")?;
            Ok::<_, Error>(user.unwrap_or_default())
        };
        assert_eq!(log_in("native", password).unwrap(), "native@%");
        assert_eq!(log_in("ed", password).unwrap(), "ed@%");
        assert_eq!(log_in("either", password).unwrap(), "either@%");
        assert_eq!(log_in("nopass", "").unwrap(), "nopass@%");
        if has_pam {
            assert_eq!(log_in("second", password).unwrap(), "second@%");
            let error = log_in("second", "x").unwrap_err().to_string();
            assert!(error.contains("dialog is not supported"), "{error}");
            assert!(error.contains("the server says: 1045"), "{error}");
        }
        assert!(matches!(log_in("gone", "x"), Err(Error::Login { .. })));
        // To a name that it doesn't know, MariaDB pretends the methods of some account.
        assert!(matches!(log_in("nobody", ""), Err(Error::Login { .. })));
        for (user, wrong) in
            [("native", "x"), ("native", ""), ("ed", "x"), ("ed", ""), ("nopass", "x")]
        {
            let error = log_in(user, wrong).unwrap_err();
            assert!(matches!(error, Error::Login { code: 1045, .. }), "{user}: {error}");
        }
    }
    // An account that logs in by the system's user, which is whoever runs this test.
    let who = Command::new("id").arg("-un").output().unwrap();
    let who = String::from_utf8(who.stdout).unwrap().trim().to_owned();
    let account = if who == "root" { String::from("root@'%'") } else { format!("{who}@localhost") };
    admin
        .run_command(&format!("CREATE OR REPLACE USER {account} IDENTIFIED VIA unix_socket"))
        .unwrap();
    if who != "root" {
        let plan = AddressPlan { database: None, user: None, ..server.unix(&who, "") };
        let user = open(&plan).unwrap().query_scalar("SELECT CURRENT_USER()").unwrap();
        assert_eq!(user, Some(format!("{who}@localhost")));
    }
    admin.run_command("ALTER USER root@localhost IDENTIFIED VIA unix_socket").unwrap();
    if who == "root" {
        let plan = AddressPlan { user: None, password: None, ..server.unix("", "") };
        let user = open(&plan).unwrap().query_scalar("SELECT CURRENT_USER()").unwrap();
        assert_eq!(user.as_deref(), Some("root@localhost"));
    }
    let error = open(&AddressPlan { database: None, ..server.tcp("root", "") }).unwrap_err();
    assert!(matches!(error, Error::Login { .. }), "{error}");
}

#[test]
fn the_login_method_parsec() {
    let Some(fixture) = fixture::mariadb11_listening() else { return };
    let server = Server::of(fixture);
    let mut admin = root(&server);
    if admin.run_command("INSTALL SONAME 'auth_parsec'").is_err() {
        return fixture::record_skipped_test("auth_parsec");
    }
    let password = "pässwörd with a length of more than thirty-two bytes";
    for statement in [
        format!("CREATE USER sec@'%' IDENTIFIED VIA parsec USING PASSWORD('{password}')"),
        format!(
            "CREATE USER either@'%' IDENTIFIED VIA parsec USING PASSWORD('another') \
             OR mysql_native_password USING PASSWORD('{password}')"
        ),
        "CREATE USER empty@'%' IDENTIFIED VIA parsec USING PASSWORD('')".to_owned(),
    ] {
        admin.run_command(&statement).unwrap();
    }
    let ways =
        [|s: &Server, u: &str, p: &str| s.unix(u, p), |s: &Server, u: &str, p: &str| s.tcp(u, p)];
    for way in ways {
        let log_in = |user: &str, password: &str| {
            let plan = AddressPlan { database: None, ..way(&server, user, password) };
            open(&plan)?.query_scalar("SELECT CURRENT_USER()")
        };
        assert_eq!(log_in("sec", password).unwrap().as_deref(), Some("sec@%"));
        // Over TLS, MariaDB 11.8 hangs up after a wrong signature and doesn't ask for the next method.
        let plan = AddressPlan { database: None, ..way(&server, "either", password) };
        let plan = with_tls(&plan, SslMode::Disabled, None);
        let user = open(&plan).unwrap().query_scalar("SELECT CURRENT_USER()").unwrap();
        assert_eq!(user.as_deref(), Some("either@%"));
        assert_eq!(log_in("either", "another").unwrap().as_deref(), Some("either@%"));
        assert_eq!(log_in("empty", "").unwrap().as_deref(), Some("empty@%"));
        // For the same reason it may hang up here instead of refusing.
        assert!(log_in("either", "x").is_err());
        for (user, wrong) in [("sec", "x"), ("sec", ""), ("empty", "x")] {
            let error = log_in(user, wrong).unwrap_err();
            assert!(matches!(error, Error::Login { code: 1045, .. }), "{user}: {error}");
        }
        let plan = AddressPlan { database: None, ..way(&server, "sec", password) };
        let target = Target::new(&plan).unwrap();
        on_reactor(async {
            target.open_session(&Stop::new()).await.unwrap();
        });
    }
}

/// Makes the server forget which passwords it has seen.
fn forget_passwords(server: &Server) {
    root(server).run_command("FLUSH PRIVILEGES").unwrap();
}

#[test]
fn the_login_methods_of_mysql() {
    let Some(fixture) = fixture::mysql_listening(&[("local_infile", "ON")]) else { return };
    let server = Server::of(fixture);
    let mut admin = root(&server);
    admin.run_command("CREATE USER sha@'%' IDENTIFIED BY 'geheim'").unwrap();
    admin
        .run_command("CREATE USER nopass@'%' IDENTIFIED WITH caching_sha2_password BY ''")
        .unwrap();
    let plain = AddressPlan {
        database: None,
        ..with_tls(&server.tcp("sha", "geheim"), SslMode::Disabled, None)
    };
    let who = |plan: &AddressPlan| open(plan)?.query_scalar("SELECT CURRENT_USER()");

    // In clear, and the server has not seen the password: an error that says what to do.
    let error = who(&plain).unwrap_err();
    let told = |why: &str| why.contains("--get-server-public-key") && why.contains("--ssl-mode");
    assert!(matches!(&error, Error::Login { text, .. } if told(text)), "{error}");
    // With the key asked for, and wrong passwords.
    let asking = AddressPlan { get_server_public_key: true, ..plain.clone() };
    let wrong = AddressPlan { password: Some(sweat::base::Secret::new("x")), ..asking.clone() };
    assert!(matches!(who(&wrong), Err(Error::Login { code: 1045, .. })));
    assert_eq!(who(&asking).unwrap().as_deref(), Some("sha@%"));
    // Now the server knows it: the fast way needs no key.
    assert_eq!(who(&plain).unwrap().as_deref(), Some("sha@%"));
    // With the key from a file.
    forget_passwords(&server);
    let key = admin.query_rows("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'").unwrap();
    let path = server.0.dir.path().join("key.pem");
    std::fs::write(&path, key.text_value(0, 1).unwrap()).unwrap();
    let filed = AddressPlan { server_public_key_path: Some(path.clone()), ..plain.clone() };
    assert_eq!(who(&filed).unwrap().as_deref(), Some("sha@%"));
    forget_passwords(&server);
    std::fs::write(&path, "no key").unwrap();
    let error = who(&filed).unwrap_err();
    assert!(matches!(&error, Error::Login { text, .. } if text.contains("RSA key")), "{error}");
    // Over TLS and over the socket the password goes as it is.
    assert_eq!(who(&with_tls(&plain, SslMode::Required, None)).unwrap().as_deref(), Some("sha@%"));
    forget_passwords(&server);
    let unix = AddressPlan { database: None, ..server.unix("sha", "geheim") };
    assert_eq!(who(&unix).unwrap().as_deref(), Some("sha@%"));
    // An older method, which wants RSA over the socket too: there a key that is sent is the server's.
    admin.run_command("CREATE USER old@'%' IDENTIFIED WITH sha256_password BY 'geheim'").unwrap();
    let old = AddressPlan { database: None, ..server.unix("old", "geheim") };
    assert_eq!(who(&old).unwrap().as_deref(), Some("old@%"));
    let wrong = AddressPlan { password: Some(sweat::base::Secret::new("x")), ..old };
    assert!(matches!(who(&wrong), Err(Error::Login { code: 1045, .. })));
    let empty = AddressPlan { database: None, ..server.tcp("nopass", "") };
    assert_eq!(
        who(&with_tls(&empty, SslMode::Disabled, None)).unwrap().as_deref(),
        Some("nopass@%")
    );

    // Its own certificates, made at the first start.
    let data = data_folder(&mut admin);
    let tcp = server.tcp("far", "");
    let ca = Some(data.join("ca.pem"));
    assert!(cipher(&with_tls(&tcp, SslMode::VerifyCa, ca.clone())).is_some());
    assert!(matches!(open(&with_tls(&tcp, SslMode::VerifyIdentity, ca)), Err(Error::Tls(_))));

    // The rest of a session's life, in both engines and both ways.
    for plan in [server.unix("root", ""), tcp] {
        let target = Target::new(&plan).unwrap();
        block_on(plain_work(&mut target.connect(&Stop::new()).unwrap()));
        on_reactor(async {
            plain_work(&mut target.open_session(&Stop::new()).await.unwrap()).await;
        });
    }
    let attributes = "SELECT attr_value FROM performance_schema.session_connect_attrs \
         WHERE processlist_id = CONNECTION_ID() AND attr_name = 'program_name'";
    assert_eq!(admin.query_scalar(attributes).unwrap().as_deref(), Some("sweat"));
    admin.run_command("CREATE TABLE mysql.t (a INT)").unwrap();
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE mysql.t";
    assert_eq!(admin.load_local(load, &mut &b"1\n2\n3\n"[..]).unwrap().affected, 3);
}

fn data_folder(admin: &mut sweat::client::Session) -> PathBuf {
    Path::new(&admin.query_scalar("SELECT @@datadir").unwrap().unwrap()).to_owned()
}

/// As `works`, without MariaDB's tables of numbers.
async fn plain_work(session: &mut sweat::client::Session) {
    let mut tally = sweat::recorder::Tally::default();
    let rows = "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 900) \
         SELECT i, REPEAT('x', i) FROM n WHERE i > ?";
    let statement = session.prepare(rows).await.unwrap();
    for n in 0..20 {
        let values = [sweat::client::ParameterValue::Uint(n)];
        let reply = session.execute_prepared(&mut tally, &statement, &values).await.unwrap();
        assert_eq!(reply.rows, 900 - n);
    }
    let error = session.execute(&mut tally, b"SELECT nonsense").await.unwrap_err();
    assert_eq!(error.code, 1054);
    assert_eq!(session.execute(&mut tally, b"DO 1").await.unwrap().rows, 0);
}
