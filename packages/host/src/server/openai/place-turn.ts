import type { Reads, SessionRow } from "@holdfast/engine";
import {
  type AttachedPart,
  type IdSource,
  instructionsSource,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { ClientRequest, ClientTurn } from "./client-request.ts";
import { refuse, type Refusal } from "./errors.ts";
import type { RunAddress } from "./identifiers.ts";
import { hashOf, type SessionHints } from "./session-hints.ts";
import { compareHistory, normalText, prepareHistory, type ToldHistory } from "./compare-history.ts";
import { readTurns, type StoredTurn, type StoredTurns } from "./stored-turns.ts";

/** Which conversation a request belongs to, as far as it says so. */
export type Target =
  /** The client may leave out the history. */
  | ContinuedTarget
  /** The client's own name for a chat. Chat front ends tell the whole history each time. */
  | { readonly kind: "name"; readonly name: string; readonly tellsHistory: boolean }
  /** Nothing but the history. */
  | { readonly kind: "history" };

/** Named by an id of ours, and perhaps by a name of the client's too. */
export type ContinuedTarget = { readonly name?: string; readonly session: SessionId } & (
  | { readonly kind: "session" }
  | { readonly kind: "after"; readonly runId: RunId }
);

/** One target of what the headers name and what the body continues. A chat id of a front end is only a hint. */
export async function combineTargets(
  { reads, hints }: PlaceDeps,
  owner: OwnerId,
  named: Target,
  continued: ContinuedTarget,
): Promise<Target | Refusal> {
  if (named.kind === "history" || (named.kind === "name" && named.tellsHistory)) return continued;
  if (named.kind === "name") {
    const known = await hints.find(owner, hintKeyOfName(named.name));
    const isKnown = known.length === 0 || (await descendsFrom(reads, owner, continued, known));
    return isKnown ? { ...continued, name: named.name } : sessionConflict;
  }
  if (await descendsFrom(reads, owner, continued, [named.session])) return continued;
  const isBranch = await descendsFrom(reads, owner, named, [continued.session]);
  return isBranch ? { ...continued, session: named.session } : sessionConflict;
}

const sessionConflict = refuse(
  400,
  "session_conflict",
  "The header names a different session than conversation or previous_response_id. Send one of them, or both for the same session.",
  "conversation",
);

const maxAncestors = 50;

/** Whether a session is one of these, or a branch of one. */
async function descendsFrom(
  reads: Pick<Reads, "session">,
  owner: OwnerId,
  { session }: { readonly session: SessionId },
  wanted: readonly SessionId[],
): Promise<boolean> {
  let id: SessionId | undefined = session;
  for (let depth = 0; id !== undefined && depth < maxAncestors; depth += 1) {
    if (wanted.includes(id)) return true;
    const row: SessionRow | null = await reads.session(owner, id);
    id = row?.origin?.sessionId;
  }
  return false;
}

/** How a repeated request is recognised. */
export interface Repetition {
  /** Of the whole body. */
  readonly bodyHash: string;
  /** The client's `Idempotency-Key`, if it sent one. */
  readonly key: string | undefined;
  /** The client says that it tries again, without a key. */
  readonly isRetry: boolean;
}

export interface TurnRequest extends ClientRequest {
  readonly owner: OwnerId;
  readonly target: Target;
  readonly repetition: Repetition;
}

export type Placement =
  /** It was admitted before. */
  | ({ readonly kind: "repeated"; readonly session: SessionId } & RunAddress)
  | {
      readonly kind: "append";
      readonly session: SessionId;
      readonly attached: readonly AttachedPart[];
    }
  | {
      readonly kind: "branch";
      readonly session: SessionId;
      readonly at: Seq;
      readonly attached: readonly AttachedPart[];
    }
  | { readonly kind: "new"; readonly attached: readonly AttachedPart[] };

export interface PlaceDeps {
  readonly reads: Reads;
  readonly hints: SessionHints;
  readonly now: () => Promise<number>;
}

/** A client that missed an answer asks again within seconds. */
const retryWindowMs = 2 * 60_000;
const maxCandidates = 10;
/** Some clients put material of their own between the last answer and the new message. */
const turnsLookedUp = 6;

/** Begins the client id of every message that the request may have become. */
function clientIdPrefix({ bodyHash, key }: Repetition): string {
  return key === undefined ? `openai:${bodyHash}:` : `openai:key:${hashOf(key)}:`;
}

export function makeClientId(repetition: Repetition, ids: IdSource): string {
  const { key, bodyHash } = repetition;
  return clientIdPrefix(repetition) + (key === undefined ? ids.make("message") : bodyHash);
}

/** The session that a request with a key begins: the same for every host that gets it. */
export function sessionOfKey(owner: OwnerId, key: string): SessionId {
  return deterministicIds(JSON.stringify(["openai", owner, key])).make("session");
}

export const keyConflict = refuse(
  422,
  "idempotency_conflict",
  "Another request was sent under this Idempotency-Key. Use a new key for a new message.",
);

function mayBeRepeated({ key, isRetry }: Repetition): boolean {
  return isRetry || key !== undefined;
}

/**
 * P8: a history in a body is compared with ours and never believed. If it continues ours, the message is appended; if
 * the client went back or edited something, it goes to a branch.
 */
export async function placeTurn(
  deps: PlaceDeps,
  request: TurnRequest,
): Promise<Placement | Refusal> {
  const { owner, target } = request;
  const candidates = await readCandidates(deps, request);
  if (target.kind === "session" || target.kind === "after") {
    const { session } = target;
    if (!candidates.some((candidate) => candidate.session.id === session))
      return unknownSession(session);
  }
  const repeated = await findRepeated(deps, owner, candidates, request.repetition);
  if (repeated !== null) return repeated;
  if (target.kind === "after") return placeAfter(candidates, target.runId, request);
  const told = prepareHistory(request.history);
  const placed = candidates
    .flatMap((candidate) => placeIn(candidate, request, told) ?? [])
    .toSorted((a, b) => b.score - a.score)[0];
  if (placed !== undefined) return placed.placement;
  return { kind: "new", attached: attachedTo(request, request.history, []) };
}

export function hintKeyOfName(name: string): string {
  return `name ${name}`;
}

export function hintKeyOfSession(session: SessionId): string {
  return `session ${session}`;
}

export function hintKeyOfTurn(text: string): string {
  return `turn ${normalText(text)}`;
}

/** A message without a history that names its session needs little of it, however long that is. */
function entriesNeeded({ target, history, instructions, repetition }: TurnRequest): number {
  const comparesNothing = mayOmitHistory(target) && history.length === 0;
  if (!comparesNothing || mayBeRepeated(repetition)) return 500;
  return instructions === "" ? 1 : 100;
}

function mayOmitHistory(target: Target): boolean {
  return target.kind === "session" || (target.kind === "name" && !target.tellsHistory);
}

async function readCandidates(
  { reads, hints }: PlaceDeps,
  request: TurnRequest,
): Promise<readonly StoredTurns[]> {
  const { owner, target, history, text, repetition } = request;

  async function find(...keys: readonly string[]): Promise<readonly SessionId[]> {
    return (await Promise.all(keys.map((key) => hints.find(owner, key)))).flat();
  }

  async function findSessions(): Promise<readonly SessionId[]> {
    switch (target.kind) {
      case "session": {
        const branches = history.length === 0 ? [] : await find(hintKeyOfSession(target.session));
        return [...branches, target.session];
      }
      case "after":
        return [target.session];
      case "name":
        return find(hintKeyOfName(target.name));
      case "history": {
        const known = history.slice(-turnsLookedUp).map(({ user }) => user);
        return find(...[...known, ...(mayBeRepeated(repetition) ? [text] : [])].map(hintKeyOfTurn));
      }
    }
  }

  const { key } = repetition;
  const byKey = key === undefined ? [] : [sessionOfKey(owner, key)];
  const found = [...(await findSessions()), ...byKey].toReversed();
  const sessions = [...new Set(found)].slice(0, maxCandidates);
  const entries = entriesNeeded(request);
  const read = await Promise.all(sessions.map((id) => readTurns(reads, owner, id, entries)));
  return read.filter(
    (turns) => turns !== null && turns.session.trashedAt === null,
  ) as StoredTurns[];
}

async function findRepeated(
  deps: PlaceDeps,
  owner: OwnerId,
  candidates: readonly StoredTurns[],
  repetition: Repetition,
): Promise<Extract<Placement, { kind: "repeated" }> | Refusal | null> {
  if (!mayBeRepeated(repetition)) return null;
  const prefix = clientIdPrefix(repetition);
  for (const { session, turns } of candidates)
    for (const turn of turns.toReversed()) {
      const { runId, clientId } = turn;
      if (runId === undefined || clientId?.startsWith(prefix) !== true) continue;
      if (repetition.key !== undefined && !clientId.endsWith(repetition.bodyHash))
        return keyConflict;
      if (repetition.key === undefined && !(await isAwaited(deps, owner, runId))) continue;
      const begun = await findAcceptance(deps.reads, owner, session.id, turn);
      return { kind: "repeated", session: session.id, runId, begun };
    }
  return null;
}

/** Whether somebody may have missed the run's answer: later, the same words are another message. */
async function isAwaited({ reads, now }: PlaceDeps, owner: OwnerId, id: RunId): Promise<boolean> {
  const run = await reads.run(owner, id);
  if (run === null) return false;
  return run.endedAt === null || (await now()) - run.endedAt < retryWindowMs;
}

const maxQueuedEvents = 500;

/** Where the message was accepted, if that was not long before it was taken up. */
async function findAcceptance(
  reads: Pick<Reads, "events">,
  owner: OwnerId,
  session: SessionId,
  { seq, runId, isQueued }: StoredTurn,
): Promise<Seq> {
  if (isQueued) return seq;
  const after = Math.max(0, seq - maxQueuedEvents) as Seq;
  const page = await reads.events(owner, session, { after, upTo: seq, limit: maxQueuedEvents });
  const accepted = page?.events.find(
    ({ type, runId: run }) => type === "input.accepted" && run === runId,
  );
  return accepted?.seq ?? ((seq - 1) as Seq);
}

interface Scored {
  readonly placement: Placement;
  /** Higher is better: an append before a branch, then more in common. */
  readonly score: number;
}

function placeIn(
  { session, turns }: StoredTurns,
  request: TurnRequest,
  told: ToldHistory,
): Scored | null {
  const { history, target } = request;
  const isFreeOfHistory = mayOmitHistory(target);
  const append = (unknown: readonly ClientTurn[], score: number): Scored => ({
    placement: {
      kind: "append",
      session: session.id,
      attached: attachedTo(request, unknown, turns),
    },
    score,
  });
  if (turns.length === 0) return target.kind === "history" ? null : append(history, 0);
  if (history.length === 0) return isFreeOfHistory ? append([], 1) : null;
  const { lastCommon, matched, unknown, isEdited } = compareHistory(told, turns);
  if (lastCommon === turns.length - 1) return append(unknown, 1_000_000 + matched);
  const last = turns[lastCommon];
  if (last === undefined && isEdited)
    return { placement: { kind: "new", attached: attachedTo(request, unknown, []) }, score: 0 };
  if (last === undefined) return isFreeOfHistory ? append(unknown, 0) : null;
  // A message that still waits cannot be branched from; the new one waits behind it.
  if (last.isQueued) return append(unknown, matched);
  const kept = turns.slice(0, lastCommon + 1);
  const attached = attachedTo(request, unknown, kept);
  return {
    placement: { kind: "branch", session: session.id, at: last.end, attached },
    score: matched,
  };
}

/** Continues after a certain run: at the end if it is the last one, otherwise on a branch. */
function placeAfter(
  candidates: readonly StoredTurns[],
  runId: RunId,
  request: TurnRequest,
): Placement | Refusal {
  const [found] = candidates;
  const index = found?.turns.findLastIndex((turn) => turn.runId === runId) ?? -1;
  if (found === undefined || index === -1)
    return refuse(
      404,
      "previous_response_not_found",
      "There is no such response to continue. Send the id of a response whose conversation still shows it.",
      "previous_response_id",
    );
  const { session, turns } = found;
  const kept = turns.slice(0, index + 1);
  const attached = attachedTo(request, request.history, kept);
  const last = kept[index];
  if (index === turns.length - 1 || last === undefined || last.isQueued)
    return { kind: "append", session: session.id, attached };
  return { kind: "branch", session: session.id, at: last.end, attached };
}

const historySource = "history told by the client, unverified";
const maxHistoryLength = 32_000;

/** What the conversation does not show already. */
function attachedTo(
  { instructions }: ClientRequest,
  unknown: readonly ClientTurn[],
  turns: readonly StoredTurn[],
): readonly AttachedPart[] {
  const told = unknown
    .flatMap(({ user, assistant }) => [
      `user: ${user}`,
      ...(assistant === "" ? [] : [`assistant: ${assistant}`]),
    ])
    .join("\n")
    .slice(-maxHistoryLength)
    .toWellFormed();
  const shown = turns.flatMap(({ attached }) => attached);
  const current = shown.findLast(({ source }) => source === instructionsSource)?.text;
  const parts: AttachedPart[] = [];
  if (instructions !== "" && instructions !== current)
    parts.push({ type: "attached", source: instructionsSource, text: instructions });
  if (told !== "" && !shown.some(({ text }) => text === told))
    parts.push({ type: "attached", source: historySource, text: told });
  return parts;
}

function unknownSession(session: SessionId): Refusal {
  return refuse(
    404,
    "session_not_found",
    `There is no session ${session}, or it is in the trash. Leave the header out to begin one.`,
  );
}
