"""Files of mechanisms: TOML, URDF, MJCF, Denavit-Hartenberg tables; readers and writers."""
