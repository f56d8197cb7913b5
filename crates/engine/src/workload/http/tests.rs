//! Options, lists of URLs, and requests as bytes.

use super::load::{SizeCheck, StatusRange};
use super::options::{load_from_options, option_specs};
use super::request::{check_field, request_bytes};
use super::{HttpLoad, HttpWorkload};
use crate::base::Stop;
use crate::client::HttpUrl;
use crate::plan::{Mistake, Options};
use crate::workload::Workload as _;

fn load(given: &[(&str, &str)]) -> Result<HttpLoad, Mistake> {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    load_from_options(&Options::from_given(&option_specs(), &given).unwrap())
}

fn first_request(load: &HttpLoad) -> String {
    String::from_utf8(request_bytes(load, &load.urls[0])).unwrap()
}

const URL: (&str, &str) = ("url", "http://h:81/a?b");

#[test]
fn requests_say_what_was_asked() {
    let agent = concat!("User-Agent: sweat/", env!("CARGO_PKG_VERSION"), "\r\nAccept: */*\r\n");
    let plain = load(&[URL]).unwrap();
    assert_eq!(first_request(&plain), format!("GET /a?b HTTP/1.1\r\nHost: h:81\r\n{agent}\r\n"));
    let closing = load(&[URL, ("no-keep-alive", ""), ("method", "HEAD")]).unwrap();
    let text = format!("HEAD /a?b HTTP/1.1\r\nHost: h:81\r\n{agent}Connection: close\r\n\r\n");
    assert_eq!(first_request(&closing), text);
    let fields = [("header", "accept: x"), ("header", "USER-AGENT: y"), ("header", "Host: z")];
    let posted = load(&[&[URL, ("body", "q=1")][..], &fields].concat()).unwrap();
    let text = "POST /a?b HTTP/1.1\r\nContent-Length: 3\r\naccept: x\r\n\
                USER-AGENT: y\r\nHost: z\r\n\r\nq=1";
    assert_eq!(first_request(&posted), text);
    assert!(first_request(&load(&[URL, ("method", "PUT")]).unwrap()).contains("Content-Length: 0"));
}

#[test]
fn secrets_come_from_files_and_are_shown_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("login");
    std::fs::write(&file, "bob:se cret\n").unwrap();
    let path = file.to_string_lossy().into_owned();
    let basic = load(&[URL, ("basic-auth", &path)]).unwrap();
    assert!(first_request(&basic).contains("Authorization: Basic Ym9iOnNlIGNyZXQ=\r\n"));
    assert!(!format!("{basic:?}").contains("Ym9i"), "{basic:?}");
    let bearer = load(&[URL, ("bearer-token", &path)]).unwrap();
    assert!(first_request(&bearer).contains("Authorization: Bearer bob:se cret\r\n"));
    for (given, why) in [
        (vec![("basic-auth", "/nowhere")], "read /nowhere"),
        (vec![("bearer-token", "env:SWEAT_NO_SUCH_VARIABLE")], "is not set"),
        (vec![("basic-auth", path.as_str()), ("bearer-token", path.as_str())], "given, too"),
        (vec![("header", "Authorization: ***")], "left out of the run folder"),
        (vec![("body", "***")], "left out of the run folder"),
    ] {
        let found = load(&[&[URL][..], &given].concat()).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn mistakes_are_named() {
    for (given, why) in [
        (vec![], "nothing to ask for"),
        (vec![("url", "localhost")], "begins with http"),
        (vec![("url", "http://u:p@h/")], "login or token does not belong"),
        (vec![("urls", "/nowhere")], "/nowhere"),
        (vec![URL, ("method", "GE T")], "not a method"),
        (vec![URL, ("header", "no colon")], "colon"),
        (vec![URL, ("expect-status", "2xx,99")], "`99` is not a status"),
        (vec![URL, ("expect-size", "big")], "`big` is not a number"),
        (vec![URL, ("timeout", "0s")], "no length"),
        (vec![URL, ("connect-to", "h/x")], "not a host and a port"),
        (vec![("url", "https://h/"), ("ca", "/nowhere")], "/nowhere"),
    ] {
        let found = load(&given).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
    assert!(check_field("X: a\rb").is_err() && check_field("X Y: a").is_err());
}

#[test]
fn lists_of_statuses_and_sizes_are_read() {
    let range = StatusRange;
    let list = StatusRange::read_list("2xx, 304,400-404").unwrap();
    assert_eq!(list, [range(200, 299), range(304, 304), range(400, 404)]);
    for wrong in ["20", "xx", "1000", "300-200", "2x"] {
        assert!(StatusRange::read_list(wrong).is_err(), "{wrong}");
    }
    assert_eq!(SizeCheck::from_text("same"), Some(SizeCheck::AsFirst));
    assert_eq!(SizeCheck::from_text("10-20"), Some(SizeCheck::Between(10, 20)));
    assert_eq!(SizeCheck::from_text("20-10"), None);
}

#[test]
fn each_url_is_a_class_up_to_a_number() {
    let classes = |list: &[&str]| {
        let urls = list.iter().map(|url| HttpUrl::from_text(url).unwrap()).collect();
        let work = HttpWorkload::new(HttpLoad::new(urls));
        (work.class_names(), work.step_names(), work.places.clone())
    };
    let (names, steps, places) = classes(&["http://h/a", "http://h/b", "http://H:80/a"]);
    assert_eq!((names, places), (vec!["/a".to_owned(), "/b".to_owned()], vec![0]));
    assert_eq!(steps[..3], ["connect /a", "tls /a", "first byte /a"]);
    let (names, _, places) = classes(&["http://h/a", "https://h/a"]);
    assert_eq!((names[0].as_str(), places), ("http://h/a", vec![0, 1]));
    let many: Vec<String> = (0..70).map(|n| format!("http://h/{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (names, ..) = classes(&many);
    assert_eq!((names.len(), names[63].as_str(), names[64].as_str()), (65, "/63", "other URLs"));
    let work = HttpWorkload::new(HttpLoad::new(
        many.iter().map(|url| HttpUrl::from_text(url).unwrap()).collect(),
    ));
    assert_eq!(
        (&work.by_class[63], &work.by_class[64]),
        (&vec![63], &vec![64, 65, 66, 67, 68, 69])
    );
    let work = HttpWorkload::new(HttpLoad::new(vec![
        HttpUrl::from_text("http://h/0").unwrap(),
        HttpUrl::from_text("http://h/1").unwrap(),
    ]));
    assert_eq!([0; 3].map(|_| work.next_in_turn(2)), [0, 1, 0]);
    assert_eq!(work.describe_statements().load[1], "GET http://h/1");
}

#[test]
fn a_host_of_the_open_internet_must_be_named() {
    let url = ("url", "http://192.0.2.1/");
    let check = |given: &[(&str, &str)]| {
        let mut load = load(given).unwrap();
        load.tries_first = false;
        HttpWorkload::new(load).check_ready(&Stop::new())
    };
    let why = check(&[url]).unwrap_err();
    assert!(why.is::<crate::plan::RefusedError>(), "{why:#}");
    assert!(why.to_string().contains("--allow-target=192.0.2.1"), "{why:#}");
    assert!(check(&[url, ("allow-target", "192.0.2.2")]).is_err());
    check(&[url, ("allow-target", "192.0.2.1")]).unwrap();
    check(&[url, ("connect-to", "127.0.0.1:1")]).unwrap();
    check(&[url, ("unix-socket", "/nowhere")]).unwrap();
    assert!(check(&[("url", "http://127.0.0.1/"), ("connect-to", "192.0.2.1:1")]).is_err());
}
