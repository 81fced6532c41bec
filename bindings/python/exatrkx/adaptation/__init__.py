"""adaptation -- one command from events to a model (docs/howto/own-detector.md)."""
