//! Level sets on uniform grids: advection, redistancing, extrapolation, curvature, volume.
