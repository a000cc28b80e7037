import { hash as digest, randomFillSync } from "node:crypto";
import type { LinkState, Plan, RawEvent } from "@holdfast/engine";
import type { KnownEvent, SessionId, StoredEvent } from "@holdfast/protocol";
import { type EventRow, toEventRow } from "../schema/tables.ts";

/**
 * Each event of a log, except deltas, is linked to the one before it by a hash, so that whoever knows the last hash can
 * prove that nothing before it was changed, removed or inserted.
 *
 *     commitment = sha256(salt, output, event)
 *     hash       = sha256(hash of the event before, commitment)
 *
 * The salt keeps a hash that outlives its event from confirming a guess about it. `output` stands for the deltas that
 * the event settles: they are pruned, and the hash still says what they were.
 */
export interface Link {
  readonly salt: string;
  readonly hash: string;
  readonly output: string | null;
}

/** What is hashed of an event: all that is stored of it. */
export interface HashedRow {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  readonly v: number;
  readonly at: number;
  readonly runId: string | null;
  readonly quiet: boolean;
  /** The JSON text. */
  readonly data: string;
}

export const rowOfEvent: (event: StoredEvent) => EventRow = toEventRow;

/** Where the next event of a log is linked. */
export interface ChainState {
  /** The hash of the last event; `null` if it has none, because an older version wrote it. */
  readonly last: string | null;
  /** The open deltas; `null` if some of them were not hashed. */
  readonly output: RunningHash | null;
}

/** The hash of a stretch of rows, and how many it covers: an older version adds deltas without hashing them. */
export interface RunningHash {
  readonly count: number;
  readonly hash: string;
}

export const noOutput: RunningHash = { count: 0, hash: "" };

const saltLength = 16;
const hashLength = 43;

export function encodeLink({ salt, hash, output }: Link): string {
  return salt + hash + (output ?? "");
}

export function decodeLink(text: string): Link | null {
  const hash = text.slice(saltLength, saltLength + hashLength);
  const output = text.slice(saltLength + hashLength);
  const isWhole = hash.length === hashLength && (output === "" || output.length === hashLength);
  if (!isWhole) return null;
  return { salt: text.slice(0, saltLength), hash, output: output === "" ? null : output };
}

export function hashOfLink(text: string | null): string | null {
  return text === null ? null : (decodeLink(text)?.hash ?? null);
}

export function encodeRunningHash({ count, hash }: RunningHash): string {
  return `${count} ${hash}`;
}

/** `null` if it does not cover exactly the deltas that are open. */
export function decodeRunningHash(text: string | null, openDeltas: number): RunningHash | null {
  if (openDeltas === 0) return noOutput;
  const [count, hash] = text?.split(" ") ?? [];
  return hash !== undefined && Number(count) === openDeltas ? { count: openDeltas, hash } : null;
}

/** Random bytes for many salts at once. */
const chunk = Buffer.alloc(12 * 512);
let used = chunk.length;

export function newSalt(): string {
  if (used === chunk.length) {
    randomFillSync(chunk);
    used = 0;
  }
  used += 12;
  return chunk.toString("base64url", used - 12, used);
}

function sha256(text: string): string {
  return digest("sha256", text, "base64url");
}

/** What the first event of a log is linked to. */
export function chainStart(session: SessionId): string {
  return sha256(`holdfast chain 1 ${session}`);
}

function textOf({ seq, id, type, v, at, runId, quiet, data }: HashedRow): string {
  return `${JSON.stringify([seq, id, type, v, at, runId, quiet])}\n${data}`;
}

export function commitmentOf(
  row: HashedRow,
  { salt, output }: Pick<Link, "salt" | "output">,
): string {
  return sha256(`${salt}\n${output ?? ""}\n${textOf(row)}`);
}

export function linkHash(previous: string, commitment: string): string {
  return sha256(`${previous} ${commitment}`);
}

function linkEvent(previous: string, row: EventRow, output: string | null): Link {
  const salt = newSalt();
  return { salt, output, hash: linkHash(previous, commitmentOf(row, { salt, output })) };
}

/** One more row. */
export function addToHash({ count, hash }: RunningHash, row: HashedRow): RunningHash {
  return { count: count + 1, hash: sha256(`${hash}\n${textOf(row)}`) };
}

/** Begins a chain in the middle of a log. */
const chainBegan = "chain.began" satisfies KnownEvent["type"];

/** What `chain.began` says of the rows before it, which an older version wrote: their hash, beginning with its salt. */
export function startOfDigest(salt: string): RunningHash {
  return { count: 0, hash: salt };
}

export interface LinkedRow {
  readonly row: EventRow;
  readonly link: string | null;
}

export interface LinkedPlan {
  /** As in the plan. */
  readonly log: readonly LinkedRow[];
  readonly deltas: readonly EventRow[];
  readonly state: ChainState;
}

/** Encodes and links what a commit adds, in the order of its seqs. */
export function linkPlan(plan: Plan, before: ChainState): LinkedPlan {
  const deltas = plan.deltas.map(toEventRow);
  let { last, output } = before;
  let next = 0;
  const addDeltas = (upTo: number): void => {
    for (; next < deltas.length && deltas[next]!.seq < upTo; next += 1)
      output &&= addToHash(output, deltas[next]!);
  };
  const log = plan.log.map((event): LinkedRow => {
    addDeltas(event.seq);
    const row = toEventRow(event);
    const settled = isSettlement(event) ? output : null;
    if (isSettlement(event)) output = noOutput;
    const copied = plan.links?.get(event.seq);
    if (copied !== undefined) {
      last = hashOfLink(copied);
      return { row, link: copied };
    }
    const previous = last ?? firstHash(plan, event);
    if (previous === null) return { row, link: null };
    const link = linkEvent(previous, row, settled?.count ? settled.hash : null);
    last = link.hash;
    return { row, link: encodeLink(link) };
  });
  addDeltas(Infinity);
  return { log, deltas, state: { last, output } };
}

function firstHash({ session, created }: Plan, { type }: StoredEvent): string | null {
  return created || type === chainBegan ? chainStart(session.id) : null;
}

/** The first entry that names deltas settles all that are open. */
function isSettlement({ data }: StoredEvent): boolean {
  return Array.isArray(data["deltas"]) && data["deltas"].length > 0;
}

/** Follows a stored chain from its first event. */
export class ChainCheck {
  readonly #session: SessionId;
  #last: string | null | undefined;

  constructor(session: SessionId) {
    this.#session = session;
  }

  /** After a break it continues from the stored hash, so that only the events around the break are named. */
  check(type: string, link: Link | null, commitment: string): LinkState {
    const previous = this.#last;
    this.#last = link?.hash ?? null;
    if (link === null) return typeof previous === "string" ? "unlinked" : "before chain";
    const start = previous === undefined || type === chainBegan;
    const from = previous ?? (start ? chainStart(this.#session) : null);
    return from !== null && linkHash(from, commitment) === link.hash ? "linked" : "broken";
  }
}

/** A row of a log as it was read, before it is known whether it fits to the one before it. */
export interface UncheckedEvent extends Omit<RawEvent, "link"> {
  readonly type: string;
  readonly link: string | null;
  readonly commitment: string;
}

/** From the row as it is stored, whether or not it can be decoded. */
export function linkOfRow(
  row: HashedRow,
  stored: string | null,
): Pick<UncheckedEvent, "type" | "link" | "commitment"> {
  const link = stored === null ? null : decodeLink(stored);
  return { type: row.type, link: stored, commitment: link === null ? "" : commitmentOf(row, link) };
}

/** Adds the state of their links to the rows of one log, which come from its beginning. */
export async function* checkChain(
  session: SessionId,
  events: AsyncIterable<UncheckedEvent>,
): AsyncGenerator<RawEvent> {
  const chain = new ChainCheck(session);
  for await (const { type, link: text, commitment, ...event } of events) {
    if (event.place !== "log") {
      yield event;
      continue;
    }
    const link = text === null ? null : decodeLink(text);
    yield { ...event, link: { text, state: chain.check(type, link, commitment) } };
  }
}
