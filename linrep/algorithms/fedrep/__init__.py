"""FedRep: its settings, and what runs its rounds."""
