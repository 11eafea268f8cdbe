//! The scene file: format, errors, schema.
