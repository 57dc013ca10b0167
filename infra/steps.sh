#!/bin/sh
# Runs commands one after another, up to the first that fails. A signal ends the one that runs: of `a && b` a shell would
# leave it to work.
set -eu
step=
trap '[ -z "$step" ] || { kill "$step" && wait "$step"; }; exit 143' INT TERM
for command in "$@"; do
  sh -c "exec $command" &
  step=$!
  wait "$step"
done
