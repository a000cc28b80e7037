#!/bin/sh
# Checks the volumes, so that a wrong one is named before anything is written, and becomes the host.
set -eu

least_megabytes=64
user="$(id -u):$(id -g)"

stop() {
  echo "The container cannot start: $1" >&2
  exit 78
}

is_read_only() {
  touch "$1" 2>&1 | grep -q 'Read-only file system'
}

# A folder, what it is for, and how it is given to the container.
check() {
  [ -d "$1" ] || stop "$1, $2, does not exist. Mount it: $3."
  probe="$1/.holdfast-probe-$$"
  if (: > "$probe") 2>/dev/null && (echo probe > "$probe") 2>/dev/null; then
    rm -f "$probe"
    left=$(($(df -Pk "$1" | awk 'NR == 2 { print $4 }') / 1024))
    [ "$left" -ge "$least_megabytes" ] ||
      stop "$1, $2, has $left MB left, and $least_megabytes MB are needed. Free some space or mount a larger volume."
    return
  fi
  rm -f "$probe" 2>/dev/null || :
  if is_read_only "$probe"; then
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
