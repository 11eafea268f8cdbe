"""Reads the bodies of a run's stage with Pixar's own library (PyPI: usd-core): poses as x, y, z and a quaternion x, y, z, w."""

import sys

from common import report
from pxr import Gf, Usd, UsdGeom

stage = Usd.Stage.Open(sys.argv[1])
times = range(int(stage.GetStartTimeCode()), int(stage.GetEndTimeCode()) + 1)
bodies = []
for prim in stage.GetPrimAtPath("/liquid/bodies").GetChildren():
    assert prim.IsA(UsdGeom.Xform)
    mesh = UsdGeom.Mesh(prim.GetChild("mesh"))
    # Written once: it has no samples in time.
    assert not mesh.GetPointsAttr().GetTimeSamples() and len(mesh.GetPointsAttr().Get()) > 0
    poses = []
    for t in times:
        matrix = UsdGeom.XformCache(t).GetLocalToWorldTransform(mesh.GetPrim())
        turn = Gf.Transform(matrix).GetRotation().GetQuat()
        turn = turn if turn.real >= 0 else -turn
        poses.append([*matrix.ExtractTranslation(), *turn.imaginary, turn.real])
    bodies.append(
        {
            "name": prim.GetCustomDataByKey("name"),
            "vertices": len(mesh.GetPointsAttr().Get()),
            "triangles": len(mesh.GetFaceVertexCountsAttr().Get()),
            "poses": poses,
        }
    )
report(bodies=bodies)
