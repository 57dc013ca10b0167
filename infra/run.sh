#!/bin/sh
# Runs a script of this project on the pinned Node. Installs the dependencies first if they are missing or
# older than the lock file, so that a fresh clone needs one command only.
set -eu
cd "$(dirname "$0")/.."
# The native servers need chroot and the helpers of apt, which the PATH of cron, for example, lacks.
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
stamp=node_modules/.package-lock.json
if [ ! -x node_modules/.bin/node ] || [ ! -f "$stamp" ] || [ package-lock.json -nt "$stamp" ]; then
  echo "Installing dependencies (npm ci) ..." >&2
  # Without the trap, a signal would end the shell alone, and npm would continue. The trap reads `$!`, because a signal
  # may come before the shell assigns another variable.
  trap 'kill "${!:-}" 2>/dev/null || :; exit 143' INT TERM
  npm ci --include=dev --no-audit --no-fund --loglevel=error >&2 &
  wait "$!"
  trap - INT TERM
  touch "$stamp"
fi
# npm installs this Node even on a system that lacks a library that Node needs, such as a minimal Debian.
if ! problem=$(node_modules/.bin/node --version 2>&1 >/dev/null); then
  echo "The project's Node 26 does not run here: ${problem##*: error while loading shared libraries: }. It needs glibc," \
    "libstdc++ and libatomic: apt-get install libatomic1 libstdc++6 (Debian, Ubuntu)," \
    "dnf install libatomic libstdc++ (Fedora, RHEL), zypper install libatomic1 libstdc++6 (SUSE)," \
    "pacman -S gcc-libs (Arch); Alpine has no glibc: use a container of Debian." >&2
  exit 1
fi
# The cache halves the processor time of each start. It is in node_modules, so `npm ci` removes it.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/node}"
# kafkajs sets timers in the past. Node would print a warning about that in every process.
exec node_modules/.bin/node --disable-warning=TimeoutNegativeWarning "$@"
