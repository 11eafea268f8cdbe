//! Files of the cache directory, written complete or not at all.
