//! Seeded random numbers, the same on every machine.
