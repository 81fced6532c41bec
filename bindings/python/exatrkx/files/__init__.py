"""files -- formats of files, with numpy only and without the library."""
