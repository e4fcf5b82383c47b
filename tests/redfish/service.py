#!/usr/bin/env python3
"""A Redfish service for tests: real HTTP or HTTPS, several systems, the ways of several makers, and
trouble on demand. Only the standard library; on loopback unless an address is given.

    tests/redfish/service.py [--flavour NAME] [--systems N] [--cert FILE --key FILE] [--port N]
                             [--address ADDRESS]

prints its URL and serves until its standard input ends. The virtual rack and tests/hammer/run.py
use the classes: Service(...) serves in threads of its own until close(). What a machine behind it
is like is in `service.systems[ID]`; a callable given as `switched` is called for every change of power.

Outside of /redfish there is GET /_test/state (what the systems are like, and every request seen)
and POST /_test/faults (see Faults), when it runs as a program.
"""
import argparse
import base64
import json
import re
import secrets
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What makers do differently. `ids` names the systems; `info` puts the reset types into an
# ActionInfo; `slashes` answers a path without its last slash with a redirect; `etag` refuses a
# change that does not name the version (428, and 412 for an old one); `mode` says what becomes of
# BootSourceOverrideMode in a change (free, refused, or forgotten unless named); `settings` takes
# the boot device in a settings object only; `tasks` answers actions with 202 and a task.
FLAVOURS = {
    "generic": {
        "vendor": None, "maker": "Example Systems", "oem": "Example", "ids": "{}",
        "resets": ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle"],
        "targets": ["None", "Pxe", "Hdd", "Cd"], "enableds": ["Disabled", "Once", "Continuous"],
        "light": "location",
    },
    "dell": {
        "vendor": "Dell", "maker": "Dell Inc.", "oem": "Dell", "ids": "System.Embedded.{}",
        "resets": ["On", "ForceOff", "ForceRestart", "GracefulRestart", "GracefulShutdown",
                   "PushPowerButton", "Nmi", "PowerCycle"],
        "targets": ["None", "Pxe", "Floppy", "Cd", "Hdd", "BiosSetup", "Utilities", "UefiTarget",
                    "SDCard", "UefiHttp"],
        "enableds": ["Once", "Continuous", "Disabled"], "light": "led", "tasks": False,
    },
    "dell10": {
        "vendor": "Dell", "maker": "Dell Inc.", "oem": "Dell", "ids": "System.Embedded.{}",
        "resets": ["On", "ForceOff", "ForceRestart", "GracefulShutdown", "PowerCycle"],
        "targets": ["None", "Pxe", "Cd", "Hdd", "UefiTarget", "UefiHttp"],
        "enableds": ["Once", "Continuous", "Disabled"], "light": "location", "settings": True,
    },
    "hpe": {
        "vendor": "HPE", "maker": "HPE", "oem": "Hpe", "ids": "{}", "slashes": True,
        "resets": ["On", "ForceOff", "GracefulShutdown", "ForceRestart", "Nmi", "PushPowerButton"],
        "targets": ["None", "Cd", "Hdd", "Usb", "SDCard", "Utilities", "Diags", "BiosSetup", "Pxe",
                    "UefiShell", "UefiHttp", "UefiTarget"],
        "enableds": ["Once", "Continuous", "Disabled"], "mode": "refused", "light": "led",
    },
    "supermicro": {
        "vendor": "Supermicro", "maker": "Supermicro", "oem": "Supermicro", "ids": "{}",
        "info": True, "etag": True, "mode": "forgotten",
        "resets": ["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi",
                   "ForceOn"],
        "targets": ["None", "Pxe", "Floppy", "Cd", "Usb", "Hdd", "BiosSetup", "UefiUsb", "UefiHttp"],
        "enableds": ["Disabled", "Once", "Continuous"], "light": "led",
    },
    "lenovo": {
        "vendor": "Lenovo", "maker": "Lenovo", "oem": "Lenovo", "ids": "{}", "etag": True,
        "resets": ["On", "Nmi", "GracefulShutdown", "GracefulRestart", "ForceOn", "ForceOff",
                   "ForceRestart"],
        "targets": ["None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags", "UefiTarget"],
        "enableds": ["Once", "Disabled"], "light": "led", "tasks": True,
    },
}

DOWN = ("ForceOff", "GracefulShutdown")
AROUND = ("ForceRestart", "GracefulRestart", "PowerCycle")


class System:
    """A machine. Its power follows an action after `delay` seconds, and is shown `lag_reads` reads
    later than that."""

    def __init__(self, name, flavour, switched):
        self.name = name
        self.flavour = flavour
        self.switched = switched
        self.real_power = "Off"
        self.shown_power = "Off"
        self.delay = 0.0
        self.lag_reads = 0
        self.reads_left = 0
        self.change_at = None
        self.change_to = None
        self.target = "None"
        self.enabled = "Disabled"
        self.mode = "UEFI"
        self.uefi_target = None
        self.light = False
        self.led = "Off"
        self.version = 1
        self.resets = []  # the types it was given
        self.boots = []  # what it started from, each time

    def _settle(self):
        if self.change_at is not None and time.monotonic() >= self.change_at:
            self.change_at = None
            self._become(self.change_to)

    def _become(self, power):
        if power == "On":
            self.boots.append(self.target if self.enabled != "Disabled" else "None")
            if self.enabled == "Once":
                self.enabled, self.target = "Disabled", "None"
        self.real_power = power
        self.version += 1
        if self.switched:
            self.switched(self.name, power)

    def power(self, is_read=False):
        self._settle()
        if self.change_at is not None:
            return "PoweringOn" if self.change_to == "On" else "PoweringOff"
        if is_read and self.shown_power != self.real_power:
            if self.reads_left > 0:
                self.reads_left -= 1
                return self.shown_power
            self.shown_power = self.real_power
        return self.shown_power if is_read else self.real_power

    def turn(self, power):
        self.reads_left = self.lag_reads
        if self.delay:
            self.change_at, self.change_to = time.monotonic() + self.delay, power
        else:
            self._become(power)

    def reset(self, kind):
        """None, or why it is refused."""
        self._settle()
        if self.change_at is not None:
            return "the system is between two power states"
        is_on = self.real_power == "On"
        self.resets.append(kind)
        if kind in ("On", "ForceOn"):
            if is_on:
                return "the system is on already"
            self.turn("On")
        elif kind in DOWN:
            if not is_on:
                return "the system is off already"
            self.turn("Off")
        elif kind in AROUND:
            if not is_on:
                return "a system that is off cannot be restarted"
            self.turn("On")
        elif kind == "PushPowerButton":
            self.turn("Off" if is_on else "On")
        return None

    def etag(self):
        return f'W/"{self.version}"'


class Faults:
    """Trouble on demand. A fault is a dict:

    method, path   which requests (path: a regular expression); all when absent
    count          how often (1)
    do             what happens: delay (seconds), drop, status (status, headers, body), bad_json,
                   huge (size), deep (levels), no_object, auth, cut (half of the body)
    """

    def __init__(self):
        self.lock = threading.Lock()
        self.list = []

    def add(self, **fault):
        with self.lock:
            self.list.append({"count": 1, **fault})

    def take(self, method, path):
        with self.lock:
            for fault in self.list:
                if fault["count"] <= 0 or fault.get("method", method) != method:
                    continue
                if re.search(fault.get("path", ""), path):
                    fault["count"] -= 1
                    return fault
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    # -- answers -----------------------------------------------------------------------------

    def answer(self, status, document=None, headers=None, raw=None):
        body = raw if raw is not None else b""
        if document is not None:
            body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, text, headers=None):
        info = [{"MessageId": "Base.1.8.GeneralError", "Message": text}]
        error = {"code": "Base.1.8.GeneralError", "message": "see the extended information",
                 "@Message.ExtendedInfo": info}
        self.answer(status, {"error": error}, headers)

    def hang_up(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def suffer(self, fault):
        """True when the fault has answered."""
        kind = fault["do"]
        if kind == "delay":
            self.server.closing.wait(fault["seconds"])
            return False
        if kind == "drop":
            self.hang_up()
        elif kind == "status":
            if "body" in fault:
                self.answer(fault["status"], fault["body"], fault.get("headers"))
            else:
                self.refuse(fault["status"], "as the test requested", fault.get("headers"))
        elif kind == "bad_json":
            self.answer(200, raw=b'{"Members": [')
        elif kind == "no_object":
            self.answer(200, raw=b'["a list"]')
        elif kind == "deep":
            self.answer(200, raw=b"[" * fault["levels"] + b"]" * fault["levels"])
        elif kind == "huge":
            self.answer(200, raw=b'{"a": "' + b"x" * fault["size"] + b'"}')
        elif kind == "headers":
            self.answer(200, {}, {f"X-Filler-{i}": "y" * 1000 for i in range(fault["lines"])})
        elif kind == "auth":
            self.refuse(401, "no")
        elif kind == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"Members"')
            self.hang_up()
        return True

    # -- a request -----------------------------------------------------------------------------

    def serve(self, method):
        service = self.server.service
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        path = self.path.split("?")[0]
        with service.lock:
            service.requests.append((method, path, body.decode() or None, dict(self.headers)))
        try:
            fault = service.faults.take(method, path)
            if fault and self.suffer(fault):
                return
            with service.lock:
                service.route(self, method, path, body)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            self.close_connection = True

    def do_GET(self):
        self.serve("GET")

    def do_POST(self):
        self.serve("POST")

    def do_PATCH(self):
        self.serve("PATCH")

    def do_DELETE(self):
        self.serve("DELETE")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service, address, port, tls):
        super().__init__((address, port), Handler)
        self.service = service
        self.tls = tls
        self.closing = threading.Event()

    def handle_error(self, request, client_address):
        pass  # clients that go away are part of the game

    def process_request_thread(self, request, client_address):
        """The handshake belongs to the connection's own thread."""
        if self.tls:
            if self.service.slow_tls:
                self.closing.wait(self.service.slow_tls)
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except (OSError, ValueError):
                self.shutdown_request(request)
                return
        super().process_request_thread(request, client_address)


class Base:
    """What a service and a replay share: threads, faults, received requests."""

    def __init__(self, cert=None, key=None, port=0, address="127.0.0.1"):
        tls = None
        if cert:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(cert, key)
        self.lock = threading.RLock()
        self.faults = Faults()
        self.requests = []
        self.slow_tls = 0
        self.server = Server(self, address, port, tls)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{address}:{self.port}"
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    def close(self):
        self.server.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def asked(self, method, pattern=""):
        """The requests of that method to such a path: (path, body, headers)."""
        with self.lock:
            return [r[1:] for r in self.requests if r[0] == method and re.search(pattern, r[1])]


class Service(Base):
    def __init__(self, flavour="generic", systems=1, user="root", password="calvin", cert=None,
                 key=None, port=0, switched=None, address="127.0.0.1", **changes):
        self.flavour = {**FLAVOURS[flavour], **changes}
        self.user = user
        self.password = password
        self.sessions = {}
        self.session_count = 0  # ever made
        self.tasks = {}
        self.task_reads = 2  # how often a task says that it still runs
        self.task_fails = False
        self.page_size = None
        names = [self.flavour["ids"].format(i + 1) for i in range(systems)]
        self.systems = {n: System(n, self.flavour, switched) for n in names}
        super().__init__(cert, key, port, address)

    # -- credentials ------------------------------------------------------------------------------

    def knows(self, handler):
        token = handler.headers.get("X-Auth-Token")
        if token is not None:
            return token in self.sessions.values()
        scheme, _, rest = (handler.headers.get("Authorization") or "").partition(" ")
        wanted = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return scheme == "Basic" and rest == wanted

    # -- requests -----------------------------------------------------------------------------

    def route(self, handler, method, path, body):
        if path == "/_test/state":
            return handler.answer(200, self.state())
        if path == "/_test/faults":
            self.faults.add(**json.loads(body))
            return handler.answer(204)
        if self.flavour.get("slashes") and not path.endswith("/") and method == "GET":
            return handler.answer(308, headers={"Location": path + "/"})
        parts = [p for p in path.split("/") if p]
        if parts[:2] != ["redfish", "v1"]:
            return handler.refuse(404, "there is no such resource")
        rest = parts[2:]
        if not rest and method == "GET":
            return handler.answer(200, self.root())
        if rest == ["SessionService", "Sessions"] and method == "POST":
            return self.log_in(handler, body)
        if not self.knows(handler):
            return handler.refuse(401, "no")
        if rest[:2] == ["SessionService", "Sessions"] and len(rest) == 3 and method == "DELETE":
            gone = self.sessions.pop(rest[2], None)
            return handler.answer(204 if gone else 404)
        if rest[:2] == ["TaskService", "Tasks"] and len(rest) == 3:
            return self.show_task(handler, rest[2])
        if rest == ["Systems"] and method == "GET":
            return handler.answer(200, self.members(handler))
        if rest[:1] == ["Systems"] and len(rest) > 1 and rest[1] in self.systems:
            return self.ask_system(handler, method, self.systems[rest[1]], rest[2:], body)
        return handler.refuse(404, "there is no such resource")

    def ask_system(self, handler, method, system, rest, body):
        settings = rest == ["Settings"] and self.flavour.get("settings")
        if method == "GET" and (not rest or settings):
            return handler.answer(200, self.show(system), {"ETag": system.etag()})
        if method == "GET" and rest == ["ResetActionInfo"] and self.flavour.get("info"):
            return handler.answer(200, self.action_info())
        if method == "PATCH" and (not rest or settings):
            return self.change(handler, system, body, settings)
        if method == "POST" and rest == ["Actions", "ComputerSystem.Reset"]:
            return self.reset(handler, system, body)
        return handler.refuse(404 if method == "GET" else 405, "there is no such resource")

    def state(self):
        shown = ("real_power", "target", "enabled", "mode", "light", "led", "resets", "boots")
        systems = {n: {k: getattr(s, k) for k in shown} for n, s in self.systems.items()}
        return {"systems": systems, "sessions": len(self.sessions),
                "requests": [list(r[:3]) for r in self.requests]}

    # -- documents ---------------------------------------------------------------------------------

    def root(self):
        end = "/" if self.flavour.get("slashes") else ""
        document = {
            "@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_6_0.ServiceRoot",
            "Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.8.0",
            "Systems": {"@odata.id": "/redfish/v1/Systems" + end},
            "Chassis": {"@odata.id": "/redfish/v1/Chassis" + end},
            "Managers": {"@odata.id": "/redfish/v1/Managers" + end},
            "Links": {"Sessions": {"@odata.id": "/redfish/v1/SessionService/Sessions" + end}},
            "Oem": {self.flavour["oem"]: {}},
        }
        if self.flavour["vendor"]:
            document["Vendor"] = self.flavour["vendor"]
        return document

    def path_of(self, system):
        return f"/redfish/v1/Systems/{system.name}" + ("/" if self.flavour.get("slashes") else "")

    def members(self, handler):
        everything = list(self.systems.values())
        match = re.search(r"skip=(\d+)", handler.path)
        first = int(match.group(1)) if match else 0
        size = self.page_size or len(everything)
        document = {
            "@odata.id": "/redfish/v1/Systems", "Name": "Computer System Collection",
            "Members@odata.count": len(everything),
            "Members": [{"@odata.id": self.path_of(s)} for s in everything[first : first + size]],
        }
        if first + size < len(everything):
            document["Members@odata.nextLink"] = f"/redfish/v1/Systems?skip={first + size}"
        return document

    def show(self, system):
        f, path = self.flavour, self.path_of(system).rstrip("/")
        reset = {"target": path + "/Actions/ComputerSystem.Reset"
                 + ("/" if f.get("slashes") else "")}
        if f.get("info"):
            reset["@Redfish.ActionInfo"] = path + "/ResetActionInfo"
        else:
            reset["ResetType@Redfish.AllowableValues"] = f["resets"]
        document = {
            "@odata.id": self.path_of(system), "@odata.etag": system.etag(),
            "@odata.type": "#ComputerSystem.v1_10_0.ComputerSystem", "Id": system.name,
            "Name": "System", "Manufacturer": f["maker"], "SystemType": "Physical",
            "PowerState": system.power(is_read=True), "Status": {"Health": "OK"},
            "Actions": {"#ComputerSystem.Reset": reset},
            "Boot": {
                "BootSourceOverrideTarget": system.target,
                "BootSourceOverrideEnabled": system.enabled,
                "BootSourceOverrideMode": system.mode,
                "BootSourceOverrideTarget@Redfish.AllowableValues": f["targets"],
                "BootSourceOverrideEnabled@Redfish.AllowableValues": f["enableds"],
            },
        }
        if f.get("settings"):
            document["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": path + "/Settings"}}
        if f.get("light") == "location":
            document["LocationIndicatorActive"] = system.light
        elif f.get("light") == "led":
            document["IndicatorLED"] = system.led
        return document

    def action_info(self):
        values = {"Name": "ResetType", "Required": True, "DataType": "String",
                  "AllowableValues": self.flavour["resets"]}
        return {"@odata.type": "#ActionInfo.v1_1_2.ActionInfo", "Id": "ResetActionInfo",
                "Name": "Reset Action Info", "Parameters": [values]}

    # -- changes -------------------------------------------------------------------------------------

    def log_in(self, handler, body):
        try:
            given = json.loads(body)
        except ValueError:
            return handler.refuse(400, "no JSON")
        if given.get("UserName") != self.user or given.get("Password") != self.password:
            return handler.refuse(401, "no")
        name, token = secrets.token_hex(4), secrets.token_hex(16)
        self.sessions[name] = token
        self.session_count += 1
        path = f"/redfish/v1/SessionService/Sessions/{name}"
        headers = {"X-Auth-Token": token, "Location": path}
        return handler.answer(201, {"@odata.id": path, "Id": name}, headers)

    def show_task(self, handler, name):
        if name not in self.tasks:
            return handler.refuse(404, "there is no such task")
        if self.tasks[name] > 0:
            self.tasks[name] -= 1
            return handler.answer(202, {"Id": name, "TaskState": "Running"})
        if self.task_fails:
            messages = [{"Message": "the task fell over"}]
            return handler.answer(200, {"Id": name, "TaskState": "Exception", "Messages": messages})
        del self.tasks[name]
        return handler.answer(200, {"Id": name, "TaskState": "Completed", "TaskStatus": "OK"})

    def accept(self, handler):
        if not self.flavour.get("tasks"):
            return handler.answer(204)
        name = secrets.token_hex(4)
        self.tasks[name] = self.task_reads
        path = f"/redfish/v1/TaskService/Tasks/{name}"
        document = {"@odata.id": path, "Id": name, "TaskState": "New"}
        return handler.answer(202, document, {"Location": path})

    def reset(self, handler, system, body):
        try:
            kind = json.loads(body).get("ResetType")
        except (ValueError, AttributeError):
            return handler.refuse(400, "no JSON object")
        if kind not in self.flavour["resets"]:
            return handler.refuse(400, f"the value {kind} of ResetType is not allowed")
        why = system.reset(kind)
        return handler.refuse(409, why) if why else self.accept(handler)

    def change(self, handler, system, body, settings):
        given = handler.headers.get("If-Match")
        if self.flavour.get("etag") and given is None:
            return handler.refuse(428, "the request did not name a version with If-Match")
        if given not in (None, "*", system.etag()):
            return handler.refuse(412, "the version is not the newest")
        try:
            document = json.loads(body)
        except ValueError:
            return handler.refuse(400, "no JSON")
        boot = document.get("Boot")
        if boot is not None:
            if self.flavour.get("settings") and not settings:
                return handler.refuse(400, "the property Boot is read-only")
            why = self.change_boot(system, boot)
            if why:
                return handler.refuse(400, why)
        if "IndicatorLED" in document:
            system.led = document["IndicatorLED"]
        if "LocationIndicatorActive" in document:
            system.light = document["LocationIndicatorActive"]
        system.version += 1
        return self.accept(handler)

    def change_boot(self, system, boot):
        target = boot.get("BootSourceOverrideTarget", system.target)
        enabled = boot.get("BootSourceOverrideEnabled", system.enabled)
        mode = boot.get("BootSourceOverrideMode")
        policy = self.flavour.get("mode")
        if target not in self.flavour["targets"]:
            return f"the target {target} is not allowed"
        if enabled not in self.flavour["enableds"]:
            return f"the value {enabled} is not allowed"
        if mode is not None and policy == "refused":
            return "the property BootSourceOverrideMode is not writable"
        if target == "UefiTarget" and not boot.get("UefiTargetBootSourceOverride"):
            return "UefiTargetBootSourceOverride is missing"
        if mode is not None:
            system.mode = mode
        elif policy == "forgotten":
            system.mode = "Legacy"
        system.target = "None" if enabled == "Disabled" else target
        system.enabled = enabled
        system.uefi_target = boot.get("UefiTargetBootSourceOverride")
        return None


class Replay(Base):
    """Answers in the shape of a maker: a folder with exchanges.json, a list of

    {"method": "GET", "path": "...", "status": 200, "headers": {...}, "body": "file.json",
     "sent": {...}}

    Of several for the same request the first is used up before the next, and the last stays. A
    request that was not recorded, or whose body differs from `sent`, is answered 500 and kept in
    `strangers`."""

    def __init__(self, folder, script="exchanges.json", cert=None, key=None):
        self.folder = folder
        with open(f"{folder}/{script}", encoding="utf-8") as file:
            self.exchanges = json.load(file)
        self.strangers = []
        super().__init__(cert, key)

    def route(self, handler, method, path, body):
        found = [e for e in self.exchanges if e["method"] == method and e["path"] == path]
        sent = json.loads(body) if body else None
        if not found or ("sent" in found[0] and found[0]["sent"] != sent):
            self.strangers.append((method, path, sent))
            return handler.refuse(500, "this was never recorded")
        if len(found) > 1:
            self.exchanges.remove(found[0])
        document = None
        if "body" in found[0]:
            with open(f"{self.folder}/{found[0]['body']}", encoding="utf-8") as file:
                document = json.load(file)
            document.update(found[0].get("but", {}))
        return handler.answer(found[0]["status"], document, found[0].get("headers"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--flavour", choices=sorted(FLAVOURS), default="generic")
    parser.add_argument("--systems", type=int, default=1)
    parser.add_argument("--user", default="root")
    parser.add_argument("--password", default="calvin")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--address", default="127.0.0.1")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    o = parser.parse_args()
    service = Service(o.flavour, o.systems, o.user, o.password, o.cert, o.key, o.port, address=o.address)
    print(service.url, flush=True)
    sys.stdin.read()
    service.close()


if __name__ == "__main__":
    main()
