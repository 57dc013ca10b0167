#!/bin/sh
# Runs commands one after another, up to the first that fails. A signal ends the running command: a shell would leave
# `a` of `a && b` at work.
set -eu
# `$!` is set as soon as a command has been started: a signal may come before the next assignment.
trap '[ -z "${!:-}" ] || { kill "$!" && wait "$!"; } 2>/dev/null || :; exit 143' INT TERM
for command in "$@"; do
  sh -c "exec $command" &
  wait "$!"
done
