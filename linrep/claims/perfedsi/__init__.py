"""PerFedSI: federated completion of a matrix with side information on the clients."""
