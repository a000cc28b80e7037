import { join } from "node:path";

import type { OwnerId } from "@holdfast/protocol";

/** Each owner's memory lies in a folder of its own: nobody is told what another has said. */
export function ownerFolder(home: string, owner: OwnerId): string {
  // A name may have colons, and on some disks its case does not count.
  const name = Buffer.from(owner, "utf8").toString("hex");
  return join(home, "memory", name);
}
