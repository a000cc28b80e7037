import { ids, type Route as ContractRoute } from "@holdfast/protocol";

/** Fills the ids into a path of the contract: the given ones, or ids that don't exist. */
export function fillPath(
  route: ContractRoute,
  given: Readonly<Record<string, string>> = {},
): string {
  return route.path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const [, , collection = ""] = route.path.split("/");
    if (name === "provider") return collection === "web-search" ? "brave" : "anthropic";
    return given[name] ?? (name === "id" ? (unknownIds[collection]?.() ?? "x") : otherId(name));
  });
}

const unknownIds: Readonly<Record<string, () => string>> = {
  sessions: () => ids.make("session"),
  runs: () => ids.make("run"),
  approvals: () => ids.make("approval"),
  rules: () => ids.make("approval"),
  grants: () => ids.make("approval"),
  schedules: () => ids.make("schedule"),
  processes: () => ids.make("process"),
  folders: () => "0".repeat(16),
  skills: () => "0".repeat(16),
  worktrees: () => "0".repeat(16),
  blobs: () => `blob_${"0".repeat(64)}`,
};

function otherId(name: string): string {
  if (name === "messageId") return ids.make("message");
  if (name === "delivery") return ids.make("delivery");
  return name === "code" ? "ABCD" : "1";
}
