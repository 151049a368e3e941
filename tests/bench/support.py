"""What the tests of several benchmarks share."""


def spoil(monkeypatch, bench, contender, change):
    """Let a contender, a function of the case, end with another first result."""
    honest = getattr(bench, contender)

    def dishonest(case):
        call = honest(case)
        return lambda: (change(call()[0]), *call()[1:])

    monkeypatch.setattr(bench, contender, dishonest)
