import { join } from "node:path";
import type { OwnerId } from "@holdfast/protocol";

/** One folder per owner, so that nobody sees what another has said. */
export function ownerFolder(home: string, owner: OwnerId): string {
  // An owner id may contain colons, and some file systems ignore case.
  const name = Buffer.from(owner, "utf8").toString("hex");
  return join(home, "memory", name);
}
