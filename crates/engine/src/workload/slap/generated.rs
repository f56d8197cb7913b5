//! The table and the statements that `--auto-generate-sql` makes up: byte by byte those of mysqlslap.

use super::libc_random::LibcRandom;

/// Characters of a string column's value.
const STRING_LENGTH: usize = 126;
/// What they are taken from.
const LETTERS: &[u8; 60] = b"0123456789ABCDEFGHIJKLMNOPQRSTWXYZabcdefghijklmnopqrstuvwxyz";
/// Stands for a key where none was chosen.
pub(super) const KEY_PLACE: &str = "796c4422-1d94-102a-9d6d-00e0812d";

/// The primary key of the generated table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrimaryColumn {
    /// None.
    #[default]
    None,
    /// Counted by the server.
    Serial,
    /// Made by UUID().
    Guid,
}

/// Which statements the load has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadMix {
    /// INSERT and SELECT in turn.
    #[default]
    Mixed,
    /// UPDATE.
    Update,
    /// INSERT.
    Write,
    /// SELECT by key.
    Key,
    /// SELECT of all rows.
    Read,
}

impl LoadMix {
    /// By the first letter; a word that is none means `mixed`.
    pub fn from_word(word: &str) -> LoadMix {
        match word.bytes().next() {
            Some(b'u') => LoadMix::Update,
            Some(b'w') => LoadMix::Write,
            Some(b'k') => LoadMix::Key,
            Some(b'r') => LoadMix::Read,
            _ => LoadMix::Mixed,
        }
    }
}

/// What the table and the load look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedShape {
    /// INT columns.
    pub int_columns: u32,
    /// Whether each has an index.
    pub int_indexes: bool,
    /// VARCHAR columns.
    pub char_columns: u32,
    /// Whether each has an index.
    pub char_indexes: bool,
    /// Unique keys beside the primary one, each on a column of its own.
    pub secondary_keys: u32,
    /// The primary key.
    pub primary: PrimaryColumn,
    /// The load's statements.
    pub mix: LoadMix,
    /// Different statements of the load, but for one.
    pub unique_queries: u64,
    /// Different rows.
    pub unique_rows: u64,
}

/// A statement of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedStatement {
    /// Its text; a key that is chosen as it runs is given by a place holder at its end.
    pub sql: String,
    /// Whether a key is to be chosen.
    pub takes_key: bool,
}

/// What was made up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedSql {
    /// CREATE TABLE.
    pub create: String,
    /// INSERTs that fill the table, repeated if there are to be more rows.
    pub rows: Vec<String>,
    /// The load.
    pub load: Vec<GeneratedStatement>,
}

impl GeneratedShape {
    /// Makes up the statements: always the same.
    pub fn generate_sql(&self) -> GeneratedSql {
        let mut random = LibcRandom::new();
        let create = self.create_text();
        let rows = (0..self.unique_rows).map(|_| self.insert_text(&mut random)).collect();
        let load = (0..=self.unique_queries).map(|n| self.load_statement(n, &mut random)).collect();
        GeneratedSql { create, rows, load }
    }

    fn create_text(&self) -> String {
        let mut columns = Vec::new();
        match self.primary {
            PrimaryColumn::None => {}
            PrimaryColumn::Serial => columns.push("id serial".to_owned()),
            PrimaryColumn::Guid => columns.push("id varchar(36) primary key".to_owned()),
        }
        columns.extend((0..self.secondary_keys).map(|n| format!("id{n} varchar(36) unique key")));
        columns.extend((1..=self.int_columns).map(|n| match self.int_indexes {
            true => format!("intcol{n} INT(32), INDEX(intcol{n})"),
            false => format!("intcol{n} INT(32) "),
        }));
        columns.extend((1..=self.char_columns).map(|n| match self.char_indexes {
            true => format!("charcol{n} VARCHAR(128), INDEX(charcol{n}) "),
            false => format!("charcol{n} VARCHAR(128)"),
        }));
        format!("CREATE TABLE `t1` ({})", columns.join(","))
    }

    fn load_statement(&self, number: u64, random: &mut LibcRandom) -> GeneratedStatement {
        let has_key = self.primary != PrimaryColumn::None;
        let (sql, takes_key) = match self.mix {
            LoadMix::Mixed if number % 2 == 0 => (self.insert_text(random), false),
            LoadMix::Mixed => (self.select_text(), has_key),
            LoadMix::Update => (self.update_text(random), has_key),
            LoadMix::Write => (self.insert_text(random), false),
            LoadMix::Key => (self.select_text(), has_key),
            LoadMix::Read => (self.select_text(), false),
        };
        let place = if takes_key { format!(" WHERE id =  '{KEY_PLACE}'") } else { String::new() };
        GeneratedStatement { sql: sql + &place, takes_key }
    }

    fn insert_text(&self, random: &mut LibcRandom) -> String {
        let mut values = Vec::new();
        match self.primary {
            PrimaryColumn::None => {}
            PrimaryColumn::Serial => values.push("NULL".to_owned()),
            PrimaryColumn::Guid => values.push("uuid()".to_owned()),
        }
        values.extend((0..self.secondary_keys).map(|_| "uuid()".to_owned()));
        values.extend((0..self.int_columns).map(|_| random.next_number().to_string()));
        values.extend((0..self.char_columns).map(|_| format!("'{}'", string_value(random))));
        format!("INSERT INTO t1 VALUES ({})", values.join(","))
    }

    fn update_text(&self, random: &mut LibcRandom) -> String {
        let mut parts = Vec::new();
        for n in 1..=self.int_columns {
            parts.push(format!("intcol{n} = {}", random.next_number()));
        }
        for n in 1..=self.char_columns {
            parts.push(format!("charcol{n} = '{}'", string_value(random)));
        }
        format!("UPDATE t1 SET {}", parts.join(","))
    }

    fn select_text(&self) -> String {
        let ints = (1..=self.int_columns).map(|n| format!("intcol{n}"));
        let chars = (1..=self.char_columns).map(|n| format!("charcol{n}"));
        let columns: Vec<String> = ints.chain(chars).collect();
        format!("SELECT {} FROM t1", columns.join(","))
    }
}

fn string_value(random: &mut LibcRandom) -> String {
    let letter = |_| char::from(LETTERS[random.next_number() as usize % LETTERS.len()]);
    (0..STRING_LENGTH).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> GeneratedShape {
        GeneratedShape {
            int_columns: 1,
            int_indexes: false,
            char_columns: 1,
            char_indexes: false,
            secondary_keys: 0,
            primary: PrimaryColumn::None,
            mix: LoadMix::Mixed,
            unique_queries: 10,
            unique_rows: 10,
        }
    }

    #[test]
    fn the_plain_table_is_that_of_mysqlslap() {
        let sql = shape().generate_sql();
        assert_eq!(sql.create, "CREATE TABLE `t1` (intcol1 INT(32) ,charcol1 VARCHAR(128))");
        assert!(sql.rows[0].starts_with("INSERT INTO t1 VALUES (1804289383,'mxvtvmC9127qJNm06sGB"));
        assert!(sql.rows[1].starts_with("INSERT INTO t1 VALUES (822890675,'97RGHZ65mNzkSrYT3zWo"));
        assert_eq!((sql.rows.len(), sql.load.len()), (10, 11));
        assert!(sql.load[0].sql.starts_with("INSERT INTO t1 VALUES (100669,'qnMdipW5KkXdTjGCh2PN"));
        let select = "SELECT intcol1,charcol1 FROM t1".to_owned();
        assert_eq!(sql.load[1], GeneratedStatement { sql: select, takes_key: false });
        assert_eq!(sql, shape().generate_sql(), "every time the same");
    }

    #[test]
    fn keys_and_indexes_stand_where_mysqlslap_has_them() {
        let wide = GeneratedShape {
            int_columns: 2,
            int_indexes: true,
            char_columns: 2,
            char_indexes: true,
            secondary_keys: 2,
            primary: PrimaryColumn::Guid,
            mix: LoadMix::Update,
            unique_queries: 0,
            unique_rows: 1,
        };
        let sql = wide.generate_sql();
        assert_eq!(
            sql.create,
            "CREATE TABLE `t1` (id varchar(36) primary key,id0 varchar(36) unique key,\
             id1 varchar(36) unique key,intcol1 INT(32), INDEX(intcol1),\
             intcol2 INT(32), INDEX(intcol2),charcol1 VARCHAR(128), INDEX(charcol1) ,\
             charcol2 VARCHAR(128), INDEX(charcol2) )"
        );
        let row = "INSERT INTO t1 VALUES (uuid(),uuid(),uuid(),1804289383,846930886,'xvtvmC9127";
        assert!(sql.rows[0].starts_with(row));
        assert!(sql.load[0].takes_key);
        assert!(sql.load[0].sql.starts_with("UPDATE t1 SET intcol1 = "));
        assert!(sql.load[0].sql.ends_with(&format!(" WHERE id =  '{KEY_PLACE}'")));
        let serial = GeneratedShape { primary: PrimaryColumn::Serial, ..wide };
        assert!(serial.generate_sql().create.starts_with("CREATE TABLE `t1` (id serial,id0 "));
    }

    #[test]
    fn a_mix_is_known_by_its_first_letter() {
        let words = ["mixed", "update", "w", "key", "read", "zzz", "Update", ""];
        use LoadMix::{Key, Mixed, Read, Update, Write};
        let mixes = [Mixed, Update, Write, Key, Read, Mixed, Mixed, Mixed];
        assert_eq!(words.map(LoadMix::from_word), mixes);
    }
}
