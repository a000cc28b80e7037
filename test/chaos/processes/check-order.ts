import { acknowledged, bySeq, countBy, type Evidence, settlements } from "./evidence.ts";

/** P2: seqs are dense except for settled deltas, and no event appears twice. */
export function checkOrder({ logs }: Evidence): string[] {
  const problems: string[] = [];
  for (const [session, events] of logs) {
    const settled = settlements(events);
    const stored = bySeq(events);
    if (stored.size !== events.length) problems.push(`[P2] ${session} has a number twice`);
    for (const [id, count] of countBy(events, (event) => event.id))
      if (count > 1) problems.push(`[P2] ${id} of ${session} is there ${count} times`);
    const last = events.at(-1)?.seq ?? 0;
    for (let seq: number = events[0]?.seq ?? 1; seq <= last; seq += 1)
      if (!stored.has(seq) && !settled.has(seq))
        problems.push(`[P2] number ${seq} of ${session} is missing`);
  }
  return problems;
}

/** P3: each fence has one owner, and nothing is written under an older fence once a newer one was issued. */
export function checkFences({ happened }: Evidence): string[] {
  const problems: string[] = [];
  const owners = new Map<string, string>();
  const commits = new Map<string, { fence: number; first: number; by: string }[]>();
  const given = new Map<string, { fence: number; head: number; by: string }[]>();
  for (const entry of happened) {
    if (entry.kind !== "said") continue;
    const { by, message } = entry;
    if (message.word !== "leased" && message.word !== "committed") continue;
    const { session, fence } = message;
    const owner = owners.get(`${session} ${fence}`) ?? by;
    owners.set(`${session} ${fence}`, owner);
    if (owner !== by) problems.push(`[P3] fence ${fence} of ${session} was ${owner}'s and ${by}'s`);
    if (message.word === "leased") append(given, session, { fence, head: message.head, by });
    else append(commits, session, { fence, first: message.first, by });
  }
  for (const [session, written] of commits) {
    let newest = 0;
    for (const { fence, first, by } of written.toSorted((a, b) => a.first - b.first)) {
      if (fence < newest)
        problems.push(`[P3] ${by} wrote ${first} of ${session} under ${fence} behind ${newest}`);
      newest = Math.max(newest, fence);
      const later = given.get(session)?.find((entry) => entry.fence > fence && entry.head < first);
      if (later !== undefined)
        problems.push(
          `[P3] ${by} wrote ${first} of ${session} under ${fence}; ${later.by} had ${later.fence} at ${later.head}`,
        );
    }
  }
  return problems;
}

function append<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [item]);
  else list.push(item);
}

/** What each act writes. An undo cuts, or restores what an edit replaced. */
const marks: Readonly<Record<string, readonly string[]>> = {
  undo: ["history."],
  truncate: ["history.", "history.cut"],
  clear: ["history.", "history.cut"],
  retry: ["history.", "history.cut"],
  redo: ["history.", "history.restored"],
};

/** P8: every acknowledged session exists, and every change of its history is in its log. */
export function checkHistories(evidence: Evidence): string[] {
  const problems: string[] = [];
  const expected = new Map<string, number>();
  for (const { request, told } of acknowledged(evidence)) {
    const { act } = request;
    if (act === "create" || act === "branch") {
      const id = told.session;
      if (id !== undefined && !evidence.logs.has(id)) problems.push(`[P8] ${id} is not there`);
      continue;
    }
    for (const mark of marks[act] ?? []) {
      const key = `${request.session} ${mark}`;
      expected.set(key, (expected.get(key) ?? 0) + 1);
    }
  }
  for (const [key, count] of expected) {
    const [session = "", mark = ""] = key.split(" ");
    const events = [...evidence.logs].find(([id]) => id === session)?.[1] ?? [];
    const found = events.filter(({ type }) => type.startsWith(mark)).length;
    if (found < count)
      problems.push(`[P8] ${session} has ${found} ${mark}, and ${count} were acknowledged`);
  }
  return problems;
}
