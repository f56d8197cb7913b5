//! Files as a whole: what is wrong with them, and what the right ones draw.

use std::collections::BTreeMap;

use super::*;
use crate::base::random::Rng;
use crate::plan::AddressPlan;
use crate::workload::mix::preview::EventSample;
use crate::workload::mix::values::ValueState;
use crate::workload::mix::worker::FlowState;

/// The program of a file that no server was asked for.
fn program(text: &str) -> MixProgram {
    let spec = read::read_spec(text).unwrap_or_else(|list| panic!("{}", Mistakes(list)));
    compile(&spec).unwrap_or_else(|list| panic!("{list}"))
}

fn compile(spec: &MixSpec) -> Result<MixProgram, Mistakes> {
    let facts = ServerAnswers { is_assumed: true, ..ServerAnswers::default() };
    let files = read_dictionaries(Path::new("x.toml"), spec)?;
    compile_program(spec, &facts, &files)
}

/// All mistakes of a file, one per line.
fn mistakes(text: &str) -> String {
    let list = match read::read_spec(text) {
        Err(list) => list,
        Ok(spec) => compile(&spec).expect_err("it has a mistake").0,
    };
    let line = |mistake: &Mistake| match &mistake.hint {
        Some(hint) => format!("{mistake} ({hint})\n"),
        None => format!("{mistake}\n"),
    };
    list.iter().map(line).collect()
}

/// A file of values, and one transaction that uses them in this text.
fn of_values(values: &str, sql: &str) -> String {
    format!(
        "format = 1\n[value]\n{values}\n[transaction.t]\nsteps = [ {{sql = \"\"\"{sql}\"\"\"}} ]\n"
    )
}

/// The statements of so many events of a worker.
fn events(program: &MixProgram, seed: u64, worker: u64, count: usize) -> Vec<String> {
    let mut sample = EventSample::of_worker(program, 0, seed, worker);
    let mut all = Vec::new();
    (0..count).for_each(|_| sample.describe_event(&mut all));
    all.retain(|line| !line.starts_with("--"));
    all
}

#[test]
fn a_file_with_six_mistakes_names_all_six_with_their_lines() {
    let text = r#"format = 1
[value]
a = {int = [9, 1]}
b = {int = [1, 5], by = "zipf"}
c = {text = {length = "many"}}
d = {int = [1, 5], colour = 3}
[transaction.t]
steps = [
  {sql = "select 'x"},
  {sql = "select 1", chance = 2} ]
"#;
    let found = mistakes(text);
    for expected in [
        "line 3: value.a.int: the range from 9 to 1 is empty",
        "line 4: value.b.by: `zipf` is not a distribution (did you mean zipfian?)",
        "line 5: value.c.text.length: `many` is not a length",
        "line 6: value.d.colour: no such key",
        "line 9: transaction.t.steps[0].sql: a text in ' has no end",
        "line 10: transaction.t.steps[1].chance: it is not between 0 and 1",
    ] {
        assert!(found.contains(expected), "{expected} is not in\n{found}");
    }
    assert_eq!(found.lines().count(), 6, "{found}");
}

#[test]
fn names_that_nothing_sets_are_found_before_the_load() {
    let found = mistakes(&of_values("customer = {int = [1, 5]}", "select :custommer"));
    assert!(found.contains("`custommer` is never set (did you mean customer?)"), "{found}");
    assert!(found.starts_with("line 5: transaction.t.steps[0]:"), "{found}");
    for (values, sql, expected) in [
        ("a = {expr = \":b\"}\nb = {expr = \":a\"}", "select :a", "`a` depends on itself"),
        ("a = {pick = \"words\"}", "select :a", "no data is called `words`"),
        ("a = {int = [1, 5]}", "select :a.b", "`a` is not picked from data"),
        ("a = {text = {length = 4}}", "select * from {{a}}", "can't be pasted"),
        (
            "a = {int = [-9223372036854775808, 9223372036854775807]}",
            "select :a",
            "9223372036854775807 is too large",
        ),
        ("a = {expr = \"rows(\"}", "select :a", "a name belongs"),
        (
            "a = {int = [1, \":b\"], scatter = true}\nb = {int = [1, 2]}",
            "select :a",
            "be scattered",
        ),
        (
            "a = {int = [1, \":b\"], by = \"scrambled\"}\nb = {int = [1, 2]}",
            "select :a",
            "how many",
        ),
        ("a = {int = [1, 5], among = \"9\"}", "select :a", "belongs to a scrambled law"),
        ("a = {int = [1, 5], by = \"scrambled:c\"}", "select :a", "`scrambled:c` is none"),
        ("a = {expr = \"last(b)\"}\nb = {int = [1, 2]}", "select :a", "`b` has no last number"),
        ("a = {int = [1, 2], real = [1, 2]}", "select :a", "several rules: int, real"),
        ("a = {draw = \"use\"}", "select 1", "it has no rule"),
        ("a-b = {int = [1, 2]}", "select 1", "`a-b` is not a name"),
    ] {
        let found = mistakes(&of_values(values, sql));
        assert!(found.contains(expected), "{expected} is not in\n{found}");
    }
    let kept = "format = 1\n[transaction.t]\nsteps = [ {sql = \"select :n\"}, \
                {sql = \"select 1 as a\", keep = {n = \"a\"}} ]\n";
    assert!(mistakes(kept).contains("`n` is used before it is kept"), "{}", mistakes(kept));
    let flow = "format = 1\n[transaction.buy]\nsteps = [ {sql = \"select 1\"} ]\n\
                [session.a]\norder = [\"by\"]\n";
    assert!(mistakes(flow).contains("no transaction is called `by` (did you mean buy?)"));
    assert!(mistakes("").contains("the file does not say its format"));
    assert!(mistakes("format = 2\n[transaction.t]\nsteps = []").contains("2 is out of range"));
    assert!(mistakes("format = 1").contains("there is nothing to run"));
}

#[test]
fn the_last_number_is_below_those_of_events_under_way() {
    let text = r#"format = 1
[value]
fresh = {unique = {from = "100", step = "shared"}}
end = {expr = "last(fresh)"}
seen = {int = [0, "last(fresh)"], by = "latest:3"}
key = {int = [0, "last(fresh)"], by = "scrambled", among = "500"}
[transaction.take]
steps = [ {sql = "insert :fresh"} ]
[transaction.look]
steps = [ {sql = "look :end"}, {sql = "see :seen"}, {sql = "read :key"} ]
[session.s]
order = ["take", "look*2", "take", "look"]
"#;
    let program = program(text);
    let [mut first, mut second] =
        [0, 1].map(|worker| EventSample::of_worker(&program, 0, 7, worker));
    let next = |sample: &mut EventSample<'_>| {
        let mut lines = Vec::new();
        sample.describe_event(&mut lines);
        lines
    };
    assert_eq!(next(&mut first)[1], "insert 100");
    assert_eq!(next(&mut second)[1], "insert 101");
    assert_eq!(next(&mut second)[1], "look 99", "100 is under way");
    let lines = next(&mut first);
    assert_eq!(lines[1], "look 101");
    for _ in 0..200 {
        let lines = next(&mut first);
        let number = |line: &str| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap();
        if let [_, look, see, read] = &lines[..] {
            assert!(number(see) <= number(look) && number(read) <= number(look), "{lines:?}");
        }
    }
    drop(first);
    let lines = next(&mut second);
    assert_eq!(lines[1], "look 181", "what a worker took is settled once it has gone");
}

#[test]
fn the_same_seed_gives_the_same_statements_whatever_the_others_do() {
    let values = "a = {int = [1, 1000000], by = \"zipfian\"}\nb = {text = {length = [1, 9]}}\n\
                  c = {of = [[1, {pattern = \"##@\"}], [1, {real = [0, 1]}]], null = 0.1}";
    let first = program(&of_values(values, "select :a, :b, :c"));
    assert_eq!(events(&first, 7, 3, 200), events(&first, 7, 3, 200));
    assert_ne!(events(&first, 7, 3, 200), events(&first, 7, 4, 200));
    assert_ne!(events(&first, 7, 3, 200), events(&first, 8, 3, 200));
    // One more value shifts no other.
    let more = program(&of_values(&format!("z = {{int = [1, 9]}}\n{values}"), "select :a, :b, :c"));
    assert_eq!(events(&first, 7, 3, 200), events(&more, 7, 3, 200));
}

#[test]
fn rules_give_what_they_say() {
    let values = r###"
w = {pick = "words", order = "sequence"}
i = {int = [5, 5]}
r = {real = [1.5, 1.5], digits = 1}
p = {pattern = "##-@"}
t = {template = "u{i:04}x"}
h = {hash = ":i"}
e = {expr = ":i * 10 + 1"}
n = {int = [1, 9], null = 1.0}
u = {uuid = 4}
d = {time = ["2024-02-29 01:02:03", "2024-02-29 01:02:03"]}
q = {unique = {from = "100", step = "workers"}}
[data.words]
list = ["it's", "b\\c"]
"###;
    let text = of_values(values, "x")
        .replace("\"\"\"x\"\"\"", "\"select :w, :i, :r, :p, :t, :h, :e, :n, :u, :d, :q\"");
    let all = events(&program(&text), 1, 0, 2);
    assert!(all[0].starts_with("select 'it''s', 5, 1.5, '"), "{}", all[0]);
    assert!(all[1].starts_with("select 'b\\\\c', 5"), "{}", all[1]);
    for part in [", 'u0005x', ", ", 51, NULL, '", ", '2024-02-29 01:02:03', 100"] {
        assert!(all[0].contains(part), "{part} is not in {}", all[0]);
    }
    assert!(all[1].ends_with(", 101"), "{}", all[1]);
    // FNV-1a of "5", without its lowest bit.
    let hash = (0xcbf2_9ce4_8422_2325_u64 ^ u64::from(b'5')).wrapping_mul(1_099_511_628_211) >> 1;
    assert!(all[0].contains(&format!(", {hash}, 51")), "{}", all[0]);
}

#[test]
fn values_are_drawn_for_an_event_a_use_or_a_session() {
    let values = "e = {int = [1, 1000000000]}\nu = {int = [1, 1000000000], draw = \"use\"}\n\
                  s = {int = [1, 1000000000], draw = \"session\"}";
    let all = events(&program(&of_values(values, "select :e, :e, :u, :u, :s")), 1, 0, 2);
    let numbers = |line: &str| -> Vec<u64> {
        line.trim_start_matches("select ").split(", ").map(|n| n.parse().unwrap()).collect()
    };
    let (one, two) = (numbers(&all[0]), numbers(&all[1]));
    assert!(one[0] == one[1] && one[2] != one[3] && one[0] != two[0], "{all:?}");
    assert!(one[4] == two[4] && one[2] != two[2], "{all:?}");
}

#[test]
fn unique_numbers_never_repeat_over_workers_and_loads() {
    let program = program(&of_values("q = {unique = {from = \"max(t.id) + 1\"}}", "select :q"));
    let mut seen = std::collections::BTreeSet::new();
    for workers in [64, 7] {
        let mut states: Vec<_> = (0..workers)
            .map(|worker| ValueState::of_worker(&program.values, 1, worker, workers))
            .collect();
        for _ in 0..500 {
            for values in &mut states {
                values.begin_event();
                let hole = &program.statements[0].holes[0];
                let number = values.compute(hole).to_whole().unwrap();
                assert!(seen.insert(number), "{number} came twice");
            }
        }
    }
    assert_eq!(seen.len(), (64 + 7) * 500);
}

#[test]
fn transactions_come_by_their_weights() {
    let program = program(
        "format = 1\n[transaction.a]\nweight = 2\nsteps = [ {sql = \"select 1\"} ]\n\
         [transaction.b]\nsteps = [ {sql = \"select 2\"} ]\n\
         [transaction.c]\nshare = \"25%\"\nsteps = [ {sql = \"select 3\"} ]\n",
    );
    const DRAWS: u32 = 100_000;
    let mut flow = FlowState::new(1, 0);
    let mut counts = [0_u32; 3];
    for _ in 0..DRAWS {
        counts[flow.next_transaction(&program.sessions[0].flow)] += 1;
    }
    for (count, share) in counts.iter().zip([0.5, 0.25, 0.25]) {
        let sigma = (f64::from(DRAWS) * share * (1.0 - share)).sqrt();
        let off = (f64::from(*count) - f64::from(DRAWS) * share).abs();
        assert!(off < 3.0 * sigma, "{counts:?}");
    }
}

#[test]
fn a_flow_goes_round_and_sessions_are_shared_out() {
    let program = program(
        "format = 1\n[transaction.a]\nsteps = [ {sql = \"select 1\"} ]\n\
         [transaction.b]\nsteps = [ {sql = \"select 2\"} ]\n\
         [session.x]\nshare = \"75%\"\norder = [\"a*2..4\", \"b\"]\n\
         [session.y]\nworkers = 2\nmix = {b = 1}\n[session.z]\nshare = \"25%\"\n",
    );
    let mut flow = FlowState::new(1, 0);
    let order: Vec<usize> =
        (0..1000).map(|_| flow.next_transaction(&program.sessions[0].flow)).collect();
    let rounds: Vec<usize> = order.split(|place| *place == 1).map(<[usize]>::len).collect();
    let inner = &rounds[..rounds.len() - 1];
    assert!(inner.iter().all(|length| (2..=4).contains(length)), "{inner:?}");
    let mut kinds = BTreeMap::new();
    for worker in 0..10 {
        *kinds.entry(program.session_of(worker, 10).unwrap()).or_insert(0) += 1;
    }
    assert_eq!(kinds, [(0, 6), (1, 2), (2, 2)].into());
    let few = program.session_of(0, 2).unwrap_err();
    assert_eq!(few.hint.as_deref(), Some("--threads=3"));
}

#[test]
fn what_changes_data_in_several_steps_is_one_transaction() {
    let begins = |begin: &str, steps: &str| {
        let text = format!("format = 1\n[transaction.t]\n{begin}steps = [ {steps} ]\n");
        let program = program(&text);
        let begin = program.transactions[0].begin.iter();
        begin.map(|sql| String::from_utf8_lossy(sql).into_owned()).collect::<Vec<_>>().join("; ")
    };
    let one = "{sql = \"select 1\"}, {sql = \"delete from t\"}";
    let two = "{sql = \"update t set a = 1\"}, {sql = \" (insert into t values (1))\"}";
    assert_eq!(begins("", one), "");
    assert_eq!(begins("", two), "BEGIN");
    assert_eq!(begins("begin = false\n", two), "");
    assert_eq!(begins("begin = \"read only\"\n", one), "START TRANSACTION READ ONLY");
    let strict = begins("begin = \"isolation serializable\"\n", one);
    assert_eq!(strict, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN");
}

#[test]
fn rows_of_a_table_follow_from_the_seed_and_their_number() {
    let text = "format = 1\n[table.t]\nrows = 5\nkey = \"primary key (id)\"\n[table.t.columns]\n\
                id = {type = \"int\", expr = \":row\"}\nb = {type = \"int\", expr = \":id * 2\"}\n\
                c = {type = \"char(9)\", text = {length = [1, 9]}}\nd = {type = \"int\"}\n\
                [transaction.t]\nsteps = [ {sql = \"select 1\"} ]\n";
    let spec = read::read_spec(text).unwrap();
    let (files, facts) = (BTreeMap::new(), ServerAnswers::default());
    let table = MixTable::new(&spec.tables[0], &spec, &files, &facts).unwrap();
    let filler = table.filler(7);
    use crate::workload::fill::FillSource;
    assert_eq!((filler.row_key(), filler.rows_per_table()), (Some("`id`"), 5));
    assert_eq!(filler.filled_columns(), ["`id`", "`b`", "`c`"]);
    let row = |filler: &dyn FillSource, row| {
        let mut buffer = fill::RowBuffer::default();
        filler.write_row(0, row, &mut buffer);
        format!("{buffer:?}")
    };
    let other = table.filler(7);
    // In any order, by any session.
    for number in [4, 1, 3, 2, 5] {
        assert_eq!(row(&filler, number), row(&other, number));
    }
    assert_ne!(row(&filler, 1), row(&table.filler(8), 1));
    assert!(row(&filler, 4).contains("[Whole(4), Whole(8), Text("), "{}", row(&filler, 4));
}

#[test]
fn the_examples_can_be_read_and_rehearsed() {
    let plan = AddressPlan { host: Some("127.0.0.1".to_owned()), ..AddressPlan::default() };
    for name in ["auth", "tpcb", "shop"] {
        let path = format!("{}/../../docs/mix/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let given = vec![(FILE.to_owned(), path)];
        let options = super::super::check_options(&MixKind, &given).unwrap();
        let target = Target::new(&plan).unwrap();
        let workload = MixKind.build_workload(&options, Endpoint::MySql(&target)).unwrap();
        let preview = workload.describe_statements();
        assert!(preview.prepare.iter().any(|sql| sql.starts_with("CREATE TABLE")), "{preview:?}");
        assert!(preview.load.len() > 5, "{preview:?}");
    }
}

#[test]
fn what_set_names_are_options_of_the_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mix/auth.toml");
    let specs = MixKind.option_specs_for(&[(FILE.to_owned(), path.to_owned())]).unwrap();
    let rows = specs.iter().find(|spec| spec.name == "rows").unwrap();
    assert_eq!((rows.default.as_str(), &rows.kind), ("90000", &OptionKind::Count));
}

#[test]
fn a_transaction_without_steps_is_refused() {
    for steps in ["", "steps = []\n"] {
        let text = mistakes(&format!("format = 1\n[transaction.a]\n{steps}"));
        assert!(text.contains("it has no steps"), "{text}");
    }
}

/// Any text is read or refused: nothing breaks.
#[test]
fn broken_files_are_refused() {
    let whole = include_str!("../../../../../docs/mix/shop.toml");
    let mut rng = Rng::new(5, 0, 0);
    for _ in 0..300 {
        let mut bytes = whole.as_bytes().to_vec();
        for _ in 0..rng.uniform_between(1, 6) {
            let at = rng.uniform_below(bytes.len().max(1) as u64) as usize;
            if bytes.len() < 2 {
                break;
            }
            match rng.uniform_below(3) {
                0 => bytes[at] = b"{}[]\"=:,*09az\n"[rng.uniform_below(14) as usize],
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { continue };
        if let Ok(spec) = read::read_spec(&text) {
            if let Ok(program) = compile(&spec) {
                events(&program, 1, 0, 3);
            }
        }
    }
}
