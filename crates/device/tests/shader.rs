use fluvial_device::{ShaderPart, ShaderSource};

const BASE: ShaderPart = ShaderPart { file: "base.wgsl", text: "const a = 1;\nconst b = 2;\n" };
const USER: ShaderPart = ShaderPart { file: "user.wgsl", text: "// uses \"../base.wgsl\"\nconst c = a;" };

#[test]
fn lines_of_the_joined_text_have_the_place_of_their_part() {
    let source = ShaderSource::new(&[BASE, USER]);
    assert_eq!(source.name(), "user.wgsl");
    assert_eq!(
        [1, 2, 3, 4].map(|n| source.place(n)),
        ["base.wgsl:1", "base.wgsl:2", "user.wgsl:1", "user.wgsl:2"]
    );
}

#[test]
#[should_panic(expected = "user.wgsl uses ../base.wgsl, which does not come before it")]
fn a_part_without_what_it_uses_is_refused() {
    ShaderSource::new(&[USER, BASE]);
}
