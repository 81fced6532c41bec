"""tools -- commands that change models, train several, and look at events."""
