"""What every reader reports of a frame, so that the test can compare it with what was written."""

import json
import zlib

import numpy as np


def crc(array, kind):
    return zlib.crc32(np.ascontiguousarray(array, dtype=kind).tobytes())


def surface_facts(time_s, positions, velocities, triangles):
    """Positions and velocities to the bit, bounds, enclosed volume."""
    x = np.ascontiguousarray(positions, np.float32).reshape(-1, 3)
    t = np.asarray(triangles, np.int64).reshape(-1, 3)
    a, b, c = (x.astype(np.float64)[t[:, n]] for n in range(3))
    return {
        "time_s": float(time_s),
        "vertices": len(x),
        "triangles": len(t),
        "min": [float(v) for v in x.min(0)],
        "max": [float(v) for v in x.max(0)],
        "volume_m3": float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0),
        "positions": crc(x, "<f4"),
        "velocities": crc(velocities, "<f4"),
    }


def point_facts(time_s, positions, velocities, ids, ages, radius):
    return {
        "time_s": float(time_s),
        "points": len(positions),
        "positions": crc(positions, "<f4"),
        "velocities": crc(velocities, "<f4"),
        "ids": crc(ids, "<u8"),
        "ages": crc(ages, "<f4"),
        "radius_m": float(radius),
    }


def report(**facts):
    print(json.dumps(facts))
