"""Robot files in and out: URDF, MJCF, DH tables, and the TOML beside them."""
