"""FedRep: Collins, Hassani, Mokhtari and Shakkottai, Exploiting shared representations (2021)."""
