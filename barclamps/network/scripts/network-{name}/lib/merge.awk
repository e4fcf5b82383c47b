# Merges the plans of all networks of this machine into one. The plan that is read first is that of
# the network that is being configured, and has precedence: a plan of another network may be older
# than a change that concerns both, and is replaced when that network is configured.
#
#   awk -f merge.awk PLAN...
#
# An interface has one master, a bridge one port, a bond one mode. An address or a route of a device
# that has a master belongs to the uppermost device of its stack, because a port receives no IP
# packets itself. Of all routers with a preference below 10000 the lowest of each family is the
# default route; the line is then "route FAMILY GATEWAY DEVICE".
function upper(device,   levels) {
    while (device in master && levels++ < 8)
        device = master[device]
    return device
}
function ignore_line() {
    print "ignored, because it contradicts another network of this machine: " $0 > "/dev/stderr"
}
function put(order, line) {
    if (!((order, line) in printed)) {
        printed[order, line] = 1
        lines[order, ++count[order]] = line
    }
}
BEGIN { FS = OFS = "\t"; limit = 10000 }
$1 == "link" { put(1, $0) }
$1 == "bond" {
    if ($2 in mode && mode[$2] != $3) { ignore_line(); next }
    mode[$2] = $3
    put(2, $0)
}
$1 == "member" || $1 == "port" {
    if (($2 in master && master[$2] != $3) || ($1 == "port" && $3 in port && port[$3] != $2)) {
        ignore_line()
        next
    }
    master[$2] = $3
    if ($1 == "port")
        port[$3] = $2
    put($1 == "member" ? 3 : 6, $0)
}
$1 == "vlan" {
    if ($2 in base && base[$2] != $3) { ignore_line(); next }
    base[$2] = $3
    put(4, $0)
}
$1 == "bridge" { put(5, $0) }
$1 == "address" { cidr[++addresses] = $2; device[addresses] = $3 }
$1 == "route" && $5 + 0 < limit && (!($2 in pref) || $5 + 0 < pref[$2]) {
    pref[$2] = $5 + 0
    gateway[$2] = $3
    through[$2] = $4
}
END {
    for (i = 1; i <= addresses; i++)
        put(7, "address\t" cidr[i] "\t" upper(device[i]))
    for (family = 4; family <= 6; family += 2)
        if (family in pref)
            put(8, "route\t" family "\t" gateway[family] "\t" upper(through[family]))
    for (order = 1; order <= 8; order++)
        for (i = 1; i <= count[order]; i++)
            print lines[order, i]
}
