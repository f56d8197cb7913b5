//! Files of other tools as mixes: the text of a mix, and a note for each thing that could not be carried.
//! To add one: a file here that fills a `MixText`, and its line in `import_mix`.

mod pgbench;
mod smack;
pub(super) mod ycsb;

use crate::plan::Mistake;

pub use self::ycsb::parse_properties;

/// What another tool's file became.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedMix {
    /// The file of a mix.
    pub text: String,
    /// What it does not carry.
    pub notes: Vec<String>,
}

/// Reads a file of Super Smack (`.smack`), a script of pgbench (`.sql`, `.pgbench`), or properties of YCSB (anything else).
///
/// # Errors
/// When it is none of them.
pub fn import_mix(name: &str, text: &str) -> Result<ImportedMix, Mistake> {
    let lower = name.to_ascii_lowercase();
    let mix = if lower.ends_with(".smack") {
        smack::read_smack(text)
    } else if [".sql", ".pgbench", ".bench"].iter().any(|end| lower.ends_with(end)) {
        pgbench::read_script(text)
    } else {
        ycsb::read_properties(text).map(|properties| ycsb::write_mix(&properties))
    };
    mix.map(|mix| mix.finish(name)).map_err(|why| {
        Mistake::new(name, why)
            .hint("a .smack file, a script of pgbench (.sql), or properties of YCSB")
    })
}

/// A mix being written.
#[derive(Debug, Default)]
pub(super) struct MixText {
    sets: Vec<String>,
    tables: Vec<String>,
    data: Vec<String>,
    values: Vec<String>,
    transactions: Vec<String>,
    sessions: Vec<String>,
    notes: Vec<String>,
}

impl MixText {
    fn add_note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The whole file, its notes as comments at the head.
    pub(super) fn finish(self, name: &str) -> ImportedMix {
        let mut text = format!("# From {}.\n", name.replace(['\n', '\r'], " "));
        for note in &self.notes {
            text += &format!("# Not carried: {}\n", note.replace('\n', " "));
        }
        text += "format = 1\n";
        let section = |head: &str, lines: &[String]| match lines.is_empty() {
            true => String::new(),
            false => format!("\n{head}{}\n", lines.join("\n")),
        };
        text += &section("[set]\n", &self.sets);
        text += &section("", &self.tables);
        text += &section("", &self.data);
        text += &section("[value]\n", &self.values);
        text += &section("", &self.transactions);
        text += &section("", &self.sessions);
        ImportedMix { text, notes: self.notes }
    }
}

/// A text as TOML writes it.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            '\r' => out += "\\r",
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

/// A name that a mix takes.
pub(super) fn name_of(text: &str) -> String {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name: String = text.chars().map(|c| if is_fit(c) { c } else { '_' }).collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => name,
        false => format!("n{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file becomes can be read.
    fn imported(name: &str, text: &str) -> ImportedMix {
        let mix = import_mix(name, text).unwrap_or_else(|mistake| panic!("{mistake}"));
        let spec = super::super::read::read_spec(&mix.text);
        spec.unwrap_or_else(|list| panic!("{}\n{list:?}", mix.text));
        mix
    }

    #[test]
    fn a_script_of_pgbench() {
        let script = r#"\set aid random(1, 100000 * :scale)
\set z random_zipfian(1, 100, 1.1)
\set twice :aid * 2
BEGIN;
UPDATE accounts SET abalance = abalance + :z
  WHERE aid = :aid;
SELECT abalance AS found, 1 FROM accounts WHERE aid = :aid \gset
\if :found > 0
\sleep 10 ms
SELECT :twice;
\else
SELECT 2;
\endif
SELECT :teller;
\setshell x true
END;
"#;
        let mix = imported("a.sql", script);
        for line in [
            "scale = 1",
            "aid = {expr = \"random",
            "z = {int = [\"1\", \"100\"], by = \"zipfian:1.1\", draw = \"event\"}",
            "twice = {expr = \":aid * 2\"}",
            "begin = true",
            "keep = {found = \"found\"}",
            "{sleep = \"10ms\", when = \"(:found > 0)\"}",
            "{sql = \"SELECT 2\", when = \"not (:found > 0)\"}",
        ] {
            let is_there = mix.text.contains(line);
            assert!(is_there != line.starts_with("aid ="), "{line} is not in\n{}", mix.text);
        }
        assert_eq!(mix.notes, ["line 14: :teller, which no \\set sets", "line 15: \\setshell"]);
    }

    #[test]
    fn a_property_that_cant_be_read_is_not_taken_for_another_number() {
        for (property, why) in [
            ("readproportion=0,5", "readproportion: `0,5` is not a share"),
            ("scanproportion=-1", "scanproportion: `-1` is not a share"),
            ("updateproportion=nan", "updateproportion: `nan` is not a share"),
            ("recordcount=0", "recordcount: `0` is not a whole number from 1 to"),
            ("recordcount=1000000000000000000000", "is not a whole number from 1 to"),
            ("operationcount=1.5", "operationcount: `1.5` is not a whole number from 0 to"),
            ("fieldcount=1001", "fieldcount: `1001` is not a whole number from 1 to 1000"),
            ("fieldlength=", "fieldlength: `` is not a whole number"),
            ("readallfields=maybe", "readallfields: `maybe` is neither true nor false"),
        ] {
            let found = import_mix("x", property).map(|_| ()).unwrap_err().to_string();
            assert!(found.contains(why), "{property}: {found}");
        }
        for property in
            ["readproportion=5e-1", "recordcount=1e3", "insertcount=", "readallfields=TRUE"]
        {
            imported("x", property);
        }
    }

    #[test]
    fn a_file_of_super_smack() {
        let smack = r#"
// comment
client "admin" { user "root"; host "localhost"; }
table "people" {
  client "admin";
  create "create table people (name char(25) not null, uid int, primary key(name))";
  min_rows "90000";
  data_file "words.dat";
  gen_data_file "gen-data -n 90000 -f %12-12s%n,%d";
}
dictionary "word" { type "rand"; source_type "file"; source "words.dat"; delim ","; }
dictionary "fresh" { type "unique"; source_type "template"; source "u%08d"; }
query "look" {
  query "select * from people where name = '$word'";
  type "select_index"; has_result_set "y"; parsed "y";
}
query "add" { query "insert into people values ('$fresh', 1)"; type "add"; parsed "y"; }
client "smacker" { user "test"; query_barrel "2 look 1 gone 1 add"; }
main { smacker.init(); smacker.set_num_rounds($2); }
"#;
        let mix = imported("x.smack", smack);
        for line in [
            "[table.people]",
            "rows = 90000",
            "name = {type = \"char(25) not null\", template = \"{text:12}{row}\"}",
            "uid = {type = \"int\", int = [0, 2147483647]}",
            "key = \"primary key(name)\"",
            "file = \"words.dat\"",
            "fresh = {template = \"u{fresh_number:08}\"}",
            "select * from people where name = :word",
            "order = [\"look*2\", \"add*1\"]",
        ] {
            assert!(mix.text.contains(line), "{line} is not in\n{}", mix.text);
        }
        for note in ["set_num_rounds", "client smacker: gone, a query that is not there"] {
            assert!(mix.notes.iter().any(|known| known.contains(note)), "{:?}", mix.notes);
        }
    }

    #[test]
    fn properties_of_ycsb() {
        let mix = imported(
            "workloadf",
            "recordcount=500\nreadproportion=0.5\nupdateproportion=0\n\
             readmodifywriteproportion=0.5\nrequestdistribution=zipfian\nfieldcount=3\nodd=1\n",
        );
        for line in [
            "records = 500",
            "[0, \":records - 1\"], by = \"scrambled\", among = \":records + 1\"",
            "[transaction.READ_MODIFY_WRITE]",
            "class = \"READ-MODIFY-WRITE\"",
        ] {
            assert!(mix.text.contains(line), "{line} is not in\n{}", mix.text);
        }
        assert!(mix.notes.iter().any(|note| note.contains("`odd`")), "{:?}", mix.notes);
        assert!(!mix.text.contains("stored("), "nothing is inserted: {}", mix.text);
        for (properties, line) in [
            ("insertproportion=0.1\nkeys=go", "by = \"scrambled:go\", among = \":records + 201\""),
            ("insertproportion=0.1\noperationcount=500", "among = \":records + 101\""),
            ("insertproportion=1\nrequestdistribution=latest", "[0, \"last(fresh_number)\"], by"),
            ("requestdistribution=exponential", "{expr = \":records - 1 - :age\"}"),
            (
                "dataintegrity=true\nfieldcount=2",
                "select field0, field1 from usertable where ycsb_key = :key\", class = \"read\", \
                 expect = {rows = \"1\", values = [\":words0\", \":words1\"]}",
            ),
            ("dataintegrity=true\ninsertproportion=1", ":fresh_words0, :fresh_words1"),
            ("insertstart=100\ninsertcount=50", "records = 50\nfirst = 100"),
            ("insertstart=100", "ycsb = \":row - 1 + :first\""),
            (
                "insertstart=100\nrequestdistribution=uniform",
                "int = [\":first\", \":first + :records - 1\"]}",
            ),
            ("insertstart=9\ninsertproportion=1", "max(:first + :records, stored(usertable))"),
            ("insertorder=ordered", "ycsb = \":row - 1\", keys = \"ordered\""),
            ("readallfields=false", "select field{{field}} from usertable where"),
            ("writeallfields=true\nfieldcount=2", "set field0 = :words, field1 = :words where"),
            ("fieldlengthdistribution=uniform\nfieldlength=20", "text = {length = [1, 20]}"),
        ] {
            let mix = imported("x", &format!("recordcount=500\n{properties}\n"));
            assert!(mix.text.contains(line), "{line} is not in\n{}", mix.text);
            assert!(mix.notes.is_empty(), "{:?}", mix.notes);
        }
        assert!(import_mix("x", "hello").is_err());
    }
}
