import { createHash } from "node:crypto";

import { idFromBytes, type IdSource } from "@holdfast/protocol";

/**
 * Ids derived from a request. A repeated request produces the same event ids, which the store recognises, so
 * nothing is done twice even if the host died before it could save its answer.
 */
export function deterministicIds(request: string): IdSource {
  let count = 0;
  return {
    make(kind) {
      count += 1;
      const digest = createHash("sha256").update(`${kind} ${count} ${request}`).digest();
      return idFromBytes(kind, digest);
    },
  };
}
