import { keyOf, type Message, workspacePrefix } from "./message.ts";

/** Larger tables are compared in windows. */
const maxTable = 4_000_000;

/**
 * Pairs of positions at which two lists have the same key, in order, as many as possible. What is equal at both ends is
 * paired first, so a table is only needed for what differs.
 */
function alignKeys(
  a: readonly string[],
  b: readonly string[],
): readonly (readonly [number, number])[] {
  const pairs: [number, number][] = [];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    pairs.push([start, start]);
    start += 1;
  }
  let endA = a.length;
  let endB = b.length;
  const behind: [number, number][] = [];
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) {
    endA -= 1;
    endB -= 1;
    behind.push([endA, endB]);
  }
  pairs.push(...alignMiddle(a, b, [start, endA], [start, endB]), ...behind.toReversed());
  return pairs;
}

type Span = readonly [from: number, to: number];

function alignMiddle(
  a: readonly string[],
  b: readonly string[],
  [fromA, toA]: Span,
  [fromB, toB]: Span,
): [number, number][] {
  const width = toB - fromB;
  const height = toA - fromA;
  if (width === 0 || height === 0) return [];
  if (width * height > maxTable) return alignGreedily(a, b, [fromA, toA], [fromB, toB]);
  const stride = width + 1;
  const lengths = new Uint32Array((height + 1) * stride);
  const at = (x: number, y: number): number => lengths[x * stride + y] ?? 0;
  for (let x = height - 1; x >= 0; x -= 1)
    for (let y = width - 1; y >= 0; y -= 1)
      lengths[x * stride + y] =
        a[fromA + x] === b[fromB + y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
  const pairs: [number, number][] = [];
  let x = 0;
  let y = 0;
  while (x < height && y < width) {
    if (a[fromA + x] === b[fromB + y]) pairs.push([fromA + x++, fromB + y++]);
    else if (at(x + 1, y) >= at(x, y + 1)) x += 1;
    else y += 1;
  }
  return pairs;
}

/** Pairs each with the next one that is equal. */
function alignGreedily(
  a: readonly string[],
  b: readonly string[],
  [fromA, toA]: Span,
  [fromB, toB]: Span,
): [number, number][] {
  const places = new Map<string, number[]>();
  for (let x = fromA; x < toA; x += 1) {
    const key = a[x] ?? "";
    const known = places.get(key);
    if (known === undefined) places.set(key, [x]);
    else known.push(x);
  }
  const pairs: [number, number][] = [];
  let after = fromA;
  for (let y = fromB; y < toB; y += 1) {
    const x = places.get(b[y] ?? "")?.find((place) => place >= after);
    if (x === undefined) continue;
    pairs.push([x, y]);
    after = x + 1;
  }
  return pairs;
}

export interface Merged {
  readonly messages: readonly Message[];
  /** Messages that only the second list has. */
  readonly added: number;
  /** Messages that only the first one has, as positions in the result. */
  readonly onlyFirst: readonly number[];
  /** The position in the result of the last message that both have; -1 if there is none. */
  readonly lastShared: number;
}

/**
 * The messages of two stores in one order. The first list wins where both have a message; what only the second has comes
 * where it stands there.
 */
export function mergeMessages(first: readonly Message[], second: readonly Message[]): Merged {
  const known = second.filter((message) => !repeatsResult(message, second));
  const pairs = alignKeys(first.map(keyOf), known.map(keyOf));
  const messages: Message[] = [];
  const onlyFirst: number[] = [];
  let added = 0;
  let lastShared = -1;
  let a = 0;
  let b = 0;
  const say = (toA: number, toB: number): void => {
    for (; a < toA; a += 1) {
      const message = first[a];
      if (message === undefined) continue;
      onlyFirst.push(messages.length);
      messages.push(message);
    }
    for (; b < toB; b += 1) {
      const message = known[b];
      // The model's summary is no message, wherever it stands.
      if (message === undefined || message.summary) continue;
      added += 1;
      messages.push(message);
    }
  };
  for (const [x, y] of pairs) {
    say(x, y);
    const [kept, other] = [first[x], known[y]];
    if (kept !== undefined && other !== undefined) {
      lastShared = messages.length;
      messages.push(joined(kept, other));
    }
    a = x + 1;
    b = y + 1;
  }
  say(first.length, known.length);
  return { messages, added, onlyFirst, lastShared };
}

function joined(kept: Message, other: Message): Message {
  return {
    ...kept,
    // What the person saw, without what the page put before it.
    text: workspacePrefix.test(kept.text) ? other.text : kept.text,
    at: kept.at ?? other.at,
    model: kept.model ?? other.model,
    reasoning: kept.reasoning === "" ? other.reasoning : kept.reasoning,
    pictures: kept.pictures.length === 0 ? other.pictures : kept.pictures,
    attachments: kept.attachments.length === 0 ? other.attachments : kept.attachments,
    calls: kept.calls.length === 0 ? other.calls : kept.calls,
    retryStream: kept.retryStream ?? other.retryStream,
    stream: kept.stream ?? other.stream,
    where: [...new Set([...kept.where, ...other.where])],
  };
}

const firstResults = new WeakMap<readonly Message[], Map<string, Message>>();

/** After a compression the page can hold a second, shortened result of the same call. */
function repeatsResult(message: Message, all: readonly Message[]): boolean {
  if (message.role !== "tool" || message.callId === null) return false;
  let firsts = firstResults.get(all);
  if (firsts === undefined) {
    firsts = new Map();
    for (const each of all)
      if (each.role === "tool" && each.callId !== null && !firsts.has(each.callId))
        firsts.set(each.callId, each);
    firstResults.set(all, firsts);
  }
  const first = firsts.get(message.callId);
  return first !== message && isShortened(message.text);
}

function isShortened(content: string): boolean {
  return /^\[[\w.-]+\] [\s\S]*\(\d[\d,]* chars? result\)\s*$/.test(content);
}
