//! 8-bit sRGB images and their PNG files.

use fluvial_output::{OutputError, write_bytes_atomic};
use std::path::Path;

/// The largest picture that a scene may ask for, along a side.
const LARGEST_SIDE: u32 = 8192;

/// Rows from the top, three bytes a pixel, sRGB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 * width * height` bytes.
    pub rgb: Vec<u8>,
}

impl Image {
    /// The file's bytes.
    pub fn encode_png(&self) -> Vec<u8> {
        let mut bytes = vec![];
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::Fast); // a tenth of the time for a tenth more bytes
        let mut writer = encoder.write_header().expect("a header in memory can be written");
        writer.write_image_data(&self.rgb).expect("the buffer has the size of the header");
        writer.finish().expect("memory can be written");
        bytes
    }

    /// Writes a PNG under a temporary name, then renames it.
    pub fn write_png(&self, path: &Path) -> Result<(), OutputError> {
        write_bytes_atomic(path, &self.encode_png())
    }

    /// Reads an 8-bit RGB or RGBA PNG (alpha is dropped).
    pub fn read_png(path: &Path) -> Result<Image, OutputError> {
        let fail = |e: std::io::Error| OutputError::new("read", path, e);
        let bytes = std::fs::read(path).map_err(fail)?;
        Image::decode_png(&bytes).map_err(|e| fail(std::io::Error::new(std::io::ErrorKind::InvalidData, e)))
    }

    /// As [`Self::read_png`], from memory.
    pub fn decode_png(bytes: &[u8]) -> Result<Image, png::DecodingError> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info()?;
        // Sizes beyond those of our own pictures are refused: a damaged header must not ask for all memory.
        if reader.info().width.max(reader.info().height) > LARGEST_SIDE {
            return Err(png::DecodingError::LimitsExceeded);
        }
        let size = reader.output_buffer_size().ok_or(png::DecodingError::LimitsExceeded)?;
        let mut data = vec![0; size];
        let info = reader.next_frame(&mut data)?;
        let channels = info.color_type.samples();
        let pixel = |p: &[u8]| if channels < 3 { [p[0]; 3] } else { [p[0], p[1], p[2]] };
        let rgb = data[..info.buffer_size()].chunks_exact(channels).flat_map(pixel).collect();
        Ok(Image { width: info.width as usize, height: info.height as usize, rgb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_png_reads_back_and_broken_ones_are_refused() {
        let rgb = (0..5 * 4 * 3).map(|n| (n * 37 % 256) as u8).collect();
        let image = Image { width: 5, height: 4, rgb };
        let bytes = image.encode_png();
        assert_eq!(Image::decode_png(&bytes).unwrap(), image);
        for cut in 0..bytes.len() - 12 {
            assert!(Image::decode_png(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
