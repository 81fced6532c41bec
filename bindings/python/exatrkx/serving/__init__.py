"""serving -- a model as a service (docs/howto/service.md)."""
