import { createHash } from "node:crypto";

import { idFromBytes, type IdSource } from "@holdfast/protocol";

/**
 * Ids that follow from a request. Sent again, it names the same events, and the store answers as the first time: so what was
 * done is not done twice, also when the host died before it could keep its answer.
 */
export function deterministicIds(request: string): IdSource {
  let made = 0;
  return {
    make(kind) {
      made += 1;
      const digest = createHash("sha256").update(`${kind} ${made} ${request}`).digest();
      return idFromBytes(kind, digest);
    },
  };
}
