//! USD's binary format ("crate", `.usdc`), version 0.8.0, as far as a layer with a chain of prims and the
//! attributes of the last needs it. Layout after `pxr/usd/sdf/crateFile.h` and `.cpp` of OpenUSD:
//!
//! ```text
//! "PXR-USDC"  version  offset of the table of contents      88 bytes with reserve
//! values that do not fit into their references              arrays, times, doubles
//! TOKENS STRINGS FIELDS FIELDSETS PATHS SPECS               sections
//! table of contents                                         name, offset, length of each
//! ```
//!
//! Sections are stored in LZ4 blocks, which here hold literals only: they are a few hundred bytes. Arrays,
//! which are all of the rest, are stored plainly. Everything is little-endian.

/// What a spec describes (`SdfSpecType`).
#[derive(Clone, Copy)]
enum Spec {
    Attribute = 1,
    Prim = 6,
    Root = 7,
}

/// Types of values (`crateDataTypes.h`).
#[derive(Clone, Copy)]
enum Type {
    Int = 3,
    Int64 = 5,
    Float = 8,
    Double = 9,
    String = 10,
    Token = 11,
    Vec3f = 24,
    TokenVector = 41,
    Specifier = 42,
    Variability = 44,
    TimeSamples = 46,
    DoubleVector = 48,
}

const IS_ARRAY: u64 = 1 << 63;
const IS_INLINED: u64 = 1 << 62;
const BOOTSTRAP_BYTES: usize = 88;
const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];
/// Ends a set of fields.
const NO_FIELD: u32 = u32::MAX;

/// A value: its type and where it is, or itself.
#[derive(Clone, Copy)]
pub(super) struct Value(u64);

impl Value {
    fn at(kind: Type, offset: usize) -> Value {
        Value((kind as u64) << 48 | offset as u64)
    }

    fn inlined(kind: Type, payload: u32) -> Value {
        Value(IS_INLINED | (kind as u64) << 48 | u64::from(payload))
    }
}

/// Values that arrays are made of.
pub(super) trait Item: Copy {
    /// In the file.
    const TYPE: ItemType;
    fn put(self, out: &mut Vec<u8>);
}

/// The type of an array's items.
pub(super) struct ItemType(Type);

macro_rules! item {
    ($($type:ty, $kind:ident, |$v:ident, $out:ident| $put:expr;)*) => {$(
        impl Item for $type {
            const TYPE: ItemType = ItemType(Type::$kind);
            #[inline]
            fn put(self, $out: &mut Vec<u8>) {
                let $v = self;
                $put
            }
        }
    )*};
}
item! {
    i32, Int, |v, out| out.extend_from_slice(&v.to_le_bytes());
    i64, Int64, |v, out| out.extend_from_slice(&v.to_le_bytes());
    f32, Float, |v, out| out.extend_from_slice(&v.to_le_bytes());
    fluvial_foundation::Vec3, Vec3f, |v, out| {
        let [x, y, z] = v.to_array().map(f32::to_le_bytes);
        out.extend_from_slice(&[x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3], z[0], z[1], z[2], z[3]]);
    };
}

/// A layer in the making. Attributes belong to the last prim.
pub(super) struct CrateFile {
    bytes: Vec<u8>,
    tokens: Vec<String>,
    strings: Vec<u32>,
    fields: Vec<(u32, Value)>,
    field_sets: Vec<u32>,
    /// Kind and set of fields; a spec's number is that of its path.
    specs: Vec<(Spec, u32)>,
    /// Name of every path's last part.
    paths: Vec<(u32, Spec)>,
}

impl CrateFile {
    /// A layer with room for about this many bytes of values.
    pub fn with_capacity(bytes: usize) -> CrateFile {
        let mut file = CrateFile {
            bytes: Vec::with_capacity(bytes + 4096),
            tokens: vec![],
            strings: vec![],
            fields: vec![],
            field_sets: vec![],
            specs: vec![],
            paths: vec![],
        };
        file.bytes.resize(BOOTSTRAP_BYTES, 0);
        // The numbers of attributes' names are negated, those of prims' names are not: number 0 must be neither.
        file.token_index("");
        file
    }

    fn token_index(&mut self, token: &str) -> u32 {
        let known = self.tokens.iter().position(|t| t == token);
        known.unwrap_or_else(|| {
            self.tokens.push(token.to_owned());
            self.tokens.len() - 1
        }) as u32
    }

    /// Where the next value goes.
    fn place(&mut self) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len()
    }

    fn put_u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// A name.
    pub fn token(&mut self, token: &str) -> Value {
        Value::inlined(Type::Token, self.token_index(token))
    }

    /// Text.
    pub fn string(&mut self, text: &str) -> Value {
        let token = self.token_index(text);
        self.strings.push(token);
        Value::inlined(Type::String, self.strings.len() as u32 - 1)
    }

    /// A number.
    pub fn double(&mut self, value: f64) -> Value {
        let at = self.place();
        self.put_u64(value.to_bits());
        Value::at(Type::Double, at)
    }

    fn names(&mut self, names: &[&str]) -> Value {
        let indices: Vec<u32> = names.iter().map(|name| self.token_index(name)).collect();
        let at = self.place();
        self.put_u64(indices.len() as u64);
        indices.iter().for_each(|n| self.bytes.extend_from_slice(&n.to_le_bytes()));
        Value::at(Type::TokenVector, at)
    }

    /// A list.
    pub fn array<T: Item>(&mut self, items: impl ExactSizeIterator<Item = T>) -> Value {
        let kind = T::TYPE.0;
        if items.len() == 0 {
            return Value(Value::at(kind, 0).0 | IS_ARRAY);
        }
        let at = self.place();
        self.put_u64(items.len() as u64);
        items.for_each(|item| item.put(&mut self.bytes));
        Value(Value::at(kind, at).0 | IS_ARRAY)
    }

    /// A value at one moment: the times, then the values, each behind the distance to it.
    pub fn time_sample(&mut self, time: f64, value: Value) -> Value {
        let times_at = self.place();
        self.put_u64(1);
        self.put_u64(time.to_bits());
        let at = self.place();
        let here = size_of::<u64>() as u64;
        for word in [here, Value::at(Type::DoubleVector, times_at).0, here, 1, value.0] {
            self.put_u64(word);
        }
        Value::at(Type::TimeSamples, at)
    }

    /// The value that says that an attribute does not vary with time.
    pub fn uniform(&mut self) -> Value {
        Value::inlined(Type::Variability, 1)
    }

    /// The layer's own fields, and its only prim at the top.
    pub fn root(&mut self, child: &str, fields: &[(&str, Value)]) {
        let children = self.names(&[child]);
        self.spec(Spec::Root, "", fields, &[("primChildren", children)]);
    }

    /// A prim below the last one, with the names of its children or of its attributes.
    pub fn prim(&mut self, name: &str, kind: &str, children: Children) {
        let below = match children {
            Children::Prim(child) => ("primChildren", self.names(&[child])),
            Children::Attributes(names) => ("properties", self.names(names)),
        };
        let specifier = Value::inlined(Type::Specifier, 0); // def
        let kind = self.token(kind);
        self.spec(Spec::Prim, name, &[("specifier", specifier), ("typeName", kind)], &[below]);
    }

    /// An attribute of the last prim.
    pub fn attribute(&mut self, name: &str, kind: &str, fields: &[(&str, Value)]) {
        let kind = self.token(kind);
        self.spec(Spec::Attribute, name, &[("typeName", kind)], fields);
    }

    fn spec(&mut self, kind: Spec, name: &str, fields: &[(&str, Value)], more: &[(&str, Value)]) {
        let first = self.field_sets.len() as u32;
        for (field, value) in fields.iter().chain(more) {
            let token = self.token_index(field);
            self.field_sets.push(self.fields.len() as u32);
            self.fields.push((token, *value));
        }
        self.field_sets.push(NO_FIELD);
        self.specs.push((kind, first));
        let token = self.token_index(name);
        self.paths.push((token, kind));
    }

    /// The bytes of the file.
    pub fn finish(mut self) -> Vec<u8> {
        let chars: Vec<u8> = self.tokens.iter().flat_map(|t| t.bytes().chain([0])).collect();
        let reps: Vec<u8> = self.fields.iter().flat_map(|(_, value)| value.0.to_le_bytes()).collect();
        let strings: Vec<u8> = self.strings.iter().flat_map(|s| s.to_le_bytes()).collect();
        let count = |n: usize| (n as u64).to_le_bytes().to_vec();
        let numbers = |n: &mut dyn Iterator<Item = i32>| integers(&n.collect::<Vec<i32>>());
        let path_count = self.paths.len();
        let is_attribute = |n: usize| matches!(self.paths.get(n), Some((_, Spec::Attribute)));
        let sections = [
            ("TOKENS", [count(self.tokens.len()), count(chars.len()), block(&chars)].concat()),
            ("STRINGS", [count(self.strings.len()), strings].concat()),
            (
                "FIELDS",
                [
                    count(self.fields.len()),
                    numbers(&mut self.fields.iter().map(|f| f.0 as i32)),
                    block(&reps),
                ]
                .concat(),
            ),
            (
                "FIELDSETS",
                [count(self.field_sets.len()), numbers(&mut self.field_sets.iter().map(|&f| f as i32))]
                    .concat(),
            ),
            (
                "PATHS",
                [
                    count(path_count),
                    count(path_count),
                    numbers(&mut (0..path_count as i32)),
                    // Names of attributes are negative.
                    numbers(&mut (0..path_count).map(|n| {
                        let token = self.paths[n].0 as i32;
                        if is_attribute(n) { -token } else { token }
                    })),
                    // What follows in the list: -1 a child, 0 a sibling, -2 neither.
                    numbers(&mut (0..path_count).map(|n| match (is_attribute(n), n + 1 < path_count) {
                        (false, true) => -1,
                        (true, true) => 0,
                        (_, false) => -2,
                    })),
                ]
                .concat(),
            ),
            (
                "SPECS",
                [
                    count(self.specs.len()),
                    numbers(&mut (0..self.specs.len() as i32)),
                    numbers(&mut self.specs.iter().map(|s| s.1 as i32)),
                    numbers(&mut self.specs.iter().map(|s| s.0 as i32)),
                ]
                .concat(),
            ),
        ];
        let mut contents = count(sections.len());
        for (name, bytes) in sections {
            let at = self.place();
            self.bytes.extend_from_slice(&bytes);
            contents.extend(name.bytes().chain(std::iter::repeat(0)).take(16));
            contents.extend(count(at));
            contents.extend(count(bytes.len()));
        }
        let contents_at = self.place();
        self.bytes.extend_from_slice(&contents);
        self.bytes[..8].copy_from_slice(b"PXR-USDC");
        self.bytes[8..16].copy_from_slice(&VERSION);
        self.bytes[16..24].copy_from_slice(&(contents_at as u64).to_le_bytes());
        self.bytes
    }
}

/// What lies below a prim.
pub(super) enum Children<'a> {
    Prim(&'a str),
    Attributes(&'a [&'a str]),
}

/// Length and bytes of a packed buffer: one chunk (that is the 0), an LZ4 block of literals.
fn block(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0, (bytes.len().min(15) as u8) << 4];
    if let Some(rest) = bytes.len().checked_sub(15) {
        packed.extend(std::iter::repeat_n(255, rest / 255));
        packed.push((rest % 255) as u8);
    }
    packed.extend_from_slice(bytes);
    [&(packed.len() as u64).to_le_bytes()[..], &packed].concat()
}

/// Integers as `Sdf_IntegerCompression` packs them: a common difference, two bits for the width of each, the
/// differences. All are taken as 32 bits wide.
fn integers(values: &[i32]) -> Vec<u8> {
    let mut coded = vec![0; 4];
    coded.resize(4 + (2 * values.len()).div_ceil(8), 0xff);
    let mut last = 0i32;
    for &value in values {
        coded.extend_from_slice(&value.wrapping_sub(last).to_le_bytes());
        last = value;
    }
    block(&coded)
}
