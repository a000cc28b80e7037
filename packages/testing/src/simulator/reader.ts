import {
  entriesOf,
  foldLiveJournal,
  type Seq,
  type SessionId,
  type SessionRead,
} from "@holdfast/protocol";
import { reduceEvents, type SessionState, startState } from "@holdfast/client";

import {
  type TailItem,
  viewSession,
  withAmendments,
  type Reads,
  StoreFailure,
} from "@holdfast/engine";
import { SimClient, noAnswer } from "./client.ts";
import { hostGone, type SimHost } from "./host.ts";
import type { SimWorld } from "./world.ts";

/** A page that follows a session: reads it once, then folds new events; leaves and returns with its cursor. */
export class SimReader {
  readonly name: string;
  readonly session: SessionId;
  readonly #client: SimClient;
  readonly #world: SimWorld;
  #state: SessionState | null = null;

  constructor(world: SimWorld, name: string, session: SessionId) {
    this.#world = world;
    this.name = name;
    this.session = session;
    this.#client = new SimClient(world, name);
  }

  get state(): SessionState | null {
    return this.#state;
  }

  async work(): Promise<void> {
    for (;;) {
      if (this.#state === null || this.#state.readAgain !== null) await this.#read();
      const host = this.#world.aHost();
      // A read that failed is tried again first: what follows the old state would never be read anew.
      if (this.#state?.readAgain === null && host !== null)
        await this.#follow(host, this.#state.seq);
      await this.#client.pause(300);
    }
  }

  async #read(): Promise<void> {
    const { owner } = this.#world;
    try {
      const read = await this.#client.ask("read", ({ log }) =>
        readAsHost(log.store.reads, owner, this.session),
      );
      if (read !== noAnswer && read !== null) this.#state = startState(read);
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
    }
  }

  /**
   * P6: leaving is not stopping. A reader stays for a while, or until its host is gone; in the end it stays for good.
   */
  async #follow(host: SimHost, after: Seq): Promise<void> {
    const { scheduler, owner, profile } = this.#world;
    const leaving = new AbortController();
    const stay = scheduler.chance.between(1, profile.troubleMs / 2);
    const leave = scheduler.after(stay, this.#client.actor, "leaves", () => {
      if (this.#world.faultsEnabled) leaving.abort();
    });
    scheduler.note(this.#client.actor, `follows at ${host.name} after ${after}`);
    const tail = host.log.tail(owner, this.session, after, { signal: leaving.signal });
    const items = tail[Symbol.asyncIterator]();
    for (;;) {
      const next = await host.ask(() => items.next());
      if (next === hostGone || next.done === true || !this.#take(next.value)) break;
    }
    scheduler.cancel(leave);
    leaving.abort();
  }

  /** False: the page must read the session again or follow anew. */
  #take(item: TailItem): boolean {
    const { scheduler, record } = this.#world;
    if (item.kind === "status") return true;
    if (item.kind === "resync") this.#state = null;
    if (item.kind !== "events" || this.#state === null) return false;
    for (const event of item.events) {
      const { name: reader, session } = this;
      record.shown.push({ step: scheduler.steps, reader, session, event });
      // P5: whatever is shown is stored at that moment, exactly so.
      if (JSON.stringify(record.stored(event.id)) !== JSON.stringify(event))
        record.noticed.push({
          promise: "P5",
          text: `${reader} was shown ${event.type} ${event.seq}, which is not what is stored.`,
        });
    }
    this.#state = reduceEvents(this.#state, item.events);
    return this.#state.readAgain === null;
  }
}

/** What a host shows of a session, from one snapshot. */
export async function readAsHost(
  reads: Reads,
  owner: SimWorld["owner"],
  id: SessionId,
): Promise<SessionRead | null> {
  const snapshot = await reads.snapshot(owner, id, { limit: 1_000 });
  if (snapshot === null) return null;
  const { session, entries, inbox, journal } = snapshot;
  // Like the host's own reads: an amendment of a notice applies even if it is behind a cut.
  const visible = await withAmendments(reads, session, entries.entries, "newest");
  const newest = entries.entries.findLast((event) => event.runId !== undefined)?.runId;
  const run = snapshot.run ?? (newest === undefined ? null : await reads.run(owner, newest));
  const alternatives = session.alternatives.map((set) => [...set]);
  return {
    session: { ...viewSession(session), alternatives },
    entries: [...entriesOf(visible)],
    run: run && viewRun(run),
    inbox: inbox.map((row) => ({
      messageId: row.messageId,
      runId: row.runId,
      clientId: row.clientId,
      mode: row.mode,
      text: row.content?.text ?? "",
      attachments: [...(row.content?.attachments ?? [])],
      seq: row.seq,
      acceptedAt: row.at,
    })),
    seq: session.head,
    live: snapshot.run && foldLiveJournal(snapshot.run.id, journal),
    earlier: null,
  };
}

function viewRun(
  run: NonNullable<Awaited<ReturnType<Reads["run"]>>>,
): NonNullable<SessionRead["run"]> {
  const { session, createdAt: _, journalFrom: __, ...shown } = run;
  return { ...shown, sessionId: session };
}
