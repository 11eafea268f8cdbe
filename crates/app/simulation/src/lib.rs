//! The one frame loop, probes, statistics, validation and benchmarks.
