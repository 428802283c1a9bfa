// Compiled for the sake of the precompiled headers alone.
