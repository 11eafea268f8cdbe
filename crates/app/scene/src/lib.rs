//! The scene file: format, errors, schema.
//!
//! Two stages. [`Scene::load`] takes text to a typed [`Scene`]: parsed with the place of every key and value,
//! changed by `--set`, checked against the schema. [`Scene::build`] takes that to ready objects, [`Ready`]:
//! shapes with their meshes loaded, the grid, the probes; here everything is refused that makes no sense
//! together. A mistake in either is a [`SceneError`] with file, line, column and the fix.

mod advice;
mod bodies;
mod builtin;
mod conform;
mod error;
mod format;
mod geometry;
mod overlaps;
mod poses;
mod predict;
mod ready;
mod reference;
mod released;
mod shapes;
mod tree;
mod whitewater;

pub use bodies::{BodySpec, JointKindSpec, JointSpec, LockedAxis};
pub use builtin::{builtin_scenes, describe};
pub use error::SceneError;
pub use format::{
    CameraSpec, DomainSpec, FillSpec, FlowName, FlowSpec, LiquidSpec, MeshFormat, OutputSpec, ProbeKindSpec,
    ProbeSpec, RefineSpec, Scene, SinkSpec, SolidSpec, SourceSpec, TimeSpec, VolumeFormat, WallSpec, Walls,
};
pub use poses::{PosesError, parse_poses};
pub use predict::{Prediction, predict};
pub use ready::{Probe, ProbeKind, Ready};
pub use reference::reference_markdown;
pub use shapes::{
    BoxSpec, CylinderSpec, HeightfieldSpec, KeySpec, MeshSpec, MotionSpec, PlaneSpec, ShapeSpec, SphereSpec,
    TorusSpec, TransformSpec,
};

pub use whitewater::WhitewaterSpec;

pub use fluvial_solver_registry::ChosenMethod;

use std::path::{Path, PathBuf};
use tree::{Node, Place, Sources};

/// Where a scene came from: what errors found later point at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    sources: Sources,
    tree: Node,
    folder: PathBuf,
    name: String,
    /// What `--set` did beside setting a value.
    notes: Vec<String>,
}

impl Scene {
    /// Reads a scene file, or a built-in scene by its name, and applies `--set` overrides (path, value) in
    /// order.
    pub fn load(path_or_name: &str, overrides: &[(String, String)]) -> Result<Scene, SceneError> {
        if let Some((name, text)) = builtin_scenes().iter().find(|(name, _)| *name == path_or_name) {
            return Scene::parse(&format!("{name}.toml"), text, Path::new("."), overrides);
        }
        let path = Path::new(path_or_name);
        let bytes = std::fs::read(path).map_err(|e| not_readable(path_or_name, &e))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(e.as_bytes()).into_owned();
            SceneError::at(
                (path_or_name, &text),
                at..at + 1,
                "the file is not UTF-8 text",
                "save it as UTF-8",
            )
        })?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Scene::parse(path_or_name, &text, folder, overrides)
    }

    /// As [`Self::load`], for a text that is already there. `file` names it in messages; files that the scene
    /// names are looked for in `folder`.
    pub fn parse(
        file: &str,
        text: &str,
        folder: &Path,
        overrides: &[(String, String)],
    ) -> Result<Scene, SceneError> {
        let mut sources = Sources(vec![(file.to_string(), text.to_string())]);
        let mut tree = Node::parse(&sources)?;
        let mut notes = vec![];
        for (path, value) in overrides {
            sources.0.push(("--set".to_string(), format!("{path}={value}")));
            let others = tree.set(path, value, &sources)?;
            notes.extend(
                others.iter().map(|other| format!("--set {path}={value} replaces the scene's `{other}`")),
            );
        }
        conform::check(&tree, &schema(), &sources)?;
        let mut json = tree.to_json();
        if let Some(method) = json.get_mut("method").and_then(|m| m.as_object_mut()) {
            method.entry("name").or_insert_with(|| fluvial_solver_registry::default_name().into());
        }
        let mut scene: Scene = serde_json::from_value(json)
            .map_err(|e| sources.error(&tree.place, e.to_string(), "compare with the scene reference"))?;
        let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        scene.origin = Origin { sources, tree, folder: folder.to_path_buf(), name, notes };
        Ok(scene)
    }

    /// The scene's name: its file's stem.
    pub fn name(&self) -> &str {
        &self.origin.name
    }

    /// The text of the file, before `--set`.
    pub fn text(&self) -> &str {
        self.origin.sources.0.first().map_or("", |(_, text)| text)
    }

    /// The whole scene with overrides and defaults filled in and file paths made absolute: what `run.json`
    /// keeps. [`Self::from_resolved`] reads it back.
    pub fn resolved(&self) -> serde_json::Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        let folder = std::path::absolute(&self.origin.folder).unwrap_or_else(|_| self.origin.folder.clone());
        absolute_paths(&mut json, &folder);
        json
    }

    /// A scene from what [`Self::resolved`] wrote.
    pub fn from_resolved(name: &str, json: serde_json::Value) -> Result<Scene, SceneError> {
        let help = "the run's record was changed or comes from another version";
        let mut scene: Scene =
            serde_json::from_value(json).map_err(|e| SceneError::nowhere(e.to_string(), help))?;
        scene.origin.name = name.to_string();
        Ok(scene)
    }

    /// An error that points at a dotted path of the scene.
    pub(crate) fn fail(&self, path: &str, message: impl Into<String>, help: impl Into<String>) -> SceneError {
        let place: Place = self.origin.tree.locate(path);
        self.origin.sources.error(&place, message, help)
    }
}

fn not_readable(path_or_name: &str, error: &std::io::Error) -> SceneError {
    let names: Vec<&str> = builtin_scenes().iter().map(|(name, _)| *name).collect();
    let message = format!("cannot read the scene `{path_or_name}`: {error}");
    let help = match error::near_miss(path_or_name, names.iter().copied()) {
        Some(name) => format!("did you mean the built-in scene `{name}`?"),
        None => format!("give a .toml file or a built-in scene: {}", names.join(", ")),
    };
    SceneError::nowhere(message, help)
}

/// The keys of the format that hold file names are `path`, `image` and `file`.
fn absolute_paths(json: &mut serde_json::Value, folder: &Path) {
    match json {
        serde_json::Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    serde_json::Value::String(s) if ["path", "image", "file"].contains(&key.as_str()) => {
                        *s = folder.join(&*s).to_string_lossy().into_owned();
                    }
                    other => absolute_paths(other, folder),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| absolute_paths(item, folder)),
        _ => {}
    }
}

/// The JSON schema of the format.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Scene).to_value()
}
