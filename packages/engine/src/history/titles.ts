import {
  type IdSource,
  newEvent,
  type OwnerId,
  type SessionId,
  withTimeout,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import type { Clock } from "../ports/clock.ts";
import type { SessionRow } from "../ports/rows.ts";
import type { Titler, TitleResult } from "../ports/background-models.ts";
import { usageData } from "../run/settle.ts";
import { textOfEntry } from "./cut.ts";

export interface TitleGeneratorDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly titler: Titler;
  readonly onError: (error: unknown) => void;
  /** `false`: a spending limit is reached. The title waits until it isn't any more. */
  readonly mayCallModel?: (owner: OwnerId, session: SessionId) => Promise<boolean>;
}

const sweepMs = 60_000;
/** The process that ended the run titles it at once; sweeps leave the session alone for this long. */
const graceMs = 30_000;
const titlerTimeoutMs = 30_000;
const maxConcurrent = 2;
const pageSize = 20;
const maxTries = 3;

type Titled = Extract<TitleResult, { status: "titled" }>;

/**
 * Gives each session a better title than the start of its first message, once, in the background. It holds no lease and
 * no run waits for it. Open work is in the store, so a restart forgets nothing; a titled session is never looked at
 * again.
 */
export class TitleGenerator {
  readonly #deps: TitleGeneratorDeps;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<SessionId, OwnerId>();
  readonly #failures = new Map<SessionId, number>();
  readonly #active = new Map<SessionId, Promise<void>>();
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: TitleGeneratorDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#loop = this.#sweepPeriodically();
  }

  /** Announces that a run of the session has ended. */
  notify(owner: OwnerId, session: SessionId): void {
    if (this.#stop.signal.aborted || this.#active.has(session)) return;
    this.#waiting.set(session, owner);
    this.#startNext();
  }

  async idle(): Promise<void> {
    while (this.#active.size > 0) await Promise.all(this.#active.values());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await this.#loop;
    await this.idle();
  }

  /** Scans once for work that a dead process left. */
  async sweep(): Promise<void> {
    const { log } = this.#deps;
    const now = await log.store.now();
    for (const { owner, session } of await log.store.work.untitled(pageSize)) {
      const row = await log.store.reads.session(owner, session);
      if (row !== null && row.activityAt + graceMs <= now) this.notify(owner, session);
    }
  }

  async #sweepPeriodically(): Promise<void> {
    const { clock, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await this.sweep().catch(onError);
      await clock.sleep(sweepMs, this.#stop.signal);
    }
  }

  #startNext(): void {
    for (const [session, owner] of this.#waiting) {
      if (this.#active.size >= maxConcurrent) return;
      this.#waiting.delete(session);
      const work = this.#titleSession(owner, session)
        .catch((error: unknown) => this.#deps.onError(error))
        .finally(() => {
          this.#active.delete(session);
          this.#startNext();
        });
      this.#active.set(session, work);
    }
  }

  async #titleSession(owner: OwnerId, session: SessionId): Promise<void> {
    const { log, mayCallModel } = this.#deps;
    const row = await log.store.reads.session(owner, session);
    if (row === null || !needsTitle(row)) return;
    if ((await mayCallModel?.(owner, session)) === false) return;
    const result = await this.#requestTitle(row);
    if (this.#stop.signal.aborted) return;
    if (result.status === "titled") return this.#write(owner, session, result);
    const failures = (this.#failures.get(session) ?? 0) + 1;
    this.#failures.set(session, failures);
    // Give up: the derived title becomes final, and the session is not tried again.
    if (failures >= maxTries && row.title !== null)
      await this.#write(owner, session, { title: row.title });
  }

  async #requestTitle(row: SessionRow): Promise<TitleResult> {
    const { log, clock, titler, onError } = this.#deps;
    const { owner, id: session } = row;
    const page = await log.store.reads.entries(owner, session, { limit: pageSize });
    const entries = page?.entries ?? [];
    const first = entries.findIndex(({ type }) => type === "message.user");
    const answer = entries.find(({ type }, index) => index > first && type === "message.assistant");
    const question = entries[first];
    if (question === undefined || answer === undefined) return { status: "failed" };
    const request = {
      owner,
      session,
      question: textOfEntry(question),
      answer: textOfEntry(answer),
    };
    const limit = { clock, ms: titlerTimeoutMs, signal: this.#stop.signal };
    const titled = await withTimeout(limit, (signal) =>
      // An exception counts as a failed try, so that it is not repeated forever.
      titler.title(request, signal).catch((error: unknown): TitleResult => {
        onError(error);
        return { status: "failed" };
      }),
    );
    return titled.status === "done" ? titled.value : { status: "failed" };
  }

  /**
   * Written only while the title is still the derived one: the revision proves it inside the transaction, and in the
   * fold a person's own title would win anyway. Quiet: a title moves nothing in the list.
   */
  async #write(
    owner: OwnerId,
    session: SessionId,
    titled: Pick<Titled, "title"> & Partial<Titled>,
  ): Promise<void> {
    const { log, ids } = this.#deps;
    this.#failures.delete(session);
    const { title, model, usage } = titled;
    const changed = newEvent(ids.make("event"), "session.changed", {
      title,
      titleSource: "generated",
    });
    const usageEvents =
      usage && model !== undefined
        ? [newEvent(ids.make("event"), "usage.recorded", usageData(model, usage))]
        : [];
    for (;;) {
      const row = await log.store.reads.session(owner, session);
      if (row === null || !needsTitle(row)) return;
      const expect = { revision: row.revision };
      const events = [changed, ...usageEvents];
      const result = await log.commit({ owner, session, events, expect, touch: "quiet" });
      if (result.status !== "refused" || result.code !== "revision_conflict") return;
    }
  }
}

function needsTitle({ titleSource, lastState, trashedAt }: SessionRow): boolean {
  return titleSource === "derived" && lastState === "completed" && trashedAt === null;
}
