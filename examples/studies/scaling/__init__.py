"""scaling -- a model of training time on many ranks; README.md."""
