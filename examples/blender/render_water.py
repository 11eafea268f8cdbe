"""Imports a frame of a Fluvial run into Blender and renders it as water, without a window.

    pip install bpy                                     # Blender 5 as a Python module
    fluvial run water-drop --set method.tracker=flip --set output.volumes=vdb --frames 14
    fluvial mesh out/water-drop --resolution-scale 2 --smoothing 3 --frames 12
    python examples/blender/render_water.py out/water-drop/mesh --frame 12 --output water.png

`folder` may hold any of surface.0012.ply, .obj, .abc, liquid.usda, liquid.abc; the first that is there is taken, or
`--format`. With `--volume` the file volume.0012.vdb is imported beside it and its grids are listed. With `--check`
nothing is rendered: every frame is imported and what Blender sees is printed as JSON.

Blender's Z is up and one unit is a metre; the importers turn Fluvial's Y up, and this script turns volumes.
"""

import argparse
import json
import math
import os
import sys

import bpy
from mathutils import Vector


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--frame", type=int, default=0)
    parser.add_argument("--format", choices=["ply", "obj", "usd", "abc"])
    parser.add_argument("--volume", action="store_true", help="import volume.NNNN.vdb too")
    parser.add_argument("--output", default="water.png")
    parser.add_argument("--size", default="1280x720")
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--check", action="store_true")
    return parser.parse_args(sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else sys.argv[1:])


# What is imported, by format.


def files(folder, frame):
    """Where a frame is, by format."""
    at = lambda name: os.path.join(os.path.abspath(folder), name)
    single, joined = at(f"surface.{frame:04d}.abc"), at("liquid.abc")
    return {
        "ply": at(f"surface.{frame:04d}.ply"),
        "obj": at(f"surface.{frame:04d}.obj"),
        "usd": at("liquid.usda"),
        "abc": joined if os.path.exists(joined) else single,
    }


def import_surface(folder, frame, format):
    """Imports the surface of a frame; returns the object. Series are imported once and follow the frame."""
    path = files(folder, frame)[format]
    before = set(bpy.data.objects)
    turn = {"forward_axis": "NEGATIVE_Z", "up_axis": "Y"}
    if format == "ply":
        bpy.ops.wm.ply_import(filepath=path, import_attributes=True, **turn)
    elif format == "obj":
        bpy.ops.wm.obj_import(filepath=path, **turn)
    elif format == "usd":
        bpy.ops.wm.usd_import(filepath=path, set_frame_range=True)
    else:
        bpy.ops.wm.alembic_import(filepath=path, as_background_job=False)
    meshes = [o for o in bpy.data.objects if o not in before and o.type == "MESH" and "particles" not in o.name]
    if format in ("usd", "abc"):
        bpy.context.scene.frame_set(frame)
    return meshes[0]


def import_volume(folder, frame):
    """Imports the level set and velocity of a frame; returns the object, turned so that Z is up."""
    path = os.path.join(os.path.abspath(folder), f"volume.{frame:04d}.vdb")
    bpy.ops.object.volume_import(filepath=path, align="WORLD")
    volume = bpy.context.object
    volume.rotation_euler[0] += math.pi / 2
    return volume


# The picture.


def node(tree, kind, **inputs):
    made = tree.nodes.new(kind)
    for name, value in inputs.items():
        made.inputs[name.replace("_", " ")].default_value = value
    return made


def water_material(depth_m):
    """Refracting, clear near the surface and blue-green through `depth_m` of it. Light passes into its shadow."""
    material = bpy.data.materials.new("water")
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    glass = node(tree, "ShaderNodeBsdfGlass", IOR=1.333, Roughness=0.0)
    clear = node(tree, "ShaderNodeBsdfTransparent")
    clear.inputs["Color"].default_value = (0.86, 0.95, 0.97, 1)
    path = node(tree, "ShaderNodeLightPath")
    mix = node(tree, "ShaderNodeMixShader")
    out = node(tree, "ShaderNodeOutputMaterial")
    absorb = node(tree, "ShaderNodeVolumeAbsorption", Density=2.4 / depth_m)
    absorb.inputs["Color"].default_value = (0.22, 0.62, 0.72, 1)
    tree.links.new(path.outputs["Is Shadow Ray"], mix.inputs[0])
    tree.links.new(glass.outputs[0], mix.inputs[1])
    tree.links.new(clear.outputs[0], mix.inputs[2])
    tree.links.new(mix.outputs[0], out.inputs["Surface"])
    tree.links.new(absorb.outputs[0], out.inputs["Volume"])
    return material


def floor_material(size_m):
    """Pale tiles, so that refraction shows."""
    material = bpy.data.materials.new("floor")
    material.use_nodes = True
    tree = material.node_tree
    shader = tree.nodes["Principled BSDF"]
    shader.inputs["Roughness"].default_value = 0.55
    tiles = node(tree, "ShaderNodeTexBrick")
    tiles.offset = 0.0
    tiles.inputs["Color1"].default_value = (0.20, 0.20, 0.20, 1)
    tiles.inputs["Color2"].default_value = (0.16, 0.16, 0.17, 1)
    tiles.inputs["Mortar"].default_value = (0.06, 0.06, 0.07, 1)
    tiles.inputs["Mortar Size"].default_value = 0.012
    tiles.inputs["Brick Width"].default_value = 1.0
    tiles.inputs["Row Height"].default_value = 1.0
    tiles.inputs["Scale"].default_value = 8.0 / size_m
    place = node(tree, "ShaderNodeTexCoord")
    tree.links.new(place.outputs["Object"], tiles.inputs["Vector"])
    tree.links.new(tiles.outputs["Color"], shader.inputs["Base Color"])
    return material


def bounds(thing):
    corners = [thing.matrix_world @ Vector(c) for c in thing.bound_box]
    return [min(c[a] for c in corners) for a in range(3)], [max(c[a] for c in corners) for a in range(3)]


def light(name, kind, at, target, energy, size, color=(1, 1, 1)):
    data = bpy.data.lights.new(name, kind)
    data.energy, data.color = energy, color
    if kind == "AREA":
        data.size = size
    else:
        data.angle = size
    made = bpy.data.objects.new(name, data)
    bpy.context.collection.objects.link(made)
    made.location = at
    made.rotation_euler = (Vector(target) - Vector(at)).to_track_quat("-Z", "Y").to_euler()
    return made


def set_stage(water):
    low, high = bounds(water)
    center = Vector([(a + b) / 2 for a, b in zip(low, high)])
    size = max(b - a for a, b in zip(low, high))
    water.data.materials.clear()
    water.data.materials.append(water_material(size))
    for polygon in water.data.polygons:
        polygon.use_smooth = True
    # Walls of the tank stay flat: smooth only across gentle edges.
    bpy.context.view_layer.objects.active = water
    water.select_set(True)
    bpy.ops.object.shade_smooth_by_angle(angle=math.radians(50))

    bpy.ops.mesh.primitive_plane_add(size=60 * size, location=(center.x, center.y, low[2] - 0.002 * size))
    floor = bpy.context.object
    floor.data.materials.append(floor_material(size))

    world = bpy.data.worlds.new("sky")
    bpy.context.scene.world = world
    world.use_nodes = True
    tree = world.node_tree
    background = tree.nodes["Background"]
    height = node(tree, "ShaderNodeTexCoord")
    split = node(tree, "ShaderNodeSeparateXYZ")
    ramp = node(tree, "ShaderNodeValToRGB")
    ramp.color_ramp.elements[0].color = (0.55, 0.60, 0.66, 1)
    ramp.color_ramp.elements[1].color = (0.10, 0.22, 0.42, 1)
    tree.links.new(height.outputs["Generated"], split.inputs[0])
    tree.links.new(split.outputs["Z"], ramp.inputs[0])
    tree.links.new(ramp.outputs[0], background.inputs[0])
    background.inputs[1].default_value = 0.9

    # Seen from the tank's size, not the splash's, so that all frames have one camera.
    base = Vector((center.x, center.y, low[2]))
    above = lambda x, y, z: base + size * Vector((x, y, z))
    light("sun", "SUN", above(-1.5, 1.2, 2.4), center, 3.2, math.radians(1.2), (1.0, 0.95, 0.88))
    window = light("window", "AREA", above(1.6, 2.0, 1.6), center, 55 * size * size, 1.6 * size, (0.85, 0.93, 1.0))
    # It lights the water from behind; its own square would only be seen as a panel in the tank's flat sides.
    window.visible_glossy = window.visible_transmission = False

    camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
    bpy.context.collection.objects.link(camera)
    camera.location = above(1.35, -1.95, 0.95)
    aim = Vector((center.x, center.y, low[2] + 0.27 * size))
    camera.rotation_euler = (aim - camera.location).to_track_quat("-Z", "Y").to_euler()
    camera.data.lens = 50
    camera.data.dof.use_dof = True
    camera.data.dof.focus_distance = (aim - camera.location).length - 0.3 * size
    camera.data.dof.aperture_fstop = 5.6
    bpy.context.scene.camera = camera


def render(output, size, samples):
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.cycles.device = "CPU"
    scene.cycles.samples = samples
    scene.cycles.use_denoising = True
    scene.cycles.max_bounces = 16
    scene.cycles.transmission_bounces = 16
    scene.cycles.transparent_max_bounces = 16
    scene.cycles.sample_clamp_indirect = 8.0
    scene.render.resolution_x, scene.render.resolution_y = (int(n) for n in size.split("x"))
    scene.render.resolution_percentage = 100
    scene.view_settings.view_transform = "AgX"
    scene.view_settings.look = "AgX - Medium High Contrast"
    scene.render.image_settings.file_format = "PNG"
    scene.render.filepath = os.path.abspath(output)
    bpy.ops.render.render(write_still=True)


# What Blender sees, for the record.


def facts(thing, frame):
    data = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = data.data
    low, high = bounds(data)
    names = [n for n in ("velocity", "velocities", ".velocities", "vx") if n in mesh.attributes]
    return {
        "frame": frame,
        "vertices": len(mesh.vertices),
        "triangles": len(mesh.polygons),
        "min": [round(v, 5) for v in low],
        "max": [round(v, 5) for v in high],
        "velocity": names,
    }


def check(folder, frame, format):
    seen = []
    thing = import_surface(folder, frame, format)
    if format in ("usd", "abc"):
        scene = bpy.context.scene
        for n in range(scene.frame_start, scene.frame_end + 1):
            scene.frame_set(n)
            seen.append(facts(thing, n))
    else:
        while os.path.exists(files(folder, frame)[format]):
            seen.append(facts(thing, frame))
            bpy.data.objects.remove(thing)
            frame += 1
            if os.path.exists(files(folder, frame)[format]):
                thing = import_surface(folder, frame, format)
    print(json.dumps({"format": format, "fps": bpy.context.scene.render.fps, "frames": seen}))


def main():
    args = arguments()
    bpy.ops.wm.read_factory_settings(use_empty=True)
    found = [f for f, path in files(args.folder, args.frame).items() if os.path.exists(path)]
    if not found and not args.format:
        sys.exit(f"no surface of frame {args.frame} in {args.folder}")
    format = args.format or found[0]
    if args.check:
        check(args.folder, args.frame, format)
        return
    water = import_surface(args.folder, args.frame, format)
    if args.volume:
        volume = import_volume(args.folder, args.frame)
        volume.data.grids.load()
        print(json.dumps({"grids": [[g.name, g.data_type, g.channels] for g in volume.data.grids], "bounds": bounds(volume)}))
        volume.hide_render = True
    if water.modifiers:
        # The series' modifier gives the frame's mesh; the stage is set on a copy that no longer follows it.
        data = bpy.data.meshes.new_from_object(water.evaluated_get(bpy.context.evaluated_depsgraph_get()))
        water.modifiers.clear()
        water.data = data
    set_stage(water)
    render(args.output, args.size, args.samples)


main()
