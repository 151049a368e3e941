"""The claims with their negative controls, and the files beside them."""

from linrep.testing import claim_tests, paper_tests

test_claims = claim_tests("anil")
test_files = paper_tests("anil")
