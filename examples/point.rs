#![allow(unsafe_code, missing_docs)]
use std::time::{Duration, Instant};
use sweat::base::reactor::{Reactor, Task, block_on};
use sweat::base::{RealClock, Stop};
use sweat::plan::{AddressPlan, Protocol, SslMode, SslPlan};
use sweat::recorder::Tally;
use sweat::target::{Target, Value};
fn cpu() -> (f64, f64) {
    let mut u = unsafe { std::mem::zeroed::<libc::rusage>() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut u) };
    let f = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    (f(u.ru_utime), f(u.ru_stime))
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (n, secs, port, mode): (usize, f64, u16, &str) =
        (a[1].parse().unwrap(), a[2].parse().unwrap(), a[3].parse().unwrap(), &a[4]);
    let unix = port == 0;
    let plan = AddressPlan {
        host: (!unix).then(|| "127.0.0.1".into()),
        port: Some(port),
        socket: unix.then(|| a[5].clone().into()),
        protocol: (!unix).then_some(Protocol::Tcp),
        user: Some("root".into()),
        database: Some("sbtest".into()),
        ssl: SslPlan { mode: Some(SslMode::Disabled), ..Default::default() },
        ..Default::default()
    };
    let target = Target::new(&plan).unwrap();
    let end = Instant::now() + Duration::from_secs_f64(secs);
    let (u0, s0) = cpu();
    let work = async |seed: u64| {
        let mut s = target.open(&Stop::new()).await.unwrap();
        let st = s.prepare("SELECT c FROM sbtest1 WHERE id=?").await.unwrap();
        let mut tally = Tally::default();
        let (mut x, mut k) = (seed * 7919 + 1, 0u64);
        while Instant::now() < end {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let r = s
                .run(&mut tally, &st, &[Value::Int(((x >> 33) % 100000 + 1) as i64)])
                .await
                .unwrap();
            assert_eq!(r.rows, 1);
            k += 1;
        }
        k
    };
    let total: u64 = if mode == "threads" {
        std::thread::scope(|sc| {
            let h: Vec<_> = (0..n)
                .map(|i| {
                    let w = &work;
                    sc.spawn(move || block_on(w(i as u64)))
                })
                .collect();
            h.into_iter().map(|h| h.join().unwrap()).sum()
        })
    } else {
        let sum = std::cell::Cell::new(0);
        let mut tasks: Vec<Option<Task<'_>>> = (0..n)
            .map(|i| {
                let (w, sum) = (&work, &sum);
                Some(Box::pin(async move {
                    let k = w(i as u64).await;
                    sum.set(sum.get() + k);
                }) as Task<'_>)
            })
            .collect();
        Reactor::new(RealClock::start(), false).unwrap().run(&mut tasks, &|| false).unwrap();
        drop(tasks);
        sum.get()
    };
    eprintln!(
        "session {} task future {}",
        std::mem::size_of::<sweat::target::Session>(),
        std::mem::size_of_val(&work(1))
    );
    let (u1, s1) = cpu();
    let rss = std::fs::read_to_string("/proc/self/status")
        .unwrap()
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap()
        .to_owned();
    println!(
        "{mode} n={n}: {:.0}/s user {:.2} us sys {:.2} us {rss}",
        total as f64 / secs,
        (u1 - u0) / total as f64 * 1e6,
        (s1 - s0) / total as f64 * 1e6
    );
}
