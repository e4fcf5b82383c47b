# Reads the present configuration of the machine; used together with commands.awk or snapshot.awk.
#
#   what=links       ip -d -o link show
#   what=addresses   ip -o address show
#   what=routes4     ip -4 route show table main
#   what=routes6     ip -6 route show table main
#
# Only addresses of scope global or site count, without those that the kernel derives from router
# advertisements and without peers; routes without those that the kernel or a router advertisement
# added.
what == "links" {
    line = $0
    device = $2
    sub(/:$/, "", device)
    lower_device = ""
    if (device ~ /@/) {
        lower_device = device
        sub(/^[^@]*@/, "", lower_device)
        sub(/@.*/, "", device)
    }
    devices[++device_count] = device
    exists[device] = 1
    flags = $3
    gsub(/[<>]/, ",", flags)
    is_up[device] = index(flags, ",UP,") > 0
    for (i = 4; i < NF; i++) {
        if ($i == "master" && !(device in master))
            master[device] = $(i + 1)
        if ($i == "bond" && $(i + 1) == "mode") {
            kind[device] = "bond"
            mode[device] = $(i + 2)
        }
        if ($i == "miimon" && kind[device] == "bond")
            miimon[device] = $(i + 1)
        if ($i == "vlan" && $(i + 1) == "protocol") {
            kind[device] = "vlan"
            base[device] = lower_device
        }
        if ($i == "id" && kind[device] == "vlan" && !(device in vlan_id))
            vlan_id[device] = $(i + 1)
        if ($i == "bridge" && $(i + 1) == "forward_delay")
            kind[device] = "bridge"
    }
    next
}
what == "addresses" {
    text = $0
    if ((text !~ / scope global/ && text !~ / scope site/) || text ~ / mngtmpaddr/ ||
        text ~ / temporary/ || text ~ / kernel_ra/ || $5 == "peer")
        next
    found_device[++found] = $2
    found_cidr[found] = $4
    is_secondary[found] = text ~ / secondary/
    lifetime[found] = ""
    if (text ~ /valid_lft [0-9]+sec/) {
        sub(/.*valid_lft /, "valid_lft ", text)
        gsub(/ +$/, "", text)
        gsub(/sec/, "", text)
        lifetime[found] = text
    }
    next
}
what == "routes4" || what == "routes6" {
    if ($0 ~ / proto (kernel|ra)( |$)/ || $0 ~ /^(multicast|broadcast|local|anycast) /)
        next
    text = $0
    gsub(/ (linkdown|dead|offload|rt_offload|trap)( |$)/, " ", text)
    sub(/ expires -?[0-9]+sec/, "", text)
    gsub(/ +$/, "", text)
    if (text !~ / dev /) # A route with several next hops is printed on several lines.
        next
    route_text[++routes] = text
    route_family[routes] = what == "routes4" ? 4 : 6
    route_device[routes] = text
    sub(/.* dev /, "", route_device[routes])
    sub(/ .*/, "", route_device[routes])
    next
}
