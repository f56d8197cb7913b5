use super::*;
use proptest::prelude::*;

fn of(text: &str) -> String {
    redacted_text(text.as_bytes(), 10_000)
}

/// Each holds the secrets `hunter2` or `68756e746572`, as people and programs spell them.
const SPELLINGS: &[&str] = &[
    "CREATE USER u@h IDENTIFIED BY 'hunter2'",
    "CREATE USER u@h IDENTIFIED  BY 'hunter2'",
    "CREATE USER u@h IDENTIFIED\tBY\t'hunter2'",
    "CREATE USER u@h IDENTIFIED\n  BY\r\n'hunter2'",
    "CREATE USER u@h IDENTIFIED BY'hunter2'",
    "CREATE USER u@h IDENTIFIED/**/BY/* it's */'hunter2'",
    "CREATE USER u@h IDENTIFIED -- really\nBY # the password\n'hunter2'",
    "CREATE USER u@h IDENTIFIED /*!50000 BY 'hunter2' */",
    "/*!50701 CREATE USER u@h IDENTIFIED BY */ 'hunter2'",
    "CREATE /*M!100100 OR REPLACE */ USER u@h IDENTIFIED BY 'hunter2'",
    "create user u identified by \"hunter2\"",
    "create user u identified by 'a\\'hunter2'",
    "create user u identified by 'a''hunter2'",
    "create user u identified by hunter2",
    "create user u identified by `hunter2`",
    "create user u identified by 'hunter2",
    "create user it's identified by 'hunter2'",
    "create user u identified by _utf8mb4'hunter2'",
    "create user u identified by N'hunter2'",
    "create user u identified by 'x' 'hunter2'",
    "create user u identified with mysql_native_password by 'hunter2' require ssl",
    "create user u identified with caching_sha2_password as 0x68756e746572",
    "create user u identified with caching_sha2_password as X'68756e746572'",
    "create user u identified via ed25519 using 'hunter2' or unix_socket",
    "create user u identified via ed25519 using password('hunter2')",
    "create user u identified by password '*hunter2'",
    "alter user u identified by 'x' replace 'hunter2'",
    "alter user u identified by '1', 'v'@'h' identified by 'hunter2' account lock",
    "alter user u identified by 'x' and identified with p2 by 'hunter2'",
    "alter user u modify 2 factor identified by 'hunter2'",
    "grant select on *.* to u identified by 'hunter2' with max_user_connections 2",
    "begin not atomic alter user u identified  by 'hunter2'; end",
    "SET PASSWORD = 'hunter2'",
    "SET  PASSWORD\nFOR u@h = PASSWORD('hun''ter2hunter2')",
    "set /* x */ password for u to 'hunter2' retain current password",
    "set password = old_password(\"hunter2\")",
    "set statement max_statement_time=1 for set password='hunter2'",
    "SET GLOBAL wsrep_sst_auth = 'root:hunter2'",
    "set @@global.wsrep_provider_options=\"socket.ssl_key=k;hunter2\"",
    "set @smtp_password := 'hunter2'",
    "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='hunter2'",
    "change master 'c' to master_password /* */ = hunter2, master_port=3306",
    "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = \"hunter2\"",
    "START REPLICA USER='u' PASSWORD='hunter2' DEFAULT_AUTH='p'",
    "START GROUP_REPLICATION USER='u', PASSWORD='hunter2'",
    "CLONE INSTANCE FROM 'u'@'h':3306 IDENTIFIED BY 'hunter2'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
    "alter server s options (password 'hunter2', host 'h')",
    "create table f (a int) engine=federated connection='mysql://u:hunter2@h:3306/d/t'",
    "create table f (a int) engine=federated\nCONNECTION  'mysql://u:hunter2@h/d/t'",
    "create table s (a int) engine=spider comment='user \"u\", password \"hunter2\"'",
    "insert into urls values ('https://u:hunter2@example.org/')",
    "update mysql.user set authentication_string = 'hunter2' where user = 'u'",
    "update `it's` set `passwd` = 'hunter2' where id = 7",
    "insert into users (id, name, password, mail) values (1, 'n', 'hunter2', 'm')",
    "insert into users (password, a, b, c, d, e) values (concat('hun', 'ter2'), 'hunter2')",
    "insert into settings values ('smtp_password', 'hunter2')",
    "select id from users where name = 'n' and user_pass = md5('hunter2')",
    "select 'hunter2' = pwd, password in ('a', 'hunter2') from users",
    "select aes_encrypt(a, 'hunter2'), des_decrypt(b, 'hunter2'), encode(c, 'hunter2') from t",
    "select encrypt('hunter2', 'xx')",
    "select aes_decrypt(unhex('00'), 0x68756e746572)",
    "PREPARE s FROM 'ALTER USER u IDENTIFIED BY ''hunter2'''",
    "prepare s from \"set password = 'hunter2'\"",
    "EXECUTE IMMEDIATE 'CREATE USER u IDENTIFIED\\n BY \\'hunter2\\''",
    "execute immediate concat('alter user u identi', 'fied by ''hunter2''')",
    "execute immediate 0x68756e746572",
    "set @s = 'prepare p from \"alter user u identified by \\'hunter2\\'\"'",
    "call set_password('u', 'hunter2')",
    "-- was: alter user u identified by 'hunter2'\nselect 1",
    "select 1 /* grant all on *.* to u identified by 'hunter2' */",
    "select json_set(doc, '$.password', 'hunter2') from t",
    "update t set doc = '{\"password\": \"hunter2\"}' where id = 1",
    "alter user u identified by '\\\\' , v identified by 'hunter2'",
    "install soname 'x'; alter user u identified by 'hunter2'",
    "create definer=u procedure p() begin alter user u identified\tby 'hunter2'; end",
];

#[test]
fn secrets_are_hidden_however_they_are_spelled() {
    assert!(SPELLINGS.len() >= 60);
    for text in SPELLINGS {
        let hidden = of(text);
        for secret in ["hunter2", "ter2", "68756e746572"] {
            assert!(!hidden.contains(secret), "{text}\n{hidden}");
            let class = redacted_digest(text.as_bytes());
            assert!(!class.contains(secret), "{text}\n{class}");
        }
        assert!(hidden.contains("<secret>"), "{text}\n{hidden}");
        assert_eq!(of(&hidden), hidden, "what is hidden stays as it is");
    }
}

#[test]
fn a_secret_is_hidden_wherever_its_statement_was_cut() {
    for text in SPELLINGS {
        let Some(at) = text.find("hunter2") else { continue };
        for end in at + 3..text.len() {
            // What a cut leaves of a statement need not say any more that there is a secret in it.
            let cut = &text.as_bytes()[..end];
            if secret_words::find_secret_word(&cut[..at]).is_some() {
                let hidden = redacted_text(cut, 10_000);
                assert!(!hidden.contains("hun"), "{}\n{hidden}", String::from_utf8_lossy(cut));
            }
        }
        for longest in 0..text.len() {
            let hidden = redacted_text(text.as_bytes(), longest);
            assert!(!hidden.contains("hun"), "{hidden}");
        }
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "select 'a', \"b\" from `c'd`",
        "insert into t values ('\\\\', 'x') -- password",
        "select id, name, password from users where id = 42 and mail = 'a@b' limit 10",
        "select id, password from users where id in (1, 2, 3) and name like 'a%'",
        "select v from settings where k = 'smtp_password'",
        "show variables like 'validate_password%'",
        "create table users (id int(11), password varchar(64) not null, key (password(8)))",
        "alter user u password expire interval 90 day",
        "create user u identified by <secret>",
        "ALTER USER 'u'@'%' IDENTIFIED WITH 'mysql_native_password' AS '<secret>'",
        "set collation_connection = 'utf8mb4_general_ci'",
        "set session wsrep_sync_wait = 7",
        "select connection_id(), 'x'",
        "prepare s from 'select 1'",
        "select * from t where url = 'https://example.org/a@b'",
        "xa prepare 'x'",
    ] {
        let hidden = of(text);
        if text.contains("'mysql_native_password'") {
            assert!(hidden.starts_with("ALTER USER 'u'@'%' IDENTIFIED WITH"), "{hidden}");
        } else {
            assert_eq!(hidden, text);
        }
    }
    let hidden = of("create user 'u'@'h' identified by 'x' require ssl");
    assert_eq!(hidden, "create user 'u'@'h' identified by '<secret>' require ssl");
}

#[test]
fn what_cannot_be_read_is_hidden_but_for_its_first_word() {
    assert_eq!(of("grant all to u identified by 'x"), "grant '<secret>'");
    assert_eq!(of("  alter user u identified by 'x' \0"), "alter '<secret>'");
    assert_eq!(of("\u{1}identified by x"), "'<secret>'");
    let long = format!("insert into users (password) values ('{}')", "x".repeat(LONGEST_READ));
    assert_eq!(of(&long), "insert '<secret>'");
}

#[test]
fn bytes_that_are_no_text_stay_and_long_texts_are_cut() {
    assert_eq!(of(&"x".repeat(20_000)).len(), 10_004);
    assert_eq!(redacted_text(b"identified by 'hunter2'", 18), "identified by '<se ...");
    assert_eq!(of("é identified by 'ü'"), "é identified by '<secret>'");
    let hidden = hide_secrets(b"update t set a = '\xff', password='x'");
    assert_eq!(&*hidden, b"update t set a = '\xff', password='<secret>'");
}

proptest! {
    #[test]
    fn a_password_is_hidden_anywhere(before in "[a-z ',/*#-]{0,20}", after in "\\PC*") {
        let text = format!("{before} alter user u identified\t by 'hunter2' {after}");
        prop_assert!(!of(&text).contains("hunter2"), "{}", of(&text));
    }
}
