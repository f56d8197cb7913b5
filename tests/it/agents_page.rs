//! The page of a load on agents: what they tell while it runs, and who is behind.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::agents::{Nats, start_agents};
use crate::cli::{World, expect, until};

/// A request that shows the token of this address.
fn ask(url: &str, path: &str) -> BufReader<TcpStream> {
    let (address, token) = url.strip_prefix("http://").unwrap().split_once("/?t=").unwrap();
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}");
    peer.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    BufReader::new(peer)
}

#[test]
fn the_page_of_a_load_on_agents_grows_and_names_them() {
    let world = World::new();
    let Some(nats) = Nats::start(world.runs().parent().unwrap(), "") else { return };
    let agents = start_agents(&world, &nats, &["a1", "a2"], &[]);
    let url = nats.url();
    let words = ["--agents=2", "--nats", &url, "--threads=2", "--time=8", "--interval=100ms"];
    let load = ["bench", "null", "--rate=500", "--quiet", "--seed=7", "--listen=127.0.0.1:0"];
    let mut load = world.start(&[&load, &words[..]].concat());
    let mut lines = BufReader::new(load.stderr.take().unwrap());
    let page = loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it printed no address");
        if let Some(page) = line.trim().strip_prefix("page: ") {
            break page.to_owned();
        }
    };
    let reader = std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
    let mut events = ask(&page, "/events?after=0");
    let mut beat = String::new();
    while !beat.contains("\"figures\"") {
        beat.clear();
        assert!(events.read_line(&mut beat).unwrap() > 0, "it ended without a beat");
    }
    assert!(beat.contains("[\"agents\",\"a1"), "{beat}");
    // The page has pictures before any folder came back.
    until("a picture", || {
        let mut text = String::new();
        ask(&page, "/").read_to_string(&mut text).unwrap();
        text.contains("data-plot=\"throughput\"")
    });
    let mut rest = String::new();
    events.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("event: end\n") && rest.contains("\"done\""), "{rest}");
    expect(&load.wait_with_output().unwrap(), 0);
    reader.join().unwrap().unwrap();
    for agent in agents {
        expect(&agent.wait_with_output().unwrap(), 0);
    }
    assert_eq!(world.record().trials[0].workers, 2);
    let left = std::fs::read_dir(world.runs()).unwrap().count();
    assert_eq!(left, 1, "the run alone");
}
