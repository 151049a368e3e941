import pytest

from linrep.claims import decide
from linrep.claims.claim import Budget
from linrep.papers.perfedsi.eq5_to_13_remark2_2 import _sampled


@pytest.mark.parametrize("replacement", [True, False])
def test_a_biased_sampler_is_noticed(replacement, fresh_rng):
    quick = Budget("quick")
    assert decide(_sampled(quick, fresh_rng, replacement)).verdict == "holds"
    assert decide(_sampled(quick, fresh_rng, replacement, first=0.2)).verdict == "fails"
