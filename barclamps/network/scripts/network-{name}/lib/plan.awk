# Resolves the conduits of one network and prints the devices and addresses that it needs, one a
# line. It changes nothing and reads nothing of the machine itself.
#
#   awk -v network=NAME -v product=PRODUCT -f plan.awk what=interfaces FILE what=attributes FILE
#
# interfaces: name, path of buses, port, maximum speed in Mbit/s or "unknown"; in their final order.
# attributes: output of flat_attributes for crowbar/network/NAME.
#
# The lines, with fields separated by TAB:
#
#   link IF               a physical interface, up
#   bond BOND MODE        MODE as ip names it
#   member IF BOND
#   vlan DEVICE BASE ID
#   bridge BRIDGE
#   port DEVICE BRIDGE
#   address CIDR DEVICE
#   route 4|6 GATEWAY DEVICE PREF
#
# Errors are printed to standard error; the exit status is then 1.
function fail(text) {
    print "network " network ": " text > "/dev/stderr"
    failed = 1
}
function speed_text(mbit) {
    return mbit == "unknown" ? "speed unknown" : mbit >= 1000 ? mbit / 1000 "g" : mbit "m"
}
# The highest speed of the ladder that is not above the maximum of the interface, because a conduit
# cannot name speeds between, as 2.5 Gbit/s.
function ladder_position(mbit,   i) {
    if (mbit == "unknown")
        return 0
    for (i = steps; i > 0 && ladder[i] > mbit + 0; i--)
        ;
    return i
}
function found_text(   i, text) {
    for (i = 0; i < interfaces; i++)
        text = text (i ? ", " : "") name[i] " (" path[i] ", " speed_text(speed[i]) ")"
    return interfaces ? text : "none"
}
# Sets wanted_step, wanted_sign and wanted_index[1..members] from the conduit; 0 if it is invalid.
function parse_conduit(conduit,   i, member, parts, count, sign, mbit, k) {
    gsub(/[ \t]/, "", conduit)
    count = split(conduit, parts, ",")
    for (i = 1; i <= count; i++) {
        member = parts[i]
        if (member !~ /^[-+?]?[0-9][0-9]?[0-9]?[mg][0-9]+$/) {
            fail("\"" member "\" of the conduit \"" conduit "\" is not an interface: expected an " \
                "optional sign, a speed and an index, as 1g0 or +1g0; change the conduit")
            return 0
        }
        sign = ""
        if (member ~ /^[-+?]/) {
            sign = substr(member, 1, 1)
            member = substr(member, 2)
        }
        mbit = member + 0
        if (member ~ /^[0-9]+g/)
            mbit *= 1000
        sub(/^[0-9]+[mg]/, "", member)
        if (i == 1) {
            wanted_sign = sign
            wanted_mbit = mbit
        } else if (sign != wanted_sign || mbit != wanted_mbit) {
            fail("the members of the conduit \"" conduit "\" have different speeds or signs; change " \
                "the conduit")
            return 0
        }
        for (k = 1; k < i; k++)
            if (wanted_index[k] == member + 0) {
                fail("the conduit \"" conduit "\" names an interface twice; change the conduit")
                return 0
            }
        wanted_index[i] = member + 0
    }
    wanted_step = 0
    for (i = 1; i <= steps; i++)
        if (ladder[i] == wanted_mbit)
            wanted_step = i
    if (count && !wanted_step)
        fail("no interface has the speed " speed_text(wanted_mbit) " of the conduit \"" conduit \
            "\"; speeds are 10m 100m 1g 10g 25g 40g 50g 100g 200g 400g")
    return wanted_step ? count : 0
}
# Candidates in the order in which they are tried; the requested speed is always the first.
function list_candidates(   i) {
    candidates = 0
    candidate[++candidates] = wanted_step
    if (wanted_sign == "+" || wanted_sign == "?")
        for (i = wanted_step + 1; i <= steps; i++)
            candidate[++candidates] = i
    if (wanted_sign == "-" || wanted_sign == "?")
        for (i = wanted_step - 1; i >= 1; i--)
            candidate[++candidates] = i
}
# Sets chosen[1..] to positions in the list of interfaces and returns their number; 0 after an error.
function resolve(conduit,   count, c, i, k, equal, of_speed) {
    count = parse_conduit(conduit)
    if (!count)
        return 0
    list_candidates()
    for (c = 1; c <= candidates; c++) {
        equal = 0
        for (i = 0; i < interfaces; i++)
            if (ladder_position(speed[i]) == candidate[c])
                of_speed[equal++] = i
        for (k = 1; k <= count && wanted_index[k] < equal; k++)
            chosen[k] = of_speed[wanted_index[k]]
        if (k > count)
            return count
    }
    fail("no interface matches the conduit \"" conduit "\"; interfaces in bus order: " found_text() \
        "; product: \"" product "\". Change the conduit of the network or of its range, or the " \
        "interface map of this product; for an interface whose speed is unknown, install ethtool " \
        "or connect its cable")
    return 0
}
# The kernel limits names to 15 bytes. The position of the interface makes the short form unique.
function device_name(prefix, device, suffix, position) {
    if (length(prefix device suffix) <= 15)
        return prefix device suffix
    return prefix "if" position suffix
}
function put(line) {
    if (!(line in printed)) {
        printed[line] = 1
        lines[++line_count] = line
    }
}
# Prints the devices from the physical interfaces up, and returns the last one.
function build_stack(key, count,   i, device, position, bond, vlan, bridge, mode) {
    position = chosen[1]
    device = name[position]
    for (i = 1; i <= count; i++)
        put("link\t" name[chosen[i]])
    if (count > 1) {
        mode = value[key "team_mode"]
        if (!(mode in bond_mode)) {
            fail("team_mode \"" mode "\" is not a bonding mode: set it to 0 to 6")
            return ""
        }
        # Not bond0: the bonding module creates a device of that name when it is loaded.
        bond = device_name("bond-", device, "", position)
        put("bond\t" bond "\t" bond_mode[mode])
        for (i = 1; i <= count; i++)
            put("member\t" name[chosen[i]] "\t" bond)
        device = bond
    }
    if (value[key "use_vlan"] == "true") {
        if (value[key "vlan"] !~ /^[0-9]+$/ || value[key "vlan"] < 1 || value[key "vlan"] > 4094) {
            fail("\"" value[key "vlan"] "\" is not a VLAN id: set vlan to 1 to 4094")
            return ""
        }
        vlan = device_name("", device, "." value[key "vlan"], position)
        put("vlan\t" vlan "\t" device "\t" value[key "vlan"])
    }
    if (value[key "use_bridge"] == "true") {
        bridge = vlan != "" ? "br" value[key "vlan"] : device_name("br-", device, "", position)
        put("bridge\t" bridge)
        put("port\t" (vlan != "" ? vlan : device) "\t" bridge)
        return bridge
    }
    return vlan != "" ? vlan : device
}
function put_route(key, device,   gateway, i) {
    gateway = value[key "router/address"]
    sub(/\/.*/, "", gateway)
    if (gateway == "" || value[key "router/pref"] !~ /^[0-9]+$/)
        return
    for (i = 1; i <= addresses; i++) # The router of the network may be this machine itself.
        if (index(address[i], gateway "/") == 1)
            return
    put("route\t" (gateway ~ /:/ ? 6 : 4) "\t" gateway "\t" device "\t" value[key "router/pref"])
}
BEGIN {
    FS = "\t"
    steps = split("10 100 1000 10000 25000 40000 50000 100000 200000 400000", ladder, " ")
    for (i = 1; i <= steps; i++)
        ladder[i] += 0
    split("balance-rr active-backup balance-xor broadcast 802.3ad balance-tlb balance-alb", modes, " ")
    for (i = 0; i <= 6; i++)
        bond_mode[i ""] = modes[i + 1]
}
what == "interfaces" {
    name[interfaces + 0] = $1
    path[interfaces + 0] = $2
    speed[interfaces + 0] = $4
    interfaces++
    next
}
{
    value[$1] = $2
    if ($1 ~ /^addresses\/[0-9]+$/)
        address[++addresses] = $2
}
END {
    interfaces += 0
    for (i = 1; i <= addresses && value["configure"] != "false"; i++) {
        escaped = address[i]
        sub(/\//, "%2F", escaped)
        key = "config/" escaped "/"
        if (address[i] !~ /^[0-9a-f.:]+\/[0-9]+$/) {
            fail("\"" address[i] "\" is not an address with a prefix length")
            continue
        }
        if (value[key "conduit"] == "") {
            fail("the address " address[i] " has no conduit in the staged data (" key "conduit)")
            continue
        }
        if (value[key "conduit"] == "bmc" || value[key "configure"] == "false")
            continue
        if (value[key "pbr"] != "")
            print "network " network ": routing by source address (pbr) is not configured by this " \
                "version; the address " address[i] " uses the main routing table" > "/dev/stderr"
        count = resolve(value[key "conduit"])
        if (!count)
            continue
        device = build_stack(key, count)
        put("address\t" address[i] "\t" device)
        put_route(key, device)
    }
    if (failed)
        exit 1
    for (i = 1; i <= line_count; i++)
        print lines[i]
}
