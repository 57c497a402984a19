#!/bin/sh
# sandbox.sh ROOT [WHAT WHERE]... -- COMMAND: process 1 in namespaces of its own, called by sandbox.py.
# COMMAND sees each WHAT at WHERE, read-only, and a small /tmp. Nothing else of this machine exists for it, neither
# files nor network nor processes. When this script is killed, the kernel ends everything that COMMAND has started.
set -eu
root=$1
shift
mount -t tmpfs -o mode=755 none "$root"
mkdir "$root/tmp"
mount -t tmpfs -o "size=$SANDBOX_FILES,nosuid,nodev,mode=1777" none "$root/tmp"
# The course's own folder, of which parts are mounted: it is read-only below, also where the course lies in /tmp.
mkdir -p "$root$SANDBOX_COURSE"
mount -t tmpfs -o mode=755 none "$root$SANDBOX_COURSE"
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root$(dirname "$2")" && : >"$root$2"; fi
  mount --rbind "$1" "$root$2"
  shift 2
done
shift

# A user may not take flags such as nosuid off a mount, so each keeps its own.
while read -r _ _ _ _ place flags _; do
  place=$(printf '%b' "$place") # a space stands there as \040
  case $place in
    "$root/tmp") ;;
    "$root"/*) mount -o "remount,bind,ro${flags#??}" "$place" ;;
  esac
done </proc/self/mountinfo

mkdir -p "$root/dev" "$root/proc" "$root/old"
for device in null zero full random urandom; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mount -t proc -o ro none "$root/proc" # read-only: for root, /proc/sys would not be
cd "$root"
pivot_root . old
umount -l old
rmdir old
mount -o remount,ro none /

# Without capabilities nobody inside can undo any of this. Not "exec": process 1 stays ours, out of reach.
cd /tmp
prlimit "--as=$SANDBOX_MEMORY" "--fsize=$SANDBOX_FILES" "--nproc=$SANDBOX_PROCESSES" \
  "--cpu=$SANDBOX_CPU" --nice=0 --core=0 nice -n 5 setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
exit $?
