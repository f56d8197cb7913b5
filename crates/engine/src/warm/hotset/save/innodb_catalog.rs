//! Where indexes lie: their tablespaces, files and roots, as InnoDB's own catalog says.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::base::kernel;
use crate::client::{Error, ResultSet, Session, Target};
use crate::warm::hotset::ibd::IndexRoot;

/// An index in InnoDB's catalog.
#[derive(Clone, Debug)]
pub(super) struct InnodbIndex {
    pub root: IndexRoot,
    table_id: u64,
}

/// A tablespace.
#[derive(Clone, Debug, Default)]
pub(super) struct SpaceFile {
    /// Its file as the server names it.
    pub file: Option<PathBuf>,
    /// Length of the file in pages.
    pub pages: u64,
}

/// InnoDB's catalog.
#[derive(Debug, Default)]
pub(super) struct InnodbCatalog {
    /// By tablespace and name of the index.
    indexes: HashMap<(u32, String), Vec<InnodbIndex>>,
    /// The index that holds the rows, by table.
    clustered: HashMap<u64, String>,
    /// Names of tables as InnoDB writes them, where several tables share a tablespace.
    tables: HashMap<u64, String>,
    pub spaces: HashMap<u32, SpaceFile>,
}

impl InnodbCatalog {
    /// Reads InnoDB's catalog.
    ///
    /// # Errors
    /// When the server refuses, for want of the privilege PROCESS.
    pub(super) fn read_catalog(session: &mut Session) -> anyhow::Result<InnodbCatalog> {
        let mut places = InnodbCatalog::default();
        let rows = read_view(session, "INDEXES").context("look where indexes lie")?;
        let rows = rows.context("the server does not show where indexes lie")?;
        for row in 0..rows.rows.len() {
            places.add_index(&ViewRow { rows: &rows, row });
        }
        places.read_table_names(session)?;
        places.read_space_files(session)?;
        Ok(places)
    }

    fn add_index(&mut self, row: &ViewRow<'_>) {
        let (Some(space), Some(page)) = (row.u32_value("SPACE"), row.u32_value("PAGE_NO")) else {
            return;
        };
        let name = row.text_value("NAME");
        let table_id = row.number_value("TABLE_ID");
        if row.number_value("TYPE") & 1 == 1 {
            self.clustered.insert(table_id, name.clone());
        }
        let root = IndexRoot { page, index_id: row.number_value("INDEX_ID") };
        self.indexes.entry((space, name)).or_default().push(InnodbIndex { root, table_id });
    }

    /// Names of tables, if there are tablespaces of several tables.
    fn read_table_names(&mut self, session: &mut Session) -> anyhow::Result<()> {
        if self.indexes.iter().all(|((space, _), lies)| *space == 0 || lies.len() == 1) {
            return Ok(());
        }
        let Some(rows) = read_view(session, "TABLES").context("look where tables lie")? else {
            return Ok(());
        };
        for row in 0..rows.rows.len() {
            let row = ViewRow { rows: &rows, row };
            self.tables.insert(row.number_value("TABLE_ID"), row.text_value("NAME"));
        }
        Ok(())
    }

    fn read_space_files(&mut self, session: &mut Session) -> anyhow::Result<()> {
        if let Some(rows) = read_view(session, "TABLESPACES").context("look where files lie")? {
            for row in 0..rows.rows.len() {
                let row = ViewRow { rows: &rows, row };
                let Some(space) = row.u32_value("SPACE") else { continue };
                let pages = row.number_value("FILE_SIZE") / row.number_value("PAGE_SIZE").max(1024);
                let file = Some(row.text_value("FILENAME")).filter(|f| !f.is_empty());
                self.spaces.insert(space, SpaceFile { file: file.map(PathBuf::from), pages });
            }
        }
        // MariaDB names the file beside the tablespace since 10.6; here it is where others have it.
        if let Some(rows) = read_view(session, "DATAFILES").context("look where files lie")? {
            for row in 0..rows.rows.len() {
                let row = ViewRow { rows: &rows, row };
                let Some(space) = row.u32_value("SPACE") else { continue };
                self.spaces.entry(space).or_default().file =
                    Some(PathBuf::from(row.text_value("PATH")));
            }
        }
        let system = session
            .query_rows("SELECT @@GLOBAL.innodb_data_home_dir, @@GLOBAL.innodb_data_file_path")
            .context("ask for the system tablespace")?;
        let file = system_tablespace_path(
            &system.text_value(0, 0).unwrap_or_default(),
            &system.text_value(0, 1).unwrap_or_default(),
        );
        if let Some(file) = file {
            self.spaces.entry(0).or_default().file.get_or_insert(file);
        }
        Ok(())
    }

    /// Where an index lies; `None` if InnoDB's catalog does not say which of several it is.
    pub(super) fn find_index(
        &self,
        space: u32,
        table: (&str, &str, &str),
        index: &str,
    ) -> Option<&InnodbIndex> {
        let all = self.indexes.get(&(space, index.to_owned()))?;
        if let [one] = all.as_slice() {
            return Some(one);
        }
        let name = internal_name(table)?;
        let is_it = |lies: &&InnodbIndex| {
            self.tables.get(&lies.table_id).is_some_and(|n| n.eq_ignore_ascii_case(&name))
        };
        all.iter().find(is_it)
    }

    /// Name of the index that holds the rows of the same table.
    pub(super) fn clustered_index(&self, lies: &InnodbIndex) -> Option<&str> {
        self.clustered.get(&lies.table_id).map(String::as_str)
    }
}

/// The system tablespace's file, if it is one.
fn system_tablespace_path(home: &str, files: &str) -> Option<PathBuf> {
    let name = files.split(':').next().filter(|_| !files.contains(';'))?;
    Some(Path::new(home).join(name))
}

/// A table's name in InnoDB's catalog: what is no letter or digit of ASCII is written as its number. `None` where
/// the number would not be what it writes.
fn internal_name((database, table, partition): (&str, &str, &str)) -> Option<String> {
    let coded = |name: &str| {
        let mut text = String::new();
        for c in name.chars() {
            match c {
                c if c.is_ascii_alphanumeric() || c == '_' => text.push(c),
                c if c.is_ascii() => text += &format!("@{:04x}", u32::from(c)),
                _ => return None,
            }
        }
        Some(text)
    };
    let name = format!("{}/{}", coded(database)?, coded(table)?);
    Some(if partition.is_empty() { name } else { format!("{name}#p#{}", coded(partition)?) })
}

/// A view of InnoDB's catalog by whichever name the product has for it; `None` if it has none.
fn read_view(session: &mut Session, name: &str) -> Result<Option<ResultSet>, Error> {
    for own in ["INNODB_", "INNODB_SYS_"] {
        match session.query_rows(&format!("SELECT * FROM information_schema.{own}{name}")) {
            Ok(rows) => return Ok(Some(rows)),
            Err(Error::Server { code: 1109, .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

struct ViewRow<'a> {
    rows: &'a ResultSet,
    row: usize,
}

impl ViewRow<'_> {
    fn text_value(&self, name: &str) -> String {
        let at = self.rows.column_index(name);
        at.and_then(|at| self.rows.text_value(self.row, at)).unwrap_or_default()
    }
    fn number_value(&self, name: &str) -> u64 {
        self.text_value(name).parse().unwrap_or(0)
    }
    fn u32_value(&self, name: &str) -> Option<u32> {
        self.text_value(name).parse().ok()
    }
}

/// Where the server's files can be read from here.
#[derive(Clone, Debug)]
pub(super) struct DataFiles {
    root: Option<PathBuf>,
    /// It is the server's own folder, so its absolute paths are good here as well.
    own: bool,
}

impl DataFiles {
    /// The folder that was given, or the server's own if we are on its machine.
    pub(super) fn locate_datadir(
        session: &mut Session,
        target: &Target,
        given: Option<&Path>,
    ) -> anyhow::Result<DataFiles> {
        if let Some(given) = given {
            return Ok(DataFiles { root: Some(given.to_owned()), own: false });
        }
        let rows = session
            .query_rows("SELECT @@GLOBAL.datadir, @@GLOBAL.hostname")
            .context("ask where the server's files are")?;
        let here = kernel::host_name() == rows.text_value(0, 1).unwrap_or_default();
        let root = rows.text_value(0, 0).filter(|_| here && target.is_local()).map(PathBuf::from);
        Ok(DataFiles { root, own: true })
    }

    /// Where a file is from here.
    ///
    /// # Errors
    /// Why it can't be read, in words.
    pub(super) fn local_path(&self, file: &Path) -> Result<PathBuf, String> {
        let Some(root) = &self.root else {
            let why = "the server's files are on another machine; --datadir names a copy of them";
            return Err(why.to_owned());
        };
        if file.is_absolute() && !self.own {
            return Err(format!("its file {} is outside of the data folder", file.display()));
        }
        Ok(root.join(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_innodb_does() {
        assert_eq!(internal_name(("zoo", "we`ird x", "")).unwrap(), "zoo/we@0060ird@0020x");
        assert_eq!(internal_name(("a-b", "t", "p0")).unwrap(), "a@002db/t#p#p0");
        assert_eq!(internal_name(("zoo", "tä", "")), None);
    }

    #[test]
    fn the_system_tablespace_is_read_if_it_is_one_file() {
        let file = |home: &str, files: &str| {
            system_tablespace_path(home, files).map(|f| f.display().to_string())
        };
        assert_eq!(file("", "ibdata1:12M:autoextend").unwrap(), "ibdata1");
        assert_eq!(file("/disk", "ibdata1:12M").unwrap(), "/disk/ibdata1");
        assert_eq!(file("", "a:1M;b:1M"), None);
    }

    #[test]
    fn files_are_looked_for_where_they_may_be() {
        let path = |root: Option<&str>, own, file: &str| {
            DataFiles { root: root.map(PathBuf::from), own }.local_path(Path::new(file))
        };
        assert_eq!(path(Some("/d"), true, "./a/t.ibd").unwrap(), Path::new("/d/./a/t.ibd"));
        assert_eq!(path(Some("/d"), true, "/x/t.ibd").unwrap(), Path::new("/x/t.ibd"));
        assert!(path(Some("/copy"), false, "/x/t.ibd").unwrap_err().contains("outside"));
        assert!(path(None, true, "./a/t.ibd").unwrap_err().contains("--datadir"));
    }
}
