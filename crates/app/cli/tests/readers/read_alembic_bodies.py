"""Reads the bodies of an archive with the Alembic library (PyPI: alembic3d): the rows of the transform's matrix."""

import sys

from alembic3d import Abc, AbcGeom
from common import report

archive = Abc.IArchive(sys.argv[1])
bodies = []
for child in archive.getTop().getChild("liquid").children:
    if not child.getName().startswith("body_"):
        continue
    assert AbcGeom.IXform.matches(child.getHeader())
    schema = AbcGeom.IXform(child.getParent(), child.getName()).getSchema()
    sampling = schema.getTimeSampling()
    matrices = []
    for n in range(schema.getNumSamples()):
        # A selector takes a number for a time.
        matrix = schema.getValue(Abc.ISampleSelector(sampling.getSampleTime(n))).getMatrix()
        matrices.append([[float(matrix[r][c]) for c in range(4)] for r in range(4)])
    mesh = AbcGeom.IPolyMesh(child, "mesh").getSchema()
    value = mesh.getValue(Abc.ISampleSelector(0.0))
    bodies.append(
        {
            "samples_of_mesh": mesh.getNumSamples(),
            "vertices": len(value.getPositions()),
            "triangles": len(value.getFaceCounts()),
            "matrices": matrices,
        }
    )
report(bodies=bodies)
