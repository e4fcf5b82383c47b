"""HTTPS with generated certificates: created, trusted, renewed and reloaded."""
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.parse

from daemon import Own, eventually

HOUR_S, DAY_S = 3600, 24 * 3600


def curl(own, ca, path="/healthz", host="localhost"):
    """The status, or what curl says is wrong."""
    port = urllib.parse.urlsplit(own.read("listen").strip()).port
    command = ["curl", "-sS", "-o", own.path("body"), "-w", "%{http_code}", "--max-time", "20"]
    command += ["--cacert", ca, f"https://{host}:{port}{path}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def certificate(own):
    """The certificate of the server, without verification."""
    port = urllib.parse.urlsplit(own.read("listen").strip()).port
    return ssl.get_server_certificate(("127.0.0.1", port))


def authority(folder, name, days=2):
    """A certificate of another CA and its key."""
    key, cert = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
    command += ["ec_paramgen_curve:prime256v1", "-nodes", "-days", str(days), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command + ["-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def test_a_server_with_generated_certificates_is_trusted_with_its_ca(daemon):
    with Own(daemon) as own:
        own.start("--tls-auto")
        assert own.read("listen").startswith("https://127.0.0.1:"), own.read("listen")
        ca = own.path("tls/ca.pem")
        names = ["localhost", "127.0.0.1"]
        if not socket.gethostname().startswith("localhost"):
            names.append(socket.gethostname())
        for host in names:
            if host == "127.0.0.1" or "127." in socket.gethostbyname(host):
                assert curl(own, ca, host=host) == "200", curl(own, ca, host=host)
        assert curl(own, ca, path="/api/v2/nodes") == "401"
        stranger, _ = authority(own.data, "stranger")
        assert "certificate" in curl(own, stranger), curl(own, stranger)
        for name in ("ca.key", "server.key"):
            assert os.stat(own.path("tls/" + name)).st_mode & 0o777 == 0o600
        assert own.stop() == 0


def test_a_restart_keeps_certificates_and_renews_damaged_ones(daemon):
    with Own(daemon) as own:
        own.start("--tls-auto")
        ca, shown = own.read("tls/ca.pem"), certificate(own)
        assert own.stop() == 0
        own.start("--tls-auto")
        assert certificate(own) == shown
        assert own.stop() == 0
        own.write("tls/server.pem", "nothing")
        own.start("--tls-auto")
        assert own.read("tls/ca.pem") == ca and certificate(own) != shown
        assert curl(own, own.path("tls/ca.pem")) == "200"
        assert own.stop() == 0


def test_a_key_readable_by_others_is_refused(daemon):
    with Own(daemon) as own:
        own.start("--tls-auto")
        assert own.stop() == 0
        os.chmod(own.path("tls/ca.key"), 0o644)
        done = own.run("--tls-auto")
        assert done.returncode == 1 and "ca.key" in done.stderr, done


def test_empty_files_are_no_certificates(daemon):
    """GnuTLS is given PEM texts of no bytes."""
    with Own(daemon) as own:
        cert, key = authority(own.data, "given")
        empty = own.path("empty")
        own.write("empty", "")
        os.chmod(empty, 0o600)
        for given in ((empty, empty), (cert, empty), (empty, key)):
            done = own.run("--tls-cert", given[0], "--tls-key", given[1])
            assert done.returncode == 1 and empty in done.stderr, (given, done)
        own.start("--tls-auto")
        assert own.stop() == 0
        for name in ("server.pem", "server.key"):
            own.write("tls/" + name, "")
        own.start("--tls-auto")
        assert curl(own, own.path("tls/ca.pem")) == "200"
        assert own.stop() == 0


def test_configured_files_have_priority(daemon):
    with Own(daemon) as own:
        cert, key = authority(own.data, "given")
        own.start("--tls-auto", "--tls-cert", cert, "--tls-key", key)
        assert curl(own, cert) == "200"
        assert not os.path.exists(own.path("tls"))
        assert own.stop() == 0


def test_a_reload_loads_a_renewed_certificate(daemon):
    with Own(daemon) as own:
        cert, key = authority(own.data, "given")
        own.start("--tls-cert", cert, "--tls-key", key)
        shown = certificate(own)
        new_cert, new_key = authority(own.data, "renewed")
        shutil.move(new_key, key)
        shutil.move(new_cert, cert)
        own.process.send_signal(signal.SIGHUP)
        eventually(lambda: certificate(own) != shown, "the new certificate is shown")
        assert curl(own, cert) == "200"
        # An unusable certificate changes nothing.
        shown = certificate(own)
        own.write("given.key", "no key")
        own.process.send_signal(signal.SIGHUP)
        own.says("the previous certificate stays in use")
        assert certificate(own) == shown
        assert own.stop() == 0


def test_a_reload_renews_generated_certificates(daemon):
    with Own(daemon) as own:
        own.start("--tls-auto")
        shown = certificate(own)
        os.unlink(own.path("tls/server.pem"))
        own.process.send_signal(signal.SIGHUP)
        eventually(lambda: certificate(own) != shown, "the new certificate is shown")
        assert curl(own, own.path("tls/ca.pem")) == "200"
        assert own.stop() == 0


# ---- its end ----


def end_of(own):
    """When the certificate ends, as the metrics have it."""
    command = ["curl", "-sSk", "-u", "admin:" + own.read("admin.password").strip(),
               own.read("listen").strip() + "/metrics"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"^halligan_certificate_end_timestamp_seconds (\d+)$", text, re.M)
    return int(found[1]) if found else None


def warned(own):
    lines = [json.loads(line) for line in own.read("stderr").splitlines()]
    return [line["days"] for line in lines if line["level"] == "warning" and "days" in line]


def test_an_expiring_certificate_is_logged_once_a_day(daemon):
    with Own(daemon) as own:
        cert, key = authority(own.data, "short", 29)
        long_cert, long_key = authority(own.data, "long", 31)
        words = ("--log-format", "json", "--tls-cert", cert, "--tls-key", key)
        own.start(*words)
        assert abs(end_of(own) - time.time() - 29 * DAY_S) < HOUR_S
        eventually(lambda: warned(own), "it is logged")
        for times in (1, 2):
            own.process.send_signal(signal.SIGHUP)
            own.says('"msg":"reloaded"', times)
        assert warned(own) in ([28], [29]), warned(own)  # the same one is not logged twice a day
        shutil.copy(long_key, key)
        shutil.copy(long_cert, cert)
        own.process.send_signal(signal.SIGHUP)
        own.says('"msg":"reloaded"', 3)
        assert abs(end_of(own) - time.time() - 31 * DAY_S) < HOUR_S
        assert warned(own) in ([28], [29]), warned(own)
        assert own.stop() == 0


def test_without_netlink_the_start_warns_and_continues(daemon):
    with Own(daemon) as own:
        shim = os.path.join(os.path.dirname(own.program), "tests", "clock", "no_netlink_shim.so")
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        own.write("conf", "tls-auto = true\nlog-format = json\n")
        command = [own.program, "--config", own.path("conf"), "--data", own.data]
        with open(own.path("stderr"), "ab") as log:
            own.process = subprocess.Popen(
                command + ["--listen", "0.0.0.0:0"], stdout=log, stderr=log,
                env={**os.environ, "LD_PRELOAD": shim, "ASAN_OPTIONS": checks})
        eventually(lambda: own.read("listen") or own.process.poll() is not None, "it listens")
        assert curl(own, own.path("tls/ca.pem")) == "200"
        lines = [json.loads(line) for line in own.read("stderr").splitlines()]
        told = [l for l in lines if l["level"] == "warning" and "AF_NETLINK" in l["msg"]]
        assert len(told) == 1, lines
        assert own.stop() == 0


def test_the_unit_allows_addresses_to_be_listed_and_no_core_files():
    unit = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "systemd",
                        "halligand.service")
    with open(unit) as file:
        lines = file.read().splitlines()
    families = [line for line in lines if line.startswith("RestrictAddressFamilies=")]
    assert len(families) == 1 and "AF_NETLINK" in families[0].split(), families
    assert "LimitCORE=0" in lines
