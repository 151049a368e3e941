"""Tests of FedRep."""
