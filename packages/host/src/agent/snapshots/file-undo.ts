import {
  type HistoryResult,
  type Holder,
  type Log,
  newestFirst,
  rangeContaining,
  type Refused,
  viewSession,
} from "@holdfast/engine";
import { describeRestored } from "@holdfast/client";
import {
  alternativesOf,
  type EventId,
  type FileChangesView,
  type FilesRestored,
  type IdSource,
  jsonObject,
  type MessageId,
  newEvent,
  type Seq,
  type SessionView,
} from "@holdfast/protocol";

import { deterministicIds } from "../../util/deterministic-ids.ts";
import { Jail } from "../workspace/jail.ts";
import type { Workspaces } from "../workspace/workspaces.ts";
import { describeFiles } from "./describe-files.ts";
import type { FileSnapshots, SavedChange, SessionRef } from "./file-snapshots.ts";
import {
  type LoggedChanges,
  readLoggedChanges,
  restoredDetails,
  restoredNotice,
} from "./logged-changes.ts";
import { type PendingRestore, PendingRestores } from "./pending-restores.ts";
import { restoreFiles, summarize } from "./restore-files.ts";
import { planRestore, readChangeList, type RestorePlan } from "./restore-plan.ts";
import { recordChanges } from "./save-changes.ts";

export interface FileUndoDeps {
  readonly log: Log;
  readonly holder: () => Holder;
  readonly snapshots: FileSnapshots;
  readonly workspaces: Pick<Workspaces, "folderFor">;
  /** Where restores that were begun are noted. */
  readonly folder: string;
}

export type RestoreResult =
  | {
      readonly status: "restored";
      readonly session: SessionView;
      readonly seq: Seq;
      readonly files: FilesRestored;
    }
  | Exclude<HistoryResult, { readonly status: "committed" }>
  | Unavailable;

interface Unavailable {
  readonly status: "unavailable";
}

export interface RestoreRequest {
  /** The files become what they were after this event. */
  readonly to: Seq;
  readonly cause: PendingRestore["cause"];
  readonly ids: IdSource;
  readonly expectedHead?: Seq | undefined;
  /** Changes the conversation as well, in an event with this id. If that is refused, the files stay. */
  readonly conversation?:
    | { readonly event: EventId; readonly change: () => Promise<HistoryResult> }
    | undefined;
}

const leaseMs = 60_000;
const nothingDone: FilesRestored = { restored: [], count: 0, kept: [] };

/** Brings the files of a workspace back to how they were at a point of the log. */
export class FileUndo {
  readonly #deps: FileUndoDeps;
  readonly #pending: PendingRestores;

  constructor(deps: FileUndoDeps) {
    this.#deps = deps;
    this.#pending = new PendingRestores(deps.folder);
  }

  /** The first event of the last turns in view; `null` if there are fewer. */
  async turnStart({ owner, session }: SessionRef, turns: number): Promise<Seq | null> {
    let remaining = turns;
    for await (const entry of newestFirst(this.#deps.log.store.reads, owner, session))
      if (entry.type === "message.user" && (remaining -= 1) === 0) return entry.seq;
    return null;
  }

  /** Where the files were before the last restore that was not reverted; `null` if something was said since. */
  async lastRestore({ owner, session }: SessionRef): Promise<Seq | null> {
    const { reads } = this.#deps.log.store;
    let reverted = 0;
    for await (const { type, data, seq } of newestFirst(reads, owner, session)) {
      if (type === "message.user") return null;
      if (type !== "notice.added" || data["kind"] !== restoredNotice) continue;
      const details = restoredDetails.safeParse(data["details"]);
      if (!details.success || details.data.cause === "switch") return null;
      if (details.data.cause === "redo") reverted += 1;
      else if (reverted === 0) return (seq - 1) as Seq;
      else reverted -= 1;
    }
    return null;
  }

  /**
   * Where a version of a turn was last left. For the one in view only until something is said after it was chosen:
   * later changes are its own. `null`: there is no such point.
   */
  async versionLeft(
    { owner, session }: SessionRef,
    messageId: MessageId,
  ): Promise<{ readonly to: Seq; readonly isInView: boolean } | null> {
    const { reads } = this.#deps.log.store;
    const row = await reads.session(owner, session);
    const { set = [], index = 0 } = alternativesOf(row?.alternatives ?? [], messageId) ?? {};
    const { seq: begins, left: to } = set[index] ?? {};
    if (row === null || begins === undefined || to === undefined) return null;
    const isInView = rangeContaining(row.ranges, begins) !== undefined;
    if (!isInView) return { to, isInView };
    const chosenAt = Math.max(...set.map(({ left = 0 }) => left));
    for await (const entry of newestFirst(reads, owner, session))
      if (entry.type === "message.user") return entry.seq > chosenAt ? null : { to, isInView };
    return null;
  }

  /** What was changed in a part of the log, and what an undo would do. `null`: the folder cannot be used. */
  async changes(
    session: SessionRef,
    range: { readonly from: Seq; readonly to?: Seq | undefined },
  ): Promise<FileChangesView | null> {
    const { log, snapshots } = this.#deps;
    const jail = await this.#openFolder(session);
    if (jail === null) return null;
    const { from, to } = range;
    const logged = await readLoggedChanges(log.store.reads, session, { after: from, upTo: to });
    const plan = await planRestore(snapshots, jail, logged);
    const { notSaved, effects } = logged;
    return {
      from,
      ...(await describeFiles(snapshots, snapshots.workspaceOf(jail.root), plan.files)),
      missing: [...plan.missing],
      notSaved: notSaved.map((each) => ({ ...each })),
      effects: [...effects],
    };
  }

  /** While it goes on, no run of the session begins. */
  async restore(session: SessionRef, request: RestoreRequest): Promise<RestoreResult> {
    const { log, holder } = this.#deps;
    const event = request.ids.make("event");
    const earlier = await this.#earlier(session, event);
    if (earlier !== null) return earlier;
    await this.finishPending();
    const finished = await this.#earlier(session, event);
    if (finished !== null) return finished;
    const lease = await log.store.leases.acquire({
      kind: "history",
      session: session.session,
      holder: holder(),
      ttlMs: leaseMs,
    });
    if (lease.status === "failed") return lease;
    if (lease.status === "refused")
      return refused("session_not_found", "There is no such session.");
    if (lease.status === "held")
      return refused("history_live", "Somebody else is cutting this conversation.");
    try {
      return await this.#restoreAlone(session, request, event);
    } finally {
      await log.store.leases.release(lease.lease);
    }
  }

  async #restoreAlone(
    session: SessionRef,
    { to, cause, conversation, expectedHead }: RestoreRequest,
    event: EventId,
  ): Promise<RestoreResult> {
    const { log, snapshots } = this.#deps;
    const row = await log.store.reads.session(session.owner, session.session);
    if (row === null) return refused("session_not_found", "There is no such session.");
    if (row.liveRun !== null) return refused("run_live", "A run is going on in this session.");
    if (expectedHead !== undefined && expectedHead !== row.head)
      return refused("head_moved", `The session's newest event is ${row.head}.`);
    const jail = await this.#openFolder(session);
    if (jail === null) return { status: "unavailable" };
    const logged = await readLoggedChanges(log.store.reads, session, { after: to });
    const plan = await planRestore(snapshots, jail, logged);
    if (plan.files.length === 0 && plan.isKnown) return { status: "unavailable" };
    const wanted = wantedChanges(plan);
    const kept = keptFiles(plan);
    if (wanted.length === 0 && kept.length === 0)
      return this.#changeConversation(session, conversation, {
        ...nothingDone,
        ...lastingOf(logged),
      });
    const workspace = snapshots.workspaceOf(jail.root);
    const changes = await snapshots.put(workspace, Buffer.from(JSON.stringify(wanted)));
    const pending: PendingRestore = {
      owner: session.owner,
      session: session.session,
      event,
      needs: conversation?.event ?? null,
      cause,
      to,
      folder: jail.root,
      changes,
      kept,
    };
    const result = await this.#pending.exclusively(event, async () => {
      await this.#pending.add(pending);
      const changed = await conversation?.change();
      if (changed !== undefined && changed.status !== "committed") {
        // Whether it was stored decides what happens to the files: the next start looks.
        if (changed.status !== "failed" || changed.code !== "store_unknown")
          await this.#pending.remove(event);
        return changed;
      }
      return this.#finish(pending);
    });
    return result === "busy" ? refused("history_live", "These files are being restored.") : result;
  }

  async #changeConversation(
    session: SessionRef,
    conversation: RestoreRequest["conversation"],
    files: FilesRestored,
  ): Promise<RestoreResult> {
    const changed = await conversation?.change();
    if (changed !== undefined && changed.status !== "committed") return changed;
    return this.#restored(session, files, changed?.last);
  }

  /** Finishes what a process began that was killed since. `busy`: its lock still looks held, so try again later. */
  async finishPending(): Promise<"done" | "busy"> {
    let state: "done" | "busy" = "done";
    for (const pending of await this.#pending.list()) {
      const result = await this.#pending.exclusively(pending.event, async () => {
        const { owner, session, needs, event } = pending;
        const { reads } = this.#deps.log.store;
        const isWanted = needs === null || (await reads.event(owner, session, needs)) !== null;
        const isThere = (await reads.session(owner, session)) !== null;
        if (isWanted && isThere) await this.#finish(pending);
        else await this.#pending.remove(event);
      });
      if (result === "busy") state = result;
    }
    return state;
  }

  async #finish(pending: PendingRestore): Promise<RestoreResult> {
    const { log, snapshots } = this.#deps;
    const { event, cause, to, owner, session } = pending;
    const jail = await Jail.open(pending.folder);
    const workspace = snapshots.workspaceOf(pending.folder);
    const wanted = await readChangeList(snapshots, workspace, pending.changes);
    if (!jail.ok || wanted === null) {
      await this.#pending.remove(event);
      return { status: "unavailable" };
    }
    const done = await restoreFiles(snapshots, jail.value, wanted);
    const logged = await readLoggedChanges(log.store.reads, { owner, session }, { after: to });
    const files = {
      ...summarize({ changes: done.changes, kept: [...pending.kept, ...done.kept] }),
      ...lastingOf(logged, workspace),
    };
    const saved = await recordChanges(
      snapshots,
      workspace,
      { owner, session },
      {
        changes: done.changes,
        notSaved: [],
      },
    );
    const notice = newEvent(event, "notice.added", {
      // A repeated commit has to say the same.
      noticeId: deterministicIds(event).make("notice"),
      kind: restoredNotice,
      text: describeRestored(cause, files),
      // With the conversation kept, the model still has its changes before it.
      details: jsonObject.parse({
        cause,
        to,
        saved,
        files,
        ...(pending.needs === null && { tellsModel: true }),
      }),
    });
    const result = await log.commit({ owner, session, events: [notice] });
    // The files are done. Their result is stored when the store is there again.
    if (result.status === "failed") return result;
    await this.#pending.remove(event);
    if (result.status === "refused") return result;
    return this.#restored({ owner, session }, files, result.last);
  }

  async #earlier(ref: SessionRef, event: EventId): Promise<RestoreResult | null> {
    const stored = await this.#deps.log.store.reads.event(ref.owner, ref.session, event);
    if (stored === null) return null;
    const details = restoredDetails.safeParse(stored.data["details"]);
    return details.success ? this.#restored(ref, details.data.files, stored.seq) : null;
  }

  async #restored(
    { owner, session }: SessionRef,
    files: FilesRestored,
    seq: Seq | undefined,
  ): Promise<RestoreResult> {
    const row = await this.#deps.log.store.reads.session(owner, session);
    if (row === null) return refused("session_not_found", "There is no such session.");
    return { status: "restored", session: viewSession(row), seq: seq ?? row.head, files };
  }

  async #openFolder(session: SessionRef): Promise<Jail | null> {
    try {
      const jail = await Jail.open(await this.#deps.workspaces.folderFor(session));
      return jail.ok ? jail.value : null;
    } catch {
      return null;
    }
  }
}

function wantedChanges({ files }: RestorePlan): readonly SavedChange[] {
  return files.flatMap(({ path, current, first, undo }) =>
    undo === "restore" && current !== "unreadable" ? [{ path, before: current, after: first }] : [],
  );
}

function keptFiles({ files }: RestorePlan): PendingRestore["kept"] {
  return files.flatMap(({ path, undo }) =>
    undo === "restore" || undo === "none" ? [] : [{ path, reason: undo }],
  );
}

/** What stays although the files were put back, and what nobody knows of. */
function lastingOf(
  { effects, missing, changes }: LoggedChanges,
  workspace?: string,
): Pick<FilesRestored, "effects" | "missing"> {
  const isElsewhere =
    workspace !== undefined && changes.some(({ saved }) => saved.workspace !== workspace);
  const reasons = new Set([...missing, ...(isElsewhere ? (["elsewhere"] as const) : [])]);
  return {
    ...(effects.length > 0 && { effects: [...effects] }),
    ...(reasons.size > 0 && { missing: [...reasons] }),
  };
}

function refused(code: Refused["code"], message: string): Refused {
  return { status: "refused", code, message };
}
