import {
  decodeEvent,
  type KnownEvent,
  type RunId,
  type RunState,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";

/** `wait`: the run waits for a person, for its turn in the queue, or for a host. */
export type SpanKind = "model" | "tool" | "wait";

export interface Span {
  readonly id: string;
  readonly kind: SpanKind;
  readonly name: string;
  readonly from: number;
  /** `null` while it is open. */
  to: number | null;
  outcome?: string;
}

/** A text of the run, and how long it was at which time. */
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

/** Builds the timeline of a run from its stored events alone (P4). */
export function readTimeline(runId: RunId, events: readonly StoredEvent[]): Timeline | null {
  const runEvents = events.filter((event) => event.runId === runId);
  const [first] = runEvents;
  if (first === undefined) return null;
  const builder = new TimelineBuilder();
  for (const event of runEvents) {
    const decoded = decodeEvent(event);
    if (decoded.kind === "known") builder.add(decoded.event);
  }
  return builder.build(first.at, runEvents.at(-1)?.at ?? first.at);
}

export function hasEnded({ state }: Timeline): boolean {
  return state !== null && terminalStates.has(state);
}

class TimelineBuilder {
  readonly #spans: Span[] = [];
  readonly #texts: TimelineText[] = [];
  readonly #tokens: { at: number; input: number; output: number }[] = [];
  #state: RunState | null = null;
  /** The message that is being streamed. */
  #streaming: { id: string; text: string; growth: [number, number][] } | null = null;

  add(event: KnownEvent): void {
    const { at } = event;
    switch (event.type) {
      case "run.state":
        return this.#setState(event.data.state, at);
      case "step.started":
        this.#closeAll(["model", "wait"], at);
        return this.#open("model", event.data.model, `step ${event.data.step} ${event.seq}`, at);
      case "message.delta":
        return this.#appendText(event.data.messageId, event.data.text, at);
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

  build(startedAt: number, endedAt: number): Timeline {
    const texts = this.#streaming === null ? this.#texts : [...this.#texts, this.#streaming];
    return {
      startedAt,
      endedAt,
      state: this.#state,
      spans: this.#spans,
      texts,
      tokens: this.#tokens,
    };
  }

  #setState(state: RunState, at: number): void {
    this.#state = state;
    if (state === "queued" || state === "paused") this.#open("wait", state, `${state} ${at}`, at);
    else if (terminalStates.has(state)) this.#closeAll(["model", "tool", "wait"], at);
  }

  #open(kind: SpanKind, name: string, id: string, from: number): void {
    this.#spans.push({ id, kind, name, from, to: null });
  }

  #close(id: string, at: number, outcome: string): void {
    const span = this.#spans.findLast((open) => open.id === id);
    if (span !== undefined) Object.assign(span, { to: at, outcome });
  }

  #closeAll(kinds: readonly SpanKind[], at: number): void {
    for (const span of this.#spans) if (span.to === null && kinds.includes(span.kind)) span.to = at;
  }

  #appendText(id: string, text: string, at: number): void {
    if (this.#streaming?.id !== id) this.#streaming = { id, text: "", growth: [] };
    this.#streaming.text += text;
    this.#streaming.growth.push([at, this.#streaming.text.length]);
  }

  /** Stored times count from the first character, so its instant is the end of the model's span minus the last of them. */
  #settle({ messageId: id, parts, timing = [] }: SettledMessage, at: number): void {
    this.#closeAll(["model"], at);
    const model = this.#spans.findLast(({ kind }) => kind === "model");
    const doneAt = model?.to ?? at;
    const textStartedAt = Math.max(model?.from ?? 0, doneAt - (timing.at(-1)?.[0] ?? 0));
    const text = parts.map((part) => ("text" in part ? part.text : "")).join("");
    let length = 0;
    const growth = timing.map(([ms, characters]) => {
      length += characters;
      return [textStartedAt + ms, length] as const;
    });
    const observed = this.#streaming?.id === id ? this.#streaming.growth : [];
    this.#streaming = null;
    if (text === "") return;
    const times = growth.length > 0 ? growth : observed;
    this.#texts.push({
      id,
      text,
      growth: [...times, [Math.max(doneAt, textStartedAt), text.length]],
    });
  }
}

type SettledMessage = Extract<KnownEvent, { type: "message.assistant" }>["data"];

/** Something that was visible at an instant. */
export type PlaybackMoment =
  | { readonly kind: "text"; readonly id: string; readonly text: string }
  | { readonly kind: "span"; readonly id: string; readonly span: Span; readonly isOver: boolean };

/** What was visible at an instant, in the order in which it started. */
export function playbackAt({ texts, spans }: Timeline, at: number): readonly PlaybackMoment[] {
  const moments = [
    ...texts.map((text) => ({ from: text.growth[0]?.[0] ?? 0, moment: textAt(text, at) })),
    ...spans
      .filter(({ kind }) => kind !== "model")
      .map((span) => ({ from: span.from, moment: spanAt(span, at) })),
  ];
  return moments
    .filter(({ from }) => from <= at)
    .toSorted((a, b) => a.from - b.from)
    .map(({ moment }) => moment);
}

/** `[instant, characters]` over all messages of the run. */
export function textOverTime(
  texts: readonly TimelineText[],
): readonly (readonly [number, number])[] {
  let total = 0;
  return texts.flatMap(({ text, growth }) => {
    const base = total;
    total += text.length;
    return growth.map(([since, length]) => [since, base + length] as const);
  });
}

/** The end of the wait at this instant, if nothing else is happening: a wait has nothing to show. */
export function skipWaits({ spans }: Timeline, at: number): number {
  const isBusy = spans.some((span) => span.kind !== "wait" && contains(span, at));
  const wait = isBusy
    ? undefined
    : spans.find((span) => span.kind === "wait" && contains(span, at));
  return wait?.to ?? at;
}

function contains({ from, to }: Span, at: number): boolean {
  return from <= at && (to === null || at < to);
}

function textAt({ id, text, growth }: TimelineText, at: number): PlaybackMoment {
  const length = growth.findLast(([since]) => since <= at)?.[1] ?? 0;
  return { kind: "text", id, text: text.slice(0, length) };
}

function spanAt(span: Span, at: number): PlaybackMoment {
  return { kind: "span", id: span.id, span, isOver: span.to !== null && span.to <= at };
}
