import {
  backoffMs,
  type NewEvent,
  type RequestRecord,
  type Rights,
  type RunState,
  type StoredEvent,
} from "@holdfast/protocol";
import { pendingCalls } from "../context/build-context.ts";
import type { Random } from "../ports/clock.ts";
import type { PlacementRefusal } from "../ports/placement.ts";
import {
  settleUnrunCalls,
  memoryMark,
  type MemoryOwnerOf,
  settledMessage,
  usageEvent,
} from "./settle.ts";
import {
  type CallEnd,
  callModel,
  isTooLongToWait,
  mayFallBack,
  currentFallback,
  fallbackNotice,
  spillEndOf,
  type StepDeps,
  prepareStep,
} from "./call-model.ts";
import { compactIfNearlyFull, type ContextFit } from "../context/compactor.ts";
import { type CachedContext, RunContext } from "../context/session-context.ts";
import { AnswerImages, type StoredImages } from "./answer-images.ts";
import { Journal, type Tick } from "./journal.ts";
import type { RunHandle } from "./run-handle.ts";
import {
  isRetryable,
  recoverFromOverflow,
  retryDelayMs,
  stepBackoff,
  triesFor,
} from "./model-retries.ts";
import { createRunBudget, type RunBudgetDeps } from "../limits/run-budget.ts";
import { runTools } from "./run-tools.ts";
import type { CallPolicyDeps } from "./approvals.ts";
import { type SpillDeps, spillMarkFor } from "../recovery/spill.ts";
import { maxEntriesPerStep } from "../recovery/take-over.ts";
import { type SteerDeps, takeSteering } from "./claim.ts";
import { createRunRights, permittedTools } from "./run-rights.ts";
import { findReachedLimit, reachedLimitText, type SpendDeps } from "../limits/spend-limits.ts";

export interface RunLimits {
  readonly steps: number;
  readonly timeMs: number;
  /** In millionths of a dollar; unlimited by default. */
  readonly costMicros?: number | undefined;
  /** What an owner may spend within 24 hours by the store's clock, on runs and on background work. */
  readonly costMicrosPerDay?: number | undefined;
  /** How many times a step's model call is tried when it fails transiently. */
  readonly modelTries: number;
}

export interface DriveDeps
  extends StepDeps, CallPolicyDeps, SpillDeps, SteerDeps, SpendDeps, RunBudgetDeps {
  readonly limits: RunLimits;
  readonly tick: Tick;
  /** P6: after this, nothing that was abandoned can write any more. */
  readonly raiseFence: () => Promise<void>;
  readonly random: Random;
  /** Which provider has to remember the turn; none for a throw-away turn. */
  readonly memoryOwnerOf?: MemoryOwnerOf;
  /** Without it, a context that is too long ends its run. */
  readonly fit?: ContextFit;
}

/** Where a run stands when a runner picks it up. */
export interface RunPosition {
  readonly step: number;
  /** How often the model has failed in this step; 0 once it has answered. */
  readonly tries: number;
  /** The next call repeats the same step with a fallback model, which gets all of its tries. */
  readonly isFallbackPending: boolean;
  /** How much of its time the run has used, by the store's clock, not counting time at rest. */
  readonly usedMs: number;
  /** Unsettled journal events of the step that a previous runner started. */
  readonly journal: readonly StoredEvent[];
}

type NextAction = "continue" | "ended";

/**
 * Drives a run to its end. Each round reads the run's state from the log: it runs calls that have no result, otherwise
 * it calls the model. A run that resumes after a crash therefore takes the same path as one that was never interrupted.
 */
export async function driveRun(
  deps: DriveDeps,
  run: RunHandle,
  position: RunPosition,
  cachedContext?: CachedContext,
): Promise<void> {
  const startedAt = deps.clock.now() - position.usedMs;
  let { step, tries, journal, isFallbackPending } = position;
  let fallback: string | null = null;
  const context = new RunContext(deps.log.store, run, cachedContext, deps.fit?.count);
  const rightsNow = createRunRights(deps, run);
  const budget = createRunBudget(deps, run);
  // After a take-over, wait as long as the previous runner would have.
  if (tries > 0) await deps.clock.sleep(backoffMs(stepBackoff, tries - 1, deps.random), run.signal);
  for (;;) {
    if (run.lost !== null) return;
    const exhausted =
      deps.clock.now() - startedAt > deps.limits.timeMs
        ? "time"
        : step >= deps.limits.steps && tries === 0
          ? "steps"
          : null;
    const entries = await context.read();
    if (entries === null) return run.lose("trashed");
    const calls = pendingCalls(entries.tail);
    const stepEntries = { owner: run.owner, session: run.session, entries: entries.tail };
    const rights = await rightsNow(entries);
    const permitted = { ...deps, tools: permittedTools(deps.tools, rights) };
    // P7: calls that never started must not look as if they might have.
    if (run.cancelled) {
      return endRun(
        run,
        "cancelled",
        await settleUnrunCalls(deps.log.store.reads, run, stepEntries),
      );
    }
    const isTold = await budget.isTold(entries);
    if (calls.length > 0 && isTold) {
      const unrun = { output: "Not run: the budget of this task is used up." };
      const settled = await settleUnrunCalls(deps.log.store.reads, run, stepEntries, unrun);
      return endRun(run, "limit", settled, "budget");
    }
    if (calls.length > 0) {
      const requested = { ...stepEntries, calls, rights, taint: context.taint };
      await runTools(permitted, run, requested, new Journal(deps, run, journal));
      journal = [];
      continue;
    }
    if (exhausted !== null) return endRun(run, "limit", [], exhausted);
    if (await endAtSpendLimit(deps, run, rights)) return;
    const isNewStep = tries === 0 && !isFallbackPending;
    const conclude =
      isTold || !isNewStep
        ? null
        : await budget.conclude({ steps: step, timeMs: deps.clock.now() - startedAt });
    if (conclude !== null && (await run.write([conclude])) === null) return;
    if (conclude !== null) continue;
    const steered = await takeSteering(deps, run, { entries: entries.tail, rights });
    if (steered > 0) continue;
    step += isNewStep ? 1 : 0;
    // A compaction may have covered the notice that names the fallback.
    fallback = currentFallback(entries.tail, run.runId) ?? fallback;
    const call = await callStepModel(permitted, run, context, { step, tries, fallback, rights });
    if (call === null) return;
    const next = await settleCall(deps, run, { ...call, rights }, tries);
    if (next === "ended") return;
    tries = next === "retry" ? tries + 1 : 0;
    isFallbackPending = next === "fallback";
  }
}

interface ModelCallOutcome extends CallEnd {
  readonly modelName: string;
  /** The model to fall back to if this one cannot answer. */
  readonly next: string | null;
  readonly journal: Journal;
  readonly images: StoredImages;
  readonly context: RunContext;
  readonly record: RequestRecord;
  /** Roughly how many tokens were sent. */
  readonly tokens: number;
}

async function callStepModel(
  deps: DriveDeps,
  run: RunHandle,
  context: RunContext,
  attempt: {
    readonly step: number;
    readonly tries: number;
    readonly fallback: string | null;
    readonly rights: Rights;
  },
): Promise<ModelCallOutcome | null> {
  const { step, tries, rights } = attempt;
  const ready = await prepareStep(deps, context, attempt.fallback);
  if ("code" in ready) {
    const { code, message } = ready;
    await endRun(run, "failed", [noticeEvent(run, code, message)], code);
    return null;
  }
  const { name, model, next, framed } = ready;
  const compaction =
    deps.fit && (await compactIfNearlyFull(deps.fit, run, context, name, framed.bytes));
  // The summary was paid for too.
  if (compaction?.status === "compacted" && (await endAtSpendLimit(deps, run, rights))) return null;
  const stored = await run.write([
    ...(framed.event === undefined ? [] : [run.event("context.framed", framed.event)]),
    run.event("run.state", { state: "running" }),
    run.event("step.started", {
      step,
      model: name,
      ...(tries > 0 && { try: tries }),
      ...spillMarkFor(deps.spills, run),
    }),
  ]);
  const seq = stored?.at(-1)?.seq;
  const sent = seq === undefined ? null : await context.request(framed.bytes, seq, name);
  if (sent === null) return null;
  const { messages, tools, record, counted } = sent;
  await deps.spills?.reserve();
  const journal = new Journal(deps, run);
  const messageId = run.ids.make("message");
  const request = { model: name, session: run.session, messages, tools };
  const answer = { journal, images: new AnswerImages(), messageId, clock: deps.clock };
  const end = await callModel(run, model, request, answer);
  await journal.end(spillEndOf(name, end, answer.images));
  if (!(await journal.flush())) return null;
  const images = await answer.images.store(deps.log.store, run.owner);
  if (end.usage !== null && end.usage.estimated !== true) context.learnTokens(counted, end.usage);
  const tokens = context.tokensIn(counted);
  return { ...end, modelName: name, next, journal, images, context, record, tokens };
}

/** Turns the outcome of a model call into entries and decides how the run continues. */
async function settleCall(
  deps: DriveDeps,
  run: RunHandle,
  call: ModelCallOutcome & { readonly rights: Rights },
  tries: number,
): Promise<NextAction | "retry" | "fallback"> {
  const { end, calls, usage, modelName: model, journal, images, record: request } = call;
  const { message } = journal.fold();
  const hasAnswer = message !== null || images.stored.length > 0;
  // The settled message carries the record; if it cannot be settled, the run is lost and this state with it.
  if (hasAnswer || calls.length > 0) call.context.markRecorded();
  const usages = usageEvent(run, model, usage, call.rights);
  if (end === "stopped" || end === "abandoned") {
    if (end === "abandoned") await deps.raiseFence();
    if (run.cancelled)
      await endRun(run, "cancelled", [
        ...settledMessage(run, message, { model, request, images, partial: "cancelled" }),
        ...usages,
      ]);
    return "ended";
  }
  if (end === "done") {
    const settled = [...settledMessage(run, message, { model, request, images, calls }), ...usages];
    if (calls.length > 0) return (await run.write(settled)) === null ? "ended" : "continue";
    if (!hasAnswer) {
      await endRun(
        run,
        "failed",
        [...settled, noticeEvent(run, "empty_reply", "The model ended without a word.")],
        "empty_reply",
      );
    } else {
      const circumstances = { rights: call.rights, taint: call.context.taint };
      const mark = memoryMark(deps.memoryOwnerOf, run, circumstances);
      await endRun(run, "completed", settled, undefined, mark);
    }
    return "ended";
  }
  const failure = await recoverFromOverflow(deps, run, call, end.failure);
  const partialOutput = [
    ...settledMessage(run, message, { model, request, images, partial: "failed" }),
    ...usages,
  ];
  const mostTries = triesFor(deps.limits.modelTries, {
    answer: hasAnswer || calls.length > 0 ? "broke off" : "none",
    next: call.next,
  });
  const isLast = !isRetryable(failure) || tries + 1 >= mostTries;
  if (
    call.next !== null &&
    mayFallBack(failure) &&
    !failure.retryNow &&
    (isLast || isTooLongToWait(failure))
  ) {
    const notice = fallbackNotice(run, model, call.next, failure);
    return (await run.write([...partialOutput, notice])) === null ? "ended" : "fallback";
  }
  if (isLast) {
    await endRun(
      run,
      "failed",
      [...partialOutput, noticeEvent(run, failure.code, failure.message)],
      failure.code,
    );
    return "ended";
  }
  // Durable so that a take-over keeps counting tries, and visible so that a person sees why nothing comes.
  const pause = retryDelayMs(tries, failure, deps.random);
  const retrying = run.event("run.state", {
    state: "running",
    cause: failure.code,
    ...(pause > 0 && { retryMs: Math.round(pause) }),
  });
  if ((await run.write([...partialOutput, retrying])) === null) return "ended";
  if (pause > 0) await deps.clock.sleep(pause, run.signal);
  return "retry";
}

/** Ends a run that cannot work here, with a notice that says why. Calls that never started are settled as such. */
export async function refuseRun(
  { log }: Pick<DriveDeps, "log">,
  run: RunHandle,
  { code, message }: PlacementRefusal,
): Promise<void> {
  const { owner, session } = run;
  const page = await log.store.reads.entries(owner, session, { limit: maxEntriesPerStep });
  const entries = { owner, session, entries: page?.entries ?? [] };
  const unrun = await settleUnrunCalls(log.store.reads, run, entries, {
    output: `Not run: ${message}`,
  });
  await endRun(run, "failed", [...unrun, noticeEvent(run, code, message)], code);
}

function noticeEvent(run: RunHandle, kind: string, text: string): NewEvent {
  return run.event("notice.added", { noticeId: run.ids.make("notice"), kind, text });
}

/** Whether a spending limit leaves nothing for another model call. If so, the run has been ended. */
async function endAtSpendLimit(deps: DriveDeps, run: RunHandle, rights: Rights): Promise<boolean> {
  const reached = await findReachedLimit(deps, run, rights);
  if (reached === null) return false;
  await endRun(
    run,
    "limit",
    [noticeEvent(run, reached.cause, reachedLimitText(reached))],
    reached.cause,
  );
  return true;
}

/**
 * P4: the commit that ends the run, together with its last entries. If a cancel arrived meanwhile, the store refuses
 * the commit and the run ends as cancelled, with everything it had output.
 */
async function endRun(
  run: RunHandle,
  state: Extract<RunState, "completed" | "cancelled" | "failed" | "limit" | "interrupted">,
  entries: readonly NewEvent[],
  cause?: string,
  trailing: readonly NewEvent[] = [],
): Promise<void> {
  const ended = run.event("run.state", { state, ...(cause !== undefined && { cause }) });
  let result = await run.sendUntilAnswered({ events: [...entries, ended, ...trailing] });
  if (result.status === "refused" && result.code === "cancel_requested") {
    const cancelled = run.event("run.state", { state: "cancelled" });
    result = await run.sendUntilAnswered({ events: [...entries, cancelled] });
  }
  if (result.status === "committed") run.lose("ended");
  else run.loseBy(result);
}
