"""FLUTE: its settings, and what runs its rounds."""
