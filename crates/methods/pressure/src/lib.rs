//! Pressure solvers: Krylov methods and geometric multigrid.
