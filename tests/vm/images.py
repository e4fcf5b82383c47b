"""Kernels, initial file systems and disks for machines of the tests, made of Debian's packages.

They are kept below BUILD/vm and made again when a package has another version: the kernel of the
package that linux-image-cloud-amd64 depends on, unpacked and not installed; an initramfs of busybox
and the modules for virtio devices; disks whose loader writes one line to the serial port.
"""
import glob
import hashlib
import os
import shutil
import subprocess

MODULES = ("virtio_anchor", "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
           "failover", "net_failover", "virtio_net", "virtio_blk")
REPORT_PORT = 9999
DISK_SAYS = "halligan test disk"

INIT = f"""#!/bin/sh
busybox=/bin/busybox
$busybox mkdir -p /proc /sys /dev
$busybox mount -t proc proc /proc
$busybox --install -s /bin
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# What a module depends on differs by kernel: each pass loads those whose symbols exist.
for pass in 1 2 3; do
    for module in {" ".join(MODULES)}; do insmod /modules/$module.ko 2>/dev/null; done
done
server=$(sed -n 's/.*halligan\\.server=http:\\/\\/\\([^:/ ]*\\).*/\\1/p' /proc/cmdline)
ip link set lo up
ip link set eth0 up
udhcpc -q -n -t 10 -T 1 -i eth0 -s /udhcpc || echo "no address"
wget -q -O /dev/null --post-data "$(cat /proc/cmdline)" \\
    "http://$server:{REPORT_PORT}/booted/$(cat /sys/class/net/eth0/address)" && echo "reported"
sync
poweroff -f
"""
UDHCPC = """#!/bin/sh
case $1 in
bound | renew) ip addr add "$ip/${mask:-24}" dev "$interface" ;;
esac
"""

def boot_sector():
    """A boot sector that writes DISK_SAYS to the first serial port, byte by byte, and halts."""
    code = bytearray(bytes.fromhex("31c08ed8be0000"))  # ax = 0; ds = ax; si = the text, see below
    next_at = len(code)
    code += bytes.fromhex("ac84c07400")  # next: al = the next byte; if it is zero, jump to halt
    jump_at = len(code) - 1
    code += bytes.fromhex("88c4bafd03")  # ah = al; dx = 0x3fd, the state of the port
    wait_at = len(code)
    code += bytes.fromhex("eca82074")  # wait: read it; jump to wait until bit 5 says it is empty
    code.append((wait_at - (len(code) + 1)) & 0xff)
    code += bytes.fromhex("b2f888e0eeeb")  # dl = 0xf8, the port; write the byte; jump to next
    code.append((next_at - (len(code) + 1)) & 0xff)
    code[jump_at] = len(code) - (jump_at + 1)
    code += bytes.fromhex("f4ebfd")  # halt: wait for an interrupt; jump to halt
    text = 0x7c00 + len(code)
    code[5:7] = text.to_bytes(2, "little")
    code += f"\r\n{DISK_SAYS}\r\n".encode() + b"\0"
    return bytes(code).ljust(510, b"\0") + b"\x55\xaa"


def command(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def package_version(name):
    shown = command("apt-cache", "policy", name)
    return next(line.split()[1] for line in shown.splitlines() if "Candidate:" in line)


def kernel_package():
    depends = command("apt-cache", "depends", "linux-image-cloud-amd64")
    return next(line.split()[1] for line in depends.splitlines() if "Depends:" in line)


def download(package, folder):
    try:
        command("apt-get", "-q", "download", package, cwd=folder)
    except subprocess.CalledProcessError:  # the lists are older than the mirror
        command("apt-get", "-q", "update")
        command("apt-get", "-q", "download", package, cwd=folder)


def unpack(package, folder):
    fresh = folder + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    download(package, fresh)
    [deb] = glob.glob(os.path.join(fresh, "*.deb"))
    command("dpkg", "-x", deb, fresh)
    os.unlink(deb)
    os.rename(fresh, folder)


class Images:
    """The files; each is made when it is asked for first."""

    def __init__(self, build):
        self.folder = os.path.join(build, "vm")
        self.kernel_package = None
        os.makedirs(self.folder, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def kernel_folder(self):
        """The unpacked package of the kernel. The package lists of a fresh machine may be absent."""
        if not self.kernel_package:
            try:
                self.kernel_package = kernel_package()
            except (StopIteration, subprocess.CalledProcessError):
                command("apt-get", "-q", "update")
                self.kernel_package = kernel_package()
        package = self.kernel_package
        folder = self.path(f"{package}_{package_version(package)}")
        if not os.path.isdir(folder):
            unpack(package, folder)
        return folder

    def busybox(self):
        """The static one, which cannot be installed beside the other."""
        folder = self.path("busybox-static")
        if not os.path.isdir(folder):
            unpack("busybox-static", folder)
        return os.path.join(folder, "bin", "busybox")

    def kernel(self):
        [path] = glob.glob(os.path.join(self.kernel_folder(), "boot", "vmlinuz-*"))
        return path

    def initramfs(self):
        wanted = hashlib.sha256((INIT + UDHCPC + self.kernel_folder()).encode()).hexdigest()[:16]
        path = self.path(f"initramfs-{wanted}.gz")
        if os.path.exists(path):
            return path
        root = self.path("initramfs.new")
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(os.path.join(root, "bin"))
        os.makedirs(os.path.join(root, "modules"))
        shutil.copy(self.busybox(), os.path.join(root, "bin", "busybox"))
        for shell in ("sh", "mkdir"):
            os.symlink("busybox", os.path.join(root, "bin", shell))
        for module in MODULES:
            found = glob.glob(os.path.join(self.kernel_folder(), "lib/modules/*/kernel/**",
                                           f"{module}.ko"), recursive=True)
            for one in found:
                shutil.copy(one, os.path.join(root, "modules"))
        for name, text in (("init", INIT), ("udhcpc", UDHCPC)):
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(os.path.join(root, name), 0o755)
        subprocess.run("find . | cpio --quiet -o -H newc | gzip -1", cwd=root, shell=True, check=True,
                       stdout=open(path + ".new", "wb"))
        os.rename(path + ".new", path)
        shutil.rmtree(root)
        return path

    def bios_disk(self):
        path = self.path("bios.img")
        with open(path, "wb") as file:
            file.write(boot_sector().ljust(1 << 20, b"\0"))
        return path

    def uefi_disk(self):
        """A GPT disk with an ESP whose loader is a GRUB that says DISK_SAYS on the serial port."""
        path = self.path("uefi.img")
        if os.path.exists(path):
            return path
        script, loader, fat = (self.path(name) for name in ("disk.cfg", "disk.efi", "esp.img"))
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"serial --unit=0\nterminal_output serial\necho '{DISK_SAYS}'\nsleep 3600\n")
        command("grub-mkstandalone", "-O", "x86_64-efi", "-o", loader, "--themes=", "--locales=",
                "--fonts=", "--modules=serial echo sleep terminal", f"boot/grub/grub.cfg={script}")
        with open(fat, "wb") as file:
            file.truncate(32 << 20)
        command("mformat", "-i", fat, "::")
        command("mmd", "-i", fat, "::/EFI", "::/EFI/BOOT")
        command("mcopy", "-i", fat, loader, "::/EFI/BOOT/BOOTX64.EFI")
        with open(path + ".new", "wb") as file:
            file.truncate(40 << 20)
        command("sfdisk", "-q", path + ".new", input="label: gpt\nstart=2048, size=65536, type=uefi\n")
        with open(path + ".new", "r+b") as disk, open(fat, "rb") as part:
            disk.seek(2048 * 512)
            shutil.copyfileobj(part, disk)
        os.rename(path + ".new", path)
        return path
