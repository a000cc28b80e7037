import type { SessionId } from "@holdfast/protocol";
import { outboxKey } from "../log/fold-work.ts";
import type { Audit, Derived } from "../ports/audit.ts";
import type { SessionRow } from "../ports/rows.ts";
import { SessionDerivation } from "./derive-session.ts";
import type { Finding } from "./findings.ts";

export type FsckMode = "check" | "rebuild";

export type SessionReport =
  | {
      readonly status: "checked";
      readonly findings: readonly Finding[];
      readonly derivation: SessionDerivation;
      readonly stored: Derived;
    }
  /** It was being written each time it was read. */
  | { readonly status: "moving" }
  | { readonly status: "gone" };

const tries = 3;

export async function checkSession(
  audit: Audit,
  id: SessionId,
  mode: FsckMode,
): Promise<SessionReport> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const before = await audit.derived(id);
    if (before === null) return { status: "gone" };
    const derivation = await derive(audit, before.session);
    const stored = await audit.derived(id);
    // Every write to a session moves its head.
    if (stored?.session.head !== before.session.head) continue;
    const logFindings = [...derivation.findings, ...headFindings(stored.session, derivation)];
    // A partial log proves nothing about the rows.
    const rowFindings = derivation.isWhole ? compare(stored, derivation) : [];
    const findings = [...logFindings, ...rangeFindings(stored.session)];
    const isRepairable = rowFindings.length > 0 && mode === "rebuild";
    if (!isRepairable) {
      return { status: "checked", findings: [...findings, ...rowFindings], derivation, stored };
    }
    const repair = await rebuild(audit, stored, derivation);
    if (repair === "moved") continue;
    const repaired = rowFindings.map((finding): Finding => ({ ...finding, repair }));
    return { status: "checked", findings: [...findings, ...repaired], derivation, stored };
  }
  return { status: "moving" };
}

async function derive(audit: Audit, stored: SessionRow): Promise<SessionDerivation> {
  const derivation = new SessionDerivation(stored);
  for await (const raw of audit.events(stored.id)) derivation.add(raw);
  derivation.close();
  return derivation;
}

/** P14: proven by reading back what was written. */
async function rebuild(
  audit: Audit,
  stored: Derived,
  derivation: SessionDerivation,
): Promise<"done" | "failed" | "moved"> {
  const written = derivedRows(stored, derivation);
  if (written === null) return "failed";
  if ((await audit.replaceDerived(written)) === "moved") {
    const now = await audit.derived(stored.session.id);
    return now?.session.head === stored.session.head ? "failed" : "moved";
  }
  const after = await audit.derived(stored.session.id);
  if (after === null) return "failed";
  return compare(after, derivation).length === 0 ? "done" : "failed";
}

function derivedRows(stored: Derived, derivation: SessionDerivation): Derived | null {
  const session = expectedSession(stored.session, derivation);
  if (session === null) return null;
  const { runs, inputs, usage, approvals, memory, outbox } = derivation;
  return {
    session,
    runs: [...runs.values()],
    inputs: [...inputs.values()],
    lanes: expectedLanes(stored, derivation),
    usage,
    approvals: [...approvals.values()],
    marks: memory.marks,
    memoryTries: memory.tries,
    outbox: [...outbox.values()],
  };
}

/** Which lanes a session owns depends on other sessions too; here only what this log cannot have said is corrected. */
function expectedLanes(stored: Derived, { lanes }: SessionDerivation): Derived["lanes"] {
  return stored.lanes.flatMap(({ lane }) => lanes.get(lane)?.row ?? []);
}

function expectedSession(stored: SessionRow, derivation: SessionDerivation): SessionRow | null {
  const { session, activityUpTo } = derivation;
  if (session === null) return null;
  const { activityAt } = stored;
  const isPossible = activityAt >= session.activityAt && activityAt <= activityUpTo;
  return isPossible ? { ...session, activityAt } : session;
}

function compare(stored: Derived, derivation: SessionDerivation): Finding[] {
  const { id: session } = stored.session;
  const { runs, inputs, usage, approvals, memory, outbox } = derivation;
  const location = (table: string) => ({ table, session });
  const lanes = expectedLanes(stored, derivation);
  return [
    ...compareSession(stored.session, expectedSession(stored.session, derivation)),
    ...compareTable(location("runs"), stored.runs, runs.values(), (row) => row.id),
    ...compareTable(location("inputs"), stored.inputs, inputs.values(), (row) => row.messageId),
    ...compareTable(location("usage"), stored.usage, usage, (row) => `${session} ${row.seq}`),
    ...compareTable(location("approvals"), stored.approvals, approvals.values(), (row) => row.id),
    ...compareTable(
      location("marks"),
      stored.marks,
      memory.marks,
      (row) => `${session} ${row.seq}`,
    ),
    ...compareTable(location("memory_tries"), stored.memoryTries, memory.tries, () => session),
    ...compareTable(location("outbox"), stored.outbox, outbox.values(), outboxKey),
    ...compareTable(location("lanes"), stored.lanes, lanes, (row) => `${row.owner} ${row.lane}`),
  ];
}

function compareSession(stored: SessionRow, derived: SessionRow | null): Finding[] {
  if (derived === null) return [];
  // The seqs prove the head; a rebuild must not move it.
  const differing = differences({ ...stored, head: 0 }, { ...derived, head: 0 });
  if (differing.length === 0) return [];
  const { id } = stored;
  const message = `${differing.join("; ")}.`;
  return [
    { code: "row_differs", table: "sessions", session: id, key: id, message, repair: "possible" },
  ];
}

/** A head above the last row means a missing seq; one below it would issue a seq twice. */
function headFindings({ id, head }: SessionRow, { session }: SessionDerivation): Finding[] {
  if (session === null || session.head <= head) return [];
  const message = `The head is ${head}, and the log goes on to ${session.head}.`;
  return [{ code: "head_differs", table: "sessions", session: id, key: id, message }];
}

function rangeFindings({ id, head, ranges }: SessionRow): Finding[] {
  const unsound = ranges.findIndex(({ from, to, log = id }, index) => {
    const next = ranges[index + 1];
    if (from < 1 || (to !== null && to < from)) return true;
    if (log === id && (to ?? from - 1) > head) return true;
    if (to === null) return next !== undefined || log !== id;
    return next !== undefined && next.from <= to;
  });
  if (unsound === -1) return [];
  const message = `The visible stretch ${JSON.stringify(ranges[unsound])} does not fit.`;
  return [{ code: "ranges_unsound", table: "sessions", session: id, key: id, message }];
}

/** Equal as JSON: absent and undefined fields are the same, and so is any field order. */
function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  return fieldsOf(a, b).every((field) => sameValue(Reflect.get(a, field), Reflect.get(b, field)));
}

/** The fields in which two rows differ, each with the stored and the expected value. */
function differences(stored: object, derived: object): string[] {
  return fieldsOf(stored, derived)
    .filter((field) => !sameValue(Reflect.get(stored, field), Reflect.get(derived, field)))
    .map((field) => {
      const [is, should] = [Reflect.get(stored, field), Reflect.get(derived, field)] as unknown[];
      return `${field} is ${shortJson(is)} and should be ${shortJson(should)}`;
    });
}

function fieldsOf(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent";
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** Compares the rows of one table of one session by key. */
function compareTable<Row extends object>(
  { table, session }: { readonly table: string; readonly session: SessionId },
  stored: Iterable<Row>,
  derived: Iterable<Row>,
  keyOf: (row: Row) => string,
): Finding[] {
  const findings: Finding[] = [];
  const add = (code: Finding["code"], key: string, message: string): void => {
    findings.push({ code, table, session, key, message, repair: "possible" });
  };
  const rest = new Map([...derived].map((row) => [keyOf(row), row]));
  for (const row of stored) {
    const key = keyOf(row);
    const expected = rest.get(key);
    rest.delete(key);
    if (expected === undefined) add("row_extra", key, "The row follows from no event.");
    else {
      const differing = differences(row, expected);
      if (differing.length > 0) add("row_differs", key, `${differing.join("; ")}.`);
    }
  }
  for (const key of rest.keys()) add("row_missing", key, "The log says that there is such a row.");
  return findings;
}
