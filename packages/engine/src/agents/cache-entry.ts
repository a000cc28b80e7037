import type { LaneKey, SessionId } from "@holdfast/protocol";

import type { Agent } from "../ports/agent.ts";
import { Baselines } from "./baselines.ts";

/** One agent in the cache. While it is being built it is a placeholder, and already taken. */
export class CacheEntry<Kept> {
  readonly lane: LaneKey;
  readonly signature: string;
  readonly baselines: Baselines<Kept>;
  /** `unchecked`: whoever put it here answers for it; it is neither compared nor re-baselined. */
  readonly coherence: "checked" | "unchecked";
  agent: Agent | null;
  /** The session that it served last, or serves. */
  session: SessionId | null = null;
  isBorrowed = false;
  usedAt: number;

  constructor(made: {
    readonly lane: LaneKey;
    readonly signature: string;
    readonly agent: Agent | null;
    readonly usedAt: number;
    readonly mostBaselines: number;
    readonly coherence?: "checked" | "unchecked";
  }) {
    this.lane = made.lane;
    this.signature = made.signature;
    this.agent = made.agent;
    this.usedAt = made.usedAt;
    this.coherence = made.coherence ?? "checked";
    this.baselines = new Baselines(made.mostBaselines);
  }

  /** Neither a placeholder nor one that opted out has a baseline that anybody may move. */
  get isComparable(): boolean {
    return this.agent !== null && this.coherence === "checked";
  }
}
