import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { Store } from "../ports/store.ts";
import { Feed, type FeedDeps, type Follower } from "./feed.ts";
import type { EventSpan } from "./hub-ring.ts";

/** The sessions that someone in this process looks at, each with its feed. Nothing is kept for the others. */
export class FeedRegistry {
  readonly #store: Store;
  readonly #options: FeedDeps;
  readonly #feeds = new Map<string, Feed>();

  constructor(store: Store, options: FeedDeps) {
    this.#store = store;
    this.#options = options;
  }

  get watchedSessions(): number {
    return this.#feeds.size;
  }

  join(owner: OwnerId, session: SessionId, follower: Follower): Feed {
    const key = feedKey(owner, session);
    const feed = this.#feeds.get(key) ?? new Feed(this.#store, owner, session, this.#options);
    this.#feeds.set(key, feed);
    feed.follow(follower);
    return feed;
  }

  leave(owner: OwnerId, session: SessionId, follower: Follower): void {
    const key = feedKey(owner, session);
    const feed = this.#feeds.get(key);
    if (feed === undefined) return;
    feed.unfollow(follower);
    if (feed.isFollowed) return;
    this.#feeds.delete(key);
    feed.close();
  }

  publish(owner: OwnerId, session: SessionId, stretch: EventSpan): void {
    this.#feeds.get(feedKey(owner, session))?.publish(stretch);
  }

  wake(owner: OwnerId, session: SessionId): void {
    this.#feeds.get(feedKey(owner, session))?.wake();
  }
}

/** The owner is part of it: whoever names another's session reads for himself, and finds nothing. */
function feedKey(owner: OwnerId, session: SessionId): string {
  return `${owner} ${session}`;
}
