//! Files on disk, in a private folder.

use super::*;

fn write(path: &Path, text: &[u8], mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn values(findings: &OptionFileContents) -> Vec<(&str, &str)> {
    findings.options.iter().map(|f| (f.name.as_str(), f.value.as_str())).collect()
}

#[test]
fn the_file_named_is_the_only_one_and_includes_are_followed() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir(path("more")).unwrap();
    let text = format!(
        "[client]\nuser=a\n[mysqld]\nuser=server\n!includedir {}\n\
         [sweat]\nport=1\n[client_b]\nport=2\n",
        path("more").display()
    );
    write(&path("only.cnf"), text.as_bytes(), 0o644);
    write(&path("more/2.cnf"), b"[mysql]\nhost=second\n", 0o644);
    write(&path("more/1.cnf"), b"[client]\nhost=first\n", 0o644);
    write(&path("more/3.txt"), b"[client]\nhost=third\n", 0o644);
    write(&path("more/4.cnf"), b"[client]\nhost=anybody\n", 0o666);
    let choice = OptionFileChoice { only: Some(path("only.cnf")), ..OptionFileChoice::default() };
    let findings = read_option_files(&choice);
    let expected = [("user", "a"), ("host", "first"), ("host", "second"), ("port", "1")];
    assert_eq!(values(&findings), expected);
    assert!(findings.warnings[0].contains("4.cnf: skipped"), "{:?}", findings.warnings);
    let suffixed = read_option_files(&OptionFileChoice { suffix: Some("_b".to_owned()), ..choice });
    assert_eq!(values(&suffixed).last(), Some(&("port", "2")));
}

#[test]
fn files_of_home_follow_the_extra_one_and_the_login_path_is_last() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    write(&path(".my.cnf"), b"[client]\nuser=home\n", 0o600);
    write(&path("extra.cnf"), b"[client]\nuser=extra\n", 0o600);
    let login = include_bytes!("../../../tests/data/login/mylogin.cnf");
    write(&path(".mylogin.cnf"), login, 0o600);
    let choice = OptionFileChoice {
        home: Some(dir.path().to_owned()),
        extra: Some(path("extra.cnf")),
        ..OptionFileChoice::default()
    };
    let ours = |findings: OptionFileContents| -> Vec<String> {
        let here = dir.path().display().to_string();
        let ours = findings.options.into_iter().filter(|f| f.place.starts_with(&here));
        ours.map(|f| format!("{}={}", f.name, f.value)).collect()
    };
    let expected = ["user=extra", "user=home", "user=anna", "password=s3cr#t \"x\""];
    assert_eq!(ours(read_option_files(&choice)), expected);
    let replica =
        OptionFileChoice { login_path: Some("replica".to_owned()), none: true, ..choice.clone() };
    let expected = ["user=anna", "password=s3cr#t \"x\"", "host=db2.example", "port=3307"];
    assert_eq!(ours(read_option_files(&replica)), expected);
    let without = OptionFileChoice { none: true, no_login_paths: true, ..choice };
    assert_eq!(read_option_files(&without), OptionFileContents::default());
}

#[test]
fn what_can_not_be_used_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let missing = read_option_files(&OptionFileChoice {
        only: Some(path("none.cnf")),
        ..OptionFileChoice::default()
    });
    assert!(missing.mistakes[0].place.ends_with("none.cnf"), "{missing:?}");
    write(&path("wrong.cnf"), b"[client]\nuser=a\n[open\n", 0o600);
    let wrong = read_option_files(&OptionFileChoice {
        only: Some(path("wrong.cnf")),
        ..OptionFileChoice::default()
    });
    assert!(wrong.mistakes[0].place.ends_with("wrong.cnf line 3"), "{wrong:?}");
    let circle = format!("!include {}\n", path("circle.cnf").display());
    write(&path("circle.cnf"), circle.as_bytes(), 0o600);
    let circle = read_option_files(&OptionFileChoice {
        only: Some(path("circle.cnf")),
        ..OptionFileChoice::default()
    });
    assert!(circle.mistakes[0].why.contains("include each other"), "{circle:?}");
    let login = include_bytes!("../../../tests/data/login/mylogin.cnf");
    write(&path(".mylogin.cnf"), login, 0o644);
    let home = OptionFileChoice {
        home: Some(dir.path().to_owned()),
        none: true,
        ..OptionFileChoice::default()
    };
    let open = read_option_files(&home);
    assert!(open.options.is_empty() && open.warnings.len() == 1, "{open:?}");
    let asked =
        read_option_files(&OptionFileChoice { login_path: Some("replica".to_owned()), ..home });
    assert!(asked.mistakes[0].hint.as_ref().unwrap().starts_with("chmod 600"), "{asked:?}");
}
