import type { Failed, PolicyRule, Register, RegisterRow } from "@holdfast/engine";
import {
  approvalId,
  type ApprovalId,
  type OwnerId,
  type RuleView,
  sessionId,
} from "@holdfast/protocol";
import { z } from "zod";

/** What people have always allowed. Stored in the database, so that it applies on every node. */
export interface StoredRules {
  list(owner: OwnerId): Promise<readonly RuleView[]>;
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
  removed: z.literal(true).optional(),
});

export function openStoredRules(register: Register): StoredRules {
  const keyOf = (id: ApprovalId): string => `${prefix}${id}`;
  return {
    async list(owner) {
      const rows = await register.list(owner, prefix, maxRules);
      return rows.flatMap(decode).toSorted((a, b) => a.madeAt - b.madeAt);
    },
    async add({ owner, approvalId: id, rule, session, by }) {
      const value = JSON.stringify({ id, rule, sessionId: session, by: by ?? owner });
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

/** An unreadable row allows nothing. */
function decode({ value, at }: RegisterRow): readonly RuleView[] {
  try {
    const { removed, ...rule } = stored.parse(JSON.parse(value));
    return removed === true ? [] : [{ ...rule, madeAt: at }];
  } catch {
    return [];
  }
}
