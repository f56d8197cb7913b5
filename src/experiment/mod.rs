//! Runs a plan: a list of steps, and the loop over them.
//! Never knows: clap, formats, colours.
