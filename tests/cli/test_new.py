"""halligan barclamp new: all of it or nothing."""
import os
import stat
import shutil
import subprocess

FILES = ["README.md", "NAME.yml", "roles", "roles/NAME-server.lua", "scripts", "scripts/NAME-server",
         "scripts/NAME-server/10-install.sh", "templates"]


def files_of(name):
    return sorted([name] + [f"{name}/{path}".replace("NAME", name) for path in FILES])


def test_a_new_barclamp_is_right_at_once(bench):
    answer = bench.halligan("barclamp", "new", "demo")
    assert answer.status == 0 and answer.out == "created demo\n", answer
    assert bench.everything() == files_of("demo")
    check = bench.halligan("barclamp", "check", "--strict", "demo")
    assert check.status == 0 and check.out == "1 barclamp, 1 role, 0 errors, 0 warnings\n", check


def test_names_that_yaml_takes_for_something_else(bench):
    names = ["yes", "no", "on", "OFF", "null", "true", "crowbar", "a", "Z9", "x" * 240, "y", "e1", "NAME"]
    for name in names:
        answer = bench.halligan("barclamp", "new", name)
        assert answer.status == 0, (name, answer)
        check = bench.halligan("barclamp", "check", "--strict", name)
        assert check.status == 0, (name, check)
    together = bench.halligan("barclamp", "check", "--strict", ".")
    assert together.status == 0 and together.out.startswith(f"{len(names)} barclamps, "), together


def test_nothing_of_the_pattern_is_left(bench):
    bench.halligan("barclamp", "new", "demo")
    for path in bench.everything():
        if os.path.isfile(bench.path(path)):
            assert "@" not in bench.read(path), path


def test_bad_names_are_refused_with_the_rule(bench):
    for name, rule in [
        ("1st", "must begin with a letter"),
        ("_x", "must begin with a letter"),
        ("a-b", "only letters, digits and underscores"),
        ("a/b", "only letters, digits and underscores"),
        ("..", "must begin with a letter"),
        ("", "is required"),
        ("12", "digits only"),
        ("roles", "is a reserved word"),
        ("é", "must begin with a letter"),
        ("x" * 256, "at most 255"),
        ("x" * 250, "at most 255"),
    ]:
        answer = bench.halligan("barclamp", "new", name)
        assert answer.status == 2 and rule in answer.err and not answer.out, (name, answer)
    assert bench.everything() == []


def test_what_is_there_is_left_alone(bench):
    os.mkdir(bench.path("empty"))
    bench.write("full/file", "mine")
    bench.write("plain", "mine")
    os.symlink("nowhere", bench.path("link"))
    before = bench.everything()
    for name in ["empty", "full", "plain", "link"]:
        answer = bench.halligan("barclamp", "new", name)
        assert answer.status == 1 and f"{name}: exists already" in answer.err, answer
    assert bench.everything() == before and bench.read("full/file") == "mine"


def test_another_directory(bench):
    os.mkdir(bench.path("shelf"))
    for words in [["one", "--dir", "shelf"], ["--dir=shelf", "two"], ["three", "-d", bench.path("shelf")]]:
        answer = bench.halligan("barclamp", "new", *words)
        assert answer.status == 0 and answer.out.startswith("created "), answer
    check = bench.halligan("barclamp", "check", "--strict", "shelf")
    assert check.status == 0 and check.out.startswith("3 barclamps, 3 roles"), check


def test_a_directory_that_is_not_there(bench):
    answer = bench.halligan("barclamp", "new", "demo", "--dir", "nowhere")
    assert answer.status == 3 and "No such file or directory" in answer.err, answer
    bench.write("file", "mine")
    answer = bench.halligan("barclamp", "new", "demo", "--dir", "file")
    assert answer.status == 3 and "Not a directory" in answer.err, answer
    assert bench.everything() == ["file"]


def test_a_directory_that_may_not_be_written(bench):
    os.mkdir(bench.path("locked"), 0o555)
    answer = bench.halligan_as_nobody("barclamp", "new", "demo", "--dir", "locked")
    assert answer.status == 3 and "Permission denied" in answer.err, answer
    assert os.listdir(bench.path("locked")) == []


def test_the_umask_counts(bench):
    for mask, folder_mode, script_mode, file_mode in [(0o022, 0o755, 0o755, 0o644), (0o077, 0o700, 0o700, 0o600)]:
        name = f"m{mask}"
        subprocess.run([os.path.join(bench.build, "halligan"), "barclamp", "new", name], cwd=bench.folder,
                       umask=mask, check=True, stdout=subprocess.DEVNULL)

        def mode_of(path):
            return stat.S_IMODE(os.stat(bench.path(path)).st_mode)

        assert mode_of(name) == folder_mode and mode_of(f"{name}/roles") == folder_mode
        assert mode_of(f"{name}/scripts/{name}-server/10-install.sh") == script_mode
        assert mode_of(f"{name}/{name}.yml") == file_mode


def test_a_failure_in_the_middle_leaves_nothing(bench):
    """No file may grow: the first one fails while it is written."""
    done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$0" barclamp new demo',
                           os.path.join(bench.build, "halligan")], cwd=bench.folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and "File too large" in done.stderr, done
    assert bench.everything() == []


def test_the_program_is_expected_beside_halligan(bench):
    """`halligan barclamp` executes halligan-barclamp of its own directory, not one of the PATH."""
    alone = bench.path("alone")
    os.mkdir(alone)
    shutil.copy(os.path.join(bench.build, "halligan"), alone)
    done = subprocess.run([os.path.join(alone, "halligan"), "barclamp", "new", "demo"], cwd=bench.folder, text=True,
                          env=dict(os.environ, PATH=bench.build + ":" + os.environ["PATH"]),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and os.path.join(alone, "halligan-barclamp") in done.stderr, done
    assert "demo" not in os.listdir(bench.folder)


def test_halligan_links_no_engine(bench):
    done = subprocess.run(["nm", os.path.join(bench.build, "halligan")], text=True, stdout=subprocess.PIPE, check=True)
    names = {line.split()[-1] for line in done.stdout.splitlines() if line}
    assert "cli_main" in names
    assert not {name for name in names if name.startswith(("core_", "lua_", "yaml_"))}
