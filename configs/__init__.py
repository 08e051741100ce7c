"""Settings of training runs, and in `ladders/` the reference players of games: TOML files, a package so that an install has them."""
