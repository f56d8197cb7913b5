//! `sweat ycsb load|run`: the words of YCSB and go-ycsb as those of `sweat bench ycsb`.

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::Command;

use super::arguments::words_command;
use super::translated::TranslatedCall;
use crate::base::host_port::split_host_port;
use crate::workload::mix::parse_properties;

const NAME: &str = "ycsb";
const HELP: &str = "\
Run YCSB's command line on sweat's engines

Usage: sweat ycsb load|run [BINDING] [-P FILE].. [-p NAME=VALUE].. [OPTIONS]

  load, run        Make and fill the table; run the operations
  BINDING          jdbc: keys of YCSB (the default); mysql, mariadb: of go-ycsb
  -P FILE          File of properties
  -p NAME=VALUE    Property, over those of files
  -threads N       Sessions [default: threadcount, 1]
  -target N        Operations per second [default: target, as many as possible]
  -s               Accepted: progress is always shown
  --help           Print help

The server: db.url, db.user, db.passwd; or mysql.host, mysql.port, mysql.user,
mysql.password, mysql.db; or -h, -u, -D and --sandbox as in other commands.
The port is --port here, the password --password or MYSQL_PWD.
Other options are those of `sweat bench ycsb`, which this is, with its report
in YCSB's lines.

Examples:
  sweat ycsb load jdbc -P workloads/workloada -p db.url=jdbc:mysql://db1/test
  sweat ycsb run jdbc -P workloads/workloada -P db.properties -threads 8
  sweat ycsb run mysql -P workloads/workloadc -p mysql.host=db1 --threads 8
";
/// Properties that hold a password.
const PASSWORDS: [&str; 2] = ["db.passwd", "mysql.password"];
/// Words of the Java program that say nothing here, with a value behind them.
const PASSED_OVER: [&str; 6] = ["-cp", "-jvm-args", "-l", "-label", "-db", "-classpath"];

pub(super) fn command() -> Command {
    words_command(NAME, "Run YCSB's command line on sweat's engines").after_help(
        "Examples:\n  \
         sweat ycsb load jdbc -P workloads/workloada -p db.url=jdbc:mysql://db1/test\n  \
         sweat ycsb run jdbc -P workloads/workloada -P db.properties -threads 8",
    )
}

/// The words of YCSB, if that is the program's first word.
pub(super) fn translate_call(args: &[OsString]) -> Option<TranslatedCall> {
    let [_, first, rest @ ..] = args else { return None };
    if *first != *NAME {
        return None;
    }
    let words: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    Some(match YcsbWords::read(&words) {
        Ok(None) => TranslatedCall::Print(HELP.to_owned()),
        Ok(Some(words)) => {
            words.bench_args().map_or_else(TranslatedCall::Wrong, TranslatedCall::Own)
        }
        Err(why) => TranslatedCall::Wrong(why),
    })
}

/// Where passwords stand among the arguments: which one, and from which byte.
pub(super) fn password_places(args: &[OsString]) -> Vec<(usize, usize)> {
    if args.get(1).is_none_or(|first| *first != *NAME) {
        return Vec::new();
    }
    let place = |(number, word): (usize, &OsString)| {
        let word = word.to_string_lossy();
        let (name, _) = word.split_once('=')?;
        let is_one = PASSWORDS.contains(&name.trim_start_matches("-p"));
        is_one.then_some((number, name.len() + 1))
    };
    args.iter().enumerate().filter_map(place).collect()
}

/// The words, told apart.
#[derive(Debug, Default)]
struct YcsbWords {
    is_load: bool,
    /// Whose keys, if the binding says so.
    keys: Option<&'static str>,
    files: Vec<String>,
    typed: BTreeMap<String, String>,
    threads: Option<String>,
    target: Option<String>,
    /// As they are.
    others: Vec<String>,
}

impl YcsbWords {
    /// Reads them; `None` where help is asked for.
    fn read(words: &[String]) -> Result<Option<YcsbWords>, String> {
        let mut all = YcsbWords::default();
        let mut is_told = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            let mut value = || {
                joined
                    .clone()
                    .or_else(|| words.next().cloned())
                    .ok_or(format!("{name} has no value"))
            };
            match name {
                "--help" | "-?" => return Ok(None),
                "load" | "-load" | "run" | "-t" if !is_told => {
                    (all.is_load, is_told) = (name.ends_with("load"), true);
                }
                "-s" => {}
                "-P" | "--property_file" => all.files.push(value()?),
                "-p" | "--prop" => all.add_property(&value()?)?,
                "-threads" | "--threads" => all.threads = Some(value()?),
                "-target" | "--target" => all.target = Some(value()?),
                name if PASSED_OVER.contains(&name) => drop(value()?),
                name if name.starts_with('-') => {
                    all.others.push(word.clone());
                    // A short flag's value is the next word, as in `-h db1`.
                    if name.len() == 2 && "huDSH".contains(&name[1..]) {
                        all.others.push(value()?);
                    }
                }
                "jdbc" => all.keys = Some("java"),
                "mysql" | "mariadb" => all.keys = Some("go"),
                other if !is_told => return Err(format!("`{other}` is neither load nor run")),
                other => {
                    return Err(format!("sweat has no binding `{other}`, only jdbc and mysql"));
                }
            }
        }
        if is_told { Ok(Some(all)) } else { Err("is it load or run?".to_owned()) }
    }

    fn add_property(&mut self, pair: &str) -> Result<(), String> {
        let (name, value) = pair.split_once('=').ok_or(format!("-p {pair} has no `=`"))?;
        if value.contains(',') && !name.contains('.') {
            return Err(format!("-p {name}: a value with a comma belongs into a file"));
        }
        self.typed.insert(name.trim().to_owned(), value.trim().to_owned());
        Ok(())
    }

    fn bench_args(self) -> Result<Vec<OsString>, String> {
        let mut all = BTreeMap::new();
        for file in &self.files {
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("-P {file}: {error}"))?;
            all.extend(parse_properties(&text));
        }
        all.extend(self.typed.clone());
        let of = |name: &str| all.get(name).map(String::as_str).filter(|value| !value.is_empty());
        let deed = if self.is_load { "prepare" } else { "run" };
        // YCSB's own defaults: 95 % reads, all keys alike.
        let mut args = ["sweat", "bench", NAME, deed, "--workload=b"].map(str::to_owned).to_vec();
        let mut server = server_args(&of)?;
        if self.others.iter().any(|word| word.starts_with("-S") || word.starts_with("--socket")) {
            // A socket that is typed is the server, whatever the properties of the binding say.
            server.retain(|arg| !arg.starts_with("--host=") && !arg.starts_with("--port="));
        }
        args.extend(server);
        if let Some(keys) = self.keys.filter(|_| of("keys").is_none()) {
            args.push(format!("--keys={keys}"));
        }
        let number = |typed: Option<String>, name: &str| {
            typed.or_else(|| of(name).map(str::to_owned)).filter(|number| number != "0")
        };
        if self.is_load {
            args.extend(self.threads.map(|threads| format!("--threads={threads}")));
        } else {
            let threads = number(self.threads, "threadcount").unwrap_or_else(|| "1".to_owned());
            args.extend([format!("--threads={threads}"), format!("--format={NAME}")]);
            args.extend(number(self.target, "target").map(|rate| format!("--rate={rate}")));
            args.extend(number(None, "operationcount").map(|count| format!("--events={count}")));
            args.extend(number(None, "maxexecutiontime").map(|time| format!("--time={time}")));
        }
        if !self.files.is_empty() {
            args.push(format!("--properties={}", self.files.join(",")));
        }
        let mut pairs: Vec<String> = Vec::new();
        if of("requestdistribution").is_none() {
            pairs.push("requestdistribution=uniform".to_owned());
        }
        let shaping = self.typed.iter().filter(|(name, _)| !is_of_binding(name));
        pairs.extend(shaping.map(|(name, value)| format!("{name}={value}")));
        if !pairs.is_empty() {
            args.push(format!("--property={}", pairs.join(",")));
        }
        args.extend(self.others);
        Ok(args.into_iter().map(OsString::from).collect())
    }
}

/// Whether a property is of a binding, which says where the server is.
fn is_of_binding(name: &str) -> bool {
    name.contains('.') && !name.starts_with("exponential.")
}

/// Where the server is, as properties say it.
fn server_args<'p>(of: &dyn Fn(&str) -> Option<&'p str>) -> Result<Vec<String>, String> {
    let mut args = Vec::new();
    let mut add = |flag: &str, value: Option<&str>| {
        args.extend(
            value.filter(|value| !value.is_empty()).map(|value| format!("--{flag}={value}")),
        );
    };
    if let Some(url) = of("db.url") {
        let place =
            ["jdbc:mysql://", "jdbc:mariadb://"].iter().find_map(|head| url.strip_prefix(head));
        let place = place.filter(|place| !place.contains([',', ';']));
        let Some(place) = place else {
            return Err("db.url: as in jdbc:mysql://db1:3306/test, one server".to_owned());
        };
        let place = place.split('?').next().unwrap_or_default();
        let (server, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = match server {
            "" => (None, None),
            _ => {
                let place = split_host_port(server);
                let (host, port) = place.map_err(|why| format!("db.url: {why}"))?;
                (Some(host), port.map(|port| port.to_string()))
            }
        };
        add("host", host);
        add("port", port.as_deref());
        add("database", Some(database));
    }
    for (flag, names) in [
        ("host", ["mysql.host", ""]),
        ("port", ["mysql.port", ""]),
        ("user", ["mysql.user", "db.user"]),
        ("password", ["mysql.password", "db.passwd"]),
        ("database", ["mysql.db", ""]),
    ] {
        add(flag, names.iter().find_map(|name| of(name)));
    }
    Ok(args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> TranslatedCall {
        let args: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        translate_call(&args).expect("the first word is ycsb")
    }

    fn bench(words: &str) -> TranslatedCall {
        TranslatedCall::Own(
            format!("sweat bench ycsb {words}").split(' ').map(OsString::from).collect(),
        )
    }

    #[test]
    fn words_of_both_programs_become_ours() {
        assert_eq!(
            call(
                "sweat ycsb run jdbc -s -threads 8 -target 500 -p operationcount=2000 -p \
                  db.url=jdbc:mysql://db1:3307/test?x=1 -p db.user=bench -p db.passwd=x \
                  -p readproportion=1 -cp driver.jar"
            ),
            bench(
                "run --workload=b --host=db1 --port=3307 --database=test --user=bench \
                   --password=x --keys=java --threads=8 --format=ycsb --rate=500 --events=2000 \
                   --property=requestdistribution=uniform,operationcount=2000,readproportion=1"
            )
        );
        assert_eq!(
            call(
                "sweat ycsb load mysql --threads=4 -p recordcount=5 -p mysql.host=db1 -D test \
                  -p requestdistribution=latest"
            ),
            bench(
                "prepare --workload=b --host=db1 --keys=go --threads=4 \
                   --property=recordcount=5,requestdistribution=latest -D test"
            )
        );
        assert_eq!(
            call("sweat ycsb run --sandbox"),
            bench(
                "run --workload=b --threads=1 --format=ycsb \
                   --property=requestdistribution=uniform --sandbox"
            )
        );
    }

    #[test]
    fn a_typed_socket_goes_before_the_address_of_the_binding() {
        let url = "-p db.url=jdbc:mysql://db1:3307/test -p db.user=bench";
        for socket in ["-S /run/s", "-S/run/s", "--socket=/run/s"] {
            assert_eq!(
                call(&format!("sweat ycsb run jdbc {url} {socket}")),
                bench(&format!(
                    "run --workload=b --database=test --user=bench --keys=java --threads=1 \
                     --format=ycsb --property=requestdistribution=uniform {socket}"
                ))
            );
        }
    }

    #[test]
    fn files_of_properties_say_how_long_and_where() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("workloadx");
        let text = "# x\nthreadcount=3\nmaxexecutiontime = 60\nrequestdistribution=zipfian\n\
                    mysql.db=shop\n";
        std::fs::write(&path, text).unwrap();
        let file = path.display();
        assert_eq!(
            call(&format!("sweat ycsb run -P {file}")),
            bench(&format!(
                "run --workload=b --database=shop --threads=3 --format=ycsb --time=60 \
                 --properties={file}"
            ))
        );
    }

    #[test]
    fn words_that_say_nothing_are_refused() {
        for (line, why) in [
            ("sweat ycsb", "load or run"),
            ("sweat ycsb walk", "`walk` is neither load nor run"),
            ("sweat ycsb run redis", "no binding `redis`"),
            ("sweat ycsb run -P /none", "-P /none: "),
            ("sweat ycsb run -p x", "-p x has no `=`"),
            ("sweat ycsb run -p", "-p has no value"),
            ("sweat ycsb run -p db.url=jdbc:postgresql://a/b", "db.url: as in"),
        ] {
            let TranslatedCall::Wrong(found) = call(line) else { panic!("{line} was taken") };
            assert!(found.contains(why), "{line}: {found}");
        }
        assert_eq!(call("sweat ycsb --help"), TranslatedCall::Print(HELP.to_owned()));
        assert!(HELP.lines().all(|line| line.chars().count() <= 80), "{HELP}");
        assert_eq!(translate_call(&["sweat".into(), "bench".into()]), None);
    }

    #[test]
    fn passwords_are_found_to_be_hidden() {
        let args = "sweat ycsb run -p db.passwd=secret -p mysql.password=x -p db.user=u";
        let args: Vec<OsString> = args.split(' ').map(OsString::from).collect();
        assert_eq!(password_places(&args), [(4, 10), (6, 15)]);
        assert_eq!(password_places(&args[1..]), []);
    }
}
