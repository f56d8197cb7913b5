//! Numbers from runs: pure functions from data to findings.
//! Never knows: files, clocks, servers, formats.
