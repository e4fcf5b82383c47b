"""What a test of the jigs works with: role files, the driver, and the processes it asks for."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading

USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PLENTY = 300  # s; nothing here takes that long unless it hangs


class Started:
    """A recipe under way."""

    def __init__(self, process, out_path, log_path):
        self.process = process
        self.out_path = out_path
        self.log_path = log_path

    def wait(self):
        code = self.process.wait(timeout=PLENTY)
        if code < 0:
            return {"how": "signalled", "code": -code}
        return {"how": "exited", "code": code}

    def stop(self, how):
        """As the supervisor does it at a deadline or a cancel."""
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=PLENTY)
        return {"how": how}

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()


class Bench:
    def __init__(self, build, folder):
        self.folder = folder
        self.program = os.path.join(build, "tests", "jig", "jig-drive")
        self.lock = threading.Lock()
        self.count = 0
        # what is in a path may be in this one
        self.source = os.path.join(folder, "it's a \"source\" $HOME")
        os.mkdir(self.source)
        self.things = []  # to be closed in the end

    def close(self):
        for thing in reversed(self.things):
            thing.close()

    def place(self, name):
        with self.lock:
            self.count += 1
            path = os.path.join(self.folder, f"{name}{self.count}")
        os.mkdir(path, 0o700)
        return path

    # -- content -----------------------------------------------------------------------------------

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.source, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def scripts(self, role, **texts):
        """A role with these scripts; s10=... is 10.sh."""
        for name, text in texts.items():
            self.write(f"scripts/{role}/{name[1:]}.sh", text)
        return role

    def remove(self, name):
        shutil.rmtree(os.path.join(self.source, name))

    # -- the driver --------------------------------------------------------------------------------

    def drive(self, *words):
        said = subprocess.run([self.program, *words], capture_output=True, timeout=PLENTY)
        assert said.returncode == 0, said.stderr.decode()
        return json.loads(said.stdout)

    def job(self, role, jig_class="script", data=None, transport=None, **more):
        job = {"run_id": 7, "attempt": 2, "role": role, "node": "n1.example.com",
               "source_path": self.source, "barclamp": "test", "jig_class": jig_class,
               "data": data or {}, "scratch": self.place("run")}
        if transport:
            job["transport"] = transport
        job.update(more)
        job["file"] = os.path.join(self.place("job"), "job.json")
        with open(job["file"], "w", encoding="utf-8") as file:
            json.dump({k: v for k, v in job.items() if k != "file"}, file, ensure_ascii=False)
        return job

    def prepare(self, job, verb="prepare"):
        folder = os.path.dirname(job["file"])
        return self.drive(verb, job["file"], os.path.join(folder, "stdin"))

    def refusal(self, job):
        recipe = self.prepare(job)
        assert "refused" in recipe, recipe
        return recipe["refused"]

    def start(self, job, verb="prepare"):
        folder = os.path.dirname(job["file"])
        recipe = self.prepare(job, verb)
        assert "argv" in recipe, recipe
        out_path, log_path = os.path.join(folder, "out"), os.path.join(folder, "log")
        with open(os.path.join(folder, "stdin"), "rb") as stdin, open(out_path, "wb") as out, open(
            log_path, "wb"
        ) as log:
            process = subprocess.Popen(
                recipe["argv"], env=dict(pair.split("=", 1) for pair in recipe["env"]),
                cwd=recipe["cwd"], stdin=stdin, stdout=out, stderr=log, start_new_session=True)
        return Started(process, out_path, log_path)

    def conclude(self, job, started, end):
        path = os.path.join(os.path.dirname(job["file"]), "end.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(end, file)
        done = self.drive("conclude", job["file"], path, started.out_path, started.log_path)
        assert done["run_id"] == 7 and done["attempt"] == 2, done
        return done

    def run(self, *words, **more):
        """The RUN_DONE of a job that runs to its end."""
        job = self.job(*words, **more)
        started = self.start(job)
        done = self.conclude(job, started, started.wait())
        done["log"] = started.log()
        return done

    def wall(self, *words, **more):
        done = self.run(*words, **more)
        assert done["result"] == "ok", done
        return done["wall"]

    def fails(self, part, *words, **more):
        done = self.run(*words, **more)
        assert done["result"] == "failed" and part in done["runlog"], done
        return done


def tool_path(folder, programs):
    """A PATH with these programs and nothing else."""
    path = tempfile.mkdtemp(dir=folder)
    for name, target in programs.items():
        os.symlink(target, os.path.join(path, name))
    return path


def busybox_path(folder):
    """A PATH as on the discovery image: busybox for everything. None when there is no busybox."""
    busybox = shutil.which("busybox")
    if busybox is None:
        return None
    names = subprocess.run([busybox, "--list"], check=True, capture_output=True, text=True)
    return tool_path(folder, {name: busybox for name in names.stdout.split()})
