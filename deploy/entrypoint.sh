#!/bin/sh
# Checks the volumes, so that a wrong one is named before anything is written, and becomes the host.
set -eu

least_megabytes=64
user="$(id -u):$(id -g)"

stop() {
  echo "The container cannot start: $1" >&2
  exit 78
}

# A folder, what it is for, and how it is given to the container.
check() {
  [ -d "$1" ] || stop "$1, $2, does not exist. Mount it: $3."
  # Agents write to workspaces: what they can foresee or replace here may be a link to a file of the host.
  probe="$(mktemp -d "$1/.holdfast-probe-XXXXXX" 2>&1 || :)"
  if [ -d "$probe" ] && (set -C && echo probe > "$probe/file") 2>/dev/null; then
    rm -rf "$probe"
    left=$(($(df -Pk "$1" | awk 'NR == 2 { print $4 }') / 1024))
    [ "$left" -ge "$least_megabytes" ] ||
      stop "$1, $2, has $left MB left, and $least_megabytes MB are needed. Free some space or mount a larger volume."
    return
  fi
  if [ -d "$probe" ]; then rm -rf "$probe"; fi
  if [ "${probe%'Read-only file system'}" != "$probe" ]; then
    stop "$1, $2, is mounted read-only. Mount a volume that can be written: $3."
  elif [ -w "$1" ]; then
    stop "$1, $2, has no space left. Free some space or mount a larger volume."
  else
    stop "$1, $2, belongs to $(stat -c %u:%g "$1") (mode $(stat -c %a "$1")), and the host runs as $user. Give it to \
the host: chown -R $user <the folder that is mounted there>."
  fi
}

check /tmp "for temporary files" "--tmpfs /tmp"
check "$(dirname "$HOLDFAST_HOME")" "for everything that the host keeps" "--volume holdfast:$(dirname "$HOLDFAST_HOME")"
(
  IFS=,
  for root in ${HOLDFAST_WORKSPACE_ROOTS-}; do
    check "$root" "for workspaces" "--volume workspaces:$root"
  done
)

exec holdfast "$@"
