import { realpathSync } from "node:fs";
import { basename } from "node:path";

import { findProgram } from "./find-program.ts";
import type { PlainCommand } from "./sandbox.ts";

/** The system tells no process of a parent that ended before it asked. So it asks first, and looks then. */
const script = '[ "$PPID" = "$1" ] || exit 125; shift; exec "$@"';

/** The same program, which is killed when its parent ends, and which never begins if that has ended already. */
export function withParentCheck(argv: PlainCommand["argv"], parent: number): PlainCommand["argv"] {
  const setpriv = findSetpriv();
  if (setpriv === null) return argv;
  return [setpriv, "--pdeathsig", "KILL", "/bin/sh", "-c", script, "sh", `${parent}`, ...argv];
}

/** That of BusyBox has no such option. */
function findSetpriv(): string | null {
  const path = findProgram("setpriv");
  return path === null || basename(realpathSync(path)) === "busybox" ? null : path;
}
