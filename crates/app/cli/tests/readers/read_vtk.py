"""Reads time series with VTK (PyPI: vtk), the library under ParaView."""

import os
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
from common import point_facts, report, surface_facts
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOXML import vtkXMLImageDataReader, vtkXMLPolyDataReader

folder = sys.argv[1]


def frames(series, reader):
    for data_set in ElementTree.parse(os.path.join(folder, series)).iter("DataSet"):
        reader.SetFileName(os.path.join(folder, data_set.get("file")))
        reader.Update()
        data = reader.GetOutput()
        time_s = data.GetFieldData().GetArray("TimeValue").GetValue(0)
        assert float(data_set.get("timestep")) == time_s
        yield time_s, data


def array(data, name):
    return vtk_to_numpy(data.GetArray(name))


surfaces, clouds, volumes = [], [], []
for time_s, data in frames("surface.pvd", vtkXMLPolyDataReader()):
    x = vtk_to_numpy(data.GetPoints().GetData())
    triangles = vtk_to_numpy(data.GetPolys().GetConnectivityArray())
    surfaces.append(surface_facts(time_s, x, array(data.GetPointData(), "v"), triangles))
for time_s, data in frames("particles.pvd", vtkXMLPolyDataReader()):
    x, values = vtk_to_numpy(data.GetPoints().GetData()), data.GetPointData()
    radii = array(values, "pscale")
    assert (radii == radii[0]).all() and data.GetVerts().GetNumberOfCells() == 1
    clouds.append(point_facts(time_s, x, array(values, "v"), array(values, "id"), array(values, "age"), radii[0]))
if os.path.exists(os.path.join(folder, "volume.pvd")):
    for time_s, data in frames("volume.pvd", vtkXMLImageDataReader()):
        phi, v = array(data.GetCellData(), "phi"), array(data.GetCellData(), "v")
        volumes.append(
            {
                "time_s": time_s,
                "cells": [n - 1 for n in data.GetDimensions()],
                "bounds": data.GetBounds(),
                "liquid_cells": int((phi < 0).sum()),
                "max_speed_m_s": float(np.linalg.norm(v[phi < 0], axis=1).max()),
            }
        )
report(surfaces=surfaces, particles=clouds, volumes=volumes)
