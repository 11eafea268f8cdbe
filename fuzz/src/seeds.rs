//! Writes the samples of every format to `fuzz/seeds/FORMAT/`, from which the fuzzer starts.

fn main() -> std::io::Result<()> {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for format in &fluvial_fuzz::formats::FORMATS {
        let folder = seeds.join(format.name);
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in (format.samples)() {
            std::fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}
