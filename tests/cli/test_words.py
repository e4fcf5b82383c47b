"""Words that mean something, and words that do not."""
import os


def test_version(bench):
    answer = bench.halligan("--version")
    assert answer.status == 0 and answer.out.startswith("halligan ") and answer.out.count("\n") == 1, answer
    assert any(letter.isdigit() for letter in answer.out), answer


def test_help_is_at_every_level(bench):
    for words, must_say in [
        (["--help"], "barclamp"),
        (["-h"], "barclamp"),
        (["barclamp", "--help"], "check"),
        (["barclamp", "-h"], "new"),
        (["barclamp", "check", "--help"], "--strict"),
        (["barclamp", "new", "--help"], "--dir"),
        (["barclamp", "check", "x", "-h"], "--strict"),
    ]:
        answer = bench.halligan(*words)
        assert answer.status == 0 and must_say in answer.out and not answer.err, (words, answer)
        assert answer.out.startswith("usage: halligan"), answer


def test_without_words_it_says_what_there_is_and_fails(bench):
    for words in [[], ["barclamp"]]:
        answer = bench.halligan(*words)
        assert answer.status == 2 and not answer.out and "usage: halligan" in answer.err, answer


def test_the_nearest_word_is_offered(bench):
    for words, nearest in [
        (["barclap", "check"], '"barclamp"'),
        (["bacrlamp"], '"barclamp"'),
        (["barclamp", "chekc"], '"check"'),
        (["barclamp", "nwe"], '"new"'),
        (["barclamp", "check", "--srtict", "x"], "--strict"),
    ]:
        answer = bench.halligan(*words)
        assert answer.status == 2 and nearest in answer.err and not answer.out, (words, answer)


def test_a_word_that_is_far_from_all_has_no_nearest(bench):
    for words in [["frobnicate"], ["barclamp", "frobnicate"], ["barclamp", "check", "--frobnicate", "x"], [""]]:
        answer = bench.halligan(*words)
        assert answer.status == 2 and "did you mean" not in answer.err and "nearest" not in answer.err, answer


def test_options_that_are_wrong(bench):
    for words, complaint in [
        (["check"], "missing operand: DIR"),
        (["check", ":"], "missing operand: DIR"),
        (["check", "-o", "xml", "."], "xml"),
        (["check", ".", "-o"], "needs a value"),
        (["check", ".", "--strict=yes"], "takes no value"),
        (["check", "-x", "."], "-x"),
        (["new"], "missing operand: NAME"),
        (["new", "a", "b"], "unexpected operand: b"),
        (["new", "a", "--dir"], "needs a value"),
    ]:
        answer = bench.halligan("barclamp", *words)
        assert answer.status == 2 and complaint in answer.err and not answer.out, (words, answer)
        assert answer.err.startswith("halligan barclamp "), answer
    assert bench.everything() == []


def test_a_path_that_is_not_utf_8_is_refused(bench):
    answer = bench.halligan("barclamp", "check", os.fsdecode(b"\xff\xfe"))
    assert answer.status == 2, answer.status


def test_options_in_any_position_and_two_dashes_end_them(bench):
    bench.halligan("barclamp", "new", "a")
    os.rename(bench.path("a"), bench.path("--strict"))
    assert bench.halligan("barclamp", "check", "-ojson", "--", "--strict").out.startswith('{"barclamps"')
    assert bench.halligan("barclamp", "check", "--", "--strict", "-ojson").status == 3


def test_an_answer_that_cannot_be_written_is_a_failure(bench):
    with open("/dev/full", "w", encoding="utf-8") as full:
        for words in [["--version"], ["--help"], ["barclamp", "check", bench.root + "/barclamps"]]:
            answer = bench.halligan(*words, stdout=full)
            assert answer.status == 3 and "No space left on device" in answer.err, (words, answer)
