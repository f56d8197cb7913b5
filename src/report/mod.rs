//! Findings shown: text, JSON, CSV, HTML.
//! Never knows: how numbers were made, servers.
