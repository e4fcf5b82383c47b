"""A small size of isolation.py. The ratio of times is printed there, and is not checked here."""
import isolation


def test_isolation(segment):
    ratio, figures = isolation.isolate(segment, isolation.parser().parse_args([]))
    assert ratio > 0 and figures["deaths"] >= len(isolation.SIGNALS)
