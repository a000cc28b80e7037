import { AsyncLocalStorage } from "node:async_hooks";
import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import type { Clock } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";
import type { ServerQuestions } from "./elicitation/server-questions.ts";

/** A call that a server is working on. */
export interface ActiveCall {
  readonly session: SessionId;
  readonly questions: ServerQuestions;
}

interface Timed extends ActiveCall {
  /** How long people have been waited for. */
  waitedMs: number;
  waitingSince: number | null;
}

/** The calls that one connection carries at a time, and whose question is whose. */
export class ActiveCalls {
  readonly #clock: Clock;
  readonly #calls = new Set<Timed>();
  readonly #current = new AsyncLocalStorage<Timed>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Makes a call within its time limit; waiting for people does not count. `onLate` gives the reason for the abort.
   */
  async run<T>(
    call: ActiveCall,
    limit: { readonly ms: number; readonly signal: AbortSignal; readonly onLate: () => Error },
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timed: Timed = { ...call, waitedMs: 0, waitingSince: null };
    const late = new AbortController();
    const finished = new AbortController();
    this.#calls.add(timed);
    void this.#watch(timed, limit.ms, finished.signal, () => late.abort(limit.onLate()));
    try {
      const signal = AbortSignal.any([limit.signal, late.signal]);
      return await this.#current.run(timed, () => work(signal));
    } finally {
      this.#calls.delete(timed);
      finished.abort();
    }
  }

  /** Answers what the server asks a person. */
  async elicit(params: ElicitRequestParams, wanted: AbortSignal): Promise<ElicitResult> {
    const call = this.#findAsking();
    if (call === undefined) {
      for (const { questions } of this.#calls) questions.addUnplaced();
      return { action: "cancel" };
    }
    call.waitingSince ??= this.#clock.now();
    try {
      return await call.questions.elicit(params, wanted);
    } finally {
      call.waitedMs += this.#clock.now() - (call.waitingSince ?? this.#clock.now());
      call.waitingSince = null;
    }
  }

  /**
   * Over HTTP a question comes on the stream of its call. A pipe carries the questions of all calls alike: one is
   * another conversation's unless all of them are of the same.
   */
  #findAsking(): Timed | undefined {
    const current = this.#current.getStore();
    if (current !== undefined) return current;
    const calls = [...this.#calls];
    const isOneSession = new Set(calls.map(({ session }) => session)).size === 1;
    return isOneSession ? calls.at(-1) : undefined;
  }

  async #watch(
    call: Timed,
    limitMs: number,
    finished: AbortSignal,
    onLate: () => void,
  ): Promise<void> {
    const startedAt = this.#clock.now();
    for (;;) {
      const now = this.#clock.now();
      const waitingMs = call.waitingSince === null ? 0 : now - call.waitingSince;
      const leftMs = limitMs - (now - startedAt - call.waitedMs - waitingMs);
      if (finished.aborted) return;
      if (leftMs <= 0) return onLate();
      await this.#clock.sleep(Math.max(leftMs, call.waitingSince === null ? 0 : 1_000), finished);
    }
  }
}
