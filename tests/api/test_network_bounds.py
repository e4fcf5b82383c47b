"""Wrong parameters of every route that writes networks, ranges, routers, addresses, interfaces, name
filters and nodes.

The routes and their parameters are those of openapi.json: one without an entry in TARGETS and
PARAMETERS fails. Each wrong value is sent in a request that is right otherwise, as JSON, as a form, as
a JSON patch and in a query string where the route has them. The reply is an error of one form that
names the field, and nothing is written: the number of batches and of rows that the daemon wrote stays,
and so does the digest of its records, which changes with every row. Values at a bound and one inside of
it are accepted.

The daemon is one of these tests alone, because the counters are those of all requests.
"""
import http.client
import json
import re
import time
import urllib.parse

from daemon import WAIT_S, Response, eventually

TEXT_MAX = 65536
MANY = 2**63  # no integer of a command is that large
LONG = "x" * (TEXT_MAX + 1)

NOUNS = ("networks", "network_ranges", "network_routers", "network_allocations", "leases", "nics", "interfaces",
         "dns_name_filters", "dns_name_entries")
V = "/api/v2/"


# ---- values ----


class Id:
    """The id of the object at a path, read when it is sent."""

    def __init__(self, path):
        self.path = path


class Values:
    """Of one parameter: `bad` is refused, `good` is accepted. `needs` are the other fields of the request for
    which this holds. A problem names the parameter, or one of `fields`. `shown`: the reply has the value."""

    def __init__(self, good=(), bad=(), needs=None, fields=(), shown=True):
        self.good, self.bad, self.needs, self.fields, self.shown = list(good), list(bad), needs or {}, fields, shown

    def for_fields(self, *fields):
        return Values(self.good, self.bad, self.needs, fields, self.shown)

    def but(self, good=(), bad=(), needs=None, shown=None):
        """The same with more values."""
        return Values(self.good + list(good), self.bad + list(bad), {**self.needs, **(needs or {})}, self.fields,
                      self.shown if shown is None else shown)


def text(good=(), bad=(), empty=False, **more):
    """`empty`: may it be the empty string or null?"""
    blank = ["", None]
    return Values(list(good) + (blank if empty else []),
                  [7, 1.5, True, [], ["a"], {}, {"a": "b"}, LONG] + list(bad) + ([] if empty else blank), **more)


def number(least, most, good=(), bad=(), **more):
    """Both bounds, one inside and one outside of them."""
    near = [value for value in (least, least + 1, most - 1, most) if least <= value <= most]
    return Values(near + list(good), [least - 1, most + 1, MANY, -MANY - 1, 10**400, 1.5, "many", "", "1.5", None, True,
                                      [], {}] + list(bad), **more)


def boolean(good=(True, False), bad=(), **more):
    return Values(list(good), [7, 0, 1, "perhaps", "", "TRUE", None, [], {}] + list(bad), **more)


def ref(good=(), bad=(), **more):
    """A name or an id. Those that are required may not be null either."""
    return Values(list(good), ["nb-nowhere", "", 999999999, -1, MANY, 2**64, 1.5, True, [], {}, LONG] + list(bad),
                  shown=False, **more)


def document(good=(), bad=(), **more):
    return Values(list(good), [7, 1.5, True, "x", "[]", "{", [], ["a"]] + list(bad), shown=False, **more)


def without_null(values):
    return Values(values.good, [v for v in values.bad if v is not None], values.needs, values.fields, values.shown)


NAME = text(["nb", "N-b_1", "n" * 47, "n" * 48],
            ["n" * 49, "1n", "n b", "n.b", "n/b", "né", "n\n", "-n", "77", "nb{name}"])
LABEL = text(["x", "x" * 254, "x" * 255, "é" * 127], ["x" * 256, "é" * 128, "a\nb", "a\x07b", "\x7f"])
V6PREFIX = text(["fd12:3456:789a:1", "0:0:0:0", "ffff:ffff:ffff:ffff"],
                ["automobile", "AUTO", "fd12:3456:789a", "fd12:3456:789a:12345", "FD12:3456:789a:1", "10.0.0.1",
                 "fd12:3456:789a:1::/64", "fd12:3456:789a:1:", ":::", "fd12:3456:789a:g"], empty=True)
# 8 members of speed 8, which no other network uses.
EIGHT = ",".join(f"8m{i}" for i in range(8))
CONDUIT = text(["8m7", "8m998", "8m999", "999g999", "+8g0", "-8g0", "?8g0", "bmc", " 8m7 "],
               ["cow", "8m1000", "1000m7", "0m7", "m7", "8m", "8x7", "8M7", "+bmc", "~8m7", "8m7,", ",8m7", "8m7 8m8",
                "bmcX", "8m-1", "8m1,8m2", "7g0,7g1"], fields=("conduit",))
# A network with two conduits of which one is part of the other, and with a bond.
TEAM = {"use_team": True}
PAIR = {"use_team": True, "conduit": "8g0,8g1"}
TEAM_CONDUIT = text(["8g0,8g1", EIGHT], [EIGHT + ",8m8", "8g0", "8g0,8g0", "8g0,+8g1", "8g0,8m1", "bmc,8g1"], needs=TEAM)
INT32 = 2**31 - 1
VLAN = number(-INT32, INT32, [-7, 0, "7", "-7"], needs={"use_vlan": False})
USED_VLAN = number(1, 4094, ["7"], [-7], needs={"use_vlan": True})
TEAM_MODE = number(-INT32, INT32, [0, "3"], needs={"use_team": False})
USED_TEAM_MODE = number(0, 6, ["3"], [-7], needs=PAIR)
UINT32 = number(0, 2**32 - 1, ["7"], ["-7"])
INTERFACE = {
    "conduit": [CONDUIT, TEAM_CONDUIT],
    "vlan": [VLAN, USED_VLAN],
    "use_vlan": [boolean([True, False, "true", "false"], needs={"vlan": 7})],
    "use_bridge": [boolean()],
    "team_mode": [TEAM_MODE, USED_TEAM_MODE],
    "use_team": [boolean([True, "true"], needs={"conduit": "8g0,8g1"}), boolean([False], needs={"conduit": "8g0"})],
}


def inherited(values):
    """Of a range: null is accepted, and means the setting of the network."""
    return Values(values.good + ([] if values.needs else [None]), [v for v in values.bad if v is not None], values.needs, values.fields, False)


BAD_IP = ["10.66.5.300/24", "10.66.5/24", "10.66.5.20/33", "10.66.5.20/-1", "10.66.5.20/", "10.66.05.20/24",
          "10.66.5.20/24/24", "10.66.5.20/255.0.255.0", " 10.66.5.20/24", "10.66.5.20/24 ", "10.66.5.20%eth0",
          "FD66::5/64", "fd66::5/129", "fd66:::5", "fd66::5::6", "1:2:3:4:5:6:7:8:9", "::ffff:1.2.3", "host", "/", "0x7f.1"]
# Networks and ranges of these tests are in 10.66.0.0/16; the network of a new range is in 10.66.5.0/24 and has
# the addresses 100 to 120.
FIRST = text(["10.66.5.1/24", "10.66.5.99/24", "10.66.5.50/255.255.255.0"],
             BAD_IP + ["10.66.5.0/24"], needs={"last": "10.66.5.99/24"}, shown=False)
LAST = text(["10.66.5.50/24", "10.66.5.98/24", "10.66.5.99/24", "10.66.5.99/255.255.255.0"],
            BAD_IP + ["10.66.5.49/24", "10.66.5.100/24", "10.66.5.121/24", "10.66.5.255/24", "10.66.6.60/24",
                      "10.66.5.60/25", "10.66.5.60", "fd66::60/64", "fd66::60/24"],
            needs={"first": "10.66.5.50/24"}, fields=("first", "last"), shown=False)
FIRST_OTHER = Values([], ["10.66.5.50/25", "10.66.4.50/24", "10.66.5.131/24", "fd66::50/64", "fd66::50/24", "10.66.5.100/24", "10.66.5.110/24"],
                     needs={"last": "10.66.5.130/24"}, fields=("first", "last"))
RANGE = {
    "network": [ref(["nb-new"], [None])],
    "network_id": [ref([Id("networks/nb-new")], [None], fields=("network_id", "network"))],
    "name": [NAME.but(bad=["host", "HOST"])],
    "first": [FIRST, FIRST_OTHER],
    "last": [LAST],
    **{name: [inherited(v) for v in values] for name, values in INTERFACE.items()},
    "overlap": [boolean([False, "false"], [True, "true"])],
}
RANGE_OBJECT = {"name": "host", "first": "10.66.7.1/24", "last": "10.66.7.9/24"}


def ranges_of(count):
    return [{"name": f"r{i}", "first": f"10.66.8.{i + 1}/24", "last": f"10.66.8.{i + 1}/24"} for i in range(count)]


NETWORK = {
    "name": [NAME.but(bad=["sample", "match", "NB-NEW", "nb-new"])],
    "deployment": [ref(["system", 1, "1"], [None, 0])],
    "deployment_id": [ref([1, "1"], [None, 0])],
    "description": [text(["one\ntwo", "x" * (TEXT_MAX - 1), "x" * TEXT_MAX, "é" * (TEXT_MAX // 2)],
                         ["é" * (TEXT_MAX // 2) + "x"], empty=True)],
    "order": [UINT32],
    **INTERFACE,
    "v6prefix": [V6PREFIX, Values(["auto"], shown=False)],
    "configure": [boolean([True, False, "true", "false"])],
    "category": [LABEL],
    "group": [LABEL],
    "pbr": [text(["x", "x" * 254, "x" * 255], ["x" * 256, "a\nb", "\x07"], empty=True)],
    "ranges": [Values([None, [], [RANGE_OBJECT], json.dumps([RANGE_OBJECT]), ranges_of(63), ranges_of(64)],
                      [7, True, {}, {"a": 1}, "x", "[", [7], [[]], [None], [{}], [{"name": "host"}],
                       [{**RANGE_OBJECT, "colour": 1}], [RANGE_OBJECT, RANGE_OBJECT], ranges_of(65)], shown=False)],
    "router": [document([None, {}, {"address": "10.66.7.1/24"}, {"address": "10.66.7.1/24", "pref": 0},
                         {"address": "10.66.7.1/24", "pref": 2**32 - 1}],
                        [{"address": 7}, {"address": "10.66.7.300"}, {"address": ""}, {"pref": 7},
                         {"address": "10.66.7.1", "pref": -1}, {"address": "10.66.7.1", "pref": 2**32},
                         {"address": "10.66.7.1", "pref": "7"}, {"address": "10.66.7.1", "colour": 1}])],
}
ADDRESS_OF_ROUTER = text(["10.66.5.1", "10.66.5.1/24", "fd66::1", "10.66.5.1/255.255.255.0"],
                         [a for a in BAD_IP], shown=False)
ROUTER = {
    "network": [ref(["nb-new"], [None])],
    "network_id": [ref([Id("networks/nb-new")], [None], fields=("network_id", "network"))],
    "address": [ADDRESS_OF_ROUTER],
    "pref": [UINT32],
}
NODE_REF = ref(["nb-node.example.com"], [None])
# Of nb-allocate, whose range host has 10.66.3.10 to 10.66.3.20; 10.66.3.12 is taken.
REQUESTED = text(["10.66.3.10", "10.66.3.20/24", "10.66.3.11/32"],
                 BAD_IP + ["10.66.3.9", "10.66.3.21", "10.66.3.12", "fd66::5"], empty=True, needs={}, shown=False)
SUGGESTED = text(["10.66.3.10", "10.66.3.20/24", "10.66.3.12", "10.66.3.21", "fd66::5"], BAD_IP, empty=True, shown=False)
BOTH = Values([], ["10.66.3.10"], needs={"address": "10.66.3.10"})
ALLOCATION = {
    "node": [NODE_REF],
    "node_id": [ref([Id("nodes/nb-node.example.com")], [None], fields=("node_id", "node"))],
    "network": [ref(["nb-allocate"], [None, 0], fields=("network",))],
    "network_id": [ref([Id("networks/nb-allocate")], [None, 0], fields=("network_id", "network"))],
    "network_range": [ref(["nb-allocate.host", "host"], ["nb-new.host"], fields=("network_range",),
                          needs={"network": "nb-allocate"})],
    "network_range_id": [ref([Id("network_ranges/nb-allocate.host")], [Id("network_ranges/nb-new.host")])],
    "range": [ref(["nb-allocate.host", "host"], ["nb-new.host"], fields=("range",), needs={"network": "nb-allocate"})],
    "range_id": [ref([Id("network_ranges/nb-allocate.host")], [Id("network_ranges/nb-new.host")])],
    "address": [REQUESTED],
    "suggestion": [SUGGESTED, BOTH],
}
ALLOCATE_IP = {
    **{name: ALLOCATION[name] for name in ("node", "node_id", "address", "suggestion")},
    "range": [ref(["nb-allocate.host", "host"], ["nb-new.host"])],
    "range_id": [ref([Id("network_ranges/nb-allocate.host")], [Id("network_ranges/nb-new.host")])],
    "network_range": [ref(["nb-allocate.host", "host"], ["nb-new.host"])],
    "network_range_id": [ref([Id("network_ranges/nb-allocate.host")], [Id("network_ranges/nb-new.host")])],
}
DEALLOCATE_IP = {
    "node": [ref(["nb-node.example.com"], [None, "nb-idle.example.com"])],
    "node_id": [ref([Id("nodes/nb-node.example.com")], [None], fields=("node_id", "node"))],
    "address": [without_null(text(["10.66.3.10", "10.66.3.10/24", None], BAD_IP + ["10.66.3.12", "fd66::5", "10.66.9.9"],
                              fields=("address", "node"), shown=False))],
}
BAD_MAC = ["52:54:00:66:00", "52:54:00:66:00:01:02", "52-54:00-66:00:01", "52:54:00:66:00:0g", "525400660001",
           "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", " 52:54:00:66:00:01", "52:54:00:66:00:1"]
FILTER = {
    "name": [text(["f", "F-b_1", "f" * 254, "f" * 255], ["f" * 256, "1f", "f b", "fé", "sample", "match", "nb-filter"])],
    "matcher": [text(['net.name == "nb"', 'colour == "x"', 'net.name == "' + "x" * 1010 + '"',
                      'net.name == "' + "x" * 1009 + '"', ",".join(['net.name=="x"'] * 16)],
                     ['net.name == "' + "x" * 1011 + '"', ",".join(['net.name=="x"'] * 17), "net.name", "net.name ==",
                      'net.name == "x', 'net.name == x', 'net.name == "x",', '== "x"', "\x07"])],
    "priority": [number(0, 2**32 - 1, ["7"], ["-7", 6601, "6601"])],
    "service": [text(["s", "S-b_1", "s" * 254, "s" * 255], ["s" * 256, "1s", "s b", "sé"])],
    "template": [text(["{{node.name}}", "x" * 511, "x" * 512, "{{colour}}", "{{node",  "{{node.id}}" * 32],
                      ["x" * 513, "{{node.id}}" * 33, "a\nb"])],
}
PATTERN = text(["nb .*", "x" * 254, "x" * 255], ["x" * 256, "nb-map", "a\nb", "\x07"])
BUS_ORDER = Values(["a", "a | b", ["a"], ["a"] * 256, "|".join(["a"] * 256), ["x" * 255]],
                   [None, "", " ", "a||b", "|", [], [""], [7], [["a"]], ["a", None], 7, 1.5, True, {}, ["a"] * 257,
                    "|".join(["a"] * 257), ["x" * 256], "x" * 256, ["a\nb"], LONG], shown=False)
NODE = {
    "name": [text(["nb-1.example.com"], ["nb-1", "nb 1.example.com", "nb-1.example.c0m", "n" * 64 + ".example.com",
                                         ".".join(["n" * 62] * 4) + ".example.com", "né.example.com",
                                         "nb-node.example.com"])],
    "description": [text(["one\ntwo", "x" * (TEXT_MAX - 1), "x" * TEXT_MAX], ["x" * (TEXT_MAX + 1)], empty=True)],
    "admin": [boolean([False], shown=False)],
    "system": [boolean([False], shown=False)],
    "allocated": [boolean([False], shown=False)],
    "alive": [boolean([False], shown=False)],
    "available": [boolean([False], shown=False)],
    "bootenv": [text(["local", "x" * TEXT_MAX], empty=True, shown=False)],
    "deployment": [ref(["system", 1])],
    "deployment_id": [ref([1])],
    "hint": [document([None, {}, {"admin_macs": ["52:54:00:66:00:07"]}, {"nb-allocate-v4addr": "10.66.3.11"}],
                      [{"admin_macs": ["52:54:00:66:00:01"]}])],
    "discovery": [document([None, {}])],
    "mac": [text(["52:54:00:66:00:07", "52-54-00-66-00-0A"], BAD_MAC + ["52:54:00:66:00:01"], empty=True, shown=False)],
    "ip": [text(["10.66.3.10", "10.66.3.20/24"], BAD_IP + ["10.66.3.9", "10.66.3.12", "fd66::5", "203.0.113.1"],
                empty=True, shown=False)],
}
MOVE = {
    "node": [ref(["nb-idle.example.com"], [None]),
             Values([], ["system-phantom.internal.local"], fields=("node_id",))],
    "node_id": [ref([Id("nodes/nb-idle.example.com")], [None], fields=("node_id", "node"))],
    "mac": [text(["52:54:00:66:00:01", "52-54-00-66-00-01"], BAD_MAC + ["52:54:00:66:ff:ff"], shown=False)],
}


def only(parameters, *without):
    return {name: values for name, values in parameters.items() if name not in without}


# ---- routes ----

NODE_NAME = "nb-node.example.com"
OWNER = [ref(["nb-new", None, 0])]
OWNER_ID = [ref([Id("networks/nb-new"), None, 0])]
NEW = {"name": "nb-new", "conduit": "7g0",
       "ranges": [{"name": "host", "first": "10.66.5.100/24", "last": "10.66.5.120/24"}]}
NEW_RANGE = {"name": "nb-range", "first": "10.66.5.50/24", "last": "10.66.5.60/24"}
NEW_ROUTER = {"address": "10.66.5.2/24"}
ALLOCATE = {"name": "nb-allocate", "conduit": "6g0",
            "ranges": [{"name": "host", "first": "10.66.3.10/24", "last": "10.66.3.20/24"}]}
NEW_FILTER = {"name": "nb-new-filter", "matcher": 'net.name == "nb"', "priority": 6602, "service": "system",
              "template": "{{node.name}}"}


def without(parameters, *names):
    return {name: values for name, values in parameters.items() if name not in names}


def make_network(me):
    me.made("networks", NEW)


def drop_network(me, answer):
    me.gone("networks/nb-new")


def make_range(me):
    make_network(me)
    me.made("networks/nb-new/network_ranges", NEW_RANGE)


def make_router(me):
    make_network(me)
    me.made("networks/nb-new/network_routers", NEW_ROUTER)


def make_addresses(me):
    me.made("networks", ALLOCATE)
    me.made("network_allocations", {"node": "nb-other.example.com", "network": "nb-allocate", "address": "10.66.3.12"})
    make_network(me)


def make_allocation(me):
    make_addresses(me)
    me.made("network_allocations", {"node": NODE_NAME, "network": "nb-allocate", "address": "10.66.3.10"})


def drop_addresses(me, answer):
    me.gone("networks/nb-allocate")
    drop_network(me, answer)


def drop_node(me, answer):
    if answer:
        me.gone(f"nodes/{answer['id']}")
    drop_addresses(me, answer)


def drop_made(noun):
    def drop(me, answer):
        if answer:
            me.gone(f"{noun}/{answer['id']}")
    return drop


def drop_map(me, answer):
    if answer:
        me.gone("interfaces/" + urllib.parse.quote(answer["pattern"], safe=""))


def drop_filter(me, answer):
    """It may have another name now."""
    me.gone(f"dns_name_filters/{answer['id'] if answer else NEW_FILTER['name']}")


def move_back(me, answer):
    me.made("nics/move", {"node": NODE_NAME, "mac": "52:54:00:66:00:01"})


class Target:
    """One route: its path, a body that it accepts, and the values of its parameters. `before` makes what the
    request needs, `after` removes that and what the request made."""

    def __init__(self, path, body, parameters, before=lambda me: None, after=lambda me, answer: None):
        self.path, self.body, self.parameters, self.before, self.after = path, body, parameters, before, after


CREATE_ONLY = ("name", "deployment", "deployment_id", "ranges", "router")
TARGETS = {
    "POST networks": Target("networks", {"name": "nb-made", "conduit": "8g0"}, NETWORK, make_network,
                            lambda me, answer: (drop_made("networks")(me, answer), drop_network(me, answer))),
    "PUT networks/{id}": Target("networks/nb-new", {}, without(NETWORK, *CREATE_ONLY), make_network, drop_network),
    "POST network_ranges": Target("network_ranges", {"network": "nb-new", **NEW_RANGE}, RANGE, make_network,
                                  drop_network),
    "POST networks/{id}/network_ranges": Target("networks/nb-new/network_ranges", NEW_RANGE,
                                                {**RANGE, "network": OWNER, "network_id": OWNER_ID}, make_network,
                                                drop_network),
    "PUT network_ranges/{id}": Target("network_ranges/nb-new.nb-range", {}, without(RANGE, "network", "network_id"),
                                      make_range, drop_network),
    "PUT networks/{id}/network_ranges/{id2}": Target("networks/nb-new/network_ranges/nb-range", {},
                                                     without(RANGE, "network", "network_id"), make_range,
                                                     drop_network),
    "POST network_routers": Target("network_routers", {"network": "nb-new", **NEW_ROUTER}, ROUTER, make_network,
                                   drop_network),
    "POST networks/{id}/network_routers": Target("networks/nb-new/network_routers", NEW_ROUTER,
                                                 {**ROUTER, "network": OWNER, "network_id": OWNER_ID}, make_network,
                                                 drop_network),
    "PUT network_routers/{id}": Target("network_routers/nb-new", {}, without(ROUTER, "network", "network_id"),
                                       make_router, drop_network),
    "PUT networks/{id}/network_routers/{id2}": Target("networks/nb-new/network_routers/any", {},
                                                      without(ROUTER, "network", "network_id"), make_router,
                                                      drop_network),
    "POST network_allocations": Target("network_allocations", {"node": NODE_NAME, "network": "nb-allocate"},
                                       ALLOCATION, make_addresses, drop_addresses),
    "POST networks/{id}/ip": Target("networks/nb-allocate/ip", {"node": NODE_NAME}, ALLOCATE_IP, make_addresses,
                                    drop_addresses),
    "POST networks/{id}/allocate_ip": Target("networks/nb-allocate/allocate_ip", {"node": NODE_NAME}, ALLOCATE_IP,
                                             make_addresses, drop_addresses),
    "DELETE networks/{id}/ip": Target("networks/nb-allocate/ip", {"node": NODE_NAME}, DEALLOCATE_IP, make_allocation,
                                      drop_addresses),
    "DELETE networks/{id}/deallocate_ip": Target("networks/nb-allocate/deallocate_ip", {"node": NODE_NAME},
                                                 DEALLOCATE_IP, make_allocation, drop_addresses),
    "POST nics/move": Target("nics/move", {"node": "nb-idle.example.com", "mac": "52:54:00:66:00:01"}, MOVE,
                             after=move_back),
    "POST interfaces": Target("interfaces", {"pattern": "nb-new", "bus_order": "a"},
                              {"pattern": [PATTERN], "bus_order": [BUS_ORDER]}, after=drop_map),
    "PUT interfaces/{id}": Target("interfaces/nb-map", {}, {"bus_order": [BUS_ORDER]}),
    "POST dns_name_filters": Target("dns_name_filters", NEW_FILTER, FILTER, after=drop_made("dns_name_filters")),
    "PUT dns_name_filters/{id}": Target("dns_name_filters/nb-new-filter", {}, FILTER,
                                        lambda me: me.made("dns_name_filters", NEW_FILTER),
                                        drop_filter),
    "POST nodes": Target("nodes", {"name": "nb-new.example.com"}, NODE, make_addresses, drop_node),
    "POST deployments/{id}/nodes": Target("deployments/system/nodes", {"name": "nb-new.example.com"}, NODE,
                                          make_addresses, drop_node),
}


# ---- requests ----

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TRIES = 5


class Sender:
    """All requests on one connection, as administrator."""

    def __init__(self, daemon):
        client = daemon.client()
        self.authorization = client.authorization
        self.connection = http.client.HTTPConnection(client.host, client.port, timeout=WAIT_S)
        self.ids = {}

    def send(self, method, path, data=None, headers=None):
        self.connection.request(method, path if path.startswith("/") else V + path, data,
                                {"Authorization": self.authorization, **(headers or {})})
        answer = self.connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())

    def ask(self, method, path, body=None, **headers):
        return self.send(method, path, None if body is None else json.dumps(body), {**JSON, **headers})

    def made(self, path, body):
        answer = self.ask("POST", path, body)
        assert answer.status == 200, (path, answer)
        return answer.json()

    def gone(self, path):
        answer = self.ask("DELETE", path)
        assert answer.status == 200, (path, answer)

    def resolved(self, value):
        if not isinstance(value, Id):
            return value
        answer = self.ask("GET", value.path)
        assert answer.status == 200, (value.path, answer)
        return answer.json()["id"]

    def written(self):
        """How many batches and rows the daemon has written."""
        counters = dict(re.findall(r"^(halligan_\w+) (\d+)$", self.send("GET", "/metrics").text, re.MULTILINE))
        return counters["halligan_turns_total"], counters["halligan_store_rows_total"]

    def settle(self):
        """Waits until the daemon has written what follows from the last change."""
        def is_quiet():
            before = self.written()
            time.sleep(0.02)
            return self.written() == before
        eventually(is_quiet, "nothing is written any more")


def prepare(daemon):
    me = Sender(daemon)
    if me.ask("GET", f"nodes/{NODE_NAME}").status == 404:
        for name, more in (("node", {"mac": "52:54:00:66:00:01"}), ("idle", {}), ("other", {})):
            me.made("nodes", {"name": f"nb-{name}.example.com", **more})
        me.made("dns_name_filters", {**NEW_FILTER, "name": "nb-filter", "priority": 6601})
        me.made("deployments/system/roles", {"role": "network-server"})
        me.made("interfaces", {"pattern": "nb-map", "bus_order": "a"})
    return me


def abridged(value):
    shown = repr(value)
    return shown if len(shown) < 120 else f"{shown[:100]}... ({len(shown)} characters)"


def problem_with(answer, allowed):
    """What is wrong with a refusal that should name one of the fields; empty: nothing."""
    if not 400 <= answer.status < 500:
        return f"{answer}"
    body = answer.json()
    problems = body.get("problems") or [body]
    if body.get("status") != answer.status or not body.get("message") or not body.get("code"):
        return f"no error in the form of all: {answer}"
    named = [str(problem.get("field")) for problem in problems]
    if not any(name == field or name.startswith(field + "/") for name in named for field in allowed):
        return f"names {named}, not {sorted(allowed)}: {answer}"
    return ""


def body_with(target, name, values, value):
    """The body of the target with one parameter of this value. Of the two keys of a reference the name is
    preferred, so it is left out if the id is tested."""
    body = {**target.body, **values.needs, name: value}
    if name.endswith("_id"):
        body.pop(name[:-3], None)
    return body


def unchanged(me, operation, send):
    """Sends requests that must be refused, and returns what was wrong. The daemon may still write what follows
    from creating the objects of the test; then they are sent again."""
    wrong = []
    for _ in range(TRIES):
        me.settle()
        before = me.written()
        wrong = send()
        if me.written() == before:
            return wrong
    return wrong + [f"{operation}: something was written"]


def with_target(me, send):
    """Sends what `send` sends for each route, without a change."""
    wrong = []
    for operation, target in TARGETS.items():
        target.before(me)
        wrong += unchanged(me, operation, lambda: send(operation.split(" ")[0], operation, target))
        target.after(me, None)
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong)


# ---- tests ----


def test_each_parameter_of_openapi_json_has_values(bounds):
    """A parameter or route that these tests do not know fails, and so does one that is gone."""
    document = bounds.client().get("/api/openapi.json").json()
    found = {}
    for path, methods in document["paths"].items():
        path = path.removeprefix(V)
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            parameters = content.get("schema", {}).get("properties")
            is_node = method == "post" and path in ("nodes", "deployments/{id}/nodes")
            if method == "get" or not (path.split("/")[0] in NOUNS or is_node):
                continue
            # PATCH has the parameters of PUT. The rest finds objects, or deletes the one of its path.
            rest = method == "patch" or path.endswith("/match") or (method == "delete" and path.endswith("}"))
            assert bool(parameters) != rest, (method, path)
            if parameters:
                found[f"{method.upper()} {path}"] = set(parameters)
    known = {operation: set(target.parameters) for operation, target in TARGETS.items()}
    assert found == known, {o: found.get(o, set()) ^ known.get(o, set()) for o in found.keys() | known.keys()
                            if found.get(o) != known.get(o)}


def send_wrong(me, method, target, name, values, wrong):
    """Each wrong value in every form that the route accepts."""
    allowed = set(values.fields) or {name}

    def refuse(how, answer):
        problem = problem_with(answer, allowed)
        if problem:
            wrong.append(f"{how}{what}: {problem}")
        if answer.status == 200:
            target.after(me, answer.json())
            target.before(me)

    for bad in values.bad:
        value = me.resolved(bad)
        what = f"{method} {target.path} {name}={abridged(value)}"
        body = body_with(target, name, values, value)
        refuse("", me.ask(method, target.path, body))
        if method == "PUT" and not target.path.startswith("interfaces"):
            patch = [{"op": "replace", "path": f"/{key}", "value": item} for key, item in body.items()]
            refuse("PATCH: ", me.ask("PATCH", target.path, patch))
        if isinstance(value, str) and all(isinstance(item, (str, bool)) for item in body.values()):
            words = {key: str(item).lower() if isinstance(item, bool) else item for key, item in body.items()}
            form = urllib.parse.urlencode(words)
            refuse("form: ", me.send(method, target.path, form, FORM))
            if len(form) < 1000:
                refuse("query: ", me.send(method, f"{target.path}?{form}"))


def test_wrong_values_are_refused_and_nothing_is_written(bounds):
    me = prepare(bounds)

    def send(method, operation, target):
        wrong = []
        for name, all_values in target.parameters.items():
            for values in all_values:
                send_wrong(me, method, target, name, values, wrong)
        return wrong

    with_target(me, send)


def test_values_up_to_their_bounds_are_accepted(bounds):
    me = prepare(bounds)
    wrong = []
    for operation, target in TARGETS.items():
        for name, values, good in [(name, values, good) for name, all_values in target.parameters.items()
                                   for values in all_values for good in values.good]:
            target.before(me)
            value = me.resolved(good)
            answer = me.ask(operation.split(" ")[0], target.path, body_with(target, name, values, value))
            what = f"{operation} {name}={abridged(value)}"
            shown = answer.json() if answer.status == 200 else None
            if answer.status != 200:
                wrong.append(f"{what}: {answer}")
            elif values.shown and not isinstance(value, str) and value is not None and shown[name] != value:
                wrong.append(f"{what}: {shown[name]!r}")
            target.after(me, shown if isinstance(shown, dict) else None)
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong)


def spoiled(body, name, put):
    """The JSON text of the body with the value `put`, which need not be JSON, for one parameter."""
    rest = {key: value for key, value in body.items() if key != name}
    return json.dumps(rest)[:-1].encode() + (b", " if rest else b"") + json.dumps(name).encode() + b": " + put + b"}"


def test_bytes_that_are_no_text_are_refused(bounds):
    """Invalid UTF-8 and U+0000 are refused for the body as a whole, with the place in it."""
    me = prepare(bounds)

    def send(method, operation, target):
        wrong = []
        for name in target.parameters:
            body = {**target.body, name: "x"}
            form = urllib.parse.urlencode({key: value for key, value in body.items() if key != name})
            answers = {
                "JSON": me.send(method, target.path, spoiled(body, name, b'"a\xffb"'), JSON),
                "surrogate": me.send(method, target.path, spoiled(body, name, b'"a\xed\xa0\x80b"'), JSON),
                "overlong": me.send(method, target.path, spoiled(body, name, b'"a\xc0\xafb"'), JSON),
                "U+0000": me.send(method, target.path, spoiled(body, name, b'"a\\u0000b"'), JSON),
                "half of a pair": me.send(method, target.path, spoiled(body, name, b'"a\\ud800b"'), JSON),
                "form": me.send(method, target.path, f"{form}&{name}=a%FFb", FORM),
                "form with U+0000": me.send(method, target.path, f"{form}&{name}=a%00b", FORM),
                "query": me.send(method, f"{target.path}?{name}=a%FFb"),
                "query with U+0000": me.send(method, f"{target.path}?{name}=a%00b"),
            }
            wrong += [f"{operation} {name} {what}: {answer}" for what, answer in answers.items()
                      if answer.status != 400 or answer.json()["code"] not in ("bad_json", "bad_text")]
        return wrong

    with_target(me, send)


def test_unknown_and_repeated_fields(bounds):
    """With strict handling both are refused. Without it the last one of a repeated field counts."""
    me = prepare(bounds)
    strict = {**JSON, "Prefer": "handling=strict"}

    def send(method, operation, target):
        answer = me.send(method, target.path, json.dumps({**target.body, "colour": 1}), strict)
        wrong = [f"{operation} colour: {problem}" for problem in [problem_with(answer, {"colour"})] if problem]
        for name, all_values in target.parameters.items():
            bad = next(value for value in all_values[0].bad if value is not None)
            body = body_with(target, name, all_values[0], bad)
            again = json.dumps(name).encode() + b": " + json.dumps(bad).encode()
            twice = spoiled(body, name, b'"nb-7", ' + again)
            problem = problem_with(me.send(method, target.path, twice, JSON), set(all_values[0].fields) or {name})
            answer = me.send(method, target.path, twice, strict)
            if answer.status != 400 or answer.json()["code"] != "bad_json":
                problem += f" strict: {answer}"
            if problem:
                wrong.append(f"{operation} {name} twice: {problem}")
        return wrong

    with_target(me, send)


def test_wrong_values_in_ranges_and_router_of_a_new_network(bounds):
    me = prepare(bounds)
    inner = {"ranges/0": (NEW_RANGE, without(RANGE, "network", "network_id"), lambda item: {"ranges": [item]}),
             "router": (NEW_ROUTER, without(ROUTER, "network", "network_id"), lambda item: {"router": item})}
    required = ("name", "first", "last", "address")

    def is_wrong(name, value):
        """Null keeps the default, and the new network has no range of that name."""
        return (value is not None or name in required) and (name != "name" or str(value).lower() != "host")

    def send():
        wrong = []
        for place, (base, parameters, wrapped) in inner.items():
            for name, values in [(name, values) for name, all_values in parameters.items() for values in all_values]:
                fields = {f"{place}/{field}" for field in set(values.fields) or {name}}
                for bad in [value for value in values.bad if is_wrong(name, value)]:
                    body = {"name": "nb-made", "conduit": "7g0", **wrapped({**base, **values.needs, name: bad})}
                    problem = problem_with(me.ask("POST", "networks", body), fields)
                    if problem:
                        wrong.append(f"{place}/{name}={abridged(bad)}: {problem}")
        return wrong

    make_network(me)
    wrong = unchanged(me, "POST networks", send)
    drop_network(me, None)
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong)


def test_one_wrong_element_refuses_all_of_an_array(bounds):
    me = prepare(bounds)
    good = {"node": NODE_NAME, "network": "nb-allocate"}
    single = {"networks": {"name": "nb-made", "conduit": "8g0"}, "network_ranges": NEW_RANGE,
              "network_routers": NEW_ROUTER, "dns_name_filters": NEW_FILTER}

    def send():
        refused = me.ask("POST", "network_allocations",
                         [good, {"node": NODE_NAME, "network": 1.5}, {**good, "address": 7}])
        named = [problem["field"] for problem in refused.json()["problems"]]
        assert refused.status in (400, 404) and named == ["1.network", "2.address"], refused
        refused = me.ask("POST", "network_allocations", [good, {**good, "address": "10.66.3.21"}])
        assert problem_with(refused, {"1.address"}) == "", refused
        for noun, body in single.items():
            refused = me.ask("POST", noun, [body])
            assert refused.status == 400 and refused.json()["code"] == "bad_json", refused
        return []

    make_addresses(me)
    assert unchanged(me, "POST network_allocations", send) == []
    drop_addresses(me, None)
