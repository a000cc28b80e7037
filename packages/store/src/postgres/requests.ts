import { answerRetentionMs, type RequestRow, type Requests } from "@holdfast/engine";

import { execute, statement } from "./connection.ts";
import type { ReaderPool } from "./read/reader-pool.ts";
import { createJob, type PendingJob } from "./write/jobs.ts";
import { type Writer } from "./write/writer.ts";
import { decodeRequest } from "./rows.ts";

const byKey = statement(
  "request_by_key",
  `SELECT owner_id, key, hash, session_id, answer, at FROM requests
    WHERE owner_id = $1 AND key = $2 AND at > $3`,
);
// Overwrites an expired answer under the same key.
const insertRequest = statement(
  "keep_request",
  `INSERT INTO requests (owner_id, key, hash, session_id, answer, at)
   SELECT $1, $2, $3, $4, $5, $6::bigint
    WHERE $4::text IS NULL OR EXISTS (SELECT 1 FROM sessions WHERE id = $4)
   ON CONFLICT (owner_id, key) DO UPDATE
     SET hash = excluded.hash, session_id = excluded.session_id, answer = excluded.answer, at = excluded.at
   WHERE requests.at <= excluded.at - ${answerRetentionMs}`,
);

type KeepResult = Awaited<ReturnType<Requests["keep"]>>;

export function createRequests(
  writer: Writer,
  pool: ReaderPool,
  now: () => Promise<number>,
): Requests {
  return {
    async find(owner, key) {
      const [row] = await pool.rows(byKey, [owner, key, (await now()) - answerRetentionMs]);
      return row === undefined ? null : decodeRequest(row);
    },
    keep: (request) => writer.submit(keepRequestJob(request)),
  };
}

function keepRequestJob(request: Omit<RequestRow, "at">): PendingJob<KeepResult> {
  const { owner, key, hash, session, answer } = request;
  return createJob<KeepResult>({
    work: async (connection, at) => {
      await execute(connection, insertRequest, [owner, key, hash, session, answer, at]);
      const { rows } = await execute(connection, byKey, [owner, key, at - answerRetentionMs]);
      const row = rows[0] === undefined ? { ...request, at } : decodeRequest(rows[0]);
      return { status: "kept", row };
    },
    failed: (failure) => failure,
  });
}
