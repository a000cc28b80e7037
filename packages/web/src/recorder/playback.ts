import type { TimelineText, Span, Timeline } from "./timeline.ts";

/** What a person saw of the run at an instant, in the order in which it began. */
export type PlaybackMoment =
  | { readonly kind: "said"; readonly id: string; readonly text: string }
  | { readonly kind: "span"; readonly id: string; readonly span: Span; readonly isOver: boolean };

export function playbackAt(
  { texts: said, spans }: Timeline,
  at: number,
): readonly PlaybackMoment[] {
  const begun = [
    ...said.map((each) => ({ from: each.growth[0]?.[0] ?? 0, moment: textAt(each, at) })),
    ...spans
      .filter(({ kind }) => kind !== "model")
      .map((span) => ({ from: span.from, moment: spanAt(span, at) })),
  ];
  return begun
    .filter(({ from }) => from <= at)
    .toSorted((a, b) => a.from - b.from)
    .map(({ moment }) => moment);
}

/** `[instant, characters]` over all messages of the run. */
export function textOverTime(
  said: readonly TimelineText[],
): readonly (readonly [number, number])[] {
  let before = 0;
  return said.flatMap(({ text, growth }) => {
    const base = before;
    before += text.length;
    return growth.map(([since, length]) => [since, base + length] as const);
  });
}

/** Where the clock goes on from: a wait has nothing to show, so it is passed over. */
export function skipWaits({ spans }: Timeline, at: number): number {
  const busy = spans.some((span) => span.kind !== "wait" && holds(span, at));
  const wait = busy ? undefined : spans.find((span) => span.kind === "wait" && holds(span, at));
  return wait?.to ?? at;
}

function holds({ from, to }: Span, at: number): boolean {
  return from <= at && (to === null || at < to);
}

function textAt({ id, text, growth }: TimelineText, at: number): PlaybackMoment {
  const length = growth.findLast(([since]) => since <= at)?.[1] ?? 0;
  return { kind: "said", id, text: text.slice(0, length) };
}

function spanAt(span: Span, at: number): PlaybackMoment {
  return { kind: "span", id: span.id, span, isOver: span.to !== null && span.to <= at };
}
