# Prints the present configuration as lines that commands.awk can restore.
#
#   awk -f machine.awk -f snapshot.awk what=links FILE ...
END {
    OFS = "\t"
    for (i = 1; i <= device_count; i++) {
        device = devices[i]
        print is_up[device] ? "link" : "idle", device
        if (kind[device] == "bond")
            print "bond", device, mode[device]
        if (kind[device] == "vlan")
            print "vlan", device, base[device], vlan_id[device]
        if (kind[device] == "bridge")
            print "bridge", device
        if (!(device in master))
            print "free", device
        else if (kind[master[device]] == "bond")
            print "member", device, master[device]
        else if (kind[master[device]] == "bridge")
            print "port", device, master[device]
    }
    for (i = 1; i <= found; i++)
        print "address", found_cidr[i], found_device[i], lifetime[i]
    for (i = 1; i <= routes; i++)
        print "keep", route_family[i], route_text[i]
}
