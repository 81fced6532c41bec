"""serving -- a model as a service (docs/howto/service.md), and events over a cluster
(docs/howto/cluster.md)."""
