import {
  decodeEvent,
  type KnownEvent,
  type RunId,
  type RunState,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";

/** `wait` is for a person, a turn in the queue or a host that was gone: nothing of the run happens in it. */
export type SpanKind = "model" | "tool" | "wait";

export interface Span {
  readonly id: string;
  readonly kind: SpanKind;
  readonly name: string;
  readonly from: number;
  /** `null` while it goes on. */
  to: number | null;
  outcome?: string;
}

/** What was said, and when how much of it was there. */
export interface TimelineText {
  readonly id: string;
  readonly text: string;
  /** `[instant, characters so far]`. */
  readonly growth: readonly (readonly [number, number])[];
}

export interface Timeline {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly state: RunState | null;
  readonly spans: readonly Span[];
  readonly texts: readonly TimelineText[];
  /** Tokens after each request to the model. */
  readonly tokens: readonly {
    readonly at: number;
    readonly input: number;
    readonly output: number;
  }[];
}

/** A run as its own events tell it. P4: what is shown here was stored, and when. */
export function readTimeline(runId: RunId, events: readonly StoredEvent[]): Timeline | null {
  const own = events.filter((event) => event.runId === runId);
  const [first] = own;
  if (first === undefined) return null;
  const reading = new TimelineBuilder();
  for (const event of own) {
    const decoded = decodeEvent(event);
    if (decoded.kind === "known") reading.take(decoded.event);
  }
  return reading.timeline(first.at, own.at(-1)?.at ?? first.at);
}

export function hasEnded({ state }: Timeline): boolean {
  return state !== null && terminalStates.has(state);
}

class TimelineBuilder {
  readonly #spans: Span[] = [];
  readonly #said: TimelineText[] = [];
  readonly #tokens: { at: number; input: number; output: number }[] = [];
  #state: RunState | null = null;
  /** Deltas of the message that is being written. */
  #growing: { id: string; text: string; growth: [number, number][] } | null = null;

  take(event: KnownEvent): void {
    const { at } = event;
    switch (event.type) {
      case "run.state":
        return this.#enter(event.data.state, at);
      case "step.started":
        this.#closeAll(["model", "wait"], at);
        return this.#open("model", event.data.model, `step ${event.data.step} ${event.seq}`, at);
      case "message.delta":
        return this.#grow(event.data.messageId, event.data.text, at);
      case "approval.asked":
        this.#closeAll(["model"], at);
        return this.#open("wait", event.data.name, event.data.approvalId, at);
      case "approval.answered":
        return this.#close(event.data.approvalId, at, event.data.decision);
      case "tool.started":
        this.#closeAll(["model"], at);
        return this.#open("tool", event.data.name, event.data.callId, at);
      case "tool.ended":
        return this.#close(event.data.callId, at, event.data.outcome);
      case "usage.recorded":
        return void this.#tokens.push({ at, input: event.data.input, output: event.data.output });
      case "message.assistant":
        return this.#settle(event.data, at);
      default:
        return undefined;
    }
  }

  timeline(startedAt: number, endedAt: number): Timeline {
    const said = this.#growing === null ? this.#said : [...this.#said, this.#growing];
    return {
      startedAt,
      endedAt,
      state: this.#state,
      spans: this.#spans,
      texts: said,
      tokens: this.#tokens,
    };
  }

  #enter(state: RunState, at: number): void {
    this.#state = state;
    if (state === "queued" || state === "paused") this.#open("wait", state, `${state} ${at}`, at);
    else if (terminalStates.has(state)) this.#closeAll(["model", "tool", "wait"], at);
  }

  #open(kind: SpanKind, name: string, id: string, from: number): void {
    this.#spans.push({ id, kind, name, from, to: null });
  }

  #close(id: string, at: number, outcome: string): void {
    const span = this.#spans.findLast((each) => each.id === id);
    if (span !== undefined) Object.assign(span, { to: at, outcome });
  }

  #closeAll(kinds: readonly SpanKind[], at: number): void {
    for (const span of this.#spans) if (span.to === null && kinds.includes(span.kind)) span.to = at;
  }

  #grow(id: string, text: string, at: number): void {
    if (this.#growing?.id !== id) this.#growing = { id, text: "", growth: [] };
    this.#growing.text += text;
    this.#growing.growth.push([at, this.#growing.text.length]);
  }

  /** The stored times begin with the message's first word; that was so long before its model was done. */
  #settle({ messageId: id, parts, timing = [] }: SettledMessage, at: number): void {
    this.#closeAll(["model"], at);
    const model = this.#spans.findLast(({ kind }) => kind === "model");
    const doneAt = model?.to ?? at;
    const begunAt = Math.max(model?.from ?? 0, doneAt - (timing.at(-1)?.[0] ?? 0));
    const text = parts.map((part) => ("text" in part ? part.text : "")).join("");
    let length = 0;
    const growth = timing.map(([ms, characters]) => {
      length += characters;
      return [begunAt + ms, length] as const;
    });
    const watched = this.#growing?.id === id ? this.#growing.growth : [];
    this.#growing = null;
    if (text === "") return;
    const known = growth.length > 0 ? growth : watched;
    this.#said.push({ id, text, growth: [...known, [Math.max(doneAt, begunAt), text.length]] });
  }
}

type SettledMessage = Extract<KnownEvent, { type: "message.assistant" }>["data"];

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
