import type { ApprovalRow, AnsweredCursor } from "@holdfast/engine";
import {
  approvalId,
  type AuditEntry,
  decodeEvent,
  type OwnerId,
  type Seq,
  seq,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import { z } from "zod";

import type { Route } from "../http/route.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem, problemFrom } from "./reply.ts";

const defaultAuditLimit = 100;
const pageSize = 500;
/** A request looks through so much of a log; the next one goes on from there. */
const maxPages = 20;

export function ruleRoutes(parts: ApiDeps): Route[] {
  const { toolset: hands, log } = parts;
  const { reads } = log.store;

  async function removeRule({ owner, params }: Call<"removeRule">) {
    const result = await hands.rules.remove(owner, params.id);
    if (result === "not_found") return problem("rule_not_found");
    return result === "removed" ? answer(undefined) : problemFrom(result);
  }

  async function listAudit({ owner, query }: Call<"listAudit">) {
    const { sessionId, limit = defaultAuditLimit, cursor } = query;
    if (sessionId !== undefined) return auditSession(owner, sessionId, limit, cursor);
    const before = cursor === undefined ? undefined : decodeAuditCursor(cursor, answeredCursor);
    if (before === null) return badAuditCursor;
    const page = await reads.answered(owner, {
      limit,
      ...(before && { before: { answeredAt: before[0], id: before[1] } }),
    });
    const nextCursor = page.next && encodeAuditCursor([page.next.answeredAt, page.next.id]);
    return answer({ entries: page.approvals.flatMap(auditEntriesOf), nextCursor });
  }

  /** From the log itself, in its order: what was answered, and what ran because a rule said so. */
  async function auditSession(owner: OwnerId, id: SessionId, limit: number, cursor?: string) {
    let after: Seq | null = cursor === undefined ? seq.parse(0) : decodeAuditCursor(cursor, seq);
    if (after === null) return badAuditCursor;
    const entries: AuditEntry[] = [];
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await reads.events(owner, id, { after, limit: pageSize });
      if (page === null) return problem("session_not_found");
      for (const event of page.events) {
        entries.push(...(await entriesFrom(owner, id, event)));
        after = event.seq;
        if (entries.length >= limit)
          return answer({ entries, nextCursor: encodeAuditCursor(after) });
      }
      if (!page.more) return answer({ entries, nextCursor: null });
    }
    return answer({ entries, nextCursor: encodeAuditCursor(after) });
  }

  async function entriesFrom(
    owner: OwnerId,
    sessionId: SessionId,
    stored: StoredEvent,
  ): Promise<readonly AuditEntry[]> {
    if (stored.type !== "approval.answered" && stored.type !== "tool.started") return [];
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return [];
    const { event } = decoded;
    if (event.type === "approval.answered") {
      const row = await reads.approval(owner, event.data.approvalId);
      return row === null ? [] : auditEntriesOf(row);
    }
    if (event.type !== "tool.started" || event.runId === undefined) return [];
    const { callId, name: tool, allowedBy } = event.data;
    const by = approvalId.safeParse(allowedBy);
    const row = by.success ? await reads.approval(owner, by.data) : null;
    // What was allowed by its own approval is told with that.
    if (allowedBy === undefined || row?.callId === callId) return [];
    const { at, runId } = event;
    const rule = row?.details.rule ?? allowedBy;
    return [{ at, sessionId, runId, callId, tool, what: "ran", rule }];
  }

  return [
    mountCall(parts, "listRules", async ({ owner }) =>
      answer({ rules: [...(await hands.rules.list(owner))] }),
    ),
    mountCall(parts, "removeRule", removeRule),
    mountCall(parts, "listAudit", listAudit),
  ];
}

function auditEntriesOf(row: ApprovalRow): readonly AuditEntry[] {
  const { answeredAt, decision, session: sessionId, runId, callId, tool, details } = row;
  if (answeredAt === null || decision === null) return [];
  const { shown, rule, by } = details;
  const more = { ...(shown && { shown }), ...(rule && { rule }), ...(by && { by }) };
  return [{ at: answeredAt, sessionId, runId, callId, tool, what: decision, ...more }];
}

const answeredCursor = z.tuple([z.int().nonnegative(), approvalId]);

const badAuditCursor = problem("invalid_request", {
  errors: [{ path: "cursor", message: "expected a cursor that the list has given" }],
});

function encodeAuditCursor(place: readonly [number, AnsweredCursor["id"]] | Seq): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

function decodeAuditCursor<S extends z.ZodType>(text: string, schema: S): z.infer<S> | null {
  try {
    return schema.parse(JSON.parse(Buffer.from(text, "base64url").toString()));
  } catch {
    return null;
  }
}
