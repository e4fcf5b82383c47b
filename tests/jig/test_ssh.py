"""The ssh transport against a real server: that it works, and what each failure is called."""
import concurrent.futures
import os
import socket
import threading
import time

from bench import busybox_path
from sshd import Server, free_port, make_key

NODE = "n1.example.com"


def test_a_role_runs_on_a_node_as_it_runs_here(bench):
    server = Server(bench)
    lines = server.pin(bench, NODE)
    assert lines.startswith(f"{NODE} ssh-ed25519 AAAA") and lines.count("\n") == 1, lines
    role = bench.scripts("there", s10="""write_attribute from "$SSH_CONNECTION"
        write_attribute text "$(read_attribute it)"; echo said; exit 64""")
    data = {"it": "quotes ' and \" and\nlines \u20ac $(id) `id` \\"}
    done = bench.run(role, data=data, transport=server.transport())
    assert done["result"] == "ok" and done["power"] == "reboot" and done["node_dead"], done
    assert done["wall"]["text"] == data["it"], done
    assert done["wall"]["from"].endswith(f" {server.port}"), done
    assert "said" in done["log"]
    assert os.listdir(server.tmp) == []


def test_a_machine_with_nothing_but_busybox_is_enough(bench):
    path = busybox_path(bench.folder)
    assert path, "busybox is not installed"
    server = Server(bench, path=path)
    server.pin(bench, NODE)
    role = bench.scripts("image", s10="""write_attribute sh "$(readlink -f "$(command -v tar)")"
        write_attribute it "$(read_attribute it)" """)
    wall = bench.wall(role, data={"it": "\u20ac"}, transport=server.transport())
    assert wall["sh"].endswith("busybox") and wall["it"] == "\u20ac", wall


def test_twenty_nodes_at_once_and_again_over_shared_connections(bench):
    addresses = [f"127.0.0.{i + 1}" for i in range(20)]
    servers = [Server(bench, addresses[:10]), Server(bench, addresses[10:])]
    nodes = [f"node{i}.example.com" for i in range(20)]
    for i, node in enumerate(nodes):
        servers[i // 10].pin(bench, node, i % 10)
    role = bench.scripts("many", s10='write_attribute me "$(read_attribute me)"\n'
                                     'write_attribute at "${SSH_CONNECTION% *}"')

    def run(i):
        return bench.wall(role, data={"me": nodes[i]}, node=nodes[i],
                          transport=servers[i // 10].transport(i % 10))

    for is_shared in (False, True):
        for i, node in enumerate(nodes if is_shared else []):
            servers[i // 10].share(bench, node, i % 10)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            for i, wall in enumerate(pool.map(run, range(20))):
                assert wall["me"] == nodes[i], wall
                assert wall["at"].endswith(f" {addresses[i]}"), wall
    for server in servers:
        logins = server.said().count("Accepted publickey")
        assert logins == 20, f"{logins} logins for 10 runs and 10 shared connections"
        assert os.listdir(server.tmp) == []


def test_connections_are_not_shared_where_their_sockets_do_not_fit(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    long = bench.place("x" * 80)
    role = bench.scripts("once", s10="true")
    for path in (os.path.join(long, "n1"), ""):
        transport = server.transport(control_path=path)
        bench.wall(role, transport=transport)
    assert os.listdir(long) == [] and server.said().count("Accepted publickey") == 2


def test_each_failure_has_its_name(bench):
    server = Server(bench)
    role = bench.scripts("any", s10="true")

    def fails(code, part, **more):
        more.setdefault("control_path", "")
        done = bench.fails(part, role, transport=server.transport(**more))
        assert done["reason"] == code, done
        assert done["runlog"].rstrip().endswith(part), done
        assert f"node {NODE} (" in done["runlog"], done

    fails("host_key_unknown", "its host key was never pinned: the node has to be discovered first")
    server.pin(bench, NODE)
    bench.wall(role, transport=server.transport())

    fails("ssh_key_refused", "it does not accept the key of this installation for that user",
          key_path=make_key(os.path.join(bench.folder, "stranger")))
    fails("ssh_key_refused", "it does not accept the key of this installation for that user", user="nobody")
    fails("connection_refused", "nothing listens there: it is up, but its ssh server is not", port=free_port())
    fails("name_unresolved", "its name has no address", address="no-such-host.invalid")

    bad_key = os.path.join(bench.folder, "bad key")
    with open(bad_key, "w", encoding="ascii") as file:
        file.write("-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n")
    os.chmod(bad_key, 0o600)
    fails("ssh_key_unusable", "the private key of this installation cannot be used", key_path=bad_key)

    another = make_key(os.path.join(bench.folder, "another"))
    with open(another + ".pub", encoding="ascii") as pub, open(
        os.path.join(bench.folder, "known"), "w", encoding="ascii"
    ) as file:
        file.write(f"{NODE} " + " ".join(pub.read().split()[:2]) + "\n")
    done = bench.fails("its host key is not the one that was pinned at first contact", role,
                       transport=server.transport(known_hosts_path=file.name, control_path=""))
    assert "HAS CHANGED" in done["log"] and done["reason"] == "host_key_changed", done


def fill(listener):
    """Fill the backlog of the listener: later connection attempts are dropped."""
    waiting = []
    for _ in range(4):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
        waiting.append(one)
    return waiting


def test_a_machine_that_does_not_answer_is_distinguished_from_one_that_refuses(bench):
    """A listener that never sends anything, and one with a full backlog."""
    server = Server(bench)
    server.pin(bench, NODE)
    role = bench.scripts("any", s10="true")
    with socket.socket() as mute, socket.socket() as full, concurrent.futures.ThreadPoolExecutor(
    ) as pool:
        for listener, size in ((mute, 8), (full, 0)):
            listener.bind(("127.0.0.1", 0))
            listener.listen(size)
        waiting = fill(full)
        ends = [pool.submit(bench.fails, "it does not answer", role, transport=server.transport(
            port=listener.getsockname()[1], control_path="")) for listener in (mute, full)]
        assert [end.result()["reason"] for end in ends] == ["connection_timeout"] * 2
        said = [end.result()["log"] for end in ends]
        for one in waiting:
            one.close()
    assert "banner exchange" in said[0] and "connect to host" in said[1], said


def test_a_connection_that_breaks_is_called_that(bench):
    """Before it is one, and in the middle of the work."""
    server = Server(bench)
    server.pin(bench, NODE)
    with socket.socket() as hangs_up:
        hangs_up.bind(("127.0.0.1", 0))
        hangs_up.listen(8)
        port = hangs_up.getsockname()[1]
        thread = threading.Thread(target=lambda: hangs_up.accept()[0].close())
        thread.start()
        done = bench.fails("the connection broke", bench.scripts("any", s10="true"),
                           transport=server.transport(port=port, control_path=""))
        assert done["reason"] == "connection_lost", done
        thread.join()
    role = bench.scripts("cuts", s10="""read -r _ _ _ server _ < /proc/$(cat ../pid)/stat
        kill -9 $server; sleep 1000""")
    bench.fails("the connection broke, and how far the work came is not known", role,
                transport=server.transport(control_path=""))
    # a shared connection breaks without a word
    server.share(bench, NODE)
    bench.fails("the connection may have broken", role, transport=server.transport())
    bench.wall(bench.scripts("next", s10="true"), transport=server.transport())
    assert os.listdir(server.tmp) == []


def test_a_script_that_fails_as_ssh_does_is_distinguished_from_ssh(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    role = bench.scripts("like", s10="echo 'ls: x: Permission denied' >&2; exit 255")
    bench.fails("a script of role like ended with status 254", role, transport=server.transport())


def wait_for(path):
    """Wait for a file that another process writes, with a timeout."""
    end = time.monotonic() + 60
    while not os.path.exists(path):
        assert time.monotonic() < end, f"{path} never came"
        time.sleep(0.01)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid):
    end = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)


def cut_off(bench, server):
    """A run whose connection is cut while it is at work there; pids of its script and of a process
    that has left its session."""
    mark = os.path.join(bench.place("mark"), "pids")
    role = bench.scripts("cut", s10=f"""setsid sh -c 'echo $$ > {mark}.far; exec sleep 1000' &
        while [ ! -s {mark}.far ]; do :; done
        echo $$ > {mark}.new; mv {mark}.new {mark}; sleep 1000""")
    job = bench.job(role, transport=server.transport())
    started = bench.start(job)
    wait_for(mark)
    done = bench.conclude(job, started, started.stop("cancelled"))
    assert done["result"] == "failed" and "was cancelled" in done["runlog"], done
    pids = []
    for path in (mark, mark + ".far"):
        with open(path, encoding="ascii") as file:
            pids.append(int(file.read()))
    assert all(is_alive(pid) for pid in pids), "nothing was cut off"
    return job, pids


def test_what_a_run_that_was_cut_off_left_there_is_ended_before_the_next(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    server.pin(bench, "n2.example.com")
    _, pids = cut_off(bench, server)
    other = bench.scripts("other", s10="true")
    bench.wall(other, node="n2.example.com", transport=server.transport())
    assert all(is_alive(pid) for pid in pids), "the run of another node is not stopped"
    done = bench.run(other, transport=server.transport())
    assert done["result"] == "ok" and "an earlier run for this node is still active" in done["log"], done
    for pid in pids:
        wait_gone(pid)
    assert os.listdir(server.tmp) == []


def test_a_cancelled_run_can_be_ended_there(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    server.share(bench, NODE)
    job, pids = cut_off(bench, server)
    started = bench.start(job, "stop")
    assert started.wait() == {"how": "exited", "code": 0}, started.log()
    for pid in pids:
        wait_gone(pid)
    assert os.listdir(server.tmp) == []
    assert bench.prepare(bench.job("cut"), "stop") == {"none": True}
    assert server.said().count("Accepted publickey") == 1, "it went another way"


def test_a_shared_connection_is_let_go_of_and_ends_with_the_last_one(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    master = server.share(bench, NODE)
    mark = os.path.join(bench.place("mark"), "at")
    role = bench.scripts("last", s10=f"echo > {mark}; while [ -e {mark} ]; do sleep 0.01; done")
    job = bench.job(role, transport=server.transport())
    started = bench.start(job)
    wait_for(mark)
    assert bench.start(job, "leave").wait() == {"how": "exited", "code": 0}
    assert os.listdir(server.control_dir) == [] and master.process.poll() is None
    os.unlink(mark)
    assert started.wait() == {"how": "exited", "code": 0}, started.log()
    assert master.wait()["how"] == "exited" and not master.log(), master.log()
    assert server.said().count("Accepted publickey") == 1, "it went another way"


def test_more_runs_than_a_connection_takes_have_their_own(bench):
    server = Server(bench, more="MaxSessions 1")
    server.pin(bench, NODE)
    server.pin(bench, "n2.example.com")
    server.share(bench, NODE)
    mark = os.path.join(bench.place("mark"), "at")
    role = bench.scripts("one", s10=f"echo > {mark}; while [ -e {mark} ]; do sleep 0.01; done")
    started = bench.start(bench.job(role, transport=server.transport()))
    wait_for(mark)
    assert server.said().count("Accepted publickey") == 1
    bench.wall(bench.scripts("two", s10="true"), node="n2.example.com",
               transport=server.transport())
    assert server.said().count("Accepted publickey") == 2
    os.unlink(mark)
    assert started.wait() == {"how": "exited", "code": 0}, started.log()


def test_a_dead_control_socket_does_not_block_a_run(bench):
    server = Server(bench)
    server.pin(bench, NODE)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(server.transport()["control_path"])
    bench.wall(bench.scripts("any", s10="true"), transport=server.transport())


def test_what_is_no_answer_of_a_scan_pins_nothing(bench):
    for text, wanted in (
        ("", "none"), ("# 127.0.0.1:22 SSH-2.0-OpenSSH\n", "none"),
        ("host ssh-ed25519", "syntax"), ("host ssh-dss AAAA", "syntax"),
        ("host ssh-ed25519 AAA", "syntax"), ("host ssh-ed25519 AA*A", "syntax"),
        ("host ssh-ed25519 AAAA comment", "syntax"), (" ssh-ed25519 AAAA", "syntax"),
        ("host ssh-ed25519 =AAA", "syntax"), ("host ssh-ed25519 AAAA\n" * 9, "syntax"),
    ):
        path = os.path.join(bench.place("scan"), "out")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        assert bench.drive("pin", NODE, path)["refused"] == wanted, text
