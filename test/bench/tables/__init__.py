"""tables -- the small tables of docs/results.md, one module each; README.md."""
