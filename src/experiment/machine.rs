//! The machine we run on, for the record.

use std::collections::BTreeMap;

use crate::base::kernel;

/// What there is to say: `kernel`, `cpus`, `cpu`, `memory_bytes`. What can't be found out is left out.
pub(super) fn host_facts() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let uname = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    facts.insert(
        "kernel".to_owned(),
        format!("{} {}", text(uname.sysname()), text(uname.release())),
    );
    facts.insert("machine".to_owned(), text(uname.machine()));
    facts.insert("name".to_owned(), kernel::host_name());
    facts.insert("cpus".to_owned(), kernel::core_count().to_string());
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    if let Some(model) = field_value(&read("/proc/cpuinfo"), "model name") {
        facts.insert("cpu".to_owned(), model);
    }
    if let Some(bytes) = memory_bytes(&read("/proc/meminfo")) {
        facts.insert("memory_bytes".to_owned(), bytes.to_string());
    }
    facts
}

/// The value behind `name :`.
fn field_value(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.split(':').next().map(str::trim) == Some(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// `MemTotal: 8131072 kB`.
fn memory_bytes(meminfo: &str) -> Option<u64> {
    let kib: u64 = field_value(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_read_as_it_writes() {
        assert_eq!(
            field_value("processor\t: 0\nmodel name\t: Some CPU\n", "model name").unwrap(),
            "Some CPU"
        );
        assert_eq!(
            memory_bytes("MemTotal:        8131072 kB\nMemFree: 1 kB\n"),
            Some(8_326_217_728)
        );
        assert_eq!(memory_bytes("nothing"), None);
    }

    #[test]
    fn this_machine_has_a_kernel_and_a_processor() {
        let facts = host_facts();
        assert!(facts["cpus"].parse::<u32>().unwrap() >= 1);
        assert!(facts.contains_key("kernel"));
    }
}
