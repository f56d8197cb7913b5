//! Which block device holds a path.

use std::path::Path;

use rustix::fs::{major, minor, stat};

/// The name that `/proc/diskstats` has for the device under a path: `vda`, `sda1`, `dm-0`; `None`
/// where the file system has no single device (overlay, tmpfs, network).
pub(in crate::probe) fn device_of_path(path: &Path) -> Option<String> {
    let at = stat(path).ok()?;
    let disks = std::fs::read_to_string("/proc/diskstats").ok()?;
    let own = (major(at.st_dev), minor(at.st_dev));
    if let Some(name) = find_device(&disks, own) {
        return Some(name);
    }
    // Btrfs and the like give a number of their own; the mount names its device.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let device = stat(mount_source(&mounts, own)?.as_str()).ok()?;
    find_device(&disks, (major(device.st_rdev), minor(device.st_rdev)))
}

fn find_device(diskstats: &str, device: (u32, u32)) -> Option<String> {
    diskstats.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let found = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        (found == device).then(|| words.next().map(str::to_owned))?
    })
}

/// The device path that `/proc/self/mountinfo` gives for a device number.
fn mount_source(mountinfo: &str, device: (u32, u32)) -> Option<String> {
    let number = format!("{}:{}", device.0, device.1);
    mountinfo.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let source = right.split_ascii_whitespace().nth(1)?;
        let same = left.split_ascii_whitespace().nth(2)? == number;
        (same && source.starts_with("/dev/")).then(|| source.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_by_number() {
        let disks = "   8       0 sda 1 2 3\n   8       1 sda1 1 2 3\n 254       0 vda 1\nx\n";
        assert_eq!(find_device(disks, (8, 1)).as_deref(), Some("sda1"));
        assert_eq!(find_device(disks, (9, 1)), None);
    }

    #[test]
    fn a_mount_tells_its_device() {
        let mounts = "22 27 0:21 / /proc rw - proc proc rw\n\
                      27 1 0:40 /@ / rw,relatime shared:1 - btrfs /dev/sdb2 rw\n\
                      28 1 0:41 / /tmp rw - tmpfs tmpfs rw\njunk\n";
        assert_eq!(mount_source(mounts, (0, 40)).as_deref(), Some("/dev/sdb2"));
        assert_eq!(mount_source(mounts, (0, 41)), None);
        assert_eq!(mount_source(mounts, (0, 99)), None);
    }
}
