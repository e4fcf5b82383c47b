"""Files over HTTP: ranges, entity tags, names that lead elsewhere, limits."""
import hashlib
import os
import threading

CONTENT = bytes(range(256)) * 40


def test_a_file(segment):
    segment.file("linux/vmlinuz", CONTENT)
    segment.file("empty")
    segment.start()
    status, headers, body = segment.get("/files/linux/vmlinuz")
    assert (status, body) == (200, CONTENT)
    assert headers["content-length"] == "10240" and headers["accept-ranges"] == "bytes"
    assert headers["content-type"] == "application/octet-stream"
    status, headers, body = segment.request("HEAD", "/files/linux/vmlinuz")
    assert (status, body, headers["content-length"]) == (200, b"", "10240")
    assert segment.get("/files/empty")[::2] == (200, b"")
    seen = segment.daemon.seen("file-sent")
    assert seen["detail"] == "linux/vmlinuz" and seen["other"] == 10240, seen


def test_ranges(segment):
    segment.file("f", CONTENT)
    segment.start()
    for header, begin, end in (("bytes=0-0", 0, 0), ("bytes=5-9", 5, 9), ("bytes=10239-", 10239, 10239),
                               ("bytes=10000-99999", 10000, 10239), ("bytes=-1", 10239, 10239),
                               ("bytes=-99999", 0, 10239), ("BYTES=0-1", 0, 1)):
        status, headers, body = segment.get("/files/f", {"Range": header})
        assert (status, body) == (206, CONTENT[begin:end + 1]), (header, status, len(body))
        assert headers["content-range"] == f"bytes {begin}-{end}/10240", headers
    for header in ("bytes=10240-", "bytes=-0", "bytes=99999-100000"):
        status, headers, body = segment.get("/files/f", {"Range": header})
        assert status == 416 and headers["content-range"] == "bytes */10240", (header, status)
        assert len(body) <= 512
    for header in ("bytes=9-5", "bytes=0-1,3-4", "bytes=", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=1",
                   "bytes=99999999999999999999-", "bytes=1-2-3"):
        status, headers, body = segment.get("/files/f", {"Range": header})
        assert (status, body) == (200, CONTENT), (header, status)


def test_entity_tags(segment):
    path = segment.file("f", CONTENT)
    segment.start()
    tag = segment.get("/files/f")[1]["etag"]
    for value in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        status, headers, body = segment.get("/files/f", {"If-None-Match": value})
        assert (status, body, headers["etag"]) == (304, b"", tag), (value, status)
    assert segment.get("/files/f", {"If-None-Match": '"other"'})[0] == 200
    assert segment.get("/files/f", {"Range": "bytes=0-0", "If-Range": tag})[0] == 206
    assert segment.get("/files/f", {"Range": "bytes=0-0", "If-Range": '"other"'})[0] == 200
    with open(path + ".new", "wb") as file:
        file.write(CONTENT[::-1])
    os.rename(path + ".new", path)
    status, headers, body = segment.get("/files/f", {"If-None-Match": tag})
    assert status == 200 and body == CONTENT[::-1] and headers["etag"] != tag


def test_nothing_outside_is_served(segment):
    with open(os.path.join(segment.folder, "secret"), "wb") as file:
        file.write(b"secret")
    os.chmod(os.path.join(segment.folder, "secret"), 0o644)
    segment.file("a/b", b"inside")
    segment.file(".hidden", b"hidden")
    segment.file("private", b"private", 0o600)
    os.mkfifo(os.path.join(segment.files, "fifo"))
    os.symlink("../secret", os.path.join(segment.files, "link"))
    os.symlink("/", os.path.join(segment.files, "root"))
    os.symlink("a", os.path.join(segment.files, "c"))
    segment.start()
    for path in ("/files/../secret", "/files/a/../../secret", "/files/%2e%2e/secret", "/files/..%2fsecret",
                 "/files/%2e%2e%2fsecret", "/files//secret", "/files/a%2fb", "/files/link",
                 "/files/root/etc/passwd", "/files/c/b", "/files/fifo", "/files/a", "/files/", "/files",
                 "/files/.hidden", "/files/./a/b", "/files/private", "/files/a/b/", "/files/a//b",
                 "/files/a/b/c", "/files/" + "x" * 300, "/files/x%00y", "/files/%ff", "/secret",
                 "/files/" + "a/" * 40 + "b", "//files/a/b"):
        data = segment.raw(f"GET {path} HTTP/1.1\r\nHost: boot\r\nConnection: close\r\n\r\n")
        head, _, body = data.partition(b"\r\n\r\n")
        assert head.split()[1] in (b"404", b"400"), (path, head)
        assert b"secret" not in body.replace(b"/secret", b"") and len(body) <= 512, (path, body)
    assert segment.get("/files/a/b")[2] == b"inside"
    assert segment.daemon.seen("file-missing")


def test_other_methods_and_paths(segment):
    segment.file("f", CONTENT)
    segment.start()
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"):
        status, headers, body = segment.request(method, "/files/f")
        assert status == 405 and headers["allow"] == "GET, HEAD" and len(body) <= 512, (method, status)
    for path in ("/", "/boot", "/seed", "/seed/x", "/nodes/a", "/nodes/a/other", "/api/v2/nodes"):
        status, _, body = segment.get(path)
        assert status == 404 and len(body) <= 512, (path, status)
    assert segment.request("POST", "/files/f", {"Content-Length": "5000000"})[0] in (405, 413)


def test_nothing_is_served_before_it_is_switched_on(segment):
    segment.file("f", CONTENT)
    segment.start(serves=False)
    status, headers, _ = segment.get("/files/f")
    assert status == 503 and headers["retry-after"], headers
    segment.serve({"dhcp": {}})
    assert segment.get("/files/f")[0] == 503
    segment.daemon.documents = [{"provisioner": {}}]
    segment.daemon.send_config()
    segment.eventually(lambda: segment.get("/files/f")[0] == 200)


def test_large_files_at_once(segment):
    content = os.urandom(1 << 20) * 24
    wanted = hashlib.sha256(content).hexdigest()
    segment.file("big", content)
    segment.start()
    found = []

    def download():
        found.append(hashlib.sha256(segment.get("/files/big")[2]).hexdigest())

    threads = [threading.Thread(target=download) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8
    assert segment.get("/files/big", {"Range": "bytes=25000000-"})[2] == content[25000000:]
    # Nothing of the files was copied into the process, apart from what the sanitizer needs.
    limit = 30000 if segment.is_release else 300000
    assert int(segment.status()["VmRSS"].split()[0]) < limit, segment.status()["VmRSS"]


def test_many_idle_connections_do_not_block_others(segment):
    segment.file("f", CONTENT)
    segment.start()
    idle = [segment.connect() for _ in range(80)]
    assert segment.get("/files/f")[2] == CONTENT
    assert idle
