"""Reads the stage of a run with Pixar's own library (PyPI: usd-core)."""

import sys

import numpy as np
from common import point_facts, report, surface_facts
from pxr import Usd, UsdGeom

stage = Usd.Stage.Open(sys.argv[1])
mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/liquid/surface"))
points = UsdGeom.Points(stage.GetPrimAtPath("/liquid/particles"))
age = UsdGeom.PrimvarsAPI(points).GetPrimvar("age")
assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
assert mesh.GetOrientationAttr().Get() == "rightHanded"
assert points.GetWidthsInterpolation() == "constant" and age.GetInterpolation() == "vertex"
per_second = stage.GetTimeCodesPerSecond()
times = mesh.GetPointsAttr().GetTimeSamples()
assert times == points.GetPointsAttr().GetTimeSamples()

surfaces, clouds = [], []
for t in times:
    assert set(mesh.GetFaceVertexCountsAttr().Get(t)) == {3}
    x = np.array(mesh.GetPointsAttr().Get(t))
    extent = np.array(mesh.GetExtentAttr().Get(t))
    assert (extent[0] == x.min(0)).all() and (extent[1] == x.max(0)).all()
    triangles = mesh.GetFaceVertexIndicesAttr().Get(t)
    surfaces.append(surface_facts(t / per_second, x, mesh.GetVelocitiesAttr().Get(t), triangles))
    radius = 0.5 * points.GetWidthsAttr().Get(t)[0]
    p, v = points.GetPointsAttr().Get(t), points.GetVelocitiesAttr().Get(t)
    clouds.append(point_facts(t / per_second, p, v, points.GetIdsAttr().Get(t), age.Get(t), radius))

report(
    surfaces=surfaces,
    particles=clouds,
    meters_per_unit=UsdGeom.GetStageMetersPerUnit(stage),
    up_axis=UsdGeom.GetStageUpAxis(stage),
    start=stage.GetStartTimeCode(),
    end=stage.GetEndTimeCode(),
    per_second=per_second,
)
