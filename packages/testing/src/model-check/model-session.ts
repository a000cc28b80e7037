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
  readonly action: Action;
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
  after(actions: readonly Action[]): ModelSession {
    const trial = new ModelSession(this.id, this.owner);
    trial.actions.push(...this.actions);
    for (const action of actions)
      trial.actions.push({ seq: trial.head + 1, at: 0, quiet: false, action });
    return trial;
  }

  all<D extends Action["do"]>(
    what: D,
  ): (RecordedAction & { action: Extract<Action, { do: D }> })[] {
    return this.actions.filter((recorded) => recorded.action.do === what) as never;
  }

  last<D extends Action["do"]>(what: D) {
    return this.all(what).at(-1);
  }

  get head(): number {
    return this.actions.at(-1)?.seq ?? 0;
  }

  get trashed(): boolean {
    const turn = this.actions.findLast(
      ({ action }) => action.do === "trash" || action.do === "restore",
    );
    return turn?.action.do === "trash";
  }

  /** Streamed and not settled yet. */
  get open(): RecordedAction[] {
    const settled = this.all("answer").findLast(({ action }) => action.settles !== undefined);
    return this.all("stream").filter(({ seq }) => seq > (settled?.seq ?? 0));
  }

  get readable(): RecordedAction[] {
    const open = new Set(this.open);
    return this.actions.filter((recorded) => recorded.action.do !== "stream" || open.has(recorded));
  }

  get live(): { runId: RunId; state: RunState } | null {
    let live: { runId: RunId; state: RunState } | null = null;
    for (const { action } of this.all("run")) {
      if (action.state === "queued") continue;
      if (!terminalStates.has(action.state)) live = { runId: action.runId, state: action.state };
      else if (live?.runId === action.runId) live = null;
    }
    return live;
  }

  /** The last state of a run; an accepted message starts its own. */
  stateOf(runId: RunId): RunState | undefined {
    const said = this.all("run").findLast(({ action }) => action.runId === runId);
    if (said !== undefined) return said.action.state;
    return this.all("accept").some(({ action }) => action.runId === runId) ? "queued" : undefined;
  }

  /** What became of an approval: unknown, open, or closed. */
  approval(id: ApprovalId): "open" | "withdrawn" | ApprovalDecision | undefined {
    const asked = this.all("ask").find(({ action }) => action.approvalId === id);
    if (asked === undefined) return undefined;
    for (const { seq, action } of this.actions) {
      if (seq <= asked.seq) continue;
      if (action.do === "grant" && action.approvalId === id) return action.decision;
      const ends =
        action.do === "run" &&
        terminalStates.has(action.state) &&
        action.runId === asked.action.runId;
      if (ends || action.do === "trash") return "withdrawn";
    }
    return "open";
  }

  /** Turns not remembered yet. */
  get marks() {
    const done = this.all("remember").filter(({ action }) => action.how === "committed");
    return this.all("mark").filter(
      (mark) => !done.some(({ seq, action }) => seq > mark.seq && action.upTo >= mark.seq),
    );
  }

  /** The last state of the memory segment in progress, if there is one. */
  get trying() {
    const last = this.last("remember");
    return last?.action.how === "committed" ? undefined : last;
  }

  /** The last state of each chunk by its key; the first one is pending from the acceptance on. */
  get chunks(): Map<string, readonly [OutboxState, number]> {
    const chunks = new Map<string, readonly [OutboxState, number]>();
    for (const { action } of this.actions) {
      if (action.do === "accept" && action.inbound)
        chunks.set(`${action.inbound.delivery} 0`, ["pending", 0]);
      if (action.do === "deliver")
        chunks.set(`${action.delivery} ${action.chunk}`, [action.state, action.attempts]);
    }
    return chunks;
  }

  get version(): number {
    return this.actions.filter(({ action }) => isEntry(action)).length;
  }

  get revision(): number {
    const counted = ["create", "change", "trash", "restore"];
    return this.actions.filter(({ action }) => counted.includes(action.do)).length;
  }

  get ranges() {
    return this.last("cut")?.action.ranges ?? this.all("create")[0]?.action.ranges ?? [];
  }

  get waiting() {
    const gone = new Set([
      ...this.all("remove").map(({ action }) => action.messageId),
      ...this.all("say").map(({ action }) => action.takes),
    ]);
    return this.all("accept").filter(({ action }) => !gone.has(action.messageId));
  }

  get title(): Pick<SessionRow, "title" | "titleSource"> {
    const named = this.all("change").filter(({ action }) => action.change.title !== undefined);
    for (const titleSource of ["chosen", "generated"] as const) {
      const last = named.findLast(({ action }) => action.change.titleSource === titleSource);
      if (last) return { title: last.action.change.title ?? null, titleSource };
    }
    const first = this.actions.find(
      ({ action }) => action.do === "say" || action.do === "accept",
    )?.action;
    const text = first && "text" in first ? first.text : null;
    return { title: text, titleSource: text === null ? null : "derived" };
  }

  setting<K extends "pinned" | "archived" | "project" | "tags" | "mode" | "persona">(name: K) {
    return this.all("change").findLast(({ action }) => action.change[name] !== undefined)?.action
      .change[name];
  }

  get row(): SessionRow {
    const loud = this.actions.filter(({ quiet, action }) => !quiet || action.do === "create");
    const shown = this.actions.findLast(
      ({ action }) => isMessageAction(action) || action.do === "cut",
    )?.action;
    const cut = this.last("cut");
    const said = this.actions.filter(
      ({ action, seq }) => isEntry(action) && action.do !== "cut" && seq > (cut?.seq ?? 0),
    );
    const ended = this.all("run").findLast(({ action }) => terminalStates.has(action.state));
    const created = this.all("create")[0];
    return {
      id: this.id,
      owner: this.owner,
      head: toSeq(this.head),
      version: this.version,
      revision: this.revision,
      createdAt: created?.at ?? 0,
      activityAt: loud.at(-1)?.at ?? 0,
      sortAt: loud.findLast(({ action }) => movesSortOrder(action))?.at ?? 0,
      ...this.title,
      preview:
        shown === undefined
          ? ""
          : "preview" in shown
            ? shown.preview
            : "text" in shown
              ? shown.text
              : "",
      messageCount: (cut?.action.messageCount ?? 0) + said.length,
      model: null,
      workspace: null,
      pinned: this.setting("pinned") ?? false,
      archived: this.setting("archived") ?? false,
      project: this.setting("project") ?? null,
      tags: [...new Set(this.setting("tags"))].toSorted(),
      mode: this.setting("mode") ?? null,
      persona: this.setting("persona") ?? null,
      trashedAt: this.trashed ? (this.last("trash")?.at ?? 0) : null,
      ranges: this.ranges,
      alternatives: [],
      origin: created?.action.origin ?? null,
      epoch: 0,
      liveRun: this.live?.runId ?? null,
      liveState: this.live?.state ?? null,
      lastState: ended?.action.state ?? null,
      openDeltas: this.open.length,
    };
  }
}
