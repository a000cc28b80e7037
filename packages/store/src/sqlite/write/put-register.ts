import type { RegisterChange, RegisterResult } from "@holdfast/engine";

import type { Connection } from "../connection.ts";
import { decodeRegister, registerByKey } from "../rows/register-row.ts";

const upsertRegister = `
  INSERT INTO register (owner_id, key, value, revision, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (owner_id, key) DO UPDATE
    SET value = excluded.value, revision = excluded.revision, at = excluded.at`;

/** The one who has seen the last revision writes the next. */
export function putRegister(
  connection: Connection,
  { owner, key, value, expect }: RegisterChange,
  at: number,
): Exclude<RegisterResult, { status: "failed" }> {
  const stored = connection.sql(registerByKey).get(owner, key);
  const row = stored === undefined ? null : decodeRegister(stored);
  if ((row?.revision ?? 0) !== expect) return { status: "moved", row };
  const revision = expect + 1;
  connection.sql(upsertRegister).run(owner, key, value, revision, at);
  return { status: "put", row: { owner, key, value, revision, at } };
}
