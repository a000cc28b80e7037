import type { StoredSession } from "./database.ts";
import type { Report } from "../reading/folder.ts";
import type { Sidecar } from "./sidecar.ts";

/** The sessions of one conversation, oldest first, and the conversation it came from. */
export interface Conversation {
  readonly segments: readonly string[];
  readonly rows: readonly StoredSession[];
  readonly edge: ConversationEdge | null;
}

export interface ConversationEdge {
  readonly kind: "branch" | "child" | "stale";
  /** A session of the other conversation. */
  readonly of: string;
}

interface Input {
  readonly sessions: readonly StoredSession[];
  /** Every id that any store knows. */
  readonly ids: ReadonlySet<string>;
  readonly sidecars: ReadonlyMap<string, Sidecar>;
  readonly lastActivity: (id: string) => number;
  readonly report: Report;
}

/** Which sessions are one conversation, in an order in which each comes after the one that it came from. */
export function findConversations(input: Input): readonly Conversation[] {
  return new ConversationFinder(input).find();
}

class ConversationFinder {
  readonly #input: Input;
  readonly #rows: Map<string, StoredSession>;
  readonly #next = new Map<string, string>();
  readonly #continues = new Set<string>();
  readonly #edges = new Map<string, ConversationEdge>();

  constructor(input: Input) {
    this.#input = input;
    this.#rows = new Map(input.sessions.map((row) => [row.id, row]));
  }

  find(): readonly Conversation[] {
    this.#findContinuations();
    for (const id of this.#input.ids) {
      const edge = this.#continues.has(id) ? null : (this.#edges.get(id) ?? this.#edgeOf(id));
      if (edge !== null) this.#edges.set(id, edge);
    }
    return this.#inOrder(this.#chains());
  }

  #findContinuations(): void {
    const children = new Map<string, string[]>();
    for (const row of this.#rows.values()) {
      const parent = row.parent_session_id;
      if (parent == null || parent === "") continue;
      if (this.#rows.get(parent)?.end_reason !== "compression") continue;
      if (row.branchedFrom !== null || row.delegatedFrom !== null || row.source === "tool")
        continue;
      if (row.source === "subagent") continue;
      children.set(parent, [...(children.get(parent) ?? []), row.id]);
    }
    for (const [parent, ids] of children) {
      const [first = "", ...others] = ids.toSorted((a, b) => this.#compare(a, b));
      this.#join(parent, first);
      for (const other of others) {
        this.#edges.set(other, { kind: "stale", of: parent });
        this.#input.report({
          code: "stale_fork",
          outcome: "guess",
          path: "state.db",
          session: other,
          text: `${parent} continued in several sessions. ${first} was chosen as the continuation; this one is a separate session.`,
        });
      }
    }
    // The page alone may know of a segment.
    for (const { id, parent, isFork } of this.#input.sidecars.values()) {
      if (parent === null || isFork || this.#continues.has(id) || this.#edges.has(id)) continue;
      const isSnapshot = this.#input.sidecars.get(parent)?.isSnapshot === true;
      if (isSnapshot && !this.#next.has(parent)) this.#join(parent, id);
    }
  }

  #join(parent: string, id: string): void {
    this.#next.set(parent, id);
    this.#continues.add(id);
  }

  /** Of two continuations, the one that went on itself, then a live one, then the one that was used last. */
  #compare(a: string, b: string): number {
    const rank = (id: string): number => {
      const row = this.#rows.get(id);
      if (row?.end_reason === "compression") return 0;
      return row?.ended_at == null ? 1 : 2;
    };
    return rank(a) - rank(b) || this.#input.lastActivity(b) - this.#input.lastActivity(a);
  }

  #edgeOf(id: string): ConversationEdge | null {
    const row = this.#rows.get(id);
    const sidecar = this.#input.sidecars.get(id);
    const parent = row?.parent_session_id ?? null;
    if (row?.delegatedFrom != null || row?.source === "subagent") {
      const named = row.delegatedFrom;
      const of = named !== null && this.#input.ids.has(named) ? named : parent;
      return this.#edgeTo(id, "child", of ?? named);
    }
    if (row?.branchedFrom != null) return this.#edgeTo(id, "branch", row.branchedFrom);
    if (sidecar?.isFork && sidecar.parent !== null)
      return this.#edgeTo(id, "branch", sidecar.parent);
    if (row === undefined || parent === null || row.resetFrom !== null) return null;
    const from = this.#rows.get(parent);
    const isBranch =
      from?.end_reason === "branched" && (row.started_at ?? 0) >= (from.ended_at ?? Infinity);
    if (isBranch) return this.#edgeTo(id, "branch", parent);
    if (from === undefined && !this.#input.ids.has(parent)) this.#lostParent(id, parent);
    return null;
  }

  #edgeTo(id: string, kind: ConversationEdge["kind"], of: string | null): ConversationEdge | null {
    if (of !== null && this.#input.ids.has(of)) return { kind, of };
    this.#lostParent(id, of);
    return null;
  }

  #lostParent(id: string, parent: string | null): void {
    this.#input.report({
      code: "lost_parent",
      outcome: "damaged",
      path: "state.db",
      session: id,
      text: `It came from ${parent ?? "a session"} that is missing, so it is a separate session.`,
    });
  }

  #chains(): Conversation[] {
    const taken = new Set<string>();
    const chains: Conversation[] = [];
    const walk = (start: string): void => {
      const segments: string[] = [];
      for (let id: string | undefined = start; id !== undefined; id = this.#next.get(id)) {
        if (taken.has(id)) {
          this.#cycle(start);
          break;
        }
        taken.add(id);
        segments.push(id);
      }
      const rows = segments.flatMap((id) => this.#rows.get(id) ?? []);
      chains.push({ segments, rows, edge: this.#edges.get(start) ?? null });
    };
    for (const id of this.#input.ids) if (!this.#continues.has(id)) walk(id);
    // Only circles are left.
    for (const id of this.#input.ids) if (!taken.has(id)) walk(id);
    return chains;
  }

  #cycle(id: string): void {
    this.#input.report({
      code: "cycle",
      outcome: "damaged",
      path: "state.db",
      session: id,
      text: "These sessions refer to each other as the previous one. The circle was cut here.",
    });
  }

  #inOrder(chains: readonly Conversation[]): readonly Conversation[] {
    const chainOf = new Map<string, Conversation>();
    for (const chain of chains) for (const id of chain.segments) chainOf.set(id, chain);
    const ordered: Conversation[] = [];
    const done = new Set<Conversation>();
    for (const chain of chains) {
      // Up to one whose origin is done; a path instead of a recursion, because it may be long.
      const path: Conversation[] = [];
      let at: Conversation | undefined = chain;
      while (at !== undefined && !done.has(at) && !path.includes(at)) {
        path.push(at);
        at = at.edge === null ? undefined : chainOf.get(at.edge.of);
      }
      const closing = at !== undefined && path.includes(at) ? path.at(-1) : undefined;
      for (const each of path.toReversed()) {
        done.add(each);
        if (each === closing) {
          this.#cycle(each.segments[0] ?? "");
          ordered.push({ ...each, edge: null });
        } else ordered.push(each);
      }
    }
    return ordered;
  }
}

/** When a session was last used, in seconds. */
export function lastActivity(sessions: readonly StoredSession[], id: string): number {
  const row = sessions.find((each) => each.id === id);
  return row?.ended_at ?? row?.started_at ?? 0;
}

/** Whether it was put away where it came from. */
export function isArchived(conversation: Conversation | undefined): boolean {
  return conversation?.rows.at(-1)?.archived ?? false;
}
