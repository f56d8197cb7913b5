//! The files of the old kind of capture script: three per hour, each sample behind a line `TS`. The hour of a name counts to
//! 24, a sample is one write, the time is that at which its look began, and where there was no answer there is nothing.

use std::path::{Path, PathBuf};

use super::writer::{append_once, write_whole};
use crate::archive::{ArchiveError, Counters, SampleRecord};
use crate::base::kernel::{LocalTime, local_time};
use crate::base::private;
use crate::probe::{ClassicLook, ClassicTable, innodb, processlist};

/// Names behind the hour.
pub(super) const PARTS: [&str; 3] = ["-status", "-innodbstatus", "-processlist"];
/// Stars beside the number of a row.
const STARS: &str = "***************************";

/// When a look began, and how busy its machine was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassicStamp {
    /// Nanoseconds since 1970.
    pub unix_ns: u64,
    /// Seconds since the machine was booted.
    pub uptime_s: f64,
    /// Processes that want to run, over 1, 5 and 15 minutes; 0 where the server is on another machine.
    pub load: [f64; 3],
}

/// The files in their folder.
#[derive(Debug)]
pub struct ClassicFiles {
    dir: PathBuf,
    /// `5-sec-status`.
    prefix: String,
}

impl ClassicFiles {
    /// In a folder, which is made if it is not there; samples are `every_s` seconds apart.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn create(dir: &Path, every_s: f64) -> Result<ClassicFiles, ArchiveError> {
        if !dir.is_dir() {
            private::create_folder(dir).map_err(|e| ArchiveError::create_failed(dir, e))?;
        }
        Ok(ClassicFiles { dir: dir.to_owned(), prefix: format!("{every_s}-sec-status") })
    }

    /// Writes the server's variables, once.
    ///
    /// # Errors
    /// When they can't be written.
    pub fn write_variables(&self, variables: &[(String, String)]) -> Result<(), ArchiveError> {
        write_whole(&self.dir.join("mysql-variables"), table_text(variables).as_bytes())
    }

    /// The three files of the hour of a time.
    pub fn paths_at(&self, unix_ns: u64) -> [PathBuf; 3] {
        let at = local_of(unix_ns);
        let hour = format!("{}_{:02}", date_text(&at), at.hour);
        PARTS.map(|part| self.dir.join(format!("{}-{hour}{part}", self.prefix)))
    }

    /// Appends what a look has to the three files of its hour.
    ///
    /// # Errors
    /// When one can't be written; what was written of that one is taken back.
    pub fn append_look(
        &self,
        stamp: &ClassicStamp,
        look: &ClassicLook,
    ) -> Result<(), ArchiveError> {
        let at = local_of(stamp.unix_ns);
        let paths = self.paths_at(stamp.unix_ns);
        let head = stamp_line(stamp, &at);
        let texts = [
            look.status.as_deref().map(table_text),
            look.innodb.as_ref().map(vertical_text),
            look.processlist.as_ref().map(vertical_text),
        ];
        for (path, text) in paths.iter().zip(texts) {
            if let Some(text) = text {
                append_once(path, format!("{head}{text}").as_bytes())?;
            }
        }
        Ok(())
    }
}

/// A sample of the status as it stands in the first of the files: its line `TS`, and the server's numbers.
pub fn status_look_text(stamp: &ClassicStamp, numbers: &Counters) -> String {
    stamp_line(stamp, &local_of(stamp.unix_ns)) + &table_text(&status_rows(numbers))
}

fn status_rows(numbers: &Counters) -> Vec<(String, String)> {
    // Names with a dot are those of other probes.
    let of_server = numbers.iter().filter(|(name, _)| !name.contains('.'));
    of_server.map(|(name, value)| (name.clone(), value.to_string())).collect()
}

/// What a sample of a run has for these files; `None` if it has no place there.
pub fn classic_look(sample: &SampleRecord) -> Option<ClassicLook> {
    if sample.probe == innodb::NAME {
        let columns = ["Type", "Name", "Status"].map(str::to_owned).to_vec();
        let row = vec!["InnoDB".to_owned(), String::new(), sample.text.clone()?];
        return Some(ClassicLook { innodb: Some((columns, vec![row])), ..ClassicLook::default() });
    }
    if sample.probe == processlist::NAME {
        let (columns, rows) = sample.table.split_first()?;
        let table = Some((columns.clone(), rows.to_vec()));
        return Some(ClassicLook { processlist: table, ..ClassicLook::default() });
    }
    let is_status = sample.numbers.contains_key("Queries");
    let status = is_status.then(|| status_rows(&sample.numbers))?;
    Some(ClassicLook { status: Some(status), ..ClassicLook::default() })
}

fn local_of(unix_ns: u64) -> LocalTime {
    local_time(unix_ns / 1_000_000_000).expect("a time of this age has a date")
}

fn date_text(at: &LocalTime) -> String {
    format!("{:04}-{:02}-{:02}", at.year, at.month, at.day)
}

/// `TS 1795301385.031722158 2026-11-21 22:49:45  22:49:45 up 58 min,  0 users,  load average: 0.10, 0.20, 0.30`
fn stamp_line(stamp: &ClassicStamp, at: &LocalTime) -> String {
    let clock = format!("{:02}:{:02}:{:02}", at.hour, at.minute, at.second);
    let [one, five, fifteen] = stamp.load;
    format!(
        "TS {}.{:09} {} {clock}  {clock} up {},  0 users,  load average: {one:.2}, {five:.2}, \
         {fifteen:.2}\n",
        stamp.unix_ns / 1_000_000_000,
        stamp.unix_ns % 1_000_000_000,
        date_text(at),
        uptime_text(stamp.uptime_s),
    )
}

/// As `uptime` says it: `58 min`, `3:07`, `12 days,  3:07`.
fn uptime_text(seconds: f64) -> String {
    let minutes = seconds as u64 / 60;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    let days = match days {
        0 => String::new(),
        1 => "1 day, ".to_owned(),
        days => format!("{days} days, "),
    };
    match hours {
        0 => format!("{days}{minutes} min"),
        hours => format!("{days}{hours:2}:{minutes:02}"),
    }
}

/// Names and values with a tab between them, below a heading, as the mysql clients write them.
fn table_text(rows: &[(String, String)]) -> String {
    let mut text = String::from("Variable_name\tValue\n");
    for (name, value) in rows {
        text += &format!("{name}\t{}\n", escape_cell(value));
    }
    text
}

/// A value on one line, as the mysql clients escape it.
fn escape_cell(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\t', "\\t")
}

/// Rows one value per line, as the mysql clients write them behind `\G`. No line of a value begins with `TS`.
fn vertical_text((columns, rows): &ClassicTable) -> String {
    let width = columns.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text += &format!("{STARS} {}. row {STARS}\n", number + 1);
        for (name, value) in columns.iter().zip(row) {
            let value = value.replace("\nTS", "\n TS");
            text += &format!("{name:>width$}: {value}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_since_boot_read_as_in_uptime() {
        for (seconds, text) in [
            (59.0, "0 min"),
            (3480.0, "58 min"),
            (11_220.0, " 3:07"),
            (90_000.0, "1 day,  1:00"),
            (172_860.0, "2 days, 1 min"),
        ] {
            assert_eq!(uptime_text(seconds), text);
        }
    }

    #[test]
    fn rows_stand_as_in_the_clients_and_hold_no_stamp() {
        let columns = ["Id", "Info"].map(str::to_owned).to_vec();
        let rows = vec![vec!["7".to_owned(), "select\nTS 1.2 x".to_owned()]];
        let text = vertical_text(&(columns, rows));
        assert_eq!(text, format!("{STARS} 1. row {STARS}\n  Id: 7\nInfo: select\n TS 1.2 x\n"));
        assert_eq!(escape_cell("a\tb\\\n"), "a\\tb\\\\\\n");
    }
}
