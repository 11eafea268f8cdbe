"""Reads archives with the Alembic library (PyPI: alembic3d)."""

import sys

import numpy as np
from alembic3d import Abc, AbcGeom
from common import point_facts, report, surface_facts


def numbers(array):
    return np.array([tuple(v) for v in array]) if len(array) and hasattr(array[0], "x") else np.array(list(array))


def frames(schema):
    sampling = schema.getTimeSampling()
    for n in range(schema.getNumSamples()):
        # A selector takes a number for a time.
        at = Abc.ISampleSelector(sampling.getSampleTime(n))
        yield sampling.getSampleTime(n), at, schema.getValue(at)


surfaces, clouds = [], []
for path in sys.argv[1:]:
    archive = Abc.IArchive(path)
    liquid = archive.getTop().getChild("liquid")
    assert AbcGeom.IXform.matches(liquid.getHeader())
    for child in liquid.children:
        if AbcGeom.IPolyMesh.matches(child.getHeader()):
            for time_s, _, value in frames(AbcGeom.IPolyMesh(child.getParent(), child.getName()).getSchema()):
                assert set(value.getFaceCounts()) == {3}
                # Clockwise in Alembic.
                triangles = numbers(value.getFaceIndices()).reshape(-1, 3)[:, ::-1]
                x, v = numbers(value.getPositions()), numbers(value.getVelocities())
                bounds = value.getSelfBounds()
                assert np.allclose(tuple(bounds.min()), x.min(0)) and np.allclose(tuple(bounds.max()), x.max(0))
                surfaces.append(surface_facts(time_s, x, v, triangles))
        else:
            assert AbcGeom.IPoints.matches(child.getHeader())
            schema = AbcGeom.IPoints(child.getParent(), child.getName()).getSchema()
            widths = schema.getWidthsParam()
            parameters = schema.getArbGeomParams()
            ages = AbcGeom.IFloatGeomParam(parameters, "age")
            for time_s, at, value in frames(schema):
                x, v = numbers(value.getPositions()), numbers(value.getVelocities())
                age = numbers(ages.getExpandedValue(at).getVals())
                radius = 0.5 * list(widths.getExpandedValue(at).getVals())[0]
                clouds.append(point_facts(time_s, x, v, numbers(value.getIds()), age, radius))

report(surfaces=surfaces, particles=clouds)
