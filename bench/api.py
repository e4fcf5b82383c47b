#!/usr/bin/env python3
"""How fast the API answers, beside nginx on the same bytes.

    bench/api.py --build DIR [--nodes N] [--seconds S] [--strict]

Starts halligand with SQLite, N nodes (10,000) and ten noderoles on each, and nginx with one worker
and no log, which serves what halligand says about one node from a file. Then:

  one      wrk with one thread and 16 connections asks for one node with a bearer token: requests a
           second of both, and their ratio (at least 0.4), median of three
  anneal   every machine goes down and comes up again, so that all noderoles anneal: meanwhile a
           client asks for one node 5,000 times a second, each request due at its time; p50 and
           p99 (p99 under 10 ms)
  commits  the same while one commit after the other has everything run again; not bounded
  lists    nodes in pages of 100 and whole (under 100 ms for 10,000), noderoles whole

The bounds are held with --strict, on a machine with nothing else to do.
"""
import argparse
import contextlib
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "api"))
sys.dont_write_bytecode = True

from daemon import Client, basic, eventually  # noqa: E402

RATE = 5000
ROLES = 10
BULK = 1000

# Each step wants the value of the first one, so that one change reruns all of them.
CONTENT = """barclamp: {name: bench}
jigs:
  - {name: noop, class: noop}
roles:
  - name: step-0
    jig: noop
    flags: [implicit]
    attribs: [{name: dial, map: dial, default: 0, schema: {type: int}}]
""" + "".join(
    f"  - {{name: step-{i}, jig: noop, flags: [implicit], requires: [step-{i - 1}], "
    f"wants-attribs: [dial]}}\n"
    for i in range(1, ROLES)
)

NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log stderr crit;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; sendfile on; tcp_nopush on; tcp_nodelay on;
  default_type application/json; open_file_cache max=16;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; }}
}}
"""


@contextlib.contextmanager
def started(*words, **more):
    process = subprocess.Popen(words, **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def daemon(build, folder):
    os.makedirs(f"{folder}/content/bench")
    with open(f"{folder}/content/bench/bench.yml", "w") as file:
        file.write(CONTENT)
    with open(f"{folder}/log", "w") as log:
        words = [f"{build}/halligand", "--data", f"{folder}/data", "--listen", "127.0.0.1:0",
                 "--test-jig", "--barclamps", f"{folder}/content", "--admin-node", "none"]
        with started(*words, stderr=log, stdout=log) as process:
            listen = f"{folder}/data/listen"
            eventually(lambda: os.path.exists(listen) and open(listen).read(), "it listens")
            url = open(listen).read().strip()
            with open(f"{folder}/data/admin.password") as file:
                client = Client(url, basic("admin", file.read().strip()))
            token = client.post("tokens", {"name": "bench"}).json()["token"]
            client.authorization = "Bearer " + token
            client.pid = process.pid
            yield client, url, token


def furnish(me, nodes):
    assert me.post("deployments", {"name": "bench"}).status == 200
    for first in range(0, nodes, BULK):
        names = [{"name": f"n{i}.bench.example.com", "alive": True, "available": True,
                  "deployment": "bench"}
                 for i in range(first, first + BULK)]
        made = me.post("nodes", names[: nodes - first])
        assert made.status == 200, made
        binds = [{"node": row["id"], "role": f"step-{ROLES - 1}"} for row in made.json()]
        bound = me.post("node_roles", binds)
        assert bound.status == 200, bound


def wrk(url, seconds, token=None):
    words = ["wrk", "-t1", "-c16", f"-d{seconds}", "--latency", url]
    if token:
        words[1:1] = ["-H", f"Authorization: Bearer {token}"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said and "Socket errors" not in said, said
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said).group(1))
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    return rate, float(p99.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3}[p99.group(2)]


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def one(me, url, token, options, folder):
    path = "/api/v2/nodes/n7.bench.example.com"
    os.makedirs(f"{folder}/www")
    with open(f"{folder}/www/node.json", "w") as file:
        file.write(me.get(path).text)
    port = free_port()
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(NGINX.format(folder=folder, port=port))
    with started("nginx", "-c", f"{folder}/nginx.conf", "-p", folder, stderr=subprocess.DEVNULL):
        there = Client(f"http://127.0.0.1:{port}")

        def serves():
            with contextlib.suppress(OSError):
                return there.get("/node.json").status == 200
            return False

        eventually(serves, "nginx serves")
        ours, theirs = [], []
        for _ in range(3):
            ours.append(wrk(url + path, options.seconds, token))
            theirs.append(wrk(f"http://127.0.0.1:{port}/node.json", options.seconds))
    ratios = [o[0] / t[0] for o, t in zip(ours, theirs)]
    print(f"one halligan {statistics.median(o[0] for o in ours):.0f}/s "
          f"p99 {statistics.median(o[1] for o in ours):.2f} ms, "
          f"nginx {statistics.median(t[0] for t in theirs):.0f}/s "
          f"p99 {statistics.median(t[1] for t in theirs):.2f} ms")
    ratio = statistics.median(ratios)
    print(f"one ratio {ratio:.2f}")
    return ratio


def finished(me):
    return me.get("anneal").status == 200


def anneal(me, url, token, options, build):
    """Every machine goes down and comes up again, so that all its noderoles anneal anew."""
    parts = urllib.parse.urlsplit(url)
    assert me.put("deployments/bench/commit").status == 200
    eventually(lambda: finished(me), "everything is active once")
    server = [f"{build}/steady-load", parts.hostname, str(parts.port)]
    first = me.get("nodes/n0.bench.example.com").json()["id"]
    coming = str(2 * options.nodes // options.seconds)
    rack = [*server, "PUT", "/api/v2/nodes/#?alive=@", token, coming, str(options.seconds), "16",
            str(first), str(options.nodes)]
    load = [*server, "GET", "/api/v2/nodes/n7.bench.example.com", token, str(RATE),
            str(options.seconds), "32"]
    with subprocess.Popen(rack, stdout=subprocess.PIPE, text=True) as machines:
        said = subprocess.run(load, capture_output=True, text=True, check=True).stdout
        reports = machines.communicate()[0]
    eventually(lambda: finished(me), "everything is active again")
    print(f"anneal {options.nodes * ROLES} noderoles in {options.seconds} s; reads: {said.strip()} "
          f"us; reports of machines: {reports.strip()} us")
    found = re.search(r"failed (\d+) p50 (\d+) p99 (\d+)", said)
    assert found and found.group(1) == "0", said
    return int(found.group(3)) / 1000


def commits(me, url, token, options, build):
    """A commit that reruns everything is one step of the engine, and readers wait for it. The latency is
    printed and not bounded."""
    parts = urllib.parse.urlsplit(url)
    load = subprocess.Popen(
        [f"{build}/steady-load", parts.hostname, str(parts.port), "GET",
         "/api/v2/nodes/n7.bench.example.com", token, "1000", str(options.seconds), "8"],
        stdout=subprocess.PIPE, text=True)
    rounds = 0
    while load.poll() is None:
        rounds += 1
        assert me.put("deployments/bench/propose").status == 200
        assert me.put("deployments/bench/attribs/dial", {"value": rounds}).status == 200
        assert me.put("deployments/bench/commit").status == 200
        while load.poll() is None and not finished(me):
            time.sleep(0.01)
    said = load.communicate()[0]
    print(f"commits of {options.nodes * ROLES} noderoles, {rounds} one after the other; "
          f"reads: {said.strip()} us")


def timed(url, token, path):
    """On an open connection, like every request after the first one of a client."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.connect()
    took = []
    for _ in range(5):
        began = time.monotonic()
        connection.request("GET", path, headers={"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        body = answer.read()
        took.append((time.monotonic() - began) * 1000)
        assert answer.status == 200, answer.status
    connection.close()
    return statistics.median(took), len(body), len(json.loads(body))


def lists(url, token):
    ms, size, rows = timed(url, token, "/api/v2/nodes?limit=100&after=5000")
    print(f"lists page of nodes {ms:.2f} ms, {rows} rows, {size} bytes")
    whole, size, rows = timed(url, token, "/api/v2/nodes")
    print(f"lists nodes {whole:.1f} ms, {rows} rows, {size} bytes")
    ms, size, rows = timed(url, token, "/api/v2/node_roles")
    print(f"lists noderoles {ms:.1f} ms, {rows} rows, {size} bytes")
    return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--nodes", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    folder = tempfile.mkdtemp(prefix="halligan-bench-api-")
    os.chmod(folder, 0o755)
    try:
        with daemon(build, folder) as (me, url, token):
            furnish(me, options.nodes)
            ratio = one(me, url, token, options, folder)
            whole = lists(url, token)
            p99 = anneal(me, url, token, options, build)
            commits(me, url, token, options, build)
    finally:
        shutil.rmtree(folder)
    missed = []
    if ratio < 0.4:
        missed.append(f"ratio {ratio:.2f} of 0.4")
    if p99 >= 10:
        missed.append(f"p99 {p99:.1f} of 10 ms")
    if whole >= 100:
        missed.append(f"list {whole:.0f} of 100 ms")
    print("missed " + ", ".join(missed) if missed else "every bound is held")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
