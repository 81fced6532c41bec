"""tables -- the small tables of docs/tables, one module each; README.md."""
