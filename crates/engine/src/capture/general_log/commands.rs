//! The commands of MySQL and MariaDB as general logs name them.

use super::EventKind;

/// Commands that the log knows, and what they mean.
pub(super) const COMMANDS: &[(&[u8], EventKind)] = &[
    (b"Query", EventKind::Statement),
    (b"Execute", EventKind::Execute),
    (b"Prepare", EventKind::Prepare),
    (b"Connect", EventKind::Connect),
    (b"Init DB", EventKind::InitDb),
    (b"Quit", EventKind::Quit),
    (b"Close stmt", EventKind::Other),
    (b"Reset stmt", EventKind::Other),
    (b"Change user", EventKind::Other),
    (b"Reset Connection", EventKind::Other),
    (b"Reset connection", EventKind::Other),
    (b"Statistics", EventKind::Other),
    (b"Field List", EventKind::Other),
    (b"Refresh", EventKind::Other),
    (b"Binlog Dump", EventKind::Other),
    (b"Binlog Dump GTID", EventKind::Other),
    (b"Register Slave", EventKind::Other),
    (b"Register Replica", EventKind::Other),
    (b"Connect Out", EventKind::Other),
    (b"Table Dump", EventKind::Other),
    (b"Delayed insert", EventKind::Other),
    (b"Time", EventKind::Other),
    (b"Bulk_execute", EventKind::Other),
    (b"Bulk Execute", EventKind::Other),
    (b"Unimpl get tid", EventKind::Other),
    (b"Slave_worker", EventKind::Other),
    (b"Slave_IO", EventKind::Other),
    (b"Slave_SQL", EventKind::Other),
    (b"Com_multi", EventKind::Other),
    (b"Long Data", EventKind::Other),
    (b"Set option", EventKind::Other),
    (b"Shutdown", EventKind::Other),
    (b"Processlist", EventKind::Other),
    (b"Kill", EventKind::Other),
    (b"Debug", EventKind::Other),
    (b"Ping", EventKind::Other),
    (b"Fetch", EventKind::Other),
    (b"Daemon", EventKind::Other),
    (b"Sleep", EventKind::Other),
    (b"Error", EventKind::Other),
    (b"Create DB", EventKind::Other),
    (b"Drop DB", EventKind::Other),
    (b"Clone", EventKind::Other),
    (b"clone", EventKind::Other),
    (b"Group Replication Data Stream subscription", EventKind::Other),
    (b"Subscribe Group Replication Stream", EventKind::Other),
    (b"Query Attributes", EventKind::Other),
];

/// What a command does; `None` for one that we don't know.
pub(in super::super) fn command_kind(name: &[u8]) -> Option<EventKind> {
    COMMANDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}
