import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { MemoryHandle, MemoryOwner } from "../ports/memory.ts";
import { ownerKey } from "./segment.ts";

interface SessionHandles {
  readonly owner: OwnerId;
  /** The one that the session works with. */
  registered: MemoryHandle | null;
  /** By their owners: those whose work may still be open. */
  readonly kept: Map<string, MemoryHandle>;
}

/** More are forgotten, oldest first: whoever looks after the backlog can open another. */
const maxSessions = 5_000;

/** Ways to reach the owners of a session's turns, as far as this process knows some. Nothing durable depends on it. */
export class MemoryHandles {
  readonly #sessions = new Map<SessionId, SessionHandles>();

  /** The one that was registered before goes on being known: its turns are its own to commit. */
  register(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    const known = this.#known(owner, session);
    const { registered } = known;
    if (registered !== null) known.kept.set(ownerKey(registered.owner), registered);
    known.registered = handle;
  }

  unregister(session: SessionId): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.registered = null;
    if (known.kept.size === 0) this.#sessions.delete(session);
  }

  /** After a failure: whoever tries again without a handle finds this one. */
  keep(owner: OwnerId, session: SessionId, handle: MemoryHandle): void {
    this.#known(owner, session).kept.set(ownerKey(handle.owner), handle);
  }

  /** Nothing of this owner is open any more. */
  settle(session: SessionId, owner: MemoryOwner): void {
    const known = this.#sessions.get(session);
    if (known === undefined) return;
    known.kept.delete(ownerKey(owner));
    if (known.kept.size === 0 && known.registered === null) this.#sessions.delete(session);
  }

  find(session: SessionId, owner: MemoryOwner): MemoryHandle | undefined {
    const known = this.#sessions.get(session);
    if (known === undefined) return undefined;
    const { registered, kept } = known;
    if (registered !== null && ownerKey(registered.owner) === ownerKey(owner)) return registered;
    return kept.get(ownerKey(owner));
  }

  ownerOf(session: SessionId): OwnerId | undefined {
    return this.#sessions.get(session)?.owner;
  }

  drop(session: SessionId): void {
    this.#sessions.delete(session);
  }

  get size(): number {
    return this.#sessions.size;
  }

  #known(owner: OwnerId, session: SessionId): SessionHandles {
    const known = this.#sessions.get(session) ?? { owner, registered: null, kept: new Map() };
    this.#sessions.delete(session);
    this.#sessions.set(session, known);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > maxSessions && oldest !== undefined) this.#sessions.delete(oldest);
    return known;
  }
}
