#!/bin/sh
# [driver] of bootstrap.conf: the NVIDIA driver comes by real apt, from a repository that has packages
# of these names, and is loaded by real modprobe, as far as a machine without a GPU can: once, and undo
# removes what muster has installed. What the step cannot do it says.
# SPDX-License-Identifier: Apache-2.0

. "$(dirname "$0")/../lib.sh"

own_namespaces
for program in apt-get dpkg-deb; do
    command -v $program >/dev/null || skip_all "no $program"
done
kernel=$(uname -r)

# The machine's own files: a GPU on its bus, modules that can be loaded, and apt's.
mkdir -p etc lib/dpkg/updates lib/dpkg/info cache log bin root/lib/modules/"$kernel"
cp -a /etc/. etc
: >lib/dpkg/status
rm -rf etc/os-release etc/apt/sources.list etc/apt/sources.list.d/* etc/apt/apt.conf.d/20auto-upgrades
mkdir -p etc/apt/sources.list.d etc/modprobe.d
: >etc/modprobe.d/mine.conf
chmod 755 "$tmp" # for apt, which fetches as another user
mount --bind etc /etc
mount --bind lib /var/lib
mount --bind cache /var/cache
mount --bind log /var/log
for folder in /sys/bus /sys/module /sys/firmware /proc/driver; do mount -t tmpfs tmpfs $folder; done
mkdir -p /sys/bus/pci/devices/0000:00:02.0 /sys/bus/pci/devices/0000:17:00.0
echo 0x1af4 >/sys/bus/pci/devices/0000:00:02.0/vendor # another's network card
echo 0x020000 >/sys/bus/pci/devices/0000:00:02.0/class
echo 0x10de >/sys/bus/pci/devices/0000:17:00.0/vendor
echo 0x040300 >/sys/bus/pci/devices/0000:17:00.0/class # NVIDIA's, but audio

# modinfo and modprobe look for modules below root. Who has no kmod gets what they do here.
touch root/lib/modules/"$kernel"/modules.order root/lib/modules/"$kernel"/modules.builtin
module=$PWD/root/lib/modules/$kernel/nvidia.ko
PATH=$PWD/bin:$PATH
if command -v modprobe >/dev/null && command -v depmod >/dev/null &&
    echo 'const char text[] __attribute__((section(".modinfo"))) = "license=none";' |
    cc -c -x c -o nvidia.ko - 2>/dev/null; then
    printf '#!/bin/sh\nexec %s -b %s/root "$@"\n' "$(command -v modinfo)" "$PWD" | script_file bin/modinfo
    printf '#!/bin/sh\nexec %s -d %s/root "$@"\n' "$(command -v modprobe)" "$PWD" | script_file bin/modprobe
    depmod="depmod -b $PWD/root $kernel 2>/dev/null"
else
    : >nvidia.ko
    printf '#!/bin/sh\n[ "$3" = nvidia ] && [ -e %s ]\n' "$module" | script_file bin/modinfo
    printf '#!/bin/sh\n[ ! -e /etc/modprobe.d/nvidia.conf ] ||\n%s\nexit 1\n' \
        '    exec sh -c "$(sed -n "s/^install nvidia //p" /etc/modprobe.d/nvidia.conf)"' |
        script_file bin/modprobe
    depmod=:
fi
printf '#!/bin/sh\nrm -r /sys/module/"$1" /proc/driver/nvidia\n' | script_file bin/rmmod
script_file bin/load <<END
#!/bin/sh
echo "\$1" >>$PWD/loads
[ -e $module ] || { echo "Module nvidia not found." >&2; exit 1; }
[ ! -e $PWD/refuse ] || { echo "could not insert 'nvidia': Key was rejected by service" >&2; exit 1; }
mkdir -p /sys/module/nvidia /proc/driver/nvidia
echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Thu Jun 26' >/proc/driver/nvidia/version
END

# package NAME COMPONENT [FIELD...]: into the repository, of what is in the directory deb.
package() {
    mkdir -p deb/DEBIAN "repo/dists/bookworm/$2/binary-$arch" "repo/pool"
    name=$1 component=$2
    shift 2
    printf '%s\n' "Package: $name" "Version: 535.261.03-1" "Architecture: all" \
        "Maintainer: nobody <nobody@localhost>" "Description: test" "$@" >deb/DEBIAN/control
    dpkg-deb -b deb "repo/pool/$name.deb" >/dev/null
    { cat deb/DEBIAN/control; printf 'Filename: pool/%s.deb\nSize: %s\nSHA256: %s\n\n' "$name" \
        "$(stat -c %s "repo/pool/$name.deb")" "$(sha256sum "repo/pool/$name.deb" | cut -d' ' -f1)"; } \
        >>"repo/dists/bookworm/$component/binary-$arch/Packages"
    rm -r deb
}

# release: what apt reads first.
release() {
    (cd repo/dists/bookworm && {
        printf 'Codename: bookworm\nDate: %s\nComponents: main contrib non-free %s\nSHA256:\n' \
            "$(date -Ru)" non-free-firmware
        for file in */*/Packages; do
            printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d' ' -f1)" "$(stat -c %s "$file")" "$file"
        done
    } >Release)
}

arch=$(dpkg --print-architecture)
package "linux-headers-$kernel" main
package tool main "Depends: nvidia-alternative"
package nvidia-alternative contrib
package nvidia-driver non-free "Depends: nvidia-kernel-dkms, nvidia-alternative"
package nvidia-smi non-free
package libcuda1 non-free "Depends: firmware-nvidia-gsp"
package firmware-nvidia-gsp non-free-firmware
mkdir -p deb/DEBIAN deb/etc/modprobe.d # dkms builds the module when it is installed
echo "install nvidia $PWD/bin/load \$CMDLINE_OPTS" >deb/etc/modprobe.d/nvidia.conf
echo /etc/modprobe.d/nvidia.conf >deb/DEBIAN/conffiles
printf '%s\n' '#!/bin/sh' "[ -e $PWD/unbuilt ] || cp $PWD/nvidia.ko $module" "$depmod" \
    "[ ! -e $PWD/hold ] || { : >$PWD/held; exec sleep 1000; }" | script_file deb/DEBIAN/postinst
printf '%s\n' '#!/bin/sh' "rm -f $module" "$depmod" : | script_file deb/DEBIAN/prerm
package nvidia-kernel-dkms non-free
release

# distribution ID VERSION CODENAME
distribution() {
    printf 'PRETTY_NAME="%s %s"\nID=%s\nVERSION_ID="%s"\nVERSION_CODENAME=%s\n' "$1" "$2" "$1" "$2" "$3" \
        >/etc/os-release
}

bootstrap() {
    : >loads
    run muster bootstrap -H localhost --only driver "$@"
}

installed() {
    dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p' | tr '\n' ' '
}

etc_of() {
    tar -C etc --sort=name --mtime=@0 --exclude='*-' -cf "$1" .
}

distribution debian 12 bookworm
printf '%s\n' '# mine' "deb [trusted=yes] file:$PWD/repo bookworm main # the system" >/etc/apt/sources.list
sources=/etc/apt/sources.list.d/muster-driver
printf '[driver]\nnvidia = yes\n' >conf
printf '[driver]\nnvidia = no\nversion = 535\n' >off
etc_of before

for wanted in off /dev/null; do
    bootstrap --apply $wanted
    is "without nvidia = yes nothing is done ($wanted)" "$rc $(cat out err)" "0 localhost: nothing needs to be changed"
done
bootstrap --apply conf
is "nor is anything without a GPU" "$rc $(installed)" "0 "
ok "which is said" grep -q '^localhost  driver: note: no NVIDIA GPU is on the PCI bus' out

# Debian, as it is by default: apt does not know the driver.
echo 0x030200 >/sys/bus/pci/devices/0000:17:00.0/class
bootstrap conf
is "a plan for a GPU without a driver succeeds" "$rc" 0 || sed 's/^/#   /' err
ok "it adds Debian's other components, and says why" grep -q \
    "driver: $sources.list: create it (the driver is in components that Debian does not use" out
ok "it fetches the lists" grep -q 'driver: apt-get: fetch its lists (apt does not know nvidia-driver yet)' out
ok "it says what comes then" grep -q \
    "driver: note: then apt-get installs nvidia-driver libcuda1 nvidia-smi linux-headers-$kernel" out
ok "and that this is later" grep -q '1 step can only be checked afterwards' out
etc_of planned
ok "it changes nothing" cmp before planned
bootstrap --apply conf
is "it is applied" "$rc" 0 || sed 's/^/#   /' err
is "the packages are there, with what they need" "$(installed)" \
    "firmware-nvidia-gsp libcuda1 linux-headers-$kernel nvidia-alternative nvidia-driver nvidia-kernel-dkms nvidia-smi "
ok "the components are added as the user has the mirror" grep -qx \
    "deb \[trusted=yes\] file:$PWD/repo bookworm contrib non-free non-free-firmware" $sources.list
is "the user's file stays" "$(head -n 1 /etc/apt/sources.list)" "# mine"
is "the module is loaded, once" "$(wc -l <loads) $(ls -d /sys/module/nvidia)" "1 /sys/module/nvidia"
ok "and its version is said" grep -q '^localhost  driver: note: driver 535.261.03 is loaded' out
bootstrap --apply conf
is "a second apply changes nothing" "$rc $(grep -v note: out)" "0 localhost: nothing needs to be changed"
sed '$aversion = 550' conf >newer
bootstrap --apply newer
is "another version is refused" "$rc" 1
ok "and both are named" grep -q 'driver: failed: driver 535.261.03 is loaded, \[driver\] version says 550' err
bootstrap --undo
is "undo succeeds" "$rc $(installed)" "0 " || sed 's/^/#   /' err
ok "the module is unloaded" [ ! -e /sys/module/nvidia ]
etc_of after
ok "all files are as they were" cmp before after
is "and nothing is left of it" "$(find lib/muster -name 'driver*')" ""

# Debian with the components, the mirror in the newer format; what was here before stays.
printf '%s\n' "Types: deb" "# a mirror" "URIs: file:$PWD/repo" "Suites: bookworm" \
    "Components: main contrib" " non-free non-free-firmware" "Trusted: yes" >/etc/apt/sources.list.d/debian.sources
: >/etc/apt/sources.list
apt-get update >said 2>&1
apt-get --yes install "linux-headers-$kernel" nvidia-alternative >said 2>&1
bootstrap conf
ok "a plan names the packages, how many come with them, and the version" grep -q \
    "apt-get: install nvidia-driver libcuda1 nvidia-smi linux-headers-$kernel: 5 packages .*(debian 12 has version 535.261.03-1)" out
ok "it adds no components that are there" not grep -q 'sources' out
ok "it loads the module" grep -q 'driver: modprobe nvidia (the driver is not loaded)' out
bootstrap newer
is "a version that there is not is refused by the plan" "$rc" 1
ok "with apt's words" grep -q "driver: failed: apt-get cannot install the driver: .*'550\.\*' for 'nvidia-driver' was not found" err
mkdir -p /sys/firmware/efi/efivars
printf '\006\000\000\000\001' >/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
: >refuse
bootstrap conf
ok "Secure Boot is noted, with what it takes" grep -q 'note: Secure Boot is on: .*mokutil --import' out
sed '$aversion = 535' conf >same
bootstrap --apply same
is "a module that the kernel refuses is a failure" "$rc $(wc -l <loads)" "1 1"
ok "with modprobe's words" grep -q 'driver: failed: modprobe: exit status 1: .*' err
ok "and what to do" grep -q '^ *if a package cannot be fetched: .*reboot this node, then run muster bootstrap --apply again' err
is "the packages are there" "$(installed | wc -w)" 7
bootstrap --apply same
is "the next apply tries that again, and no more" "$rc $(wc -l <loads) $(grep -c install out)" "1 1 0"
rm -r /sys/firmware/efi
ok "with what Secure Boot takes" grep -q '^ *dmesg .*mokutil --import /var/lib/dkms/mok.pub' err
rm refuse
bootstrap --apply same
is "once it may be loaded, it is" "$rc $(ls -d /sys/module/nvidia)" "0 /sys/module/nvidia"
apt-get --yes install tool >said 2>&1
bootstrap --undo
is "undo removes what muster has installed, and no more" "$rc $(installed)" \
    "0 linux-headers-$kernel nvidia-alternative tool "

# Somebody's package needs one of ours.
apt-get --yes purge tool nvidia-alternative >said 2>&1
bootstrap --apply conf
apt-get --yes install tool >said 2>&1
bootstrap --undo
is "what somebody's package needs stays" "$rc $(installed | wc -w)" "1 8"
ok "which is said, with its name" grep -q 'driver: failed: sh: exit status 1: these packages of others need it: tool' err
apt-get --yes purge tool >said 2>&1
bootstrap --undo
is "without that it goes" "$rc $(installed)" "0 linux-headers-$kernel "

# nouveau has the GPU; the next boot is without it.
mkdir /sys/module/nouveau
bootstrap conf
ok "a plan says that a reboot will be needed" grep -q 'note: nouveau has the GPU: after --apply reboot this node' out
bootstrap --apply conf
is "the driver is installed, but not ready" "$rc $(installed | wc -w) $(wc -l <loads)" "1 7 0"
ok "which is said" grep -q 'failed: the driver is installed, but nouveau has the GPU until the next boot' err
ok "with how to continue" grep -q '^ *reboot this node, then run muster bootstrap --apply again' err
rmdir /sys/module/nouveau
bootstrap --apply conf
is "after the boot the next apply completes it" "$rc $(wc -l <loads)" "0 1"
bootstrap --undo
is "undo takes that back" "$rc $(installed)" "0 linux-headers-$kernel "

# dkms has built nothing.
: >unbuilt
bootstrap --apply conf
is "a module that was not built is a failure" "$rc $(installed | wc -w)" "1 7"
bootstrap --apply conf
is "it stays one" "$rc $(wc -l <loads)" "1 0"
ok "which is said" grep -q "packages are installed, but there is no module for the kernel that is running, $kernel" err
ok "with what to do" grep -q "^ *apt-get install linux-headers-$kernel && dkms autoinstall, or reboot" err
rm unbuilt
bootstrap --undo
is "undo removes it" "$rc $(installed)" "0 linux-headers-$kernel "

# The power goes while it is installed.
: >hold
start muster bootstrap -H localhost --only driver --apply conf
ok "the installation has begun" wait_for 60 [ -e held ]
kill -KILL $(pgrep -x apt-get) $(pgrep -x dpkg) $(pgrep -f '^sleep 1000$') # of this PID namespace
finish_run 60
ok "an installation that is cut off is a failure" not same "$rc" 0
rm hold held
"$PWD/bin/load" >said 2>&1 # as the next boot does with a module that is there
bootstrap --apply conf
is "the next apply completes it, also if the module is loaded" "$rc $(installed | wc -w)" "0 7" ||
    sed 's/^/#   /' err
bootstrap --apply conf
is "... which is all" "$rc $(grep -v note: out)" "0 localhost: nothing needs to be changed"
bootstrap --undo
is "undo removes it" "$rc $(installed)" "0 linux-headers-$kernel "
[ ! -e /sys/module/nvidia ] || rmmod nvidia # muster has not loaded it

# An installation that does not end.
: >hold
{ cat conf && echo "time_limit = 5s"; } >hurry
bootstrap --apply hurry
is "an installation that does not end is a failure at the limit" "$rc" 1
ok "which is named" grep -q 'driver: failed: .*not finished after 5 s' err
rm -f hold
bootstrap --undo
is "undo removes what was begun" "$rc $(installed)" "0 linux-headers-$kernel " || sed 's/^/#   /' err

# No headers.
apt-get --yes purge "linux-headers-$kernel" >said 2>&1
sed -i '/^Package: linux-headers/s/$/-old/' repo/dists/bookworm/main/binary-"$arch"/Packages
release
apt-get update >said 2>&1
bootstrap --apply conf
is "without headers of the kernel nothing is installed" "$rc $(installed)" "1 "
ok "which is said" grep -q "failed: apt has no linux-headers-$kernel, so no module can be built" err
ok "with what to do" grep -q '^ *install the newest kernel with its headers, reboot this node' err

# Ubuntu.
distribution ubuntu 24.04 bookworm
bootstrap --apply conf
ok "where apt has no driver, that is said" grep -q 'driver: failed: apt has no nvidia-driver-N-server' err
for version in 470 535 550; do package nvidia-driver-$version-server main; done
package nvidia-driver-570 main
package nvidia-driver-580-server-open main
package "linux-modules-nvidia-550-server-$kernel" main
sed -i 's/-old$//' repo/dists/bookworm/main/binary-"$arch"/Packages
release
bootstrap conf
ok "a plan fetches the lists" grep -q 'fetch its lists (apt does not know nvidia-driver-N-server yet)' out
ok "and says what comes then" grep -q 'note: then apt-get installs the newest nvidia-driver-N-server' out
apt-get update >said 2>&1
bootstrap conf
ok "the newest for servers, with a module that is built" grep -q \
    "apt-get: install nvidia-driver-550-server linux-modules-nvidia-550-server-$kernel: 2 packages .*(the newest driver for servers that apt has" out
bootstrap same
ok "or the one that conf wants, with headers" grep -q \
    "apt-get: install nvidia-driver-535-server linux-headers-$kernel: 2 packages" out
sed '$aversion = 999' conf >none
bootstrap --apply none
ok "if it is there" grep -q 'apt has no nvidia-driver-999-server, which \[driver\] version asks for' err
script_file bin/ubuntu-drivers <<END
#!/bin/sh
[ "\$1" != list ] || { echo "nvidia-driver-550-server"; exit; }
[ "\$1" = install ] || exit 0
echo "\$*" >>$PWD/arguments
cp $PWD/nvidia.ko $module && $depmod
echo "install nvidia $PWD/bin/load" >/etc/modprobe.d/nvidia.conf
apt-get --yes install libnvidia-compute-550-server
END
package libnvidia-compute-550-server main
package nvidia-utils-550-server main
release
bootstrap conf
ok "with ubuntu-drivers that chooses, which is said" grep -q \
    'driver: ubuntu-drivers install --gpgpu (it recommends nvidia-driver-550-server)' out
bootstrap --apply conf
is "it installs" "$rc $(cat arguments)" "0 install --gpgpu" || sed 's/^/#   /' err
is "and gets nvidia-smi" "$(installed)" "libnvidia-compute-550-server nvidia-utils-550-server "
bootstrap --undo
is "undo removes that, too" "$rc $(installed)" "0 "
rm "$module" bin/ubuntu-drivers
eval "$depmod"

distribution fedora 40 ''
bootstrap conf
is "another distribution is a failure" "$rc" 1
ok "which names it" grep -q "driver: failed: muster does not know the driver's packages in fedora 40" err
ok "with what to do" grep -q '^ *install it as https://docs.nvidia.com/' err
ok "nothing is left" no_leftovers

finish
