//! Alembic's objects and properties in Ogawa.
//!
//! An object is a group: its properties, its child objects, the headers of the children. A compound property
//! is a group: its properties, and their headers. A property is a group with its samples; an array's samples
//! each have a second entry for dimensions, empty for lists.

use super::digest::digest;
use super::ogawa::{EMPTY_DATA, EMPTY_GROUP, Ogawa, Ref};
use crate::{FrameTime, WriteSeek};
use fluvial_foundation::random::splitmix64;
use std::io;

/// Version of the way in which Alembic uses Ogawa.
const OGAWA_VERSION: i32 = 0;
/// Version of the library that first wrote this format's present form: 1.7.0.
const LIBRARY_VERSION: i32 = 10700;
/// Number of the time sampling that all properties follow; 0 is Alembic's default.
const FRAMES: u32 = 1;

/// Kinds of numbers, as Alembic counts them.
#[derive(Clone, Copy)]
enum Pod {
    Bool = 0,
    Uint8 = 1,
    Uint32 = 5,
    Int32 = 6,
    Uint64 = 7,
    Float32 = 10,
    Float64 = 11,
}

/// Kinds of objects.
#[derive(Clone, Copy)]
pub(super) enum ObjectKind {
    PolyMesh,
    Points,
}

impl ObjectKind {
    fn schema(self) -> &'static str {
        match self {
            ObjectKind::PolyMesh => "AbcGeom_PolyMesh_v1",
            ObjectKind::Points => "AbcGeom_Points_v1",
        }
    }
}

/// A property with its samples so far.
struct Property {
    name: String,
    metadata: String,
    is_array: bool,
    pod: Pod,
    extent: u8,
    children: Vec<Ref>,
    samples: u32,
    /// Sizes of the samples: the first, and whether all are equal, and whether all are a single value.
    first_size: usize,
    same_size: bool,
    single: bool,
    digest: [u64; 2],
}

/// A property with one value per sample.
pub(super) struct ScalarProperty(Property);
/// A property with a list per sample.
pub(super) struct ArrayProperty(Property);

impl Property {
    fn new(name: &str, metadata: &str, is_array: bool, pod: Pod, extent: u8) -> Property {
        Property {
            name: name.into(),
            metadata: metadata.into(),
            is_array,
            pod,
            extent,
            children: vec![],
            samples: 0,
            first_size: 0,
            same_size: true,
            single: true,
            digest: [0; 2],
        }
    }

    fn add(&mut self, archive: &mut Archive, bytes: &[u8]) -> io::Result<()> {
        let digest = digest(bytes);
        let key = [digest[0].to_le_bytes(), digest[1].to_le_bytes()].concat();
        let data = if bytes.is_empty() { EMPTY_DATA } else { archive.ogawa.data(&[&key, bytes])? };
        self.children.push(data);
        if self.is_array {
            self.children.push(EMPTY_DATA);
        }
        if self.samples == 0 {
            self.first_size = bytes.len();
        }
        let value_bytes = usize::from(self.extent) * self.pod.bytes();
        self.same_size &= bytes.len() == self.first_size;
        self.single &= bytes.len() == value_bytes;
        self.digest = [0, 1].map(|n| splitmix64(self.digest[n] ^ digest[n]));
        self.samples += 1;
        Ok(())
    }

    /// The header: a word of flags, counts, name.
    fn put_header(&self, out: &mut Vec<u8>, metadata: &mut MetadataTable) {
        let longest = self.name.len().max(self.metadata.len()).max(self.samples as usize);
        let hint = size_hint(longest);
        let index = metadata.index(&self.metadata);
        let mut info = if self.is_array { 2 | u32::from(self.single) } else { 1 };
        info |= hint << 2 | (self.pod as u32) << 4 | 0x100; // 0x100: has a time sampling of its own
        info |= if self.same_size { 0x400 } else { 0 };
        info |= if self.samples < 2 { 0x800 } else { 0 }; // constant
        info |= u32::from(self.extent) << 12 | index << 20;
        out.extend_from_slice(&info.to_le_bytes());
        put_sized(out, self.samples, hint);
        put_sized(out, FRAMES, hint);
        put_sized(out, self.name.len() as u32, hint);
        out.extend_from_slice(self.name.as_bytes());
    }
}

impl Pod {
    fn bytes(self) -> usize {
        match self {
            Pod::Bool | Pod::Uint8 => 1,
            Pod::Uint32 | Pod::Int32 | Pod::Float32 => 4,
            Pod::Uint64 | Pod::Float64 => 8,
        }
    }
}

impl ScalarProperty {
    pub fn bounds() -> Self {
        ScalarProperty(Property::new(".selfBnds", "interpretation=box", false, Pod::Float64, 6))
    }

    /// The values of a transform that is one matrix.
    pub fn matrix() -> Self {
        ScalarProperty(Property::new(".vals", "", false, Pod::Float64, 16))
    }

    pub fn add(&mut self, archive: &mut Archive, bytes: &[u8]) -> io::Result<()> {
        self.0.add(archive, bytes)
    }
}

impl ArrayProperty {
    pub fn floats(name: &str, extent: u8, metadata: &str) -> Self {
        ArrayProperty(Property::new(name, metadata, true, Pod::Float32, extent))
    }

    pub fn ints(name: &str) -> Self {
        ArrayProperty(Property::new(name, "", true, Pod::Int32, 1))
    }

    pub fn ids(name: &str, metadata: &str) -> Self {
        ArrayProperty(Property::new(name, metadata, true, Pod::Uint64, 1))
    }

    pub fn add(&mut self, archive: &mut Archive, bytes: &[u8]) -> io::Result<()> {
        self.0.add(archive, bytes)
    }
}

/// An object that is in the file already, for its parent to name.
pub(super) struct Child {
    group: Ref,
    header: Vec<u8>,
    digest: [u64; 2],
    samples: u32,
}

/// Strings of metadata that headers refer to by number.
#[derive(Default)]
struct MetadataTable(Vec<String>);

impl MetadataTable {
    /// 0 is the empty string.
    fn index(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.0.iter().position(|t| t == text).unwrap_or_else(|| {
            self.0.push(text.into());
            self.0.len() - 1
        });
        debug_assert!(self.0.len() < 255 && text.len() < 256);
        at as u32 + 1
    }
}

/// An archive that is being written.
pub(super) struct Archive<'a> {
    ogawa: Ogawa<'a>,
    metadata: MetadataTable,
}

impl<'a> Archive<'a> {
    pub fn start(file: &'a mut dyn WriteSeek) -> io::Result<Archive<'a>> {
        Ok(Archive { ogawa: Ogawa::start(file)?, metadata: MetadataTable::default() })
    }

    /// Writes a shape: its `.geom` with bounds, lists, and free parameters in `.arbGeomParams`.
    pub fn object(
        &mut self,
        name: &str,
        kind: ObjectKind,
        bounds: ScalarProperty,
        arrays: Vec<ArrayProperty>,
        parameters: Vec<ArrayProperty>,
    ) -> io::Result<Child> {
        let schema = format!("schema={};schemaBaseType=AbcGeom_GeomBase_v1", kind.schema());
        let samples = bounds.0.samples;
        let mut properties = vec![bounds.0];
        properties.extend(arrays.into_iter().map(|a| a.0));
        let parameters: Vec<Property> = parameters.into_iter().map(|a| a.0).collect();
        let digest = mix(properties.iter().chain(&parameters).map(|p| p.digest));
        let extra = if parameters.is_empty() {
            None
        } else {
            Some((".arbGeomParams", self.compound(&parameters, None)?))
        };
        let geometry = self.compound(&properties, extra)?;
        let top = self.wrap(".geom", &schema, geometry)?;
        let mut header = Vec::new();
        let title = format!("{schema};schemaObjTitle={}:.geom", kind.schema());
        self.put_object_header(&mut header, name, &title);
        let group = self.object_group(top, &[], digest)?;
        Ok(Child { group, header, digest, samples })
    }

    /// Writes a transform by a matrix, with what it moves below it. Channels are the matrix's numbers, all of which
    /// change; the byte of the operation is its kind, 3 for a matrix, before four bits of hints.
    pub fn transform(&mut self, name: &str, matrix: ScalarProperty, children: &[Child]) -> io::Result<Child> {
        let mut add =
            |name: &str, is_array: bool, pod: Pod, samples: u32, bytes: &[u8]| -> io::Result<Property> {
                let mut property = Property::new(name, "", is_array, pod, 1);
                (0..samples).try_for_each(|_| property.add(self, bytes))?;
                Ok(property)
            };
        let samples = matrix.0.samples;
        let channels: Vec<u8> = (0u32..16).flat_map(u32::to_le_bytes).collect();
        let properties = [
            // Readers take the number of samples from it.
            add(".inherits", false, Pod::Bool, samples, &[1])?,
            add(".ops", false, Pod::Uint8, 1, &[3 << 4])?,
            add("isNotConstantIdentity", false, Pod::Bool, 1, &[1])?,
            add(".animChans", true, Pod::Uint32, 1, &channels)?,
            matrix.0,
        ];
        let below = children.iter().map(|c| c.digest);
        let digest = mix(properties.iter().map(|p| p.digest).chain(below));
        let values = self.compound(&properties, None)?;
        let schema = "schema=AbcGeom_Xform_v3";
        let top = self.wrap(".xform", schema, values)?;
        let group = self.object_group(top, children, digest)?;
        let mut header = Vec::new();
        self.put_object_header(
            &mut header,
            name,
            &format!("{schema};schemaObjTitle=AbcGeom_Xform_v3:.xform"),
        );
        Ok(Child { group, header, digest, samples })
    }

    /// A compound property of simple ones, and of one compound that stands in the file already.
    fn compound(&mut self, properties: &[Property], extra: Option<(&str, Ref)>) -> io::Result<Ref> {
        let mut children = Vec::new();
        let mut headers = Vec::new();
        for property in properties {
            children.push(self.ogawa.group(&property.children)?);
            property.put_header(&mut headers, &mut self.metadata);
        }
        if let Some((name, group)) = extra {
            children.push(group);
            self.put_compound_header(&mut headers, name, "");
        }
        children.push(self.ogawa.data(&[&headers])?);
        self.ogawa.group(&children)
    }

    /// A compound property that holds one other compound: what an object's properties are.
    fn wrap(&mut self, name: &str, metadata: &str, inner: Ref) -> io::Result<Ref> {
        let mut headers = Vec::new();
        self.put_compound_header(&mut headers, name, metadata);
        let headers = self.ogawa.data(&[&headers])?;
        self.ogawa.group(&[inner, headers])
    }

    fn put_compound_header(&mut self, out: &mut Vec<u8>, name: &str, metadata: &str) {
        let hint = size_hint(name.len().max(metadata.len()));
        let info = hint << 2 | self.metadata.index(metadata) << 20;
        out.extend_from_slice(&info.to_le_bytes());
        put_sized(out, name.len() as u32, hint);
        out.extend_from_slice(name.as_bytes());
    }

    fn put_object_header(&mut self, out: &mut Vec<u8>, name: &str, metadata: &str) {
        out.extend_from_slice(&(name.len() as u32).to_le_bytes());
        out.extend_from_slice(name.as_bytes());
        out.push(self.metadata.index(metadata) as u8);
    }

    /// An object: properties, children, headers of the children followed by hashes of what is below.
    fn object_group(&mut self, properties: Ref, children: &[Child], digest: [u64; 2]) -> io::Result<Ref> {
        let mut members = vec![properties];
        members.extend(children.iter().map(|c| c.group));
        let mut headers: Vec<u8> = children.iter().flat_map(|c| c.header.iter().copied()).collect();
        let below = mix(children.iter().map(|c| c.digest));
        headers.extend([digest, below].as_flattened().iter().flat_map(|d| d.to_le_bytes()));
        members.push(self.ogawa.data(&[&headers])?);
        self.ogawa.group(&members)
    }

    /// Puts the shapes below `/liquid` and closes the archive.
    pub fn finish(mut self, children: Vec<Child>, first: FrameTime) -> io::Result<()> {
        let samples = children.iter().map(|c| c.samples).max().unwrap_or(0);
        let schema = "schema=AbcGeom_Xform_v3";
        let top = self.wrap(".xform", schema, EMPTY_GROUP)?;
        let digest = mix(children.iter().map(|c| c.digest));
        let group = self.object_group(top, &children, digest)?;
        let mut header = Vec::new();
        self.put_object_header(
            &mut header,
            "liquid",
            &format!("{schema};schemaObjTitle=AbcGeom_Xform_v3:.xform"),
        );
        let liquid = Child { group, header, digest, samples };
        let root = self.object_group(EMPTY_GROUP, &[liquid], [0; 2])?;

        let about = format!(
            "_ai_AlembicVersion=Alembic 1.7.0;_ai_Application=fluvial {};_ai_DCC_FPS={};_ai_Description=metres, seconds, y up",
            env!("CARGO_PKG_VERSION"),
            first.fps
        );
        // Time samplings: largest number of samples, length of the cycle, moments of the first cycle.
        let mut times = Vec::new();
        for (count, cycle_s, start_s) in [(0u32, 1.0, 0.0), (samples, 1.0 / first.fps, first.time_s())] {
            times.extend_from_slice(&count.to_le_bytes());
            times.extend_from_slice(&f64::to_le_bytes(cycle_s));
            times.extend_from_slice(&1u32.to_le_bytes());
            times.extend_from_slice(&f64::to_le_bytes(start_s));
        }
        let strings: Vec<u8> =
            self.metadata.0.iter().flat_map(|t| std::iter::once(t.len() as u8).chain(t.bytes())).collect();
        let members = [
            self.ogawa.data(&[&OGAWA_VERSION.to_le_bytes()])?,
            self.ogawa.data(&[&LIBRARY_VERSION.to_le_bytes()])?,
            root,
            self.ogawa.data(&[about.as_bytes()])?,
            self.ogawa.data(&[&times])?,
            self.ogawa.data(&[&strings])?,
        ];
        let top = self.ogawa.group(&members)?;
        self.ogawa.finish(top)
    }
}

/// How many bytes counts take: 0 for one, 1 for two, 2 for four.
fn size_hint(longest: usize) -> u32 {
    match longest {
        0..=255 => 0,
        256..=65535 => 1,
        _ => 2,
    }
}

fn put_sized(out: &mut Vec<u8>, value: u32, hint: u32) {
    out.extend_from_slice(&value.to_le_bytes()[..1 << hint]);
}

fn mix(digests: impl Iterator<Item = [u64; 2]>) -> [u64; 2] {
    digests.fold([1, 2], |sum, d| [splitmix64(sum[0] ^ d[0]), splitmix64(sum[1].rotate_left(7) ^ d[1])])
}
