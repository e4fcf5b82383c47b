"""Networks, ranges, addresses and names on the command line, and the proposal of the first network.

The proposal is tried in a network namespace of its own, with an interface that the test makes.
"""
import json
import os
import shutil
import subprocess

from test_nouns import FAILED, NOT_AGREED, NOT_FOUND, OK, REFUSED, USAGE, node, rows


def network(bench, name, third, *fields):
    ranges = [{"name": "host", "first": f"10.17.{third}.10/24", "last": f"10.17.{third}.14/24"}]
    return bench.says("networks", "create", f"name={name}", "conduit=1g0", "ranges:=" + json.dumps(ranges), *fields)


def test_networks_ranges_and_routers_are_tables(bench):
    (row,) = rows(network(bench, "cn-one", 1, "category=storage"))
    assert row["NAME"] == "cn-one" and row["CATEGORY"] == "storage" and row["DEPLOYMENT"] == "system", row
    (row,) = rows(bench.says("ranges", "list", "--filter", "network_id=" + str(json.loads(
        bench.says("network", "show", "cn-one", "-o", "json"))["id"])))
    assert row["NAME"] == "cn-one.host" and row["FIRST"] == "10.17.1.10/24" and row["CONDUIT"] == "1g0", row
    assert bench.says("ranges", "show", "cn-one.host", "-q") == "cn-one.host\n"
    (row,) = rows(bench.says("ranges", "update", "cn-one.host", "vlan:=7", "use_vlan=true"))
    assert row["VLAN"] == "7" and row["USE VLAN"] == "true", row
    (row,) = rows(bench.says("routers", "create", "network=cn-one", "address=10.17.1.1/24"))
    assert row["NETWORK"] == "cn-one" and row["ADDRESS"] == "10.17.1.1/24" and row["PREF"] == "65536", row
    assert bench.online("routers", "create", "network=cn-one").status == REFUSED
    (row,) = rows(bench.says("routers", "update", "cn-one", "pref:=5"))
    assert row["PREF"] == "5", row
    assert bench.online("routers", "destroy", "cn-one").status == OK
    answer = bench.online("networks", "create", "name=cn-bad", "conduit=cow", "colour=red")
    assert answer.status == REFUSED and "colour" in answer.err, answer


def test_addresses_are_allocated_listed_and_freed(bench):
    network(bench, "cn-addr", 2)
    node(bench, "cn-addr.example.com")
    (row,) = rows(bench.says("allocations", "create", "node=cn-addr.example.com", "network=cn-addr"))
    assert row["ADDRESS"] == "10.17.2.10/24" and row["NODE"] == "cn-addr.example.com", row
    assert row["NETWORK RANGE"] == "cn-addr.host", row
    (row,) = rows(bench.says("nodes", "addresses", "cn-addr.example.com"))
    assert row == {"NETWORK": "cn-addr", "CATEGORY": "general", "ADDRESS": "10.17.2.10/24"}, row
    assert bench.says("nodes", "addresses", "cn-addr.example.com", "-q") == "10.17.2.10/24\n"
    (said,) = json.loads(bench.says("nodes", "addresses", "cn-addr.example.com", "-o", "json"))
    assert said["addresses"] == ["10.17.2.10/24"] and said["node"] == "cn-addr.example.com", said
    assert bench.says("allocations", "show", "10.17.2.10", "-q") == "10.17.2.10/24\n"
    (row,) = rows(bench.says("ranges", "usage", "cn-addr.host"))
    assert row["NETWORK"] == "cn-addr" and row["SIZE"] == "5" and row["ALLOCATED"] == "1" and row["FREE"] == "4", row
    assert bench.online("ranges", "usage", "cn-addr.none").status == NOT_FOUND
    assert bench.online("allocations", "destroy", "10.17.2.10/24").status == OK
    (row,) = rows(bench.says("leases", "list", "--filter", "address=10.17.2.10/24"))
    assert row["STATE"] == "freed" and row["NODE"] == "cn-addr.example.com" and row["MAC"] == "-", row
    bench.says("networks", "create", "name=cn-un", "conduit=1g0", "configure=false",
               'ranges:=[{"name":"host","first":"10.17.3.1/24","last":"10.17.3.2/24"}]')
    answer = bench.online("allocations", "create", "node=cn-addr.example.com", "network=cn-un", "network_range=host")
    assert answer.status == OK and not answer.out and "nothing was created" in answer.err, answer


def test_a_network_with_addresses_is_not_deleted_without_consent(bench):
    network(bench, "cn-del", 4)
    node(bench, "cn-del.example.com")
    bench.says("allocations", "create", "node=cn-del.example.com", "network=cn-del")
    answer = bench.online("networks", "destroy", "cn-del")
    assert answer.status == NOT_AGREED and "cn-del.example.com: 10.17.4.10/24" in answer.err, answer
    assert bench.online("networks", "show", "cn-del").status == OK
    assert bench.online("networks", "destroy", "cn-del", "--yes").status == OK
    assert bench.online("networks", "destroy", "cn-none").status == NOT_FOUND


def test_interfaces_filters_names_and_nics(bench):
    node(bench, "cn-nic-a.example.com", "mac=52:54:00:17:00:01")
    node(bench, "cn-nic-b.example.com")
    (row,) = rows(bench.says("nics", "list", "--filter", "node=cn-nic-a.example.com"))
    assert row["MAC"] == "52:54:00:17:00:01" and row["HINTED"] == "true", row
    (row,) = rows(bench.says("nics", "move", "52-54-00-17-00-01", "cn-nic-b.example.com"))
    assert row["NODE"] == "cn-nic-b.example.com", row
    fields = ["name=cn-f", 'matcher=net.name == "cn-none"', "priority:=1701", "service=system", "template={{node.name}}"]
    (row,) = rows(bench.says("filters", "create", *fields))
    assert row["NAME"] == "cn-f" and row["PRIORITY"] == "1701", row
    assert bench.online("filters", "destroy", "cn-f").status == OK
    assert bench.says("names", "list", "-q", "--filter", "name=cn-none") == ""
    answer = bench.online("interfaces", "list")
    assert answer.status == NOT_FOUND and "network_interface_maps" in answer.err, answer


def test_why_of_a_node_prints_addresses_without_a_name(bench):
    network(bench, "cn-why", 9)
    node(bench, "cn-why.example.com")
    bench.says("allocations", "create", "node=cn-why.example.com", "network=cn-why")
    assert "DNS name" not in bench.says("nodes", "why", "cn-why.example.com")
    for number in range(21):
        fields = [f"name=cn-why{number}", 'matcher=net.name == "cn-why"', f"priority:={1800 + number}", "service=cn-none",
                  "template={{node.name}}"]
        (row,) = rows(bench.says("filters", "create", *fields))
        assert row["HAS SERVICE"] == "false", row
    lines = [line for line in bench.says("nodes", "why", "cn-why.example.com").splitlines() if "DNS name, " in line]
    assert len(lines) == 21 and lines[20] == "DNS name, more filters may give none", lines
    assert lines[0].startswith("DNS name, name_not_served: filter `cn-why0` gives 10.17.9.10 of network `cn-why` no name"), lines
    for number in range(21):
        bench.says("filters", "destroy", f"cn-why{number}")


def test_why_of_a_node_says_that_it_has_more_interfaces_than_are_used(bench):
    macs = ",".join(f'"52:54:00:17:02:{i:02x}"' for i in range(65))
    node(bench, "cn-many.example.com", f'hint:={{"admin_macs": [{macs}]}}')
    said = bench.says("nodes", "why", "cn-many.example.com")
    assert "interfaces, more than 64 MAC addresses are reported; the first 64 are used\n" in said, said
    node(bench, "cn-few.example.com", "mac=52:54:00:17:03:01")
    assert "interfaces, " not in bench.says("nodes", "why", "cn-few.example.com")


MAPS = """
barclamp: {name: cnmaps}
roles:
  - name: cn-maps
    jig: test
    attribs:
      - name: network_interface_maps
        map: crowbar/interface_map
        default: []
        schema: {type: seq, sequence: [{type: any}]}
"""


def test_interface_maps(bench):
    bench.write("cnmaps.yml", MAPS)
    bench.says("barclamps", "upload", "cnmaps.yml")
    bench.says("deployments", "bind", "system", "cn-maps")
    (row,) = rows(bench.says("interfaces", "create", "pattern=Pro.*", "bus_order=a | b"))
    assert row == {"PATTERN": "Pro.*", "BUS ORDER": "a, b"}, row
    (row,) = rows(bench.says("interfaces", "update", "Pro.*", "bus_order=c"))
    assert row["BUS ORDER"] == "c", row
    assert bench.says("interfaces", "list", "-q") == "Pro.*\n"
    assert json.loads(bench.says("interfaces", "list", "-o", "json")) == {"Pro.*": ["c"]}
    assert rows(bench.says("interfaces", "list")) == [{"PATTERN": "Pro.*", "BUS ORDER": "c"}]
    assert bench.online("interfaces", "destroy", "Pro.*").status == OK


# ---- propose ----

NAMESPACE = """
set -e
ip link set lo up
ip link add up0 type veth peer name up1
ip link set up1 up
ip addr add {address} dev up0
ip link set up0 up
{more}
"{program}/halligand" --data "{data}" --listen 127.0.0.1:0 --test-jig --barclamps "{data}/none" \
    --admin-node boss.rack.example.com >"{data}/log" 2>&1 &
daemon=$!
for i in $(seq 300); do [ -s "{data}/listen" ] && break; sleep 0.1; done
export HALLIGAN_URL=$(cat "{data}/listen") HALLIGAN_USER=admin HALLIGAN_PASSWORD=$(cat "{data}/admin.password")
set +e
halligan() {{ "{program}/halligan" "$@" </dev/null; }}
{commands}
status=$?
kill $daemon
wait $daemon
exit $status
"""


def propose(bench, name, address, commands, more=""):
    """Runs the commands on a host with that address on the interface up0."""
    data = os.path.join(bench.folder, name)
    os.makedirs(os.path.join(data, "none"))
    script = NAMESPACE.format(address=address, commands=commands, more=more, data=data, program=bench.build)
    return subprocess.run(["unshare", "-rn", "sh", "-c", script], capture_output=True, text=True, timeout=120,
                          check=False)


def test_a_network_is_proposed_from_an_interface(bench):
    assert shutil.which("unshare") and shutil.which("ip"), "util-linux and iproute2 are required"
    done = propose(bench, "one", "192.168.124.10/24", """
halligan networks propose --interface up0; echo $?
halligan networks propose --interface up0 --yes description=racks
halligan ranges list -o json
halligan routers list
halligan filters list -q
halligan networks propose --interface up0 --yes; echo $?
""", more="ip route add default via 192.168.124.1")
    first, rest = done.stdout.split("\n", 1)
    assert first == str(NOT_AGREED), done
    for words in ("192.168.124.0/24", "range dhcp   192.168.124.12/24  192.168.124.71/24", "rack.example.com"):
        assert words in done.stderr, (words, done)
    table, rest = rest.split("[", 1)
    assert "racks" in table, done
    listed, rest = json.JSONDecoder().raw_decode("[" + rest)[0], rest
    found = {r["name"]: (r["first"], r["last"]) for r in listed}
    assert found == {"admin": ("192.168.124.10/24", "192.168.124.11/24"),
                     "dhcp": ("192.168.124.12/24", "192.168.124.71/24"),
                     "host": ("192.168.124.72/24", "192.168.124.254/24")}, found
    assert "192.168.124.1/24" in rest and "default\n" in rest, done
    assert rest.rstrip().endswith(str(REFUSED)) and "there is a network admin already" in done.stderr, done


def test_a_small_subnet_is_divided_and_a_smaller_one_is_refused(bench):
    done = propose(bench, "small", "10.9.0.17/28", "halligan networks propose --interface up0 --yes && "
                                                  "halligan ranges list")
    table = rows(done.stdout.split("\n", 2)[2])
    assert [(r["NAME"], r["FIRST"], r["LAST"]) for r in table] == [
        ("admin.admin", "10.9.0.17/28", "10.9.0.18/28"), ("admin.dhcp", "10.9.0.19/28", "10.9.0.21/28"),
        ("admin.host", "10.9.0.22/28", "10.9.0.30/28")], done
    done = propose(bench, "tiny", "10.9.0.17/29", "halligan networks propose --interface up0 --yes")
    assert done.returncode == FAILED and "/28 or a larger one" in done.stderr, done


def test_what_cannot_be_proposed(bench):
    assert bench.online("networks", "propose").status == USAGE
    answer = bench.online("networks", "propose", "--interface", "lo", "--yes")
    assert answer.status == FAILED and "loopback" in answer.err, answer
    answer = bench.online("networks", "propose", "--interface", "no-such-if", "--yes")
    assert answer.status == FAILED and "no such interface" in answer.err, answer
