"""The guide is true: its files pass, and its commands say what it says."""
import guide


def test_every_step_of_the_guide_does_what_it_says(bench):
    commands = files = 0
    for kind, name, text in guide.steps():
        if kind == "file":
            guide.write_file(bench.folder, name, text)
            files += 1
            continue
        said = bench.shell(name)
        assert said == text, f"$ {name}\nsays\n{said}\nand not\n{text}"
        commands += 1
    assert commands >= 12 and files >= 8, (commands, files)


def test_the_example_of_the_guide_is_right_by_itself(bench):
    guide.write_barclamp(bench.folder, "motd")
    answer = bench.halligan("barclamp", "check", "--strict", "motd")
    assert answer.status == 0, answer
    assert answer.out == "1 barclamp, 2 roles, 0 errors, 0 warnings\n", answer


def test_the_example_of_the_guide_gets_on_with_the_shipped_barclamps(bench):
    guide.write_barclamp(bench.folder, "motd")
    answer = bench.halligan("barclamp", "check", "--strict", "--with", bench.root + "/barclamps", "motd")
    assert answer.status == 0, answer


def test_the_script_of_the_guide_is_shell(bench):
    guide.write_barclamp(bench.folder, "motd")
    assert bench.shell("sh -n motd/scripts/motd-banner/10-write.sh && echo fine") == "fine\n"
