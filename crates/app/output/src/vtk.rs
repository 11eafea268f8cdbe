//! VTK XML files for ParaView: surfaces and particles (`.vtp`), volumes (`.vti`), time series (`.pvd`). Data
//! is appended raw, little endian; volumes are zipped in blocks, which costs little and keeps empty space
//! from filling disks.

use crate::{FrameTime, OutputError, Points, VolumeView, write_atomic};
use flate2::{Compression, write::ZlibEncoder};
use fluvial_foundation::{AXES, Vec3, parallel};
use fluvial_grids::TriangleMesh;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

/// Bytes that are zipped together.
const BLOCK: usize = 1 << 18;

/// Writes a surface with velocity `v` per vertex, m/s.
pub fn write_vtp(path: &Path, mesh: &TriangleMesh, time: FrameTime) -> Result<(), OutputError> {
    let mut data = Appended::default();
    let mut xml = String::new();
    if !mesh.velocities.is_empty() {
        xml += "<PointData Vectors=\"v\">\n";
        xml += &data.array("Float32", "v", 3, vectors(&mesh.velocities));
        xml += "</PointData>\n";
    }
    xml += "<Points>\n";
    xml += &data.array("Float32", "Points", 3, vectors(&mesh.positions));
    xml += "</Points>\n<Polys>\n";
    xml += &data.array(
        "Int32",
        "connectivity",
        1,
        mesh.triangles.iter().flatten().flat_map(|v| v.to_le_bytes()).collect(),
    );
    let ends = (1..=mesh.triangles.len() as i32).flat_map(|n| (3 * n).to_le_bytes()).collect();
    xml += &data.array("Int32", "offsets", 1, ends);
    xml += "</Polys>\n";
    let piece = format!(
        "<Piece NumberOfPoints=\"{}\" NumberOfVerts=\"0\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"{}\">",
        mesh.positions.len(),
        mesh.triangles.len()
    );
    write_file(path, "PolyData", "", time, &piece, &xml, &data)
}

/// Writes particles with `v` (m/s), `id`, `pscale` (radius, m), `age` (s), and `kind` where they differ.
pub fn write_vtp_points(path: &Path, points: &Points, time: FrameTime) -> Result<(), OutputError> {
    let count = points.x.len();
    let mut data = Appended::default();
    let mut xml = String::from("<PointData Vectors=\"v\">\n");
    xml += &data.array("Float32", "v", 3, vectors(points.v));
    xml += &data.array("Int64", "id", 1, points.id.iter().flat_map(|v| v.to_le_bytes()).collect());
    let radii = (0..count).flat_map(|n| points.radius_of(n).to_le_bytes()).collect();
    xml += &data.array("Float32", "pscale", 1, radii);
    xml += &data.array("Float32", "age", 1, points.age_s.iter().flat_map(|v| v.to_le_bytes()).collect());
    if let Some(kind) = points.kind {
        xml += &data.array("UInt8", "kind", 1, kind.to_vec());
    }
    xml += "</PointData>\n<Points>\n";
    xml += &data.array("Float32", "Points", 3, vectors(points.x));
    // One cell of all points: ParaView draws cells.
    xml += "</Points>\n<Verts>\n";
    xml += &data.array("Int32", "connectivity", 1, (0..count as i32).flat_map(|n| n.to_le_bytes()).collect());
    let verts = u32::from(count > 0);
    xml += &data.array("Int32", "offsets", 1, (count as i32).to_le_bytes().repeat(verts as usize));
    xml += "</Verts>\n";
    let piece = format!(
        "<Piece NumberOfPoints=\"{count}\" NumberOfVerts=\"{verts}\" NumberOfLines=\"0\" NumberOfStrips=\"0\" NumberOfPolys=\"0\">"
    );
    write_file(path, "PolyData", "", time, &piece, &xml, &data)
}

/// Writes the whole grid as cell data: `phi` (m, negative in the liquid) and `v` (m/s, the mean of a cell's
/// faces; 0 three cells and more outside the liquid, where nothing is known).
pub fn write_vti(path: &Path, volume: &VolumeView, time: FrameTime) -> Result<(), OutputError> {
    let grid = &volume.grid;
    let [nx, ny, nz] = grid.cells;
    let mut data = Appended { zip: true, ..Appended::default() };
    let mut xml = String::from("<CellData Scalars=\"phi\" Vectors=\"v\">\n");
    xml += &data.array("Float32", "phi", 1, volume.phi_cell.iter().flat_map(|v| v.to_le_bytes()).collect());
    xml += &data.array("Float32", "v", 3, vectors(&cell_velocities(volume)));
    xml += "</CellData>\n";
    let extent = format!("0 {nx} 0 {ny} 0 {nz}");
    let origin = grid.min;
    let attributes = format!(
        " WholeExtent=\"{extent}\" Origin=\"{} {} {}\" Spacing=\"{dx} {dx} {dx}\"",
        origin.x,
        origin.y,
        origin.z,
        dx = grid.dx
    );
    write_file(path, "ImageData", &attributes, time, &format!("<Piece Extent=\"{extent}\">"), &xml, &data)
}

fn cell_velocities(volume: &VolumeView) -> Vec<Vec3> {
    let grid = &volume.grid;
    let (cells, faces) = (grid.cell_centers(), AXES.map(|a| grid.faces(a)));
    let band = crate::HALF_WIDTH_CELLS * grid.dx;
    let mut v = vec![Vec3::ZERO; cells.len()];
    parallel::for_each_chunk_mut(&mut v, cells.slab(), |k, out| {
        for (n, out) in out.iter_mut().enumerate() {
            let (i, j) = (n % cells.size[0], n / cells.size[0]);
            if volume.phi_cell[cells.index(i, j, k)] < band {
                *out = Vec3::from_array(AXES.map(|a| {
                    let low = faces[a].index(i, j, k);
                    0.5 * (volume.u_face[a][low] + volume.u_face[a][low + faces[a].stride(a)])
                }));
            }
        }
    });
    v
}

/// Writes a time series: what ParaView opens to play the files named, which lie beside it.
pub fn write_pvd(path: &Path, frames: &[(FrameTime, String)]) -> Result<(), OutputError> {
    write_atomic(path, |w| {
        writeln!(w, "<?xml version=\"1.0\"?>")?;
        writeln!(
            w,
            "<VTKFile type=\"Collection\" version=\"1.0\" byte_order=\"LittleEndian\">\n<Collection>"
        )?;
        for (time, file) in frames {
            writeln!(w, "<DataSet timestep=\"{}\" part=\"0\" file=\"{file}\"/>", time.time_s())?;
        }
        writeln!(w, "</Collection>\n</VTKFile>")
    })
}

fn vectors(values: &[Vec3]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_array()).flat_map(|c| c.to_le_bytes()).collect()
}

/// Arrays behind the XML, and where each starts.
#[derive(Default)]
struct Appended {
    zip: bool,
    length: usize,
    parts: Vec<Vec<u8>>,
}

impl Appended {
    /// Appends an array; returns its XML.
    fn array(&mut self, kind: &str, name: &str, components: usize, raw: Vec<u8>) -> String {
        let offset = self.length;
        let mut add = |part: Vec<u8>| {
            self.length += part.len();
            self.parts.push(part);
        };
        if self.zip {
            let blocks: Vec<&[u8]> = raw.chunks(BLOCK).collect();
            let zipped = parallel::map_indices(blocks.len(), |n| zip(blocks[n]));
            let last = raw.len() % BLOCK;
            let mut head = [blocks.len() as u64, BLOCK as u64, last as u64].map(u64::to_le_bytes).concat();
            head.extend(zipped.iter().flat_map(|z| (z.len() as u64).to_le_bytes()));
            add(head);
            zipped.into_iter().for_each(add);
        } else {
            add((raw.len() as u64).to_le_bytes().to_vec());
            add(raw);
        }
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{offset}\"/>\n"
        )
    }
}

fn zip(raw: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(raw.len() / 2), Compression::fast());
    encoder.write_all(raw).and_then(|()| encoder.finish()).expect("writing to memory succeeds")
}

fn write_file(
    path: &Path,
    kind: &str,
    attributes: &str,
    time: FrameTime,
    piece: &str,
    xml: &str,
    data: &Appended,
) -> Result<(), OutputError> {
    let mut head = String::from("<?xml version=\"1.0\"?>\n");
    let zip = if data.zip { " compressor=\"vtkZLibDataCompressor\"" } else { "" };
    let _ = writeln!(
        head,
        "<VTKFile type=\"{kind}\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\"{zip}>\n\
         <!-- fluvial: metres and seconds, y up; frame {} at {} frames per second -->\n<{kind}{attributes}>\n\
         <FieldData>\n<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{}</DataArray>\n</FieldData>\n\
         {piece}\n{xml}</Piece>\n</{kind}>\n<AppendedData encoding=\"raw\">",
        time.frame,
        time.fps,
        time.time_s()
    );
    write_atomic(path, |w| {
        w.write_all(head.as_bytes())?;
        w.write_all(b"_")?;
        data.parts.iter().try_for_each(|part| w.write_all(part))?;
        io::Write::write_all(w, b"\n</AppendedData>\n</VTKFile>\n")
    })
}
