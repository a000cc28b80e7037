import {
  type ApprovalDecision,
  type ApprovalId,
  type OutboxState,
  type OwnerId,
  type RunId,
  type RunState,
  type SessionId,
  terminalStates,
} from "@holdfast/protocol";

import type { LeaseKind, SessionRow } from "@holdfast/engine";
import { toSeq } from "../fixtures/factories.ts";
import { type Action, isEntry, movesSortOrder, isMessageAction } from "./actions.ts";

/** Something that was done, with its number and its time. */
export interface RecordedAction {
  readonly seq: number;
  readonly at: number;
  readonly quiet: boolean;
  readonly act: Action;
}

export interface ModelLease {
  readonly fence: number;
  readonly holder: string;
  readonly until: number;
}

/** A session as the list of what was done in it. Whatever is asked is found by looking through the whole list. */
export class ModelSession {
  readonly id: SessionId;
  readonly owner: OwnerId;
  readonly actions: RecordedAction[] = [];
  readonly leases = new Map<LeaseKind, ModelLease>();
  readonly fences = new Map<LeaseKind, number>();
  purged = false;

  constructor(id: SessionId, owner: OwnerId) {
    this.id = id;
    this.owner = owner;
  }

  /** The session as it would be if this were done, too. */
  after(acts: readonly Action[]): ModelSession {
    const trial = new ModelSession(this.id, this.owner);
    trial.actions.push(...this.actions);
    for (const act of acts) trial.actions.push({ seq: trial.head + 1, at: 0, quiet: false, act });
    return trial;
  }

  all<D extends Action["do"]>(what: D): (RecordedAction & { act: Extract<Action, { do: D }> })[] {
    return this.actions.filter((deed) => deed.act.do === what) as never;
  }

  last<D extends Action["do"]>(what: D) {
    return this.all(what).at(-1);
  }

  get head(): number {
    return this.actions.at(-1)?.seq ?? 0;
  }

  get trashed(): boolean {
    const turn = this.actions.findLast(({ act }) => act.do === "trash" || act.do === "restore");
    return turn?.act.do === "trash";
  }

  /** Streamed and not settled yet. */
  get open(): RecordedAction[] {
    const settled = this.all("answer").findLast(({ act }) => act.settles !== undefined);
    return this.all("stream").filter(({ seq }) => seq > (settled?.seq ?? 0));
  }

  get readable(): RecordedAction[] {
    const open = new Set(this.open);
    return this.actions.filter((deed) => deed.act.do !== "stream" || open.has(deed));
  }

  get live(): { runId: RunId; state: RunState } | null {
    let live: { runId: RunId; state: RunState } | null = null;
    for (const { act } of this.all("run")) {
      if (act.state === "queued") continue;
      if (!terminalStates.has(act.state)) live = { runId: act.runId, state: act.state };
      else if (live?.runId === act.runId) live = null;
    }
    return live;
  }

  /** What was last said of a run; an accepted message begins its own. */
  stateOf(runId: RunId): RunState | undefined {
    const said = this.all("run").findLast(({ act }) => act.runId === runId);
    if (said !== undefined) return said.act.state;
    return this.all("accept").some(({ act }) => act.runId === runId) ? "queued" : undefined;
  }

  /** What became of an approval: nobody knows it, it is open, or it is not any more. */
  approval(id: ApprovalId): "open" | "withdrawn" | ApprovalDecision | undefined {
    const asked = this.all("ask").find(({ act }) => act.approvalId === id);
    if (asked === undefined) return undefined;
    for (const { seq, act } of this.actions) {
      if (seq <= asked.seq) continue;
      if (act.do === "grant" && act.approvalId === id) return act.decision;
      const ends =
        act.do === "run" && terminalStates.has(act.state) && act.runId === asked.act.runId;
      if (ends || act.do === "trash") return "withdrawn";
    }
    return "open";
  }

  /** Turns that nobody has remembered since. */
  get marks() {
    const done = this.all("remember").filter(({ act }) => act.how === "committed");
    return this.all("mark").filter(
      (mark) => !done.some(({ seq, act }) => seq > mark.seq && act.upTo >= mark.seq),
    );
  }

  /** What was last said of the segment that is under way, if there is one. */
  get trying() {
    const last = this.last("remember");
    return last?.act.how === "committed" ? undefined : last;
  }

  /** What was last said of each chunk, by what names it; the first is owed from the acceptance on. */
  get chunks(): Map<string, readonly [OutboxState, number]> {
    const chunks = new Map<string, readonly [OutboxState, number]>();
    for (const { act } of this.actions) {
      if (act.do === "accept" && act.inbound)
        chunks.set(`${act.inbound.delivery} 0`, ["pending", 0]);
      if (act.do === "deliver")
        chunks.set(`${act.delivery} ${act.chunk}`, [act.state, act.attempts]);
    }
    return chunks;
  }

  get version(): number {
    return this.actions.filter(({ act }) => isEntry(act)).length;
  }

  get revision(): number {
    const counted = ["create", "change", "trash", "restore"];
    return this.actions.filter(({ act }) => counted.includes(act.do)).length;
  }

  get ranges() {
    return this.last("cut")?.act.ranges ?? this.all("create")[0]?.act.ranges ?? [];
  }

  get waiting() {
    const gone = new Set([
      ...this.all("remove").map(({ act }) => act.messageId),
      ...this.all("say").map(({ act }) => act.takes),
    ]);
    return this.all("accept").filter(({ act }) => !gone.has(act.messageId));
  }

  get title(): Pick<SessionRow, "title" | "titleSource"> {
    const named = this.all("change").filter(({ act }) => act.change.title !== undefined);
    for (const titleSource of ["chosen", "generated"] as const) {
      const last = named.findLast(({ act }) => act.change.titleSource === titleSource);
      if (last) return { title: last.act.change.title ?? null, titleSource };
    }
    const first = this.actions.find(({ act }) => act.do === "say" || act.do === "accept")?.act;
    const text = first && "text" in first ? first.text : null;
    return { title: text, titleSource: text === null ? null : "derived" };
  }

  setting<K extends "pinned" | "archived" | "project" | "tags">(name: K) {
    return this.all("change").findLast(({ act }) => act.change[name] !== undefined)?.act.change[
      name
    ];
  }

  get row(): SessionRow {
    const loud = this.actions.filter(({ quiet, act }) => !quiet || act.do === "create");
    const shown = this.actions.findLast(({ act }) => isMessageAction(act) || act.do === "cut")?.act;
    const cut = this.last("cut");
    const said = this.actions.filter(
      ({ act, seq }) => isEntry(act) && act.do !== "cut" && seq > (cut?.seq ?? 0),
    );
    const ended = this.all("run").findLast(({ act }) => terminalStates.has(act.state));
    const created = this.all("create")[0];
    return {
      id: this.id,
      owner: this.owner,
      head: toSeq(this.head),
      version: this.version,
      revision: this.revision,
      createdAt: created?.at ?? 0,
      activityAt: loud.at(-1)?.at ?? 0,
      sortAt: loud.findLast(({ act }) => movesSortOrder(act))?.at ?? 0,
      ...this.title,
      preview:
        shown === undefined
          ? ""
          : "preview" in shown
            ? shown.preview
            : "text" in shown
              ? shown.text
              : "",
      messageCount: (cut?.act.messageCount ?? 0) + said.length,
      model: null,
      workspace: null,
      pinned: this.setting("pinned") ?? false,
      archived: this.setting("archived") ?? false,
      project: this.setting("project") ?? null,
      tags: [...new Set(this.setting("tags"))].toSorted(),
      trashedAt: this.trashed ? (this.last("trash")?.at ?? 0) : null,
      ranges: this.ranges,
      origin: created?.act.origin ?? null,
      epoch: 0,
      liveRun: this.live?.runId ?? null,
      liveState: this.live?.state ?? null,
      lastState: ended?.act.state ?? null,
      openDeltas: this.open.length,
    };
  }
}
