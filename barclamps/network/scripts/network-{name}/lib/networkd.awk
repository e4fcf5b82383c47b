# Writes the files of systemd-networkd for a merged plan into a directory.
#
#   awk -v directory=DIR -f networkd.awk PLAN
#
# Interfaces are matched by name. KeepConfiguration keeps addresses that others configured while
# systemd-networkd reads the files; an untagged device without an address of a network keeps DHCP,
# because the machine may be managed through it.
function file_of(device, suffix) { return directory "/10-halligan-" device "." suffix }
function write_device(device, kind,   file) {
    file = file_of(device, "netdev")
    print heading > file
    print "[NetDev]\nName=" device "\nKind=" kind > file
    if (kind == "bond")
        print "\n[Bond]\nMode=" detail[device] "\nMIIMonitorSec=100ms" > file
    if (kind == "vlan")
        print "\n[VLAN]\nId=" detail[device] > file
    if (kind == "bridge")
        print "\n[Bridge]\nSTP=no\nForwardDelaySec=0" > file
    close(file)
}
function write_network(device,   file, family) {
    file = file_of(device, "network")
    print heading > file
    print "[Match]\nName=" device > file
    if (!(device in addresses))
        print "\n[Link]\nRequiredForOnline=no" > file
    print "\n[Network]" > file
    if (device in master)
        print master_kind[device] "=" master[device] "\nLinkLocalAddressing=no" > file
    else {
        print "KeepConfiguration=yes" > file
        if (!(device in addresses) && kind_of[device] != "vlan")
            print "DHCP=yes" > file
    }
    printf "%s%s", vlans[device], addresses[device] > file
    for (family = 4; family <= 6; family += 2)
        if (through[family] == device)
            print "\n[Route]\nGateway=" gateway[family] > file
    close(file)
}
BEGIN {
    FS = "\t"
    heading = "# Written by the network roles; changes are lost."
}
$1 ~ /^(link|bond|vlan|bridge)$/ {
    device[++devices] = $2
    kind_of[$2] = $1
    detail[$2] = $1 == "vlan" ? $4 : $3
}
$1 == "vlan" { vlans[$3] = vlans[$3] "VLAN=" $2 "\n" }
$1 == "member" || $1 == "port" {
    master[$2] = $3
    master_kind[$2] = $1 == "member" ? "Bond" : "Bridge"
}
$1 == "address" { addresses[$3] = addresses[$3] "Address=" $2 "\n" }
$1 == "route" { gateway[$2] = $3; through[$2] = $4 }
END {
    for (i = 1; i <= devices; i++) {
        if (kind_of[device[i]] != "link")
            write_device(device[i], kind_of[device[i]])
        write_network(device[i])
    }
}
