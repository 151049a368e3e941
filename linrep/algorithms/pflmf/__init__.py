"""pFL^MF: its settings, and what runs its rounds."""
