import {
  type Clock,
  type ModelEvent,
  type Random,
  type ModelFailure,
  type Model,
  type ModelRequest,
  systemClock,
} from "@holdfast/engine";
import {
  type ScriptedStep,
  findScriptedStep,
  plainAnswer,
  echoContext,
  countWords,
  explainMisread,
  reportResult,
  reportRetry,
  wordsOf,
  fillerWords,
} from "./rehearsal-script.ts";
import { questionInTitlePrompt, titleInstruction } from "./titler.ts";

export interface PacedWriter {
  /** Each writes a paragraph of its own. An abort ends either at once. */
  writeText(words: Iterable<string>): AsyncGenerator<ModelEvent>;
  writeReasoning(words: Iterable<string>): AsyncGenerator<ModelEvent>;
  /** Waits in silence; an abort ends it. */
  pause(seconds: number): Promise<void>;
  setRate(wordsPerSecond: number): void;
  hasText(): boolean;
  wordCount(): number;
}

export interface PacedWriterDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly wordsPerSecond: number;
}

/** More chunks a second would cost events and show nothing more. */
const maxPiecesPerSecond = 100;
/** A reader that is slower than this does not get the backlog in one burst. */
const maxLagMs = 100;

/** Writes a few words at a time at a given rate, each with its leading space. */
function createPacedWriter(options: PacedWriterDeps): PacedWriter {
  const { clock, random, signal } = options;
  const started = new Set<"text" | "reasoning">();
  let rate = options.wordsPerSecond;
  let due = clock.now();
  let wordCount = 0;

  async function* write(
    kind: "text" | "reasoning",
    words: Iterable<string>,
  ): AsyncGenerator<ModelEvent> {
    const separator = started.has(kind) ? "\n\n" : "";
    let isFirst = true;
    for (const chunk of chunksOf(words)) {
      // Scheduled by due times rather than pauses, so that timer lag does not add up.
      due = Math.max(due, clock.now() - maxLagMs) + (chunk.length / rate) * 1000;
      await clock.sleep(Math.max(0, due - clock.now()), signal);
      if (signal.aborted) return;
      started.add(kind);
      wordCount += chunk.length;
      yield { kind, text: (isFirst ? separator : "") + chunk.join("") };
      isFirst = false;
    }
  }

  function* chunksOf(words: Iterable<string>): Generator<string[]> {
    let chunk: string[] = [];
    let size = pieceSize();
    for (const word of words) {
      chunk.push(word);
      if (chunk.length < size) continue;
      yield chunk;
      chunk = [];
      size = pieceSize();
    }
    if (chunk.length > 0) yield chunk;
  }

  function pieceSize(): number {
    return Math.max(1 + Math.floor(random() * 3), Math.ceil(rate / maxPiecesPerSecond));
  }

  return {
    writeText: (words) => write("text", words),
    writeReasoning: (words) => write("reasoning", words),
    async pause(seconds) {
      await clock.sleep(seconds * 1000, signal);
      due = clock.now();
    },
    setRate: (wordsPerSecond) => void (rate = wordsPerSecond),
    hasText: () => started.has("text"),
    wordCount: () => wordCount,
  };
}

/** The failure that corresponds to a provider's HTTP status. */
function failureForStatus(status: number): ModelFailure {
  const message = `The rehearsal model failed with ${status}, as the message told it to.`;
  if (status === 429)
    return { class: "overloaded", code: "model_overloaded", message, retryAfterMs: 1000 };
  if (status >= 500) return { class: "retryable", code: "model_unavailable", message };
  if (status === 401 || status === 403)
    return { class: "auth", code: "model_unauthorized", message };
  if (status === 413) return { class: "overflow", code: "model_overflow", message };
  return { class: "fatal", code: "model_refused_request", message };
}

/** How often each part of a turn failed on purpose. */
export interface FailureCounts {
  read(key: string): number;
  write(key: string, count: number): void;
  forget(key: string): void;
}

/** Abandoned turns are never retried; the oldest are evicted. */
const maxRemembered = 1000;

function createFailureCounts(): FailureCounts {
  const counts = new Map<string, number>();
  return {
    read: (key) => counts.get(key) ?? 0,
    write(key, count) {
      counts.delete(key);
      counts.set(key, count);
      if (counts.size <= maxRemembered) return;
      for (const oldest of counts.keys()) {
        counts.delete(oldest);
        return;
      }
    },
    forget: (key) => void counts.delete(key),
  };
}

export interface RehearsalOptions {
  readonly clock?: Clock;
  /** Varies how many words are sent at once; the text does not depend on it. */
  readonly random?: Random;
}

/** The instructions alone are thousands of words, and nobody wants to read along. */
const maxEchoSeconds = 2;

/** A text that happens to be full of braces does not get a page of remarks. */
const maxRemarks = 3;

/**
 * The model used while no provider is configured. It is no AI: it follows the directives in the newest user message. It
 * derives its position from the request, so a turn can continue in another process; all it remembers is how often it
 * failed on purpose.
 */
export function createRehearsalModel(options: RehearsalOptions = {}): Model {
  const { clock = systemClock, random = Math.random } = options;
  const failures = createFailureCounts();
  return {
    stream: (request, signal) => runScript(request, { clock, random, failures, signal }),
  };
}

interface RehearsalDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly failures: FailureCounts;
  readonly signal: AbortSignal;
}

async function* runScript(request: ModelRequest, stage: RehearsalDeps): AsyncGenerator<ModelEvent> {
  const { failures, signal } = stage;
  const step = findScriptedStep(request.messages);
  const writer = createPacedWriter({ ...stage, wordsPerSecond: step.wordsPerSecond });
  if (isAskedForTitle(request)) {
    yield* writer.writeText(wordsOf(titleOf(request)));
    return;
  }
  const failing = createScriptedFailures(step, failures);
  let remarks = 0;
  let { isPaceChosen } = step;

  for (const result of step.results) yield* writer.writeText(wordsOf(reportResult(result)));
  for (const directive of step.directives) {
    if (signal.aborted) break;
    switch (directive.kind) {
      case "words":
        yield* writer.writeText(fillerWords("said", directive.count));
        break;
      case "think":
        yield* writer.writeReasoning(fillerWords("thought", directive.count));
        break;
      case "rate":
        writer.setRate(directive.wordsPerSecond);
        isPaceChosen = true;
        break;
      case "stall":
        await writer.pause(directive.seconds);
        break;
      case "echo": {
        const words = [...wordsOf(echoContext(request.messages))];
        const pace = Math.max(step.wordsPerSecond, words.length / maxEchoSeconds);
        if (!isPaceChosen) writer.setRate(pace);
        yield* writer.writeText(words);
        if (!isPaceChosen) writer.setRate(step.wordsPerSecond);
        break;
      }
      case "misread":
        if (remarks++ < maxRemarks) yield* writer.writeText(wordsOf(explainMisread(directive)));
        break;
      case "tool":
        yield { kind: "call", name: directive.name, input: directive.input };
        break;
      case "fail":
        if (!failing.isDue(directive)) break;
        yield { kind: "failed", failure: failureForStatus(directive.status) };
        return;
    }
  }
  const failed = failing.end();
  if (step.isLast && !writer.hasText())
    yield* writer.writeText(
      wordsOf(failed > 0 ? reportRetry(failed) : plainAnswer(request.messages)),
    );
  if (signal.aborted) return;
  const usage = { input: countWords(request.messages), output: writer.wordCount() };
  yield { kind: "usage", usage };
}

interface ScriptedFailures {
  /** Whether this `{fail}` fails now. Each `first` failure takes one attempt, in order. */
  isDue(directive: { readonly when: "first" | "always" }): boolean;
  /** Forgets the failures after a successful attempt and returns how many there were. */
  end(): number;
}

function createScriptedFailures(step: ScriptedStep, counts: FailureCounts): ScriptedFailures {
  const key = step.directives.some((directive) => directive.kind === "fail")
    ? step.fingerprint()
    : undefined;
  const failedBefore = key === undefined ? 0 : counts.read(key);
  let passed = 0;
  return {
    isDue({ when }) {
      if (key === undefined || when === "always") return true;
      if (passed++ < failedBefore) return false;
      counts.write(key, failedBefore + 1);
      return true;
    },
    end() {
      if (key !== undefined) counts.forget(key);
      return failedBefore;
    },
  };
}

function isAskedForTitle({ messages: [first] }: ModelRequest): boolean {
  return first?.role === "system" && first.text === titleInstruction;
}

const maxTitleWords = 6;

/** The first words of the question, without its directives. */
function titleOf({ messages }: ModelRequest): string {
  const prompt = messages.find((message) => message.role === "user");
  const question = withoutBraces(questionInTitlePrompt(prompt?.text ?? ""));
  const words = question.split(/\s+/).filter((word) => word !== "");
  return words.slice(0, maxTitleWords).join(" ") || "Rehearsal";
}

/** Directives may nest braces: the innermost are removed first. */
function withoutBraces(text: string): string {
  const stripped = text.replaceAll(/\{[^{}]*\}/g, " ");
  return stripped === text ? text : withoutBraces(stripped);
}
