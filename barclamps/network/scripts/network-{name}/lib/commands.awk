# Compares the wanted configuration with the present one and prints the arguments of the ip commands
# that are missing, one command a line; nothing, if there is no difference. It changes nothing.
#
#   awk -v restore=0|1 -f machine.awk -f commands.awk what=wanted FILE what=dropped FILE \
#       what=links FILE what=addresses FILE what=routes4 FILE what=routes6 FILE
#
# wanted has the lines of merge.awk, or with restore=1 those of snapshot.awk. dropped has the lines
# of an earlier configuration; what is there and is not wanted is removed, everything else on the
# machine stays. Conditions that only an administrator can resolve are printed as "refuse TEXT".
#
# The order of the commands matters: an address leaves an interface before the interface becomes a
# member of a bond or a port of a bridge, and is added to the uppermost device when that is up;
# routes follow, because their gateways are reached through the addresses. Addresses and routes that
# others configured, for example a DHCP client, move with the interface, so that connections that
# use them continue. Some commands have side effects (a removed primary address removes the other
# addresses of its subnet); therefore the caller repeats the comparison until nothing is printed.
function tabs(text, into) { return split(text, into, "\t") }
function emit(text) { print text }
function ip_of(cidr) { sub(/\/.*/, "", cidr); return cidr }
function upper(device,   levels) {
    while (device in want_master && levels++ < 8)
        device = want_master[device]
    return device
}
function is_dropped(device) { return device in drop_kind && exists[device] && !(device in want_kind) }
# The device that carries the untagged traffic of a device that is removed; empty for a VLAN.
function heir(device,   i, levels) {
    while (is_dropped(device) && levels++ < 8) {
        if (kind[device] == "vlan")
            return ""
        for (i = 1; i <= device_count; i++)
            if (master[devices[i]] == device)
                break
        if (i > device_count)
            return ""
        device = devices[i]
    }
    return upper(device)
}
# A bond closes the members that it releases.
function release(device) {
    if (kind[master[device]] == "bond")
        is_up[device] = 0
    delete master[device]
}
# The device is removed: forget what was on it.
function lose(device,   i) {
    delete exists[device]
    delete master[device]
    is_up[device] = 0
    for (i = 1; i <= found; i++)
        if (found_device[i] == device)
            found_device[i] = ""
    for (i = 1; i <= routes; i++)
        if (route_device[i] == device)
            route_device[i] = ""
    for (i = 1; i <= device_count; i++) {
        if (master[devices[i]] == device)
            release(devices[i])
        if (base[devices[i]] == device && kind[devices[i]] == "vlan")
            lose(devices[i])
    }
    delete kind[device]
}
function add_later(cidr, device, more) {
    if (device != "" && !((cidr, device) in want_address)) {
        want_address[cidr, device] = more
        address_line[++address_lines] = cidr SUBSEP device
    }
}
# The kernel removes the secondary addresses of a subnet with the primary one, so those that stay on
# the device are added again.
function remove_address(i,   k) {
    if (!is_dropped(found_device[i])) {
        emit("address del " found_cidr[i] " dev " found_device[i])
        for (k = 1; k <= found && !is_secondary[i]; k++)
            if (is_secondary[k] && found_device[k] == found_device[i])
                may_be_lost[k] = 1
    }
    found_device[i] = ""
}

# ---- phases ----

# Addresses of earlier plans that no plan has any more, addresses that are wanted elsewhere, and
# addresses of others on a device that gets a master or is removed.
function move_addresses(   i, device, target) {
    for (i = found; i >= 1; i--) { # secondary addresses before their primary one
        device = found_device[i]
        if (device == "" || (found_cidr[i], device) in want_address)
            continue
        if ((found_cidr[i], device) in drop_address || ip_of(found_cidr[i]) in want_ip) {
            remove_address(i)
            continue
        }
        if (restore)
            continue
        target = is_dropped(device) ? heir(device) : upper(device)
        if (target != device) {
            add_later(found_cidr[i], target, lifetime[i])
            remove_address(i)
        }
    }
}
function is_plain_default(i) {
    return route_text[i] ~ /^default / &&
        (route_family[i] == 4 ? route_text[i] !~ / metric / : route_text[i] ~ / metric 1024( |$)/)
}
function route_is_default(i, family, gateway, device) {
    return route_device[i] == device && route_family[i] == family && is_plain_default(i) &&
        index(route_text[i] " ", " via " gateway " ") > 0
}
function move_routes(   i, device, target, text, k, part) {
    for (k in drop_route) {
        tabs(k, part)
        for (i = 1; i <= routes; i++)
            if (!(k in want_route) && route_is_default(i, part[1], part[2], part[3])) {
                if (!is_dropped(part[3]))
                    emit("-" part[1] " route del default via " part[2] " dev " part[3])
                route_device[i] = ""
            }
    }
    for (i = 1; i <= routes && !restore; i++) {
        device = route_device[i]
        if (device == "")
            continue
        target = is_dropped(device) ? heir(device) : upper(device)
        if (target == device)
            continue
        text = route_text[i] " "
        if (!is_dropped(device))
            emit("-" route_family[i] " route del " route_text[i])
        route_device[i] = ""
        if (target == "" || (is_plain_default(i) && want_default[route_family[i]]))
            continue
        k = index(text, " dev " device " ")
        text = substr(text, 1, k) "dev " target substr(text, k + length(" dev " device))
        sub(/ +$/, "", text)
        moved_route[++moved_routes] = "-" route_family[i] " route replace " text
    }
}
function delete_devices(   order, i, kinds) {
    split("bridge vlan bond", kinds, " ")
    for (order = 1; order <= 3; order++)
        for (i = 1; i <= device_count; i++)
            if (is_dropped(devices[i]) && kind[devices[i]] == kinds[order]) {
                emit("link del " devices[i])
                lose(devices[i])
            }
}
function set_bond(device, wanted,   i) {
    if (exists[device] && !restore && miimon[device] != 100)
        emit("link set " device " type bond miimon 100")
    if (exists[device] && mode[device] == wanted)
        return
    if (!exists[device]) {
        emit("link add " device " type bond mode " wanted " miimon 100")
        exists[device] = 1
        return
    }
    # The mode of a bond can be changed only while it is down and has no members.
    for (i = 1; i <= device_count; i++)
        if (master[devices[i]] == device) {
            emit("link set " devices[i] " nomaster")
            release(devices[i])
        }
    emit("link set " device " down")
    emit("link set " device " type bond mode " wanted)
    is_up[device] = 0
}
function set_vlan(device, below, id) {
    if (exists[device] && (base[device] != below || vlan_id[device] != id)) {
        emit("link del " device)
        lose(device)
    }
    if (!exists[device])
        emit("link add link " below " name " device " type vlan id " id)
    exists[device] = 1
}
# With a forward delay of 0 a port forwards at once; otherwise the connection is interrupted for 30 s.
function set_bridge(device) {
    if (!exists[device])
        emit("link add " device " type bridge forward_delay 0 stp_state 0")
    exists[device] = 1
}
function set_master(device, wanted, is_member) {
    if (master[device] == wanted)
        return
    if (is_member && is_up[device])
        emit("link set " device " down")
    emit("link set " device " master " wanted)
    if (is_member) # bonding opens its members
        is_up[device] = 1
    master[device] = wanted
}
function set_up(device) {
    if (!is_up[device])
        emit("link set " device " up")
    is_up[device] = 1
}
function with_broadcast(cidr) { return cidr ~ /:/ || cidr ~ /\/3[12]$/ ? cidr : cidr " brd +" }
function add_addresses(   i, part, cidr) {
    for (i = 1; i <= found; i++)
        if (may_be_lost[i] && found_device[i] != "")
            emit("address replace " with_broadcast(found_cidr[i]) " dev " found_device[i] \
                (lifetime[i] == "" ? "" : " " lifetime[i]))
    for (i = 1; i <= address_lines; i++) {
        split(address_line[i], part, SUBSEP)
        cidr = part[1]
        if ((cidr, part[2]) in present)
            continue
        emit("address add " with_broadcast(cidr) " dev " part[2] \
            (want_address[cidr, part[2]] == "" ? "" : " " want_address[cidr, part[2]]))
    }
}
function add_routes(   i, k, part, is_present) {
    for (i = 1; i <= moved_routes; i++)
        emit(moved_route[i])
    for (i = 1; i <= route_lines; i++) {
        tabs(route_line[i], part)
        is_present = 0
        for (k = 1; k <= routes; k++)
            if (route_is_default(k, part[1], part[2], part[3]))
                is_present = 1
        if (!is_present)
            emit("-" part[1] " route replace default via " part[2] " dev " part[3])
    }
    for (i = 1; i <= keeps; i++) {
        is_present = 0
        for (k = 1; k <= routes; k++)
            if (route_device[k] != "" && route_family[k] == keep_family[i] &&
                route_text[k] == keep_text[i])
                is_present = 1
        if (!is_present)
            emit("-" keep_family[i] " route replace " keep_text[i])
    }
}
# What only an administrator can resolve: a name that another kind of device has, and an interface
# that belongs to a device that no network of this installation made.
function refuse_foreign(   i, device, owner, refused) {
    for (i = 1; i <= device_count; i++) {
        device = devices[i]
        if (device in want_kind && want_kind[device] != "link" && kind[device] != want_kind[device]) {
            emit("refuse " device " exists and is not a " want_kind[device] "; remove or rename it")
            refused = 1
        }
        owner = master[device]
        if (owner != "" && !(owner in want_kind) && !(owner in drop_kind) &&
            (device in want_master || device in has_address)) {
            emit("refuse " device " belongs to " owner ", which no network made; remove " owner \
                ", or change the conduit")
            refused = 1
        }
    }
    return refused
}
what == "wanted" || what == "dropped" {
    tabs($0, field)
    is_wanted = what == "wanted"
    if (field[1] ~ /^(link|bond|vlan|bridge)$/) {
        if (is_wanted && !(field[2] in want_kind && field[1] == "link"))
            want_kind[field[2]] = field[1]
        if (!is_wanted && field[1] != "link")
            drop_kind[field[2]] = field[1]
    }
    if (is_wanted && field[1] ~ /^(member|port)$/)
        want_master[field[2]] = field[3]
    if (is_wanted && field[1] !~ /^(address|route|keep)$/)
        wanted_line[++wanted_lines] = $0
    if (field[1] == "address" && is_wanted) {
        add_later(field[2], field[3], field[4])
        want_ip[ip_of(field[2])] = 1
        has_address[field[3]] = 1
    } else if (field[1] == "address")
        drop_address[field[2], field[3]] = 1
    if (field[1] == "route" && is_wanted) {
        route_line[++route_lines] = field[2] "\t" field[3] "\t" field[4]
        want_route[route_line[route_lines]] = 1
        want_default[field[2]] = 1
    } else if (field[1] == "route")
        drop_route[field[2] "\t" field[3] "\t" field[4]] = 1
    if (is_wanted && field[1] == "keep") {
        keep_family[++keeps] = field[2]
        keep_text[keeps] = field[3]
    }
    next
}
END {
    if (!restore && refuse_foreign())
        exit
    move_routes()
    move_addresses()
    delete_devices()
    # Devices in the order of the lines: bonds, members, VLANs, bridges, ports. A snapshot has the
    # order of the kernel, so everything that is created comes before what refers to it.
    for (i = 1; i <= wanted_lines; i++) {
        tabs(wanted_line[i], field)
        if (field[1] == "free" && master[field[2]] != "") {
            emit("link set " field[2] " nomaster")
            release(field[2])
        }
        if (field[1] == "bond")
            set_bond(field[2], field[3])
        if (field[1] == "bridge")
            set_bridge(field[2])
    }
    for (i = 1; i <= wanted_lines; i++) {
        tabs(wanted_line[i], field)
        if (field[1] == "member")
            set_master(field[2], field[3], 1)
    }
    for (i = 1; i <= wanted_lines; i++) {
        tabs(wanted_line[i], field)
        if (field[1] == "vlan")
            set_vlan(field[2], field[3], field[4])
    }
    for (i = 1; i <= wanted_lines; i++) {
        tabs(wanted_line[i], field)
        if (field[1] == "port")
            set_master(field[2], field[3], 0)
    }
    for (i = 1; i <= wanted_lines; i++) {
        tabs(wanted_line[i], field)
        if (field[1] == "idle" && is_up[field[2]])
            emit("link set " field[2] " down")
        if (field[1] == "link" || (!restore && field[1] ~ /^(bond|vlan|bridge)$/))
            set_up(field[2])
    }
    for (i = 1; i <= found; i++)
        if (found_device[i] != "")
            present[found_cidr[i], found_device[i]] = 1
    add_addresses()
    add_routes()
}
