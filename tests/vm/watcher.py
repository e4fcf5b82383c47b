"""Runs in the namespace of the machines: prints a JSON line for each packet that matters on the bridge
and for each report of a machine.

    watcher.py BRIDGE ADDRESS PORT
"""
import http.server
import json
import socket
import struct
import sys
import threading
import time

LOCK = threading.Lock()
NAMES = {67: "dhcp", 68: "dhcp", 4011: "proxydhcp", 69: "tftp", 546: "dhcp6", 547: "dhcp6"}
DHCP_TYPES = {1: "discover", 2: "offer", 3: "request", 4: "decline", 5: "ack", 6: "nak", 7: "release",
              8: "inform"}
ND_TYPES = {133: "router-solicitation", 134: "router-advertisement"}


def say(kind, **facts):
    with LOCK:
        print(json.dumps({"at": time.monotonic(), "kind": kind, **facts}), flush=True)


def mac_of(data):
    return ":".join(f"{byte:02x}" for byte in data)


def dhcp_facts(data):
    facts = {"mac": mac_of(data[28:34]), "address": socket.inet_ntoa(data[16:20]),
             "file": data[108:236].split(b"\0")[0].decode("ascii", "replace")}
    at = 240
    while at + 1 < len(data) and data[at] != 255:
        code, length = data[at], data[at + 1] if data[at] else -1
        if code == 53 and at + 2 < len(data):
            facts["type"] = DHCP_TYPES.get(data[at + 2], data[at + 2])
        if code == 60:
            facts["class"] = data[at + 2:at + 2 + length].decode("ascii", "replace")
        at += 2 + length
    return facts


def see(frame):
    source, ether = mac_of(frame[6:12]), struct.unpack("!H", frame[12:14])[0]
    if ether == 0x0800 and frame[23] == 17:
        start = 14 + (frame[14] & 15) * 4
    elif ether == 0x86dd and frame[20] == 17:
        start = 54
    elif ether == 0x86dd and frame[20] == 58 and len(frame) > 54 and frame[54] in ND_TYPES:
        say(ND_TYPES[frame[54]], source=source)
        return
    elif ether == 0x0800 and frame[23] == 6:
        start = 14 + (frame[14] & 15) * 4
        if len(frame) > start + 13 and frame[start + 13] & 0x12 == 0x02:
            say("tcp", source=source, port=struct.unpack("!H", frame[start + 2:start + 4])[0])
        return
    else:
        return
    ports = struct.unpack("!HH", frame[start:start + 4])
    name = NAMES.get(ports[1]) or NAMES.get(ports[0])
    if name == "dhcp" and len(frame) > start + 8 + 240:
        say("dhcp", source=source, **dhcp_facts(frame[start + 8:]))
    elif name:
        say(name, source=source)


class Reports(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        say("report", path=self.path, body=body.decode("utf-8", "replace"))

    def log_message(self, *_):
        pass


def main():
    bridge, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    server = http.server.ThreadingHTTPServer((address, port), Reports)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    packets.bind((bridge, 0))
    say("ready")
    while True:
        frame = packets.recv(65535)
        if len(frame) > 34:
            try:
                see(frame)
            except (IndexError, struct.error):
                pass


if __name__ == "__main__":
    main()
