//! The scenes that come with the program.

/// Name and text of every built-in scene.
pub fn builtin_scenes() -> &'static [(&'static str, &'static str)] {
    macro_rules! scenes {
        ($($name:literal),* $(,)?) => {
            &[$(($name, include_str!(concat!("../../../../scenes/", $name, ".toml")))),*]
        };
    }
    scenes![
        "dam-break",
        "dam-break-obstacle",
        "water-drop",
        "filling-tank",
        "stirring-cylinder",
        "draining-tank",
        "sloshing-tank",
        "zero-gravity-drop",
        "dam-break-sheets",
        "drop-on-tower",
        "drop-in-container",
        "ledge",
        "enright-sheets",
        "moving-cylinder",
        "rocky-waterfall",
        "merging-bodies",
        "seaplane",
        "breaking-wave",
        "tilted-rest",
        "flood",
        "tank",
        "lighthouse",
        "manipulation",
        "floating-crates",
        "boat",
        "buoy",
        "body-in-jet",
        "twin-sources",
        "rotating-paddle",
        "river-canyon",
    ]
}

/// The first comment line of a scene: what it shows.
pub fn describe(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix('#')).map_or("", str::trim)
}
