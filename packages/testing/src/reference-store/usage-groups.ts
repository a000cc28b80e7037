import type { UsageGroup, UsageGroupQuery, UsageRow, UsageTotals } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import type { ReferenceData } from "./data.ts";

export function usageGroups(
  data: ReferenceData,
  owner: OwnerId,
  query: UsageGroupQuery,
): readonly UsageGroup[] {
  const groups = new Map<string, UsageGroup>();
  for (const row of data.usage) {
    const key = row.owner === owner ? keyOf(data, row, query) : undefined;
    if (key !== undefined) groups.set(key, add(groups.get(key), key, row));
  }
  if (query.by === "day")
    return [...groups.values()].toSorted((a, b) => Number(a.key) - Number(b.key));
  return [...groups.values()].toSorted(largestFirst).slice(0, query.limit);
}

function keyOf(data: ReferenceData, row: UsageRow, query: UsageGroupQuery): string | undefined {
  if (query.by === "day") {
    const day = query.days.findIndex(({ from, to }) => row.at >= from && row.at < to);
    return day === -1 ? undefined : String(day);
  }
  const { within } = query;
  if (row.at < within.from || row.at >= within.to) return undefined;
  if (query.by !== "client") return query.by === "model" ? row.model : row.session;
  const inputs = [...(data.sessions.get(row.session)?.inputs.values() ?? [])];
  const clientId = inputs.find(({ runId }) => runId === row.runId)?.clientId;
  if (clientId?.startsWith(query.prefix) !== true) return undefined;
  return clientId.slice(query.prefix.length).split(":")[0];
}

function add(group: UsageGroup | undefined, key: string, row: UsageRow): UsageGroup {
  return {
    key,
    input: (group?.input ?? 0) + row.input,
    output: (group?.output ?? 0) + row.output,
    cacheRead: (group?.cacheRead ?? 0) + row.cacheRead,
    cacheWrite: (group?.cacheWrite ?? 0) + row.cacheWrite,
    costMicros: (group?.costMicros ?? 0) + row.costMicros,
    calls: (group?.calls ?? 0) + 1,
    sent: (group?.sent ?? 0) + Math.max(row.input, row.cacheRead + row.cacheWrite),
  };
}

function largestFirst(a: UsageGroup, b: UsageGroup): number {
  return (
    b.costMicros - a.costMicros || b.sent + b.output - a.sent - a.output || (a.key < b.key ? -1 : 1)
  );
}

export function addUp(rows: readonly UsageRow[]): UsageTotals {
  const sum = rows.reduce<UsageGroup | undefined>((total, row) => add(total, "", row), undefined);
  const {
    input = 0,
    output = 0,
    cacheRead = 0,
    cacheWrite = 0,
    costMicros = 0,
    calls = 0,
  } = sum ?? {};
  return { input, output, cacheRead, cacheWrite, costMicros, calls };
}
