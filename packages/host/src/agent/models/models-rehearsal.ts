import {
  type Clock,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Random,
  systemClock,
} from "@holdfast/engine";

import { type Cue, findCue } from "./rehearsal-cue.ts";
import { createFailureCounts, failureFor, type FailureCounts } from "./rehearsal-failures.ts";
import {
  answerPlainly,
  contextOf,
  countWords,
  remarkOn,
  reportResult,
  reportRetry,
  wordsOf,
} from "./rehearsal-lines.ts";
import { passageOf } from "./rehearsal-passages.ts";
import { questionIn, titleInstruction } from "./titler.ts";
import { createVoice } from "./rehearsal.ts";

export interface RehearsalOptions {
  readonly clock?: Clock;
  /** Chooses how many words come at once; what is said does not depend on it. */
  readonly random?: Random;
}

/** A text that happens to be full of braces is not answered with a page of remarks. */
const mostRemarks = 3;

/**
 * The model that answers while no provider is configured. It is no AI: it obeys the directives in the newest user
 * message, and where it stands among them it reads from the request, so that a turn can go on in another process.
 * All that it remembers is how often it failed on purpose.
 */
export function createRehearsalModel(options: RehearsalOptions = {}): Model {
  const { clock = systemClock, random = Math.random } = options;
  const failures = createFailureCounts();
  return {
    stream: (request, signal) => perform(request, { clock, random, failures, signal }),
  };
}

interface Stage {
  readonly clock: Clock;
  readonly random: Random;
  readonly failures: FailureCounts;
  readonly signal: AbortSignal;
}

async function* perform(request: ModelRequest, stage: Stage): AsyncGenerator<ModelEvent> {
  const { failures, signal } = stage;
  const cue = findCue(request.messages);
  const voice = createVoice({ ...stage, wordsPerSecond: cue.wordsPerSecond });
  if (isAskedForTitle(request)) {
    yield* voice.say(wordsOf(titleOf(request)));
    return;
  }
  const failing = failuresOnPurpose(cue, failures);
  let remarks = 0;

  for (const result of cue.results) yield* voice.say(wordsOf(reportResult(result)));
  for (const directive of cue.directives) {
    if (signal.aborted) break;
    switch (directive.kind) {
      case "words":
        yield* voice.say(passageOf("said", directive.count));
        break;
      case "think":
        yield* voice.think(passageOf("thought", directive.count));
        break;
      case "rate":
        voice.setRate(directive.wordsPerSecond);
        break;
      case "stall":
        await voice.pause(directive.seconds);
        break;
      case "echo":
        yield* voice.say(wordsOf(contextOf(request.messages)));
        break;
      case "misread":
        if (remarks++ < mostRemarks) yield* voice.say(wordsOf(remarkOn(directive)));
        break;
      case "tool":
        yield { kind: "call", name: directive.name, input: directive.input };
        break;
      case "fail":
        if (!failing.isDue(directive)) break;
        yield { kind: "failed", failure: failureFor(directive.status) };
        return;
    }
  }
  const failed = failing.end();
  if (cue.isLast && !voice.hasSpoken())
    yield* voice.say(wordsOf(failed > 0 ? reportRetry(failed) : answerPlainly(request.messages)));
  if (signal.aborted) return;
  const usage = { input: countWords(request.messages), output: voice.wordsUttered() };
  yield { kind: "usage", usage };
}

interface FailuresOnPurpose {
  /** Whether this `{fail}` fails now. Each that fails first does so in an attempt of its own, in their order. */
  isDue(directive: { readonly when: "first" | "always" }): boolean;
  /** Forgets them, for the attempt got past them all, and answers how many there were. */
  end(): number;
}

function failuresOnPurpose(cue: Cue, counts: FailureCounts): FailuresOnPurpose {
  const key = cue.directives.some((each) => each.kind === "fail") ? cue.fingerprint() : undefined;
  const before = key === undefined ? 0 : counts.read(key);
  let passed = 0;
  return {
    isDue({ when }) {
      if (key === undefined || when === "always") return true;
      if (passed++ < before) return false;
      counts.write(key, before + 1);
      return true;
    },
    end() {
      if (key !== undefined) counts.forget(key);
      return before;
    },
  };
}

function isAskedForTitle({ messages: [first] }: ModelRequest): boolean {
  return first?.role === "system" && first.text === titleInstruction;
}

const wordsOfTitle = 6;

/** The first words of what was asked, without its directives. */
function titleOf({ messages }: ModelRequest): string {
  const prompt = messages.find((message) => message.role === "user");
  const asked = withoutBraces(questionIn(prompt?.text ?? ""));
  const words = asked.split(/\s+/).filter((word) => word !== "");
  return words.slice(0, wordsOfTitle).join(" ") || "Rehearsal";
}

/** Directives may hold braces of their own: the innermost go first. */
function withoutBraces(text: string): string {
  const left = text.replaceAll(/\{[^{}]*\}/g, " ");
  return left === text ? text : withoutBraces(left);
}
