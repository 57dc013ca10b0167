#!/bin/sh
# Runs commands one after another, up to the first that fails. A signal ends the running command: of `a && b`, a signal
# would end the shell alone, and `a` would continue.
set -eu
# The trap reads `$!`, because a signal may come before the shell assigns another variable.
trap '[ -z "${!:-}" ] || { kill "$!" && wait "$!"; } 2>/dev/null || :; exit 143' INT TERM
for command in "$@"; do
  sh -c "exec $command" &
  wait "$!"
done
