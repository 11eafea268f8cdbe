//! PLY files of other programs (our own cache has a stricter reader).

use crate::MeshError;
use crate::mesh_files::{Fan, Sink, broken, build};
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;

/// Most lines of a header that are accepted.
const MOST_HEADER_LINES: usize = 1000;
/// Longest line of a header that is accepted, bytes.
const LONGEST_HEADER_LINE: usize = 4096;

#[derive(Clone, Copy, PartialEq)]
enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl Number {
    fn named(name: &str) -> Option<Number> {
        use Number::*;
        Some(match name {
            "char" | "int8" => I8,
            "uchar" | "uint8" => U8,
            "short" | "int16" => I16,
            "ushort" | "uint16" => U16,
            "int" | "int32" => I32,
            "uint" | "uint32" => U32,
            "float" | "float32" => F32,
            "double" | "float64" => F64,
            _ => return None,
        })
    }
}

struct Property<'a> {
    name: &'a str,
    /// The type of a list's length, for lists.
    list: Option<Number>,
    number: Number,
}

struct Element<'a> {
    name: &'a str,
    count: usize,
    properties: Vec<Property<'a>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Text,
    Little,
    Big,
}

struct Header<'a> {
    format: Format,
    elements: Vec<Element<'a>>,
    body: &'a [u8],
}

/// The numbers after the header, one after the other.
struct Body<'a> {
    format: Format,
    bytes: &'a [u8],
}

impl Body<'_> {
    fn number(&mut self, kind: Number) -> Result<f64, MeshError> {
        if self.format == Format::Text {
            self.bytes = self.bytes.trim_ascii_start();
            let end = self.bytes.iter().position(u8::is_ascii_whitespace).unwrap_or(self.bytes.len());
            let (word, rest) = self.bytes.split_at(end);
            self.bytes = rest;
            let number = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
            return number.ok_or_else(|| {
                let start = &word[..word.len().min(40)];
                broken(format!("`{}` is not a number", String::from_utf8_lossy(start)))
            });
        }
        use Number::*;
        Ok(match kind {
            I8 => self.take::<1>()?[0] as i8 as f64,
            U8 => self.take::<1>()?[0] as f64,
            I16 => i16::from_le_bytes(self.take()?) as f64,
            U16 => u16::from_le_bytes(self.take()?) as f64,
            I32 => i32::from_le_bytes(self.take()?) as f64,
            U32 => u32::from_le_bytes(self.take()?) as f64,
            F32 => f32::from_le_bytes(self.take()?) as f64,
            F64 => f64::from_le_bytes(self.take()?),
        })
    }

    /// A count or a vertex number.
    fn whole(&mut self, kind: Number) -> Result<u32, MeshError> {
        let number = self.number(kind)?;
        if number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0 {
            return Ok(number as u32);
        }
        Err(broken(format!("{number} is no count and no vertex number")))
    }

    /// The next bytes, in little-endian order.
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MeshError> {
        let Some((head, rest)) = self.bytes.split_first_chunk::<N>() else {
            return Err(broken("the file ends early"));
        };
        self.bytes = rest;
        let mut word = *head;
        if self.format == Format::Big {
            word.reverse();
        }
        Ok(word)
    }
}

/// PLY, text or binary of either byte order: `vertex` x y z and `face` vertex_indices; other data is passed
/// over.
pub fn parse_ply(bytes: &[u8]) -> Result<TriangleMesh, MeshError> {
    let header = header(bytes)?;
    build(|sink| scan(&header, sink))
}

fn scan(header: &Header, sink: &mut dyn Sink) -> Result<(), MeshError> {
    let mut body = Body { format: header.format, bytes: header.body };
    for element in &header.elements {
        if element.properties.is_empty() {
            continue; // rows without properties hold no data, however many are announced
        }
        let (is_vertex, is_face) = (element.name == "vertex", element.name == "face");
        for _ in 0..element.count {
            let mut position = Vec3::NAN;
            for property in &element.properties {
                let Some(length) = property.list else {
                    let value = body.number(property.number)?;
                    if let Some(axis) = ["x", "y", "z"].iter().position(|a| *a == property.name) {
                        position[axis] = value as f32;
                    }
                    continue;
                };
                let is_corners = is_face && property.name.starts_with("vertex_ind");
                let mut fan = Fan::default();
                for _ in 0..body.whole(length)? {
                    if is_corners {
                        fan.corner(body.whole(property.number)?, sink);
                    } else {
                        body.number(property.number)?;
                    }
                }
            }
            if is_vertex {
                sink.vertex(position);
            }
        }
    }
    Ok(())
}

fn header(bytes: &[u8]) -> Result<Header<'_>, MeshError> {
    let mut lines = bytes.split_inclusive(|&b| b == b'\n').take(MOST_HEADER_LINES);
    let mut read = 0;
    let mut next_line = || -> Result<&str, MeshError> {
        let line = lines.next().filter(|l| l.ends_with(b"\n") && l.len() <= LONGEST_HEADER_LINE);
        let line = line.ok_or_else(|| broken("the header has no end"))?;
        read += line.len();
        // Remarks may be in any encoding.
        if line.starts_with(b"comment") || line.starts_with(b"obj_info") {
            return Ok("comment");
        }
        std::str::from_utf8(line).map(str::trim).map_err(|_| broken("the header is not text"))
    };
    if next_line()? != "ply" {
        return Err(broken("a PLY file starts with the line `ply`"));
    }
    let mut format = None;
    let mut elements: Vec<Element> = Vec::new();
    loop {
        let line = next_line()?;
        let mut words = [""; 6];
        line.split_ascii_whitespace().zip(&mut words).for_each(|(word, place)| *place = word);
        let bad = || broken(format!("header line `{line}` is not understood"));
        match words {
            ["end_header", "", ..] => break,
            ["format", name, _, "", ..] => {
                format = Some(match name {
                    "ascii" => Format::Text,
                    "binary_little_endian" => Format::Little,
                    "binary_big_endian" => Format::Big,
                    _ => return Err(bad()),
                });
            }
            ["element", name, count, "", ..] => {
                let count = count.parse().map_err(|_| bad())?;
                elements.push(Element { name, count, properties: Vec::new() });
            }
            ["property", "list", length, number, name, ""] if !name.is_empty() => {
                let list = Some(Number::named(length).ok_or_else(bad)?);
                let number = Number::named(number).ok_or_else(bad)?;
                elements.last_mut().ok_or_else(bad)?.properties.push(Property { name, list, number });
            }
            ["property", number, name, "", ..] if !name.is_empty() => {
                let number = Number::named(number).ok_or_else(bad)?;
                elements.last_mut().ok_or_else(bad)?.properties.push(Property { name, list: None, number });
            }
            ["" | "comment", ..] => {}
            _ => return Err(bad()),
        }
    }
    let format = format.ok_or_else(|| broken("the header names no format"))?;
    Ok(Header { format, elements, body: &bytes[read..] })
}
