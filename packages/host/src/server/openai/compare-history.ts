import type { ClientTurn } from "./client-request.ts";

/** How a client's history relates to a session's. */
export interface Comparison {
  /** The last of our turns that both have in common without a gap; -1 if there is none. */
  readonly lastCommon: number;
  readonly matched: number;
  /** The client tells one of our turns otherwise, and common ones after it. */
  readonly isEdited: boolean;
  /** What the client tells beyond that, in its words. */
  readonly unknown: readonly ClientTurn[];
}

/** A client's history, made ready to be compared with several sessions. */
export interface ToldHistory {
  readonly history: readonly ClientTurn[];
  /** The newest of its turns, without what differs between clients. */
  readonly newest: readonly ClientTurn[];
}

/** Comparing more turns would cost more than it tells. */
const maxCompared = 400;

export function prepareHistory(history: readonly ClientTurn[]): ToldHistory {
  return { history, newest: history.slice(-maxCompared).map(normalTurn) };
}

export type IsSameTurn = (told: ClientTurn, own: ClientTurn) => boolean;

/**
 * Finds the longest common sequence of turns. A client may have dropped its oldest turns, and may tell turns that never
 * were; but a turn of ours that is missing between two known ones was edited, and what follows is another conversation.
 * The work grows with the length of both, not with their product: a history comes from outside.
 */
export function compareHistory(
  { history, newest: told }: ToldHistory,
  turns: readonly ClientTurn[],
  isSame: IsSameTurn = isSameTurn,
): Comparison {
  const skipped = Math.max(0, turns.length - maxCompared);
  const ours = turns.slice(skipped).map(normalTurn);
  const pairs = commonTurns(told, ours, isSame);
  let end = 0;
  while (end + 1 < pairs.length && (pairs[end + 1]?.own ?? 0) === (pairs[end]?.own ?? 0) + 1)
    end += 1;
  const common = pairs.slice(0, end + 1);
  const edited = firstEdited(told, ours, common[0]);
  const kept = edited === null ? common : [];
  const known = new Set(kept.map((pair) => pair.told));
  const firstTold = history.length - told.length;
  const last = edited === null ? common.at(-1)?.own : edited - 1;
  return {
    lastCommon: last === undefined || last < 0 ? -1 : last + skipped,
    matched: kept.length,
    isEdited: edited !== null,
    unknown: history.filter((_, index) => !known.has(index - firstTold)),
  };
}

/** A turn of the client's and one of ours, by their positions. */
interface Pair {
  readonly told: number;
  readonly own: number;
}

/** The first of our turns before the common ones that the client tells with another question or another answer. */
function firstEdited(
  told: readonly ClientTurn[],
  ours: readonly ClientTurn[],
  before: Pair = { told: 0, own: 0 },
): number | null {
  const earlier = told.slice(0, before.told);
  const users = new Set(earlier.map(({ user }) => user));
  const answers = new Set(earlier.map(({ assistant }) => assistant));
  answers.delete("");
  const index = ours
    .slice(0, before.own)
    .findIndex(({ user, assistant }) => users.has(user) || answers.has(assistant));
  return index === -1 ? null : index;
}

/** Pairs in order. Of several equally long sequences it is one with late turns of ours. */
function commonTurns(
  told: readonly ClientTurn[],
  ours: readonly ClientTurn[],
  isSame: IsSameTurn,
): readonly Pair[] {
  const isPair = (toldAt: number, ownAt: number): boolean => {
    const [turn, own] = [told[toldAt], ours[ownAt]];
    return turn !== undefined && own !== undefined && isSame(turn, own);
  };
  // An equal end and an equal beginning belong to a longest sequence; mostly they are all of it.
  const shorter = Math.min(told.length, ours.length);
  let ending = 0;
  while (ending < shorter && isPair(told.length - 1 - ending, ours.length - 1 - ending))
    ending += 1;
  let beginning = 0;
  while (beginning < shorter - ending && isPair(beginning, beginning)) beginning += 1;
  const positions = positionsOf(ours);
  const range = { from: beginning, toldEnd: told.length - ending, ownEnd: ours.length - ending };
  const pairs = [
    ...Array.from({ length: beginning }, (_, at) => ({ told: at, own: at })),
    ...longestChain(candidatesIn(told, positions, range, isPair)),
    ...Array.from({ length: ending }, (_, at) => ({
      told: range.toldEnd + at,
      own: range.ownEnd + at,
    })),
  ];
  return asLateAsPossible(pairs, told, positions);
}

/** Where ours have a question, and where they have a question with its answer. */
interface Positions {
  readonly ofUser: ReadonlyMap<string, readonly number[]>;
  readonly ofTurn: (turn: ClientTurn) => readonly number[];
}

function positionsOf(ours: readonly ClientTurn[]): Positions {
  const ofUser = new Map<string, number[]>();
  const ofTurn = new Map<string, Map<string, number[]>>();
  for (const [at, { user, assistant }] of ours.entries()) {
    const answers = ofTurn.get(user) ?? new Map<string, number[]>();
    ofTurn.set(user, answers);
    append(ofUser, user, at);
    append(answers, assistant, at);
  }
  return { ofUser, ofTurn: ({ user, assistant }) => ofTurn.get(user)?.get(assistant) ?? [] };
}

function append(lists: Map<string, number[]>, key: string, at: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [at]);
  else list.push(at);
}

/** Of questions that are repeated more often only some are looked at. */
const maxRepeated = 8;

interface Middle {
  readonly from: number;
  readonly toldEnd: number;
  readonly ownEnd: number;
}

/** The pairs that are worth looking at: a few for each turn of the client, the latest of ours first. */
function* candidatesIn(
  told: readonly ClientTurn[],
  { ofUser, ofTurn }: Positions,
  { from, toldEnd, ownEnd }: Middle,
  isPair: (toldAt: number, ownAt: number) => boolean,
): Generator<Pair> {
  const middle = told.slice(from, toldEnd);
  const questions = new Map<string, { own: readonly number[]; count: number; seen: number }>();
  for (const { user } of middle) {
    const list = ofUser.get(user) ?? [];
    const known = questions.get(user);
    if (known !== undefined) known.count += 1;
    else {
      const own = list.slice(firstAtLeast(list, from), firstAtLeast(list, ownEnd));
      questions.set(user, { own, count: 1, seen: 0 });
    }
  }
  for (const [index, turn] of middle.entries()) {
    const question = questions.get(turn.user);
    if (question === undefined) continue;
    const { own, count, seen } = question;
    question.seen += 1;
    const found =
      own.length <= maxRepeated
        ? own
        : [...ofSameRank(own, seen, count), ...ofTurn(turn).slice(-2)];
    for (const at of [...new Set(found)].toSorted((a, b) => b - a))
      if (at >= from && at < ownEnd && isPair(from + index, at))
        yield { told: from + index, own: at };
  }
}

/** The positions where a repeated question was asked for the same time, counted from its first and from its last. */
function ofSameRank(own: readonly number[], rank: number, count: number): readonly number[] {
  const fromLast = own.length - count + rank;
  return [rank - 1, rank, rank + 1, fromLast - 1, fromLast, fromLast + 1].flatMap(
    (at) => own[at] ?? [],
  );
}

interface Link extends Pair {
  readonly before: Link | undefined;
}

/** The longest sequence of pairs that increases on both sides, after Hunt and Szymanski. */
function longestChain(candidates: Iterable<Pair>): readonly Pair[] {
  /** For each length the chain whose last of ours is earliest. */
  const chains: Link[] = [];
  const ends: number[] = [];
  for (const { told, own } of candidates) {
    const at = firstAtLeast(ends, own);
    chains[at] = { told, own, before: chains[at - 1] };
    ends[at] = own;
  }
  const pairs: Pair[] = [];
  for (let link = chains.at(-1); link !== undefined; link = link.before) pairs.push(link);
  return pairs.toReversed();
}

/** Where turns are repeated, the later of ours: a client drops its oldest turns first. */
function asLateAsPossible(
  pairs: readonly Pair[],
  told: readonly ClientTurn[],
  { ofTurn }: Positions,
): readonly Pair[] {
  const moved: Pair[] = [];
  let limit = Infinity;
  for (const pair of pairs.toReversed()) {
    const turn = told[pair.told];
    const equal = turn === undefined ? [] : ofTurn(turn);
    const own = Math.max(pair.own, equal[firstAtLeast(equal, limit) - 1] ?? -1);
    moved.push({ told: pair.told, own });
    limit = own;
  }
  return moved.toReversed();
}

/** The first position in an ascending list whose number is not below this one. */
function firstAtLeast(list: readonly number[], number: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle] ?? 0) < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A client that stopped reading has the beginning of an answer. */
function isSameTurn(told: ClientTurn, own: ClientTurn): boolean {
  return told.user === own.user && own.assistant.startsWith(told.assistant);
}

function normalTurn({ user, assistant }: ClientTurn): ClientTurn {
  return { user: normalText(user), assistant: normalText(withoutWaitingLine(assistant)) };
}

/** Clients trim, and join paragraphs in their own ways. */
export function normalText(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

/** Begins the line that a chat completion ends with while its run waits for a person. */
export const waitingMark = "⏸ ";

function withoutWaitingLine(text: string): string {
  const at = text.lastIndexOf(`\n${waitingMark}`);
  if (at !== -1) return text.slice(0, at);
  return text.startsWith(waitingMark) ? "" : text;
}
