import type { LeaseRow } from "@holdfast/engine";
import { fence, sessionId } from "@holdfast/protocol";
import { z } from "zod";

import { holderSchema } from "../../identity.ts";
import type { Row } from "../connection.ts";

const leaseShape = z.object({
  kind: z.enum(["run", "compaction", "memory", "history", "outbox"]),
  session_id: sessionId,
  fence,
  holder: z.string(),
  expires_at: z.int(),
});

export function decodeLease(row: Row): LeaseRow {
  const lease = leaseShape.parse(row);
  return {
    kind: lease.kind,
    session: lease.session_id,
    fence: lease.fence,
    holder: holderSchema.parse(JSON.parse(lease.holder)),
    expiresAt: lease.expires_at,
  };
}

export function encodeLease(lease: LeaseRow): Row {
  return {
    kind: lease.kind,
    session_id: lease.session,
    fence: lease.fence,
    holder: JSON.stringify(lease.holder),
    expires_at: lease.expiresAt,
  };
}
