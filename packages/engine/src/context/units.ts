import { decodeEvent, type Seq, type StoredEvent, textOf } from "@holdfast/protocol";

import type { CountTokens, SummaryMaterial } from "../ports/background-models.ts";

/**
 * Entries that stay together: a person's message, or an answer with everything that its calls brought. What is neither
 * goes with what stands before it.
 */
export interface Unit {
  readonly kind: "user" | "answer";
  readonly first: Seq;
  readonly last: Seq;
  readonly tokens: number;
  readonly material: readonly SummaryMaterial[];
}

export function unitsOf(entries: readonly StoredEvent[], count: CountTokens): readonly Unit[] {
  const units: Unit[] = [];
  for (const entry of entries) {
    const before = units.at(-1);
    // Nothing was said yet.
    if (before === undefined && !startsUnit(entry)) continue;
    const said = materialOf(entry);
    const tokens = said.reduce((sum, { text }) => sum + count(text), 0);
    if (before !== undefined && !startsUnit(entry)) {
      const material = [...before.material, ...said];
      units[units.length - 1] = {
        ...before,
        last: entry.seq,
        tokens: before.tokens + tokens,
        material,
      };
      continue;
    }
    const kind = entry.type === "message.user" ? "user" : "answer";
    units.push({ kind, first: entry.seq, last: entry.seq, tokens, material: said });
  }
  return units;
}

function startsUnit({ type }: StoredEvent): boolean {
  return type === "message.user" || type === "message.assistant";
}

function materialOf(entry: StoredEvent): readonly SummaryMaterial[] {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known") return [];
  const { event } = decoded;
  switch (event.type) {
    case "message.user":
      return [{ role: "user", text: textOf(event.data.parts) }];
    case "message.assistant": {
      const asked = event.data.parts.flatMap((part) =>
        part.type === "tool_call" ? [`[calls ${part.name} ${JSON.stringify(part.input)}]`] : [],
      );
      return [{ role: "assistant", text: [textOf(event.data.parts), ...asked].join("\n").trim() }];
    }
    case "message.tool":
      return event.data.parts.flatMap((part): SummaryMaterial[] =>
        part.type === "tool_result"
          ? [{ role: "tool", text: `[${part.name}: ${part.outcome}] ${part.output}` }]
          : [],
      );
    default:
      return [];
  }
}
