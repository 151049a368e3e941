"""FLUTE: Liu, Shen and Yang, Federated representation learning, under-parameterized (2024)."""
