//! Grey images as ground.

use crate::MeshError;
use fluvial_foundation::Vec3;
use fluvial_grids::TriangleMesh;
use std::io::Cursor;
use std::path::Path;

/// More pixels than this along a side make more triangles than anyone means to have.
const LARGEST_SIDE: u32 = 2048;
/// Bytes of a pixel with four channels of 16 bits, and as many again for the decoder.
const DECODED_BYTES: u64 = 16;

/// The TIFF tag with the number of channels, and the most that a picture may have: red, green, blue and opacity.
const SAMPLES_PER_PIXEL: usize = 277;
const MOST_CHANNELS: usize = 4;

/// Grey values from 0 (black) to 1 (white), rows from the image's top.
#[derive(Clone, Debug, PartialEq)]
pub struct GreyImage {
    /// Pixels along a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
    /// `width * rows` values.
    pub values: Vec<f32>,
}

impl GreyImage {
    /// Reads a PNG, JPEG or TIFF file; 16-bit ones keep their precision, colours become their brightness.
    pub fn read(path: &Path) -> Result<GreyImage, MeshError> {
        let bytes = std::fs::read(path);
        GreyImage::decode(
            &bytes.map_err(|source| MeshError::Io { path: path.display().to_string(), source })?,
        )
    }

    /// As [`Self::read`], from memory. Room is made for an image only when its size is known to be allowed.
    pub fn decode(bytes: &[u8]) -> Result<GreyImage, MeshError> {
        let unreadable = |e: image::ImageError| match e {
            image::ImageError::Limits(_) => {
                MeshError::Format(format!("the image has more than {LARGEST_SIDE} pixels a side"))
            }
            e => MeshError::Format(format!("the image cannot be read: {e}")),
        };
        let reader = || {
            let reader = image::ImageReader::new(Cursor::new(bytes)).with_guessed_format();
            reader.map_err(|e| unreadable(e.into()))
        };
        check_tiff_tags(bytes)?;
        // The header says how much room there must be; damaged tables of a file may ask for any amount.
        let (width, rows) = reader()?.into_dimensions().map_err(unreadable)?;
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(LARGEST_SIDE);
        limits.max_image_height = Some(LARGEST_SIDE);
        limits.max_alloc = Some(DECODED_BYTES * u64::from(width) * u64::from(rows) + bytes.len() as u64);
        let mut reader = reader()?;
        reader.limits(limits);
        let grey = reader.decode().map_err(unreadable)?.into_luma16();
        let (width, rows) = grey.dimensions();
        let values = grey.pixels().map(|p| p.0[0] as f32 / u16::MAX as f32).collect();
        Ok(GreyImage { width: width as usize, rows: rows as usize, values })
    }
}

/// The decoder makes room for a tag's values before it checks that the file is that long, so this function
/// checks first. BigTIFF is for files over 4 GB, which no picture of 2048 pixels a side is.
fn check_tiff_tags(bytes: &[u8]) -> Result<(), MeshError> {
    let little = match bytes {
        [b'I', b'I', 42, 0, ..] => true,
        [b'M', b'M', 0, 42, ..] => false,
        [b'I', b'I', 43, 0, ..] | [b'M', b'M', 0, 43, ..] => {
            return Err(MeshError::Format("a BigTIFF file is not supported; save it as TIFF or PNG".into()));
        }
        _ => return Ok(()),
    };
    let number = |at: usize, size: usize| -> Result<usize, MeshError> {
        let part = at.checked_add(size).and_then(|end| bytes.get(at..end));
        let part = part.ok_or_else(|| MeshError::Format("the image is cut short".into()))?;
        let add = |word: usize, &byte: &u8| word << 8 | byte as usize;
        Ok(if little { part.iter().rev().fold(0, add) } else { part.iter().fold(0, add) })
    };
    let table = number(4, 4)?;
    for entry in 0..number(table, 2)? {
        let at = table + 2 + 12 * entry;
        let value_bytes = match number(at + 2, 2)? {
            1 | 2 | 6 | 7 => 1,
            3 | 8 => 2,
            5 | 10 | 12 | 16 | 17 | 18 => 8,
            _ => 4,
        };
        if number(at + 4, 4)? * value_bytes > bytes.len() {
            return Err(MeshError::Format("the image has a tag longer than the file".into()));
        }
        // The decoder also makes room for as many channels as the file claims.
        let channels = || number(at + 8, value_bytes.min(4));
        if number(at, 2)? == SAMPLES_PER_PIXEL && channels()? > MOST_CHANNELS {
            return Err(MeshError::Format(format!(
                "the image has {} channels, at most {MOST_CHANNELS} are read",
                channels()?
            )));
        }
    }
    Ok(())
}

/// The closed body between the floor `base` and the image's surface. Pixel columns run from `min_xz[0]` to
/// `max_xz[0]` along x, rows from `min_xz[1]` to `max_xz[1]` along z; black lies at `heights[0]`, white at
/// `heights[1]`, both above `base`. Metres.
pub fn heightfield_mesh(
    image: &GreyImage,
    min_xz: [f32; 2],
    max_xz: [f32; 2],
    heights: [f32; 2],
    base: f32,
) -> Result<TriangleMesh, MeshError> {
    let (nx, nz) = (image.width, image.rows);
    if nx < 2 || nz < 2 || image.values.len() != nx * nz {
        return Err(MeshError::Format("a heightfield needs at least 2 x 2 pixels".into()));
    }
    let lowest = heights[0].min(heights[1]);
    if !(min_xz[0] < max_xz[0] && min_xz[1] < max_xz[1] && base < lowest) {
        return Err(MeshError::Format(
            "a heightfield's rectangle is empty or its base lies above its surface".into(),
        ));
    }
    let along = |a: usize, n: usize, count: usize| {
        min_xz[a] + (max_xz[a] - min_xz[a]) * (n as f32 / (count - 1) as f32)
    };
    let mut mesh = TriangleMesh::default();
    for k in 0..nz {
        for i in 0..nx {
            let y = heights[0] + (heights[1] - heights[0]) * image.values[i + nx * k];
            mesh.positions.push(Vec3::new(along(0, i, nx), y, along(1, k, nz)));
        }
    }
    let top = |i: usize, k: usize| (i + nx * k) as u32;
    for k in 0..nz - 1 {
        for i in 0..nx - 1 {
            let [a, b, c, d] = [top(i, k), top(i + 1, k), top(i, k + 1), top(i + 1, k + 1)];
            mesh.triangles.extend([[a, c, b], [b, c, d]]);
        }
    }
    // The rim, counter-clockwise seen from above (from +x towards -z is left-turning about +y).
    let mut rim: Vec<u32> = Vec::with_capacity(2 * (nx + nz));
    rim.extend((0..nx - 1).map(|i| top(i, nz - 1)));
    rim.extend((1..nz).rev().map(|k| top(nx - 1, k)));
    rim.extend((1..nx).rev().map(|i| top(i, 0)));
    rim.extend((0..nz - 1).map(|k| top(0, k)));
    let foot = mesh.positions.len() as u32;
    for &v in &rim {
        let p = mesh.positions[v as usize];
        mesh.positions.push(Vec3::new(p.x, base, p.z));
    }
    let middle = mesh.positions.len() as u32;
    mesh.positions.push(Vec3::new(0.5 * (min_xz[0] + max_xz[0]), base, 0.5 * (min_xz[1] + max_xz[1])));
    for n in 0..rim.len() {
        let e = (n + 1) % rim.len();
        let (low, low_next) = (foot + n as u32, foot + e as u32);
        mesh.triangles.extend([[rim[n], low, low_next], [rim[n], low_next, rim[e]], [middle, low_next, low]]);
    }
    Ok(mesh)
}
