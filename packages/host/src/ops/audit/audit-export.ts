import type { RawEvent, SessionRow, Store } from "@holdfast/engine";
import { seq, type SessionId } from "@holdfast/protocol";
import { commitmentOf, decodeLink, hashOfLink, rowOfEvent } from "@holdfast/store/hash-chain";
import { type Redact, redactJson } from "../secrets/redact.ts";
import type { AuditKey } from "./audit-key.ts";
import { type AuditEnd, type AuditEvent, auditFormat, type AuditHeader } from "./audit-file.ts";
import { readSignedHead, type SignedHead, signHead } from "./signed-head.ts";

export interface AuditExportDeps {
  readonly store: Pick<Store, "audit" | "register">;
  readonly key: AuditKey;
  readonly redact: Redact;
  readonly exportedAt: number;
}

/** Every event of a session with its link, one line each, and signed heads: `holdfast verify` checks it anywhere. */
export async function* exportAudit(
  { store, key, redact, exportedAt }: AuditExportDeps,
  session: SessionRow,
): AsyncGenerator<string> {
  const { owner, id, head, openDeltas: open } = session;
  const signatures: SignedHead[] = [];
  const { head: earlier } = await readSignedHead(store, owner, id);
  if (earlier !== null && earlier.seq <= head) signatures.push(earlier);
  const about = { session: id, exportedAt, head, open };
  const header: AuditHeader = { format: auditFormat, version: 1, ...about };
  yield `${JSON.stringify(header)}\n`;
  let last: RawEvent | undefined;
  for (const [log, upTo] of logsOf(session)) {
    for await (const raw of store.audit.events(log)) {
      if (raw.seq > upTo) break;
      if (raw.place !== "log") continue;
      yield `${JSON.stringify(auditEvent(log, raw, redact))}\n`;
      last = raw;
    }
  }
  const hash = hashOfLink(last?.link?.text ?? null);
  if (last !== undefined && hash !== null)
    signatures.push(signHead(key, id, { seq: seq.parse(last.seq), hash, at: exportedAt }));
  const end: AuditEnd = { end: true, signatures };
  yield `${JSON.stringify(end)}\n`;
}

/** The logs it branched off as far as it reads them, then its own. */
function logsOf({ id, head, ranges }: SessionRow): ReadonlyMap<SessionId, number> {
  const logs = new Map<SessionId, number>();
  for (const { log, to } of ranges)
    if (log !== undefined) logs.set(log, Math.max(to ?? 0, logs.get(log) ?? 0));
  return logs.set(id, head);
}

function auditEvent(
  log: SessionId,
  { seq: number, event, link, problem = "it cannot be read" }: RawEvent,
  redact: Redact,
): AuditEvent {
  const text = link?.text ?? null;
  if (event === null) return { log, seq: seq.parse(number), link: text, damaged: problem };
  const row = rowOfEvent(event);
  const { id, type, v, at, runId, quiet } = row;
  const data = redactJson(event.data, redact);
  const shown = { log, seq: row.seq, id, type, v, at, runId, quiet, data, link: text };
  if (JSON.stringify(data) === row.data) return shown;
  // What is redacted cannot be hashed again. Its commitment stands in for it, and confirms no guess.
  const decoded = text === null ? null : decodeLink(text);
  return { ...shown, redacted: decoded === null ? "" : commitmentOf(row, decoded) };
}
