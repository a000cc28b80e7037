import { existsSync } from "node:fs";

import type { FoundAdapter } from "./namespaces.ts";
import type { Plan } from "./sandbox.ts";

const program = "/usr/bin/sandbox-exec";

/**
 * macOS has no namespaces: paths are allowed or denied where they are, the temporary folder is one of the host's own, and loopback is
 * the machine's, so none of it can be connected to.
 */
export function findSeatbelt(temporary: string): FoundAdapter {
  if (!existsSync(program)) return { ok: false, reason: `${program} is missing` };
  return {
    ok: true,
    sandbox: {
      kind: "sandbox-exec",
      confine: (command, plan) => ({
        argv: [program, "-p", seatbeltProfile(plan, temporary), "--", ...command.argv],
        folder: command.folder,
        environment: { ...command.environment, TMPDIR: temporary },
      }),
    },
  };
}

/** What the system itself needs so that programs start. */
const systemPaths = [
  "/System",
  "/Library",
  "/usr",
  "/bin",
  "/sbin",
  "/opt",
  "/etc",
  "/private/etc",
  "/private/var/db",
  "/private/var/select",
  "/dev",
];

function seatbeltProfile(plan: Plan, temporary: string): string {
  const subpaths = (paths: readonly string[]): string =>
    paths.map((path) => `(subpath ${quote(path)})`).join(" ");
  const of = (kind: "read" | "write" | "hidden"): readonly string[] =>
    plan.mounts.flatMap((mount) => (mount.kind === kind ? [mount.path] : []));
  const writable = of("write");
  const rules = [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork sysctl-read mach-lookup)",
    "(allow signal process-info* (target same-sandbox))",
    // A program looks at each folder on the way to its own.
    "(allow file-read-metadata)",
    `(allow file-read* (literal "/") ${subpaths([...systemPaths, ...of("read")])})`,
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))',
    ...[...of("hidden")].map((path) => `(deny file-read* (subpath ${quote(path)}))`),
    // Last, because the last rule that fits counts: a workspace may be in a hidden folder.
    `(allow file-read* file-write* ${subpaths([...writable, temporary])})`,
    ...(plan.network === "host"
      ? ["(allow network* system-socket)"]
      : ['(allow network-bind network-inbound (local ip "localhost:*"))']),
  ];
  return rules.join("\n");
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, (character) => `\\${character}`)}"`;
}
