import {
  type Clock,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type Random,
  systemClock,
} from "@holdfast/engine";

import { type ScriptedStep, findScriptedStep } from "./rehearsal-cue.ts";
import { createFailureCounts, failureForStatus, type FailureCounts } from "./rehearsal-failures.ts";
import {
  plainAnswer,
  echoContext,
  countWords,
  explainMisread,
  reportResult,
  reportRetry,
  wordsOf,
} from "./rehearsal-lines.ts";
import { fillerWords } from "./rehearsal-passages.ts";
import { questionInTitlePrompt, titleInstruction } from "./titler.ts";
import { createPacedWriter } from "./rehearsal.ts";

export interface RehearsalOptions {
  readonly clock?: Clock;
  /** Chooses how many words come at once; what is said does not depend on it. */
  readonly random?: Random;
}

/** A text that happens to be full of braces is not answered with a page of remarks. */
const maxRemarks = 3;

/**
 * The model that answers while no provider is configured. It is no AI: it obeys the directives in the newest user
 * message, and where it stands among them it reads from the request, so that a turn can go on in another process.
 * All that it remembers is how often it failed on purpose.
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
  const cue = findScriptedStep(request.messages);
  const voice = createPacedWriter({ ...stage, wordsPerSecond: cue.wordsPerSecond });
  if (isAskedForTitle(request)) {
    yield* voice.writeText(wordsOf(titleOf(request)));
    return;
  }
  const failing = createScriptedFailures(cue, failures);
  let remarks = 0;

  for (const result of cue.results) yield* voice.writeText(wordsOf(reportResult(result)));
  for (const directive of cue.directives) {
    if (signal.aborted) break;
    switch (directive.kind) {
      case "words":
        yield* voice.writeText(fillerWords("said", directive.count));
        break;
      case "think":
        yield* voice.writeReasoning(fillerWords("thought", directive.count));
        break;
      case "rate":
        voice.setRate(directive.wordsPerSecond);
        break;
      case "stall":
        await voice.pause(directive.seconds);
        break;
      case "echo":
        yield* voice.writeText(wordsOf(echoContext(request.messages)));
        break;
      case "misread":
        if (remarks++ < maxRemarks) yield* voice.writeText(wordsOf(explainMisread(directive)));
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
  if (cue.isLast && !voice.hasText())
    yield* voice.writeText(
      wordsOf(failed > 0 ? reportRetry(failed) : plainAnswer(request.messages)),
    );
  if (signal.aborted) return;
  const usage = { input: countWords(request.messages), output: voice.wordCount() };
  yield { kind: "usage", usage };
}

interface ScriptedFailures {
  /** Whether this `{fail}` fails now. Each that fails first does so in an attempt of its own, in their order. */
  isDue(directive: { readonly when: "first" | "always" }): boolean;
  /** Forgets them, for the attempt got past them all, and answers how many there were. */
  end(): number;
}

function createScriptedFailures(cue: ScriptedStep, counts: FailureCounts): ScriptedFailures {
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

const maxTitleWords = 6;

/** The first words of what was asked, without its directives. */
function titleOf({ messages }: ModelRequest): string {
  const prompt = messages.find((message) => message.role === "user");
  const asked = withoutBraces(questionInTitlePrompt(prompt?.text ?? ""));
  const words = asked.split(/\s+/).filter((word) => word !== "");
  return words.slice(0, maxTitleWords).join(" ") || "Rehearsal";
}

/** Directives may hold braces of their own: the innermost go first. */
function withoutBraces(text: string): string {
  const left = text.replaceAll(/\{[^{}]*\}/g, " ");
  return left === text ? text : withoutBraces(left);
}
