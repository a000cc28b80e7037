import type { SessionView } from "@holdfast/protocol";
import type { Client } from "@holdfast/client";

/** How the list is ordered: the newest first, and ids decide between equals. */
export function compareSessions(a: SessionView, b: SessionView): number {
  if (a.sortAt !== b.sortAt) return b.sortAt - a.sortAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/**
 * Puts a page of the list into what is held. The page is the truth from behind `after` down to its last row, or to the end of
 * the list when it is the last page: what was held in between and is not in it has moved or gone.
 */
export function mergePage(
  held: readonly SessionView[],
  page: readonly SessionView[],
  after: SessionView | null,
  hasMore: boolean,
): readonly SessionView[] {
  const last = page.at(-1);
  const fresh = new Set(page.map(({ id }) => id));
  const isKept = ({ id }: SessionView): boolean => !fresh.has(id);
  const above = after === null ? 0 : indexAfter(held, after);
  const below = hasMore && last !== undefined ? indexAfter(held, last) : held.length;
  return [...held.slice(0, above).filter(isKept), ...page, ...held.slice(below).filter(isKept)];
}

/** The row in its place; the list is in order before and after. */
export function insertRow(
  held: readonly SessionView[],
  session: SessionView,
): readonly SessionView[] {
  const rest = held.filter(({ id }) => id !== session.id);
  return rest.toSpliced(indexAfter(rest, session), 0, session);
}

/** How many of the list stand before the first that comes behind this one. */
function indexAfter(held: readonly SessionView[], session: SessionView): number {
  return binarySearch(held.length, (at) => {
    const row = held[at];
    return row !== undefined && compareSessions(row, session) > 0;
  });
}

/** The first index for which it holds; it holds for all behind that one too. */
export function binarySearch(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** A row that is new or changed; `null` when one is gone, or when some may have been missed. */
export type OnHint = (session: SessionView | null) => void;

/** What the host says of the list, until somebody leaves. */
function followListHints(client: Client, onHint: OnHint): () => void {
  const leaving = new AbortController();
  void readListHints(client, onHint, leaving.signal);
  return () => leaving.abort();
}

async function readListHints(client: Client, onHint: OnHint, signal: AbortSignal): Promise<void> {
  // What happened before the line was up is not told on it.
  const onConnection = (state: string): void => {
    if (state === "live") onHint(null);
  };
  for await (const item of client.watch(new Map(), { signal, onConnection })) {
    if (signal.aborted || item.kind === "ended") return;
    if (item.kind === "list") onHint(item.hint.session);
  }
}

export type ShelfName = "active" | "archived" | "trash";

/** Which part of the list is looked at. */
export interface ListFilter {
  readonly shelf: ShelfName;
  readonly project: string | null;
  readonly tag: string | null;
}

export interface SessionListView {
  readonly filter: ListFilter;
  /** `null` until they were read for the first time. */
  readonly sessions: readonly SessionView[] | null;
  readonly pinned: readonly SessionView[];
  readonly hasMore: boolean;
}

export interface SessionListStore {
  readonly read: () => SessionListView;
  readonly subscribe: (listener: () => void) => () => void;
  readonly choose: (filter: ListFilter) => void;
  readonly refresh: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
  /** A row as somebody has just learned it. */
  readonly put: (session: SessionView) => void;
  /** Tells the other tabs of this browser too. */
  readonly changed: () => void;
  readonly start: () => () => void;
}

/** The list is the truth, whatever was hinted at. */
const refreshMs = { hinted: 20_000, alone: 3_000 };
const pageSize = 60;
const defaultFilter: ListFilter = { shelf: "active", project: null, tag: null };

/** The list as far as somebody has scrolled, kept current from its top. */
export function createSessionListStore(client: Client): SessionListStore {
  let view: SessionListView = { filter: defaultFilter, sessions: null, pinned: [], hasMore: false };
  let cursor: string | null = null;
  let isLoading = false;
  const listeners = new Set<() => void>();
  const others = new BroadcastChannel("holdfast:list");

  function change(part: Partial<SessionListView>): void {
    view = { ...view, ...part };
    listeners.forEach((listener) => listener());
  }

  function queryOf({ shelf, project, tag }: ListFilter) {
    return {
      limit: pageSize,
      ...(shelf === "archived" && { archived: true }),
      ...(shelf === "trash" && { trashed: true }),
      ...(project !== null && { project }),
      ...(tag !== null && { tag }),
    };
  }

  async function refresh(): Promise<void> {
    const { filter } = view;
    const [page, pinned] = await Promise.all([
      client.listSessions({ query: queryOf(filter) }),
      filter.shelf === "active"
        ? client.listSessions({ query: { ...queryOf(filter), pinned: true, limit: 100 } })
        : null,
    ]);
    if (!page.ok || view.filter !== filter) return;
    const { sessions, nextCursor } = page.value;
    const held = view.sessions ?? [];
    const isFirst = view.sessions === null || held.length <= pageSize;
    if (isFirst) cursor = nextCursor;
    const next = mergePage(held, sessions, null, nextCursor !== null);
    const top = pinned?.ok ? pinned.value.sessions : [];
    if (sameRows(next, view.sessions) && sameRows(top, view.pinned)) return;
    change({ sessions: next, pinned: top, hasMore: cursor !== null });
  }

  async function loadMore(): Promise<void> {
    const { filter, sessions } = view;
    if (cursor === null || sessions === null || isLoading) return;
    isLoading = true;
    const query = { ...queryOf(filter), cursor };
    const page = await client.listSessions({ query });
    isLoading = false;
    if (!page.ok || view.filter !== filter) return;
    cursor = page.value.nextCursor;
    const after = sessions.at(-1) ?? null;
    const next = mergePage(view.sessions ?? [], page.value.sessions, after, cursor !== null);
    change({ sessions: next, hasMore: cursor !== null });
  }

  function put(session: SessionView): void {
    const { sessions, pinned, filter } = view;
    if (sessions === null) return;
    const swap = (list: readonly SessionView[], belongs: boolean): readonly SessionView[] =>
      belongs ? insertRow(list, session) : list.filter(({ id }) => id !== session.id);
    const belongs = belongsInList(session, filter);
    const held = sessions.find(({ id }) => id === session.id);
    // An open conversation tells each of its events; few of them change its row.
    if (belongs ? sameSessionRow(session, held) : held === undefined) return;
    change({
      sessions: swap(sessions, belongs),
      pinned: swap(pinned, belongs && session.pinned && filter.shelf === "active"),
    });
  }

  function takeHint(session: SessionView | null): void {
    const held = view.sessions?.find(({ id }) => id === session?.id);
    // The open conversation may know more already.
    if (session !== null && session.head >= (held?.head ?? 0)) put(session);
    else if (session === null) void refresh();
  }

  function tellOthers(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    others.postMessage("changed");
  }

  return {
    read: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    choose(filter) {
      cursor = null;
      change({ filter, sessions: null, pinned: [], hasMore: false });
      void refresh();
    },
    refresh,
    loadMore,
    put,
    changed() {
      tellOthers();
      void refresh();
    },
    start() {
      const look = (): void => {
        if (document.visibilityState === "visible") void refresh();
      };
      look();
      // Without locks each tab has its own connections, and few of them: then the list is asked for instead.
      const canShare = "locks" in navigator;
      const stop = canShare ? followListHints(client, takeHint) : () => {};
      const timer = setInterval(look, canShare ? refreshMs.hinted : refreshMs.alone);
      document.addEventListener("visibilitychange", look);
      others.addEventListener("message", look);
      return () => {
        stop();
        clearInterval(timer);
        document.removeEventListener("visibilitychange", look);
        others.removeEventListener("message", look);
      };
    },
  };
}

function belongsInList(session: SessionView, { shelf, project, tag }: ListFilter): boolean {
  const own = session.trashedAt !== null ? "trash" : session.archived ? "archived" : "active";
  return (
    own === shelf &&
    (project === null || session.project === project) &&
    (tag === null || session.tags.includes(tag))
  );
}

/** Whether the rows look the same: the list is read now and then and is drawn when it changed. */
function sameRows(a: readonly SessionView[], b: readonly SessionView[] | null): boolean {
  return a.length === b?.length && a.every((row, index) => sameSessionRow(row, b[index]));
}

export function sameSessionRow(a: SessionView, b: SessionView | undefined): boolean {
  return (
    a.id === b?.id &&
    a.revision === b.revision &&
    a.sortAt === b.sortAt &&
    a.liveState === b.liveState &&
    a.lastState === b.lastState &&
    a.title === b.title
  );
}
