import type { Damage, DamagedSession } from "../contracts/test-database.ts";
import { rowsOfSession, type StoreAddress } from "./store-address.ts";

type Statement = (at: DamagedSession & { readonly kind: StoreAddress["kind"] }) => string;

const rowsOf = ({ kind, session }: Parameters<Statement>[0]) => rowsOfSession(kind, session);

const statements: Readonly<Record<Damage, Statement>> = {
  "a title that nobody set": ({ session }) =>
    `UPDATE sessions SET title = 'Other' WHERE id = '${session}'`,
  "a run in another state": (at) => `UPDATE runs SET state = 'failed' WHERE ${rowsOf(at)}`,
  "a missing input": (at) => `DELETE FROM inputs WHERE ${rowsOf(at)}`,
  "a missing cost": ({ session }) => `DELETE FROM usage WHERE session_id = '${session}'`,
  "a cost that never occurred": ({ session }) => `INSERT INTO usage
    (session_id, seq, run_id, owner_id, at, model, input, output, cache_read, cache_write, cost_micros)
    SELECT session_id, 1, run_id, owner_id, at, model, input, output, cache_read, cache_write, cost_micros
      FROM usage WHERE session_id = '${session}'`,
  "a missing lane": ({ lane }) => `DELETE FROM lanes WHERE lane = '${lane}'`,
  "miscounted references to a blob": ({ owner }) =>
    `UPDATE blobs SET refs = refs + 1 WHERE owner_id = '${owner}'`,
  "a head below the log": (at) =>
    `UPDATE ${at.kind === "sqlite" ? "live" : "heads"} SET head = head - 1 WHERE ${rowsOf(at)}`,
  "a missing event": (at) => `DELETE FROM events WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "a changed payload": (at) =>
    `UPDATE events SET data = '{"any":"other"}' WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "a changed payload whose checksum fits": (at) =>
    `UPDATE events SET data = '{"any":"other"}', sum = 1769492488 WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "an event with another time": (at) =>
    `UPDATE events SET at = at - 1 WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "an event without its link": (at) =>
    `UPDATE events SET link = NULL WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "an event that its own schema refuses": (at) =>
    `UPDATE events SET type = 'usage.recorded' WHERE ${rowsOf(at)} AND type = 'future.thing'`,
  "a seq issued twice": (at) =>
    `UPDATE deltas SET seq = 2
      WHERE ${rowsOf(at)} AND seq = (SELECT max(seq) FROM deltas WHERE ${rowsOf(at)})`,
  "a blob whose bytes have changed": ({ kind, owner }) =>
    `UPDATE blobs SET bytes = ${kind === "sqlite" ? "x'00'" : "'\\x00'"} WHERE owner_id = '${owner}'`,
  "a lease that never ends": (at) =>
    `UPDATE leases SET expires_at = 9000000000000000 WHERE ${rowsOf(at)}`,
  "a row of a missing session": (at) =>
    `UPDATE fences SET ${at.kind === "sqlite" ? "session_key = -1" : "session_id = 'ses_none'"}
      WHERE ${rowsOf(at)}`,
  "missing runs": (at) => `DELETE FROM runs WHERE ${rowsOf(at)}`,
  "another preview and message count": ({ session }) =>
    `UPDATE sessions SET preview = '', message_count = 99 WHERE id = '${session}'`,
  "a purged log without its rows": ({ kind, session }) =>
    kind === "sqlite"
      ? `DELETE FROM events
          WHERE session_key = (SELECT session_key FROM purges WHERE session_id = '${session}')`
      : `DELETE FROM events WHERE session_id = '${session}'`,
};

export function damageStatement(
  what: Damage,
  at: DamagedSession,
  kind: StoreAddress["kind"],
): string {
  return statements[what]({ ...at, kind });
}
