//! The good scene and the mistakes that are made in it. A line per mistake reads better than rustfmt's six.

/// A scene with one of everything.
pub const GOOD: &str = r#"fluvial = 1

[domain]
min = [0, 0, 0]
max = [2, 1, 1]
dx = 0.0625
walls = { x_max = "open" }

[time]
frames = 10
fps = 24
cfl = 2.0

[method]
name = "uniform"
flip_ratio = 0.97

[liquid]
density = 1000.0
surface_tension = 0.0
gravity = [0, -9.81, 0]

[[fill]]
shape = { box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }
velocity = [0, 0, 0]

[[solid]]
name = "ball"
shape = { sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }
motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }

[[source]]
shape = { cylinder = { from = [0, 0.8, 0.5], to = [0.1, 0.8, 0.5], radius = 0.05 } }
velocity = [1, 0, 0]
active = [0.0, 2.0]

[[sink]]
shape = { capsule = { from = [1.8, 0, 0.2], to = [1.8, 0, 0.8], radius = 0.1 } }

[[probe]]
name = "H1"
kind = "height"
at = [0.75, 0.5]

[[probe]]
name = "P1"
kind = "pressure"
at = [0.9, 0.05, 0.5]

[output]
mesh = "ply"
preview_size = [640, 360]
"#;

/// Replace this by that: the message, the underlined text and the help must contain the rest.
pub type Mistake = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
pub const MISTAKES: &[Mistake] = &[
    // text that is no TOML
    ("dx = 0.0625", "dx = ", "", "", "TOML"),
    ("[time]", "[time", "", "", "TOML"),
    ("dx = 0.0625", "dx = .0625", "", "", "0.1, not .1"),
    ("-9.81", "-.81", "", "", "0.1, not .1"),
    ("frames = 10", "frames = 10\nframes = 11", "duplicate", "frames", "TOML"),
    ("name = \"ball\"", "name = \"ball", "", "", "TOML"),
    // the version
    ("fluvial = 1", "fluvial = 2", "version", "2", "fluvial = 1"),
    ("fluvial = 1", "", "lacks `fluvial`", "domain", "fluvial = 1"),
    // keys
    ("velocity = [0, 0, 0]", "velocty = [0, 0, 0]", "unknown key `velocty`", "velocty", "did you mean `velocity`?"),
    ("fps = 24", "fsp = 24", "unknown key `fsp`", "fsp", "did you mean `fps`?"),
    ("[liquid]", "[liqiud]", "unknown key `liqiud`", "liqiud", "did you mean `liquid`?"),
    ("flip_ratio = 0.97", "flipratio = 0.97", "unknown key `flipratio`", "flipratio", "did you mean `flip_ratio`?"),
    ("walls = { x_max = \"open\" }", "walls = { xmax = \"open\" }", "unknown key `xmax`", "xmax", "`x_max`"),
    ("radius = 0.1 }", "radius = 0.1, colour = 3 }", "unknown key `colour`", "colour", "`center`"),
    ("density = 1000.0", "density = 1000.0\nviscosity = 1e-3", "unknown key `viscosity`", "viscosity", "no viscosity here"),
    ("sphere = {", "spere = {", "no `spere`", "spere", "did you mean `sphere`?"),
    ("max = [2, 1, 1]", "", "`domain` lacks `max`", "[domain]", "Upper corner"),
    ("velocity = [1, 0, 0]", "", "lacks `velocity`", "[[source]]", "Velocity of the new liquid"),
    // types
    ("frames = 10", "frames = \"ten\"", "wants a whole number, found a string", "\"ten\"", "without quotes"),
    ("frames = 10", "frames = 10.5", "wants a whole number", "10.5", "plain number"),
    ("density = 1000.0", "density = true", "wants a number, found true or false", "true", "plain number"),
    ("gravity = [0, -9.81, 0]", "gravity = -9.81", "wants a list, found a number", "-9.81", "[a, b, c]"),
    ("gravity = [0, -9.81, 0]", "gravity = [0, -9.81]", "expected 3 values, found 2", "[0, -9.81]", "3 values"),
    ("gravity = [0, -9.81, 0]", "gravity = [0, \"down\", 0]", "wants a number, found a string", "\"down\"", "plain"),
    ("name = \"H1\"", "name = 1", "wants a string, found an integer", "1", "quotes"),
    ("mesh = \"ply\"", "mesh = \"stl\"", "`stl` is not a choice", "\"stl\"", "`ply`"),
    ("mesh = \"ply\"", "mesh = \"ply\"\npreview = \"yes\"", "wants true or false", "\"yes\"", "without quotes"),
    ("kind = \"height\"", "kind = \"hight\"", "`hight` is not a choice", "\"hight\"", "did you mean `height`?"),
    ("{ x_max = \"open\" }", "{ x_max = \"opne\" }", "`opne` is not a choice", "\"opne\"", "did you mean `open`?"),
    ("[[sink]]", "[sink]", "`sink` is a list of tables", "[sink]", "[[sink]]"),
    ("shape = { box =", "shape = 3 # { box =", "expected a shape", "3", "`sphere`"),
    ("shape = { box = {", "shape = { sphere = { center = [0, 0, 0], radius = 1 }, box = {", "exclude each other", "box", "`union`"),
    ("fps = 24", "fps = 2026-11-15", "wants a number, found a date", "2026-11-15", "plain number"),
    // numbers
    ("cfl = 2.0", "cfl = nan", "not finite", "nan", "ordinary number"),
    ("density = 1000.0", "density = inf", "not finite", "inf", "ordinary number"),
    ("density = 1000.0", "density = 1e300", "not finite", "1e300", "1e38"),
    ("frames = 10", "frames = 99999999999999999999", "too large", "99999999999999999999", "smaller"),
    ("frames = 10", "frames = 0", "out of range", "0", "at least 1"),
    ("fps = 24", "fps = 0", "out of range", "0", "greater than 0"),
    ("fps = 24", "fps = -24", "out of range", "-24", "greater than 0"),
    ("cfl = 2.0", "cfl = 0.0", "out of range", "0.0", "greater than 0"),
    ("density = 1000.0", "density = -1", "out of range", "-1", "greater than 0"),
    ("surface_tension = 0.0", "surface_tension = -0.1", "out of range", "-0.1", "at least 0"),
    ("dx = 0.0625", "dx = 0.0625\ncontact_angles = { y_min = 0 }", "out of range", "0", "greater than 0"),
    ("dx = 0.0625", "dx = 0.0625\ncontact_angles = { y_min = 200 }", "out of range", "200", "less than 180"),
    ("dx = 0.0625", "dx = 0.0625\nfriction = { y_min = -0.1 }", "out of range", "-0.1", "at least 0"),
    ("name = \"ball\"", "name = \"ball\"\nfriction = -1", "out of range", "-1", "at least 0"),
    ("radius = 0.1 }", "radius = -0.1 }", "out of range", "-0.1", "greater than 0"),
    ("dx = 0.0625", "dx = -0.0625", "out of range", "-0.0625", "greater than 0"),
    ("flip_ratio = 0.97", "flip_ratio = 1.5", "`flip_ratio` is out of range", "1.5", "0 to 1"),
    ("velocity = [0, 0, 0]", "velocity = [0, 1e9, 0]", "a fill of 1.000e9 m/s", "[0, 1e9, 0]", "in m/s"),
    ("velocity = [1, 0, 0]", "velocity = [1e9, 0, 0]", "a jet of 1.000e9 m/s", "[1e9, 0, 0]", "fire hose"),
    ("active = [0.0, 2.0]", "flow = 1e12", "cannot be simulated", "1e12", "m3/s"),
    // the domain
    ("max = [2, 1, 1]", "max = [2, 0, 1]", "empty: along y", "[2, 0, 1]", "greater"),
    ("max = [2, 1, 1]", "max = [-2, 1, 1]", "empty: along x", "[-2, 1, 1]", "greater"),
    ("dx = 0.0625", "dx = 0.0625\nresolution = 32", "exclude each other", "32", "keep one"),
    ("dx = 0.0625", "", "no cell size", "[domain]", "resolution = 64"),
    ("dx = 0.0625", "dx = 0.3", "no multiple of the cell", "[2, 1, 1]", "nearest side that fits is"),
    ("dx = 0.0625", "dx = 1e-5", "too many cells", "1e-5", "choose a larger"),
    ("dx = 0.0625", "resolution = 60000", "GiB of memory", "60000", "smaller `resolution`"),
    ("min = [0, 0, 0]\nmax = [2, 1, 1]", "min = [1e8, 0, 0]\nmax = [100000002.0, 1, 1]", "too far from the origin", "[1e8, 0, 0]", "nearer"),
    // methods and features
    ("name = \"uniform\"", "name = \"unifrom\"", "no method `unifrom`", "\"unifrom\"", "did you mean `uniform`?"),
    ("name = \"uniform\"", "name = 7", "expected a method's name", "7", "uniform"),
    ("name = \"uniform\"\nflip_ratio = 0.97", "name = \"octree\"\ntracker = \"apic\"", "the method `octree` has no tracker `apic`", "\"apic\"", "\"levelset\" or \"flip\""),
    ("name = \"uniform\"\nflip_ratio = 0.97", "name = \"octree\"\nmax_dx = 0.1", "no size of a cell", "0.1", "give 0.0625 or 0.125 m"),
    ("name = \"uniform\"\nflip_ratio = 0.97", "name = \"octree\"\nmin_dx = 0.1", "no size of a cell", "0.1", "give 0.0625 or 0.125 m"),
    ("dx = 0.0625\nwalls = { x_max = \"open\" }\n\n[time]\nframes = 10\nfps = 24\ncfl = 2.0\n\n[method]\nname = \"uniform\"\nflip_ratio = 0.97", "dx = 0.0625\ncontact_angles = { y_min = 60 }\n[method]\nname = \"sheets\"", "no support for contact angles", "{ y_min = 60 }", "`uniform`"),
    ("name = \"uniform\"\nflip_ratio = 0.97\n\n[liquid]\ndensity = 1000.0\nsurface_tension = 0.0", "name = \"tall\"\n\n[liquid]\nsurface_tension = 0.07", "the method `tall` has no support for surface tension", "0.07", "another method"),
    ("name = \"uniform\"\nflip_ratio = 0.97\n\n[liquid]\ndensity = 1000.0\nsurface_tension = 0.0\ngravity = [0, -9.81, 0]", "name = \"tall\"\n\n[liquid]\ngravity = [1, -9.81, 0]", "no support for gravity in another direction than -y", "[1, -9.81, 0]", "another method"),
    ("name = \"uniform\"\nflip_ratio = 0.97", "name = \"tall\"\ndevice = \"gpu\"", "the method `tall` has no device `gpu`", "\"gpu\"", "`cpu`"),
    ("[output]", "[[refine]]\nshape = { plane = { point = [0, 0, 0] } }\ndx = 0.1\n[output]", "no support for [[refine]]", "[[refine]]", "remove"),
    ("[output]", "[flow]\nname = \"enright\"\n[output]", "no support for [flow]", "[flow]", "sheets"),
    ("[output]", "[flow]\nname = \"enrigth\"\n[output]", "`enrigth` is not a choice", "\"enrigth\"", "did you mean `enright`?"),
    ("[output]", "[flow]\nname = \"enright\"\nperiod = 0\n[output]", "out of range", "0", "greater than 0"),
    ("mesh = \"ply\"", "volumes = \"vbd\"", "`vbd` is not a choice here", "\"vbd\"", "did you mean `vdb`?"),
    ("mesh = \"ply\"", "volumes = true", "expected a word", "true", "\"vdb\""),
    ("mesh = \"ply\"", "particles = true", "no particles to write", "true", "flip"),
    ("mesh = \"ply\"", "particles = \"ply\"", "wants true or false", "\"ply\"", "without quotes"),
    ("mesh = \"ply\"", "checkpoint_every_s = 0", "`checkpoint_every_s` = 0 is out of range", "0", "greater than 0"),
    ("mesh = \"ply\"", "checkpoints_kept = 0", "`checkpoints_kept` = 0 is out of range", "0", "at least 1"),
    // shapes
    ("max = [0.5, 0.6, 1] }", "max = [0.5, -0.6, 1] }", "the box is empty", "[0.5, -0.6, 1]", "less than"),
    ("max = [0.5, 0.6, 1] }", "max = [0.5, 0.6, 1] }, box = {", "", "", "TOML"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{}", "empty", "{}", "`sphere`"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ union = [] }", "at least 1", "[]", "at least 1"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ difference = [{ plane = { point = [0, 0, 0] } }] }", "at least 2", "[{", "2"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ plane = { point = [0, 0, 0], normal = [0, 0, 0] } }", "`normal` is zero", "[0, 0, 0]", "direction"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ torus = { center = [1, 0.5, 0.5], major_radius = 0.1, minor_radius = 0.2 } }", "no hole", "0.2", "less than"),
    ("to = [0.1, 0.8, 0.5]", "to = [0, 0.8, 0.5]", "no length", "[0, 0.8, 0.5]", "move"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ transform = { shape = { sphere = { center = [0, 0, 0], radius = 1 } }, rotate = [1, 2, 3], quaternion = [0, 0, 0, 1] } }", "exclude each other", "[0, 0, 0, 1]", "keep one"),
    ("{ box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }", "{ transform = { shape = { sphere = { center = [0, 0, 0], radius = 1 } }, quaternion = [0, 0, 0, 0] } }", "quaternion is zero", "[0, 0, 0, 0]", "length 1"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"none.obj\" } }", "none.obj", "\"none.obj\"", "relative to the scene"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"hole.obj\" } }", "not closed: 4 open edges, one at (", "\"hole.obj\"", "fill the holes"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"flipped.obj\" } }", "opposite orientation", "\"flipped.obj\"", "normals"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"garbage.stl\" } }", "garbage.stl", "\"garbage.stl\"", "damaged"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ mesh = { path = \"model.fbx\" } }", "no known mesh format", "\"model.fbx\"", ".obj"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ heightfield = { image = \"none.png\", min = [0, 0], max = [1, 1], heights = [0, 1] } }", "none.png", "\"none.png\"", "relative"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ heightfield = { image = \"none.png\", min = [0, 0], max = [0, 1], heights = [0, 1] } }", "rectangle is empty", "[0, 1]", "less"),
    ("{ sphere = { center = [1, 0.3, 0.5], radius = 0.1 } }", "{ heightfield = { image = \"none.png\", min = [0, 0], max = [1, 1], heights = [0, 1], base = 0.5 } }", "base lies above", "0.5", "below both"),
    // liquid, sources, solids
    ("[[fill]]\nshape = { box = { min = [0, 0, 0], max = [0.5, 0.6, 1] } }\nvelocity = [0, 0, 0]\n", "[[fill]]\nshape = { box = { min = [3, 0, 0], max = [4, 1, 1] } }\n", "outside the domain", "{ box", "[2, 1, 1]"),
    ("max = [0.5, 0.6, 1] }", "max = [0.01, 0.01, 0.01] }", "covers no cell", "{ box", "larger than a cell"),
    ("from = [0, 0.8, 0.5], to = [0.1, 0.8, 0.5]", "from = [0, 8, 5], to = [0.1, 8, 5]", "the source lies outside", "{ cylinder", "domain runs from"),
    ("from = [1.8, 0, 0.2], to = [1.8, 0, 0.8]", "from = [9, 0, 0.2], to = [9, 0, 0.8]", "the sink lies outside", "{ capsule", "domain runs from"),
    ("velocity = [1, 0, 0]", "velocity = [0, 0, 0]", "adds no liquid", "[0, 0, 0]", "velocity at which"),
    ("active = [0.0, 2.0]", "active = [2.0, 0.0]", "no time at all", "[2.0, 0.0]", "first < last"),
    ("[[source]]", "[[solid]]\nname = \"ball\"\nshape = { plane = { point = [0, 0, 0] } }\n[[source]]", "two solids have the name `ball`", "\"ball\"", "of its own"),
    // motion
    ("{ t = 1.0, translate = [1, 0, 0] }", "{ t = 0.0, translate = [1, 0, 0] }", "must rise in time", "0.0", "sort"),
    ("motion = { keys =", "motion = { linear = [1, 0, 0], keys =", "not one kind", "{ linear", "exactly one"),
    ("motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }", "motion = { about = [0, 0, 0] }", "not one kind", "{ about", "exactly one"),
    ("motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }", "motion = { file = \"none.txt\" }", "none.txt", "\"none.txt\"", "relative"),
    ("motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }", "motion = { file = \"bad-poses.txt\" }", "line 3: not a pose", "\"bad-poses.txt\"", "tx ty tz"),
    ("motion = { keys = [{ t = 0.0, translate = [0, 0, 0] }, { t = 1.0, translate = [1, 0, 0] }] }", "motion = { linear = [1, 0, 0], file_fps = 24 }", "without `file`", "24", "remove"),
    // probes and output
    ("at = [0.75, 0.5]", "at = [7.5, 0.5]", "outside the domain", "[7.5, 0.5]", "domain runs from"),
    ("at = [0.75, 0.5]", "at = [0.75, 0.5, 0.5]", "`at` has 3 numbers", "[0.75, 0.5, 0.5]", "[x, z]"),
    ("at = [0.9, 0.05, 0.5]", "at = [0.9, 0.05]", "`at` has 2 numbers", "[0.9, 0.05]", "[x, y, z]"),
    ("at = [0.9, 0.05, 0.5]", "", "lacks `at`", "[[probe]]", "at = [x, y, z]"),
    ("at = [0.9, 0.05, 0.5]", "at = [0.9, 0.05, 0.5]\nshape = { plane = { point = [0, 0, 0] } }", "no meaning", "{ plane", "remove"),
    ("name = \"P1\"", "name = \"H1\"", "two probes have the name `H1`", "\"H1\"", "of its own"),
    ("kind = \"pressure\"\nat = [0.9, 0.05, 0.5]", "kind = \"volume\"", "lacks `shape`", "[[probe]]", "shape ="),
    ("preview_size = [640, 360]", "preview_size = [640, 0]", "cannot be drawn", "[640, 0]", "16 to 8192"),
    ("preview_size = [640, 360]", "camera = { position = [0, 5, 0], look_at = [0, 5, 0] }", "looks nowhere", "{ position", "differ"),
    ("preview_size = [640, 360]", "camera = { position = [0, 5, 0], lookat = [0, 0, 0] }", "unknown key `lookat`", "lookat", "did you mean `look_at`?"),
];
