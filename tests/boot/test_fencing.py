"""A slice of the campaign of fencing.py."""
import fencing


def test_fencing(segment):
    options = fencing.parser().parse_args(["--rounds", "40", "--pause", "1.5", "--seconds", "60"])
    wrong, missing = fencing.fence(segment, options)
    assert not wrong and not missing, (wrong[:5], missing)
