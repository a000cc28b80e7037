import type { Failed, PolicyRule, Register, RegisterRow } from "@holdfast/engine";
import {
  approvalId,
  approvedFile,
  type ApprovalId,
  type OwnerId,
  type RuleView,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

import { isAlwaysTooWide } from "./match-rules.ts";
import { parseRule } from "./rule.ts";

export type StoredRule = RuleView;

/** What people have always allowed. Stored in the database, so that it applies on every node. */
export interface StoredRules {
  /** Those that have not ended. */
  list(owner: OwnerId): Promise<readonly StoredRule[]>;
  /** Adding a rule again changes nothing; a removed one stays removed. */
  add(rule: PolicyRule & { readonly rule: string }): Promise<void>;
  remove(owner: OwnerId, id: ApprovalId): Promise<"removed" | "not_found" | Failed>;
}

const maxRules = 1_000;
const prefix = "rule/";

const stored = z.looseObject({
  id: approvalId,
  rule: z.string(),
  sessionId,
  by: z.string(),
  until: z.int().optional(),
  files: z.array(approvedFile).optional(),
  removed: z.literal(true).optional(),
});

export function openStoredRules(register: Register, now: () => number = Date.now): StoredRules {
  const keyOf = (id: ApprovalId): string => `${prefix}${id}`;
  return {
    async list(owner) {
      const rows = await register.list(owner, prefix, maxRules);
      const at = now();
      return rows
        .flatMap(decode)
        .filter(({ until = Infinity }) => until > at)
        .toSorted((a, b) => a.madeAt - b.madeAt);
    },
    async add({ owner, approvalId: id, rule, session, by, until, files }) {
      const more = { ...(until !== undefined && { until }), ...(files !== undefined && { files }) };
      const value = JSON.stringify({ id, rule, sessionId: session, by: by ?? owner, ...more });
      const put = await register.put({ owner, key: keyOf(id), value, expect: 0 });
      if (put.status === "failed") throw new Error(put.message);
    },
    async remove(owner, id) {
      for (;;) {
        const row = await register.read(owner, keyOf(id));
        const [known] = row === null ? [] : decode(row);
        if (row === null || known === undefined) return "not_found";
        const value = JSON.stringify({ ...known, removed: true });
        const put = await register.put({ owner, key: row.key, value, expect: row.revision });
        if (put.status === "put") return "removed";
        if (put.status === "failed") return put;
      }
    },
  };
}

/** For the list that people see: what an older version accepted, and allows nothing any more. */
export function markTooWide(view: StoredRule): StoredRule {
  const rule = parseRule(view.rule);
  return rule !== null && isAlwaysTooWide(rule) ? { ...view, tooWide: true } : view;
}

/** An unreadable row allows nothing. */
function decode({ value, at }: RegisterRow): readonly StoredRule[] {
  try {
    const { removed, ...rule } = stored.parse(JSON.parse(value));
    return removed === true ? [] : [{ ...rule, madeAt: at }];
  } catch {
    return [];
  }
}
