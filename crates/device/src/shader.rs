//! WGSL sources in parts, because WGSL has no include: a shader is its parts one after the other.
//!
//! A part names the parts that it needs in comment lines at its top, `// uses "columns.wgsl"`, with paths
//! relative to its own folder. [`ShaderSource::new`] checks that they come before it; the test over the whole
//! tree follows them.

/// One file of a shader.
#[derive(Clone, Copy, Debug)]
pub struct ShaderPart {
    /// The file's name, as messages give it.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A shader's parts from `include_str!`: `shader_parts!["columns.wgsl", "advect.wgsl"]`.
#[macro_export]
macro_rules! shader_parts {
    ($($file:literal),+ $(,)?) => {
        &[$($crate::ShaderPart { file: $file, text: include_str!($file) }),+]
    };
}

/// A whole shader: the parts joined, and where each line came from.
#[derive(Clone, Debug)]
pub struct ShaderSource {
    name: String,
    text: String,
    /// File and first line (from 0, in `text`) of each part.
    starts: Vec<(&'static str, usize)>,
}

/// The files that a part needs before it, from its `// uses "…"` lines.
pub fn uses(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("// uses \"")?.strip_suffix('"'))
}

/// The last component of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl ShaderSource {
    /// Joins the parts; the last one gives the shader its name.
    ///
    /// # Panics
    /// When a part uses another that does not come before it, or when there is none: both are faults of the
    /// program that its first run shows.
    pub fn new(parts: &[ShaderPart]) -> ShaderSource {
        let name = file_name(parts.last().expect("a shader has parts").file).to_owned();
        let (mut text, mut starts) = (String::new(), Vec::with_capacity(parts.len()));
        for (n, part) in parts.iter().enumerate() {
            for needed in uses(part.text) {
                let given = parts[..n].iter().any(|p| file_name(p.file) == file_name(needed));
                assert!(given, "{} uses {needed}, which does not come before it", part.file);
            }
            starts.push((part.file, text.lines().count()));
            text.push_str(part.text);
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        ShaderSource { name, text, starts }
    }

    /// The last part's file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The joined text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// `file:line` of a line of the joined text (from 1, as compilers count).
    pub fn place(&self, line: usize) -> String {
        let line = line.saturating_sub(1);
        let (file, start) = self.starts.iter().rev().find(|s| s.1 <= line).expect("line 0 has a part");
        format!("{file}:{}", line - start + 1)
    }
}
