import type { Register, RegisterChange, RegisterResult } from "@holdfast/engine";

import { register } from "../schema/tables.ts";
import { execute, statement } from "./connection.ts";
import type { ReaderPool } from "./read/reader-pool.ts";
import { createJob, type PendingJob } from "./write/jobs.ts";
import { type Writer } from "./write/writer.ts";
import { columnsOf, decodeRegister } from "./rows.ts";

const byKey = statement(
  "register_by_key",
  `SELECT ${columnsOf(register)} FROM register WHERE owner_id = $1 AND key = $2`,
);
const byPrefix = statement(
  "register_under",
  `SELECT ${columnsOf(register)} FROM register WHERE owner_id = $1 AND starts_with(key, $2) ORDER BY key LIMIT $3`,
);
// Of two writers that have seen the same revision, the second finds that it is gone; of two that have seen none, the
// second inserts nothing.
const put = statement(
  "put_register",
  `INSERT INTO register (owner_id, key, value, revision, at)
   SELECT $1, $2, $3, $4::bigint + 1, $5::bigint
    WHERE $4 = 0 OR EXISTS (SELECT 1 FROM register WHERE owner_id = $1 AND key = $2)
   ON CONFLICT (owner_id, key) DO UPDATE
     SET value = excluded.value, revision = excluded.revision, at = excluded.at
   WHERE register.revision = $4
   RETURNING ${columnsOf(register, "register")}`,
);

/** `onPut` is called with the key of each value that is put. */
export function createRegister(
  writer: Writer,
  pool: ReaderPool,
  onPut: (key: string) => void,
): Register {
  return {
    async read(owner, key) {
      const [row] = await pool.rows(byKey, [owner, key]);
      return row === undefined ? null : decodeRegister(row);
    },
    async list(owner, prefix, limit) {
      return (await pool.rows(byPrefix, [owner, prefix, limit])).map(decodeRegister);
    },
    async put(change) {
      const result = await writer.submit(putJob(change));
      if (result.status === "put") onPut(change.key);
      return result;
    },
  };
}

function putJob({ owner, key, value, expect }: RegisterChange): PendingJob<RegisterResult> {
  return createJob<RegisterResult>({
    work: async (connection, at) => {
      const { rows } = await execute(connection, put, [owner, key, value, expect, at]);
      if (rows[0] !== undefined) return { status: "put", row: decodeRegister(rows[0]) };
      const stored = await execute(connection, byKey, [owner, key]);
      const row = stored.rows[0] === undefined ? null : decodeRegister(stored.rows[0]);
      return { status: "moved", row };
    },
    failed: (failure) => failure,
  });
}
