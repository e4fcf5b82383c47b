# Adds a sort key to each interface. The order of interfaces is the order of the first interface map
# that matches the product; interfaces that the map does not name follow, by bus address.
#
#   awk -f order.awk what=map MAP what=interfaces INTERFACES | sort
#
# MAP has one path of buses per line, as "0000:00/0000:00:1c.0/0000:01:00.0". It matches an interface
# if its components are the first ones of the interface's path; a component without a function
# number ("0000:00:1c") matches all functions of that device.
# INTERFACES and the result have the fields (separated by TAB): name, path of buses, port of the
# device, maximum speed in Mbit/s or "unknown"; the result has the key before them.
function same_component(wanted, found) {
    if (wanted !~ /\./)
        sub(/\.[^.]*$/, "", found)
    return wanted == found
}
function map_position(path,   i, k, count, wanted, parts, found) {
    count = split(path, found, "/")
    for (i = 1; i <= entries; i++) {
        parts = split(entry[i], wanted, "/")
        for (k = 1; k <= parts && k <= count; k++)
            if (!same_component(wanted[k], found[k]))
                break
        if (parts > 0 && k > parts)
            return i
    }
    return 99999
}
BEGIN { FS = OFS = "\t" }
what == "map" {
    sub(/^pci/, "", $1)
    entry[++entries] = $1
    next
}
{
    # A PCI function precedes devices behind a further bus (USB): these have no PCI address of their
    # own. The address is the last component, the rest of the path only says behind which bridges.
    count = split($2, component, "/")
    is_pci = component[count] ~ /^[0-9a-f]+:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f]\.[0-9a-f]+$/
    printf "%05d\t%d\t%s\t%05d\t%s\n", map_position($2), is_pci ? 0 : 1,
        is_pci ? component[count] : $2, $3, $0
}
