import { findProgram } from "./find-program.ts";
import { innerArguments } from "./inner-script.ts";
import type { FoundAdapter } from "./namespaces.ts";
import type { Mount, Plan } from "./sandbox.ts";

/** Bubblewrap, where it is installed: it may be allowed namespaces that other programs are refused. */
export function findBwrap(): FoundAdapter {
  const bwrap = findProgram("bwrap");
  const prlimit = findProgram("prlimit");
  if (bwrap === null) return { ok: false, reason: "bwrap is not installed" };
  if (prlimit === null) return { ok: false, reason: "prlimit cannot be found" };
  return {
    ok: true,
    sandbox: {
      kind: "bwrap",
      confine: (command, plan) => ({
        argv: [bwrap, ...bwrapArguments(plan), "--", ...innerArguments(prlimit, command, plan)],
        folder: "/",
        environment: command.environment,
        endsWithParent: true,
      }),
    },
  };
}

function bwrapArguments(plan: Plan): readonly string[] {
  return [
    "--unshare-user",
    "--unshare-all",
    ...(plan.network === "host" ? ["--share-net"] : []),
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    "--disable-userns",
    ...userArguments(),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...plan.rootLinks.flatMap(({ path, to }) => ["--symlink", to, path]),
    ...plan.mounts.flatMap(mountArguments),
    "--chdir",
    "/",
  ];
}

function userArguments(): readonly string[] {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === undefined || gid === undefined ? [] : ["--uid", `${uid}`, "--gid", `${gid}`];
}

function mountArguments(mount: Mount): readonly string[] {
  const { path } = mount;
  switch (mount.kind) {
    case "private":
      return [
        "--perms",
        mount.mode.padStart(4, "0"),
        "--size",
        `${mount.megabytes * 1024 * 1024}`,
        "--tmpfs",
        path,
      ];
    case "hidden":
      return mount.what === "file" ? ["--ro-bind", "/dev/null", path] : ["--tmpfs", path];
    case "read":
      return ["--ro-bind", mount.from ?? path, path];
    case "write":
      return ["--bind", mount.from ?? path, path];
  }
}
