import type { Reads } from "@holdfast/engine";

import { decodeLane } from "../rows/tables.ts";
import { decodeOutbox } from "../rows/outbox.ts";
import { statement } from "../statement.ts";
import type { ReaderPool } from "./reader-pool.ts";

const lanesByPrefix = statement(
  "lanes_under",
  `SELECT * FROM lanes WHERE owner_id = $1 AND starts_with(lane, $2) ORDER BY at DESC, lane LIMIT $3`,
);
const outboxChunks = statement(
  "outbox_chunks",
  `SELECT o.* FROM outbox o JOIN sessions s ON s.id = o.session_id
    WHERE s.owner_id = $1 AND s.trashed_at IS NULL AND o.state = ANY($2)
      AND ($3::text IS NULL OR o.session_id = $3) AND ($4::text IS NULL OR o.delivery = $4)
    ORDER BY o.session_id, o.begun, o.delivery, o.chunk LIMIT $5`,
);
const outboxByInbound = statement(
  "outbox_by_inbound",
  `SELECT o.* FROM outbox o JOIN sessions s ON s.id = o.session_id
    WHERE s.owner_id = $1 AND o.inbound = $2`,
);

export function createOutboxReads(
  readers: ReaderPool,
): Pick<Reads, "lanes" | "outbox" | "inbound"> {
  return {
    async lanes(owner, prefix, limit) {
      return (await readers.rows(lanesByPrefix, [owner, prefix, limit])).map(decodeLane);
    },
    async outbox(owner, { session, delivery, states, limit }) {
      const values = [owner, [...states], session ?? null, delivery ?? null, limit];
      return (await readers.rows(outboxChunks, values)).map(decodeOutbox);
    },
    async inbound(owner, key) {
      const [row] = await readers.rows(outboxByInbound, [owner, key]);
      return row === undefined ? null : decodeOutbox(row);
    },
  };
}
