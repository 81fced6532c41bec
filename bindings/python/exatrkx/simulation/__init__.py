"""simulation -- events by the fast simulation of ACTS (docs/simulation.md); needs
neither the library nor the other packages but `files`."""
