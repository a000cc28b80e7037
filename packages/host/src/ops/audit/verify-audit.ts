import type { SessionId } from "@holdfast/protocol";
import {
  addToHash,
  ChainCheck,
  commitmentOf,
  decodeLink,
  type RunningHash,
  startOfDigest,
} from "@holdfast/store/hash-chain";
import { z } from "zod";
import {
  type AuditEvent,
  type AuditHeader,
  auditHeader,
  auditLine,
  type IntactEvent,
} from "./audit-file.ts";
import { isHeadSigned, type SignedHead, signerOf } from "./signed-head.ts";

export type AuditProblemCode =
  | "file_invalid"
  | "file_cut"
  | "event_damaged"
  | "event_changed"
  | "events_missing"
  | "digest_differs"
  | "signature_invalid"
  | "signature_missing";

export interface AuditProblem {
  readonly code: AuditProblemCode;
  readonly message: string;
}

export interface AuditReport {
  readonly session: string | null;
  readonly events: number;
  /** Events that an older version wrote without a link and no later event has hashed. */
  readonly unlinked: number;
  readonly redacted: number;
  /** Who signed, and up to which event. */
  readonly signatures: readonly {
    readonly key: string;
    readonly seq: number;
    readonly at: number;
  }[];
  readonly problems: readonly AuditProblem[];
}

const maxProblems = 100;

/** Checks an audit export without a host: every link, every number, every signature. */
export async function verifyAudit(
  lines: AsyncIterable<string>,
  trustedKey?: string,
): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const report = (code: AuditProblemCode, message: string): void => {
    if (problems.length < maxProblems) problems.push({ code, message });
  };
  const logs = new Map<SessionId, LogCheck>();
  let header: AuditHeader | undefined;
  let signatures: readonly SignedHead[] | undefined;
  let number = 0;
  for await (const text of lines) {
    number += 1;
    if (text === "") continue;
    const value = parseJson(text);
    if (number === 1) {
      header = auditHeader.safeParse(value).data;
      if (header !== undefined) continue;
      report("file_invalid", "This is not an audit export: holdfast export SESSION --format audit");
      return { session: null, events: 0, unlinked: 0, redacted: 0, signatures: [], problems };
    }
    const line = auditLine.safeParse(value);
    if (!line.success || signatures !== undefined) {
      report("file_invalid", `Line ${number} does not belong in an audit export.`);
    } else if ("end" in line.data) {
      ({ signatures } = line.data);
    } else {
      const { log } = line.data;
      let check = logs.get(log);
      if (check === undefined) logs.set(log, (check = new LogCheck(log, report)));
      check.add(line.data);
    }
  }
  if (signatures === undefined) report("file_cut", "The file ends before its last line.");
  const session = header?.session ?? null;
  const own = session === null ? undefined : logs.get(session);
  // Removals inside a log break its chain; numbers also show what is missing at its end.
  if (header !== undefined) own?.close(header);
  const valid = session === null ? [] : checkSignatures(session, own, signatures ?? []);
  const trusted = valid.filter(({ key }) => trustedKey === undefined || key === trustedKey);
  if (trusted.length < (signatures ?? []).length && trustedKey === undefined)
    report("signature_invalid", "A signature does not match the events.");
  if (trusted.length === 0)
    report(
      "signature_missing",
      trustedKey === undefined ? "No valid signature." : `Not signed by ${trustedKey}.`,
    );
  const sum = (of: (check: LogCheck) => number): number =>
    logs.values().reduce((total, check) => total + of(check), 0);
  return {
    session,
    events: sum(({ events }) => events),
    unlinked: sum(({ unlinked }) => unlinked),
    redacted: sum(({ redacted }) => redacted),
    signatures: trusted,
    problems,
  };
}

function checkSignatures(
  session: SessionId,
  log: LogCheck | undefined,
  signatures: readonly SignedHead[],
): AuditReport["signatures"] {
  return signatures
    .filter(
      (signed) => log?.hashes.get(signed.seq) === signed.hash && isHeadSigned(session, signed),
    )
    .map((signed) => ({ key: signerOf(signed), seq: signed.seq, at: signed.at }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const settlement = z.object({ deltas: z.array(z.tuple([z.int(), z.int()])) });
const chainBegan = z.object({ salt: z.string(), digest: z.string(), events: z.int() });

/** Follows one log from its first event. */
class LogCheck {
  readonly hashes = new Map<number, string>();
  events = 0;
  unlinked = 0;
  redacted = 0;
  readonly #log: SessionId;
  readonly #report: (code: AuditProblemCode, message: string) => void;
  readonly #chain: ChainCheck;
  /** Rows so far; a digest is checked from its own salt, so they are needed again. */
  readonly #rows: IntactEvent[] = [];
  #last = 0;
  #gaps: [number, number][] = [];

  constructor(log: SessionId, report: (code: AuditProblemCode, message: string) => void) {
    this.#log = log;
    this.#report = report;
    this.#chain = new ChainCheck(log);
  }

  add(event: AuditEvent): void {
    this.events += 1;
    this.#countSeq(event);
    const link = event.link === null ? null : decodeLink(event.link);
    if (link !== null) this.hashes.set(event.seq, link.hash);
    if ("damaged" in event) {
      this.#chain.check("", link, "");
      this.#report("event_damaged", `${this.#name(event.seq)} cannot be read: ${event.damaged}.`);
      return;
    }
    const row = rowOf(event);
    const isRedacted = event.redacted !== undefined;
    if (isRedacted) this.redacted += 1;
    const commitment = event.redacted ?? (link === null ? "" : commitmentOf(row, link));
    const state = this.#chain.check(event.type, link, commitment);
    if (state === "broken" || state === "unlinked")
      this.#report(
        "event_changed",
        `${this.#name(event.seq)} was changed, or something directly before it was changed, removed or inserted.`,
      );
    if (event.type === "chain.began") this.#checkDigest(event);
    else if (state !== "linked") this.unlinked += 1;
    this.#rows.push(event);
    for (const [from, to] of settlement.safeParse(event.data).data?.deltas ?? [])
      this.#explain(from, to);
  }

  close({ head, open }: Pick<AuditHeader, "head" | "open">): void {
    if (head > this.#last) this.#gaps.push([this.#last + 1, head]);
    const unexplained = this.#gaps.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    if (unexplained === open) return;
    const spans = this.#gaps.map(([from, to]) => (from === to ? `${from}` : `${from} to ${to}`));
    this.#report(
      "events_missing",
      `Events of ${this.#log} are missing among these numbers: ${spans.join(", ")}.`,
    );
  }

  #name(seq: number): string {
    return `Event ${seq} of ${this.#log}`;
  }

  /** Numbers are dense; deltas that an entry settles are not in the file. */
  #countSeq({ seq }: AuditEvent): void {
    if (seq <= this.#last)
      this.#report("event_changed", `${this.#name(seq)} is out of order or appears twice.`);
    else if (this.#last > 0 && seq > this.#last + 1) this.#gaps.push([this.#last + 1, seq - 1]);
    this.#last = Math.max(this.#last, seq);
  }

  #explain(from: number, to: number): void {
    this.#gaps = this.#gaps.flatMap(([first, last]): [number, number][] => {
      if (to < first || from > last) return [[first, last]];
      const rest: [number, number][] = [];
      if (first < from) rest.push([first, from - 1]);
      if (last > to) rest.push([to + 1, last]);
      return rest;
    });
  }

  #checkDigest(event: IntactEvent): void {
    const began = chainBegan.safeParse(event.data).data;
    if (began === undefined) return;
    // Redacted rows cannot be hashed again: then the digest says nothing here.
    if (this.#rows.some((row) => row.redacted !== undefined)) return;
    let digest: RunningHash = startOfDigest(began.salt);
    for (const row of this.#rows) digest = addToHash(digest, rowOf(row));
    if (digest.hash === began.digest && digest.count === began.events) this.unlinked = 0;
    else
      this.#report(
        "digest_differs",
        `The events before ${event.seq} of ${this.#log} are not those that were there when its chain began.`,
      );
  }
}

function rowOf({ seq, id, type, v, at, runId, quiet, data }: IntactEvent) {
  return { seq, id, type, v, at, runId, quiet, data: JSON.stringify(data) };
}
