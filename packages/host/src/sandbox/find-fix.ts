import { existsSync, readFileSync } from "node:fs";

const install =
  "Or install bubblewrap (apt install bubblewrap, dnf install bubblewrap), which may be allowed to create namespaces where other programs are not.";

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return null;
  }
}

/** What an operator can change where namespaces are refused, by what the system says of itself. */
export function findFix(): string | null {
  if (process.platform !== "linux")
    return process.platform === "darwin" ? null : "Run Holdfast on Linux, or in WSL 2.";
  if (read("/proc/sys/kernel/unprivileged_userns_clone") === "0")
    return `Run: sudo sysctl -w kernel.unprivileged_userns_clone=1. ${install}`;
  if (read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") === "1")
    return `Run: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0. ${install}`;
  if (read("/proc/sys/user/max_user_namespaces") === "0")
    return "Run: sudo sysctl -w user.max_user_namespaces=15000.";
  if (existsSync("/.dockerenv") || existsSync("/run/.containerenv"))
    return "Start the container with --security-opt seccomp=deploy/seccomp.json --security-opt apparmor=unconfined --security-opt systempaths=unconfined.";
  return `Install util-linux 2.36 or newer and iproute2. ${install}`;
}
