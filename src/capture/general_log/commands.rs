//! The commands of MySQL and MariaDB as general logs name them.

use super::Deed;

/// Commands that the log knows, and what they mean.
pub(super) const COMMANDS: &[(&[u8], Deed)] = &[
    (b"Query", Deed::Statement),
    (b"Execute", Deed::Execute),
    (b"Prepare", Deed::Prepare),
    (b"Connect", Deed::Connect),
    (b"Init DB", Deed::InitDb),
    (b"Quit", Deed::Quit),
    (b"Close stmt", Deed::Other),
    (b"Reset stmt", Deed::Other),
    (b"Change user", Deed::Other),
    (b"Reset Connection", Deed::Other),
    (b"Reset connection", Deed::Other),
    (b"Statistics", Deed::Other),
    (b"Field List", Deed::Other),
    (b"Refresh", Deed::Other),
    (b"Binlog Dump", Deed::Other),
    (b"Binlog Dump GTID", Deed::Other),
    (b"Register Slave", Deed::Other),
    (b"Register Replica", Deed::Other),
    (b"Connect Out", Deed::Other),
    (b"Table Dump", Deed::Other),
    (b"Delayed insert", Deed::Other),
    (b"Time", Deed::Other),
    (b"Bulk_execute", Deed::Other),
    (b"Bulk Execute", Deed::Other),
    (b"Unimpl get tid", Deed::Other),
    (b"Slave_worker", Deed::Other),
    (b"Slave_IO", Deed::Other),
    (b"Slave_SQL", Deed::Other),
    (b"Com_multi", Deed::Other),
    (b"Long Data", Deed::Other),
    (b"Set option", Deed::Other),
    (b"Shutdown", Deed::Other),
    (b"Processlist", Deed::Other),
    (b"Kill", Deed::Other),
    (b"Debug", Deed::Other),
    (b"Ping", Deed::Other),
    (b"Fetch", Deed::Other),
    (b"Daemon", Deed::Other),
    (b"Sleep", Deed::Other),
    (b"Error", Deed::Other),
    (b"Create DB", Deed::Other),
    (b"Drop DB", Deed::Other),
    (b"Clone", Deed::Other),
    (b"clone", Deed::Other),
    (b"Group Replication Data Stream subscription", Deed::Other),
    (b"Subscribe Group Replication Stream", Deed::Other),
    (b"Query Attributes", Deed::Other),
];

/// What a command does; `None` for one that we don't know.
pub(in super::super) fn command_deed(name: &[u8]) -> Option<Deed> {
    COMMANDS.iter().find(|(known, _)| *known == name).map(|(_, deed)| *deed)
}
