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

/** An action with its seq and time. */
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

/** A session as the list of its actions. Every question is answered by scanning the whole list. */
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

  /** The session as it would be after these actions. */
  after(acts: readonly Action[]): ModelSession {
    const trial = new ModelSession(this.id, this.owner);
    trial.actions.push(...this.actions);
    for (const action of acts)
      trial.actions.push({ seq: trial.head + 1, at: 0, quiet: false, act: action });
    return trial;
  }

  all<D extends Action["do"]>(what: D): (RecordedAction & { act: Extract<Action, { do: D }> })[] {
    return this.actions.filter((recorded) => recorded.act.do === what) as never;
  }

  last<D extends Action["do"]>(what: D) {
    return this.all(what).at(-1);
  }

  get head(): number {
    return this.actions.at(-1)?.seq ?? 0;
  }

  get trashed(): boolean {
    const turn = this.actions.findLast(
      ({ act: action }) => action.do === "trash" || action.do === "restore",
    );
    return turn?.act.do === "trash";
  }

  /** Streamed and not settled yet. */
  get open(): RecordedAction[] {
    const settled = this.all("answer").findLast(({ act: action }) => action.settles !== undefined);
    return this.all("stream").filter(({ seq }) => seq > (settled?.seq ?? 0));
  }

  get readable(): RecordedAction[] {
    const open = new Set(this.open);
    return this.actions.filter((recorded) => recorded.act.do !== "stream" || open.has(recorded));
  }

  get live(): { runId: RunId; state: RunState } | null {
    let live: { runId: RunId; state: RunState } | null = null;
    for (const { act: action } of this.all("run")) {
      if (action.state === "queued") continue;
      if (!terminalStates.has(action.state)) live = { runId: action.runId, state: action.state };
      else if (live?.runId === action.runId) live = null;
    }
    return live;
  }

  /** The last state of a run; an accepted message starts its own. */
  stateOf(runId: RunId): RunState | undefined {
    const said = this.all("run").findLast(({ act: action }) => action.runId === runId);
    if (said !== undefined) return said.act.state;
    return this.all("accept").some(({ act: action }) => action.runId === runId)
      ? "queued"
      : undefined;
  }

  /** What became of an approval: unknown, open, or closed. */
  approval(id: ApprovalId): "open" | "withdrawn" | ApprovalDecision | undefined {
    const asked = this.all("ask").find(({ act: action }) => action.approvalId === id);
    if (asked === undefined) return undefined;
    for (const { seq, act: action } of this.actions) {
      if (seq <= asked.seq) continue;
      if (action.do === "grant" && action.approvalId === id) return action.decision;
      const ends =
        action.do === "run" && terminalStates.has(action.state) && action.runId === asked.act.runId;
      if (ends || action.do === "trash") return "withdrawn";
    }
    return "open";
  }

  /** Turns not remembered yet. */
  get marks() {
    const done = this.all("remember").filter(({ act: action }) => action.how === "committed");
    return this.all("mark").filter(
      (mark) => !done.some(({ seq, act: action }) => seq > mark.seq && action.upTo >= mark.seq),
    );
  }

  /** The last state of the memory segment in progress, if there is one. */
  get trying() {
    const last = this.last("remember");
    return last?.act.how === "committed" ? undefined : last;
  }

  /** The last state of each chunk by its key; the first one is pending from the acceptance on. */
  get chunks(): Map<string, readonly [OutboxState, number]> {
    const chunks = new Map<string, readonly [OutboxState, number]>();
    for (const { act: action } of this.actions) {
      if (action.do === "accept" && action.inbound)
        chunks.set(`${action.inbound.delivery} 0`, ["pending", 0]);
      if (action.do === "deliver")
        chunks.set(`${action.delivery} ${action.chunk}`, [action.state, action.attempts]);
    }
    return chunks;
  }

  get version(): number {
    return this.actions.filter(({ act: action }) => isEntry(action)).length;
  }

  get revision(): number {
    const counted = ["create", "change", "trash", "restore"];
    return this.actions.filter(({ act: action }) => counted.includes(action.do)).length;
  }

  get ranges() {
    return this.last("cut")?.act.ranges ?? this.all("create")[0]?.act.ranges ?? [];
  }

  get waiting() {
    const gone = new Set([
      ...this.all("remove").map(({ act: action }) => action.messageId),
      ...this.all("say").map(({ act: action }) => action.takes),
    ]);
    return this.all("accept").filter(({ act: action }) => !gone.has(action.messageId));
  }

  get title(): Pick<SessionRow, "title" | "titleSource"> {
    const named = this.all("change").filter(({ act: action }) => action.change.title !== undefined);
    for (const titleSource of ["chosen", "generated"] as const) {
      const last = named.findLast(({ act: action }) => action.change.titleSource === titleSource);
      if (last) return { title: last.act.change.title ?? null, titleSource };
    }
    const first = this.actions.find(
      ({ act: action }) => action.do === "say" || action.do === "accept",
    )?.act;
    const text = first && "text" in first ? first.text : null;
    return { title: text, titleSource: text === null ? null : "derived" };
  }

  setting<K extends "pinned" | "archived" | "project" | "tags">(name: K) {
    return this.all("change").findLast(({ act: action }) => action.change[name] !== undefined)?.act
      .change[name];
  }

  get row(): SessionRow {
    const loud = this.actions.filter(({ quiet, act: action }) => !quiet || action.do === "create");
    const shown = this.actions.findLast(
      ({ act: action }) => isMessageAction(action) || action.do === "cut",
    )?.act;
    const cut = this.last("cut");
    const said = this.actions.filter(
      ({ act: action, seq }) => isEntry(action) && action.do !== "cut" && seq > (cut?.seq ?? 0),
    );
    const ended = this.all("run").findLast(({ act: action }) => terminalStates.has(action.state));
    const created = this.all("create")[0];
    return {
      id: this.id,
      owner: this.owner,
      head: toSeq(this.head),
      version: this.version,
      revision: this.revision,
      createdAt: created?.at ?? 0,
      activityAt: loud.at(-1)?.at ?? 0,
      sortAt: loud.findLast(({ act: action }) => movesSortOrder(action))?.at ?? 0,
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
