//! Grey values of PNG, JPEG and TIFF files.

use crate::MeshError;
use std::io::Cursor;
use std::path::Path;
use tiff::decoder::DecodingResult;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::{colorspace::ColorSpace, options::DecoderOptions};

/// More pixels than this along a side make more triangles than anyone means to have.
const LARGEST_SIDE: usize = 2048;
/// Bytes of a pixel with four channels of 16 bits, and as many again for the decoder.
const DECODED_BYTES: usize = 16;
/// Shares of red, green and blue in brightness (ITU-R BT.709).
const BRIGHTNESS: [f32; 3] = [0.2126, 0.7152, 0.0722];

/// The TIFF tag with the number of channels, and the most that a picture may have: red, green, blue and opacity.
const SAMPLES_PER_PIXEL: usize = 277;
const MOST_CHANNELS: usize = 4;

/// The formats, by how their files begin.
enum Kind {
    Png,
    Jpeg,
    Tiff,
}

impl Kind {
    fn of(bytes: &[u8]) -> Result<Kind, MeshError> {
        match bytes {
            [0x89, b'P', b'N', b'G', ..] => Ok(Kind::Png),
            [0xff, 0xd8, 0xff, ..] => Ok(Kind::Jpeg),
            [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Ok(Kind::Tiff),
            _ => Err(MeshError::Format("the image is neither PNG nor JPEG nor TIFF".into())),
        }
    }
}

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
        let kind = Kind::of(bytes)?;
        let [width, rows] = Self::size(bytes)?;
        if width.max(rows) > LARGEST_SIDE {
            return Err(MeshError::Format(format!("the image has more than {LARGEST_SIDE} pixels a side")));
        }
        let most_bytes = DECODED_BYTES * width * rows + bytes.len();
        let (channels, values) = match kind {
            Kind::Png => decode_png(bytes, most_bytes)?,
            Kind::Jpeg => decode_jpeg(bytes)?,
            Kind::Tiff => decode_tiff(bytes, most_bytes)?,
        };
        GreyImage::from_channels([width, rows], channels, &values)
    }

    /// Width and rows, as the header of a file says.
    pub fn size(bytes: &[u8]) -> Result<[usize; 2], MeshError> {
        match Kind::of(bytes)? {
            Kind::Png => {
                // The header stands at a fixed place: behind the signature and the first chunk's length and name.
                let header = bytes.get(16..24).ok_or_else(|| unreadable("it is cut short"))?;
                let side = |at: usize| header[at..at + 4].iter().fold(0, |n, &b| n << 8 | usize::from(b));
                Ok([side(0), side(4)])
            }
            Kind::Jpeg => {
                let mut decoder = jpeg_decoder(bytes);
                decoder.decode_headers().map_err(unreadable)?;
                let info = decoder.info().ok_or_else(|| unreadable("it has no header"))?;
                Ok([info.width, info.height].map(usize::from))
            }
            Kind::Tiff => {
                let (width, rows) = tiff_decoder(bytes)?.dimensions().map_err(unreadable)?;
                Ok([width, rows].map(|n| n as usize))
            }
        }
    }

    /// From pixels of one to four channels with values from 0 to 1; a second or fourth channel is opacity.
    fn from_channels(
        [width, rows]: [usize; 2],
        channels: usize,
        values: &[f32],
    ) -> Result<GreyImage, MeshError> {
        if values.len() != width * rows * channels || channels == 0 {
            return Err(unreadable("it has another number of pixels than it says"));
        }
        let grey = |pixel: &[f32]| match pixel {
            [red, green, blue, ..] => BRIGHTNESS[0] * red + BRIGHTNESS[1] * green + BRIGHTNESS[2] * blue,
            other => other[0],
        };
        Ok(GreyImage { width, rows, values: values.chunks_exact(channels).map(grey).collect() })
    }
}

fn unreadable(why: impl std::fmt::Display) -> MeshError {
    MeshError::Format(format!("the image cannot be read: {why}"))
}

fn bytes_to_shares(bytes: &[u8]) -> Vec<f32> {
    bytes.iter().map(|&v| f32::from(v) / f32::from(u8::MAX)).collect()
}

fn words_to_shares(words: impl Iterator<Item = u16>) -> Vec<f32> {
    words.map(|v| f32::from(v) / f32::from(u16::MAX)).collect()
}

fn decode_png(bytes: &[u8], most_bytes: usize) -> Result<(usize, Vec<f32>), MeshError> {
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: most_bytes });
    // Palettes become colours, and grey values of less than a byte bytes.
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(unreadable)?;
    let size = reader.output_buffer_size().filter(|&size| size <= most_bytes);
    let mut buffer = vec![0; size.ok_or_else(|| unreadable("it is larger than it says"))?];
    let frame = reader.next_frame(&mut buffer).map_err(unreadable)?;
    let buffer = &buffer[..frame.buffer_size()];
    let words = || buffer.chunks_exact(2).map(|b| u16::from_be_bytes([b[0], b[1]]));
    let is_deep = frame.bit_depth == png::BitDepth::Sixteen;
    let values = if is_deep { words_to_shares(words()) } else { bytes_to_shares(buffer) };
    Ok((frame.color_type.samples(), values))
}

fn jpeg_decoder(bytes: &[u8]) -> JpegDecoder<ZCursor<&[u8]>> {
    let options = DecoderOptions::default()
        .set_max_width(usize::from(u16::MAX))
        .set_max_height(usize::from(u16::MAX))
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    JpegDecoder::new_with_options(ZCursor::new(bytes), options)
}

fn decode_jpeg(bytes: &[u8]) -> Result<(usize, Vec<f32>), MeshError> {
    let mut decoder = jpeg_decoder(bytes);
    let values = bytes_to_shares(&decoder.decode().map_err(unreadable)?);
    Ok((decoder.output_colorspace().map_or(0, |c| c.num_components()), values))
}

fn tiff_decoder(bytes: &[u8]) -> Result<tiff::decoder::Decoder<Cursor<&[u8]>>, MeshError> {
    check_tiff_tags(bytes)?;
    tiff::decoder::Decoder::new(Cursor::new(bytes)).map_err(unreadable)
}

fn decode_tiff(bytes: &[u8], most_bytes: usize) -> Result<(usize, Vec<f32>), MeshError> {
    let mut limits = tiff::decoder::Limits::default();
    (limits.decoding_buffer_size, limits.intermediate_buffer_size) = (most_bytes, most_bytes);
    let mut decoder = tiff_decoder(bytes)?.with_limits(limits);
    let channels = match decoder.colortype().map_err(unreadable)? {
        tiff::ColorType::Gray(_) => 1,
        tiff::ColorType::GrayA(_) => 2,
        tiff::ColorType::RGB(_) => 3,
        tiff::ColorType::RGBA(_) => 4,
        other => return Err(unreadable(format!("its colours are of the kind {other:?}"))),
    };
    let values = match decoder.read_image().map_err(unreadable)? {
        DecodingResult::U8(values) => bytes_to_shares(&values),
        DecodingResult::U16(values) => words_to_shares(values.into_iter()),
        DecodingResult::F32(values) => values.into_iter().map(|v| v.clamp(0.0, 1.0)).collect(),
        _ => return Err(unreadable("its values are neither of 8 nor of 16 bits nor floats of 32")),
    };
    Ok((channels, values))
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
