"""conversion -- model files of networks that PyTorch trained (docs/convert.md)."""
