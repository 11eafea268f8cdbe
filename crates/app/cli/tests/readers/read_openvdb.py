"""Reads volumes with OpenVDB's own Python module (Debian: python3-openvdb)."""

import sys

import numpy as np

try:
    import openvdb as vdb
except ImportError:
    import pyopenvdb as vdb
from common import report


def dense(grid, low, high, kind=np.float32, components=()):
    values = np.zeros(tuple(h - l + 1 for l, h in zip(low, high)) + components, kind)
    grid.copyToArray(values, ijk=tuple(low))
    return values


def godunov(phi):
    """|grad phi| by upwind differences at the inner voxels, as level-set methods (and OpenVDB) measure it."""
    inner = phi[1:-1, 1:-1, 1:-1]
    total = np.zeros_like(inner)
    for axis in range(3):
        at = lambda shift: phi[tuple(slice(1 + shift * (a == axis), phi.shape[a] - 1 + shift * (a == axis)) for a in range(3))]
        back, ahead = inner - at(-1), at(1) - inner
        outside = np.maximum(np.maximum(back, 0) ** 2, np.minimum(ahead, 0) ** 2)
        inside = np.maximum(np.minimum(back, 0) ** 2, np.maximum(ahead, 0) ** 2)
        total += np.where(inner > 0, outside, inside)
    return np.sqrt(total)


volumes = []
for path in sys.argv[1:]:
    grids, file_meta = vdb.readAll(path)
    grids = {g.name: g for g in grids}
    surface, vel = grids["surface"], grids["vel"]
    dx = surface.transform.voxelSize()[0]
    low, high = surface.evalActiveVoxelBoundingBox()
    assert (surface["file_bbox_min"], surface["file_bbox_max"]) == (low, high)
    assert surface["file_voxel_count"] == surface.activeVoxelCount()
    margin = 4
    phi = dense(surface, [l - margin for l in low], [h + margin for h in high])
    background = surface.background
    # Active voxels lie in the band, inactive ones hold plus or minus the background.
    band = np.abs(phi) < background
    active = sum(1 for _ in surface.iterOnValues())
    inactive_values = set(np.abs(phi[~band]).tolist())
    # A distance: upwind gradients of length 1 over the band, but for edges, corners and ridges.
    slope = godunov(phi / dx)
    inside_band = np.abs(phi[1:-1, 1:-1, 1:-1]) < background - dx
    # Volume by a Heaviside function a voxel wide.
    volume = np.clip(0.5 - phi / dx, 0, 1).sum() * dx**3
    v_low, v_high = vel.evalActiveVoxelBoundingBox()
    v = dense(vel, v_low, v_high, components=(3,))
    volumes.append(
        {
            "class": surface.gridClass,
            "vel_class": vel.gridClass,
            "vel_type": vel.vectorType,
            "dx": dx,
            "origin": surface.transform.indexToWorld((0, 0, 0)),
            "same_transform": vel.transform.indexToWorld((1, 2, 3)) == surface.transform.indexToWorld((1, 2, 3)),
            "background_cells": background / dx,
            "fps": surface["fps"],
            "frame": surface["frame"],
            "time_s": surface["time_s"],
            "units": surface["units"],
            "file_frame": file_meta["frame"],
            "active_in_band": active == int(band.sum()),
            "inactive_is_background": inactive_values == {background},
            "volume_m3": float(volume),
            "median_slope": float(np.median(slope[inside_band])),
            "slopes_near_one": float((np.abs(slope[inside_band] - 1) < 0.5).mean()),
            "max_speed_component": float(np.abs(v).max()),
            "vel_bounds": [v_low, v_high],
        }
    )
report(volumes=volumes)
