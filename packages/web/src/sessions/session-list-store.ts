import type { SessionView } from "@holdfast/protocol";
import type { Client } from "@holdfast/client";

/** Newest first, ties broken by id. */
export function compareSessions(a: SessionView, b: SessionView): number {
  if (a.sortAt !== b.sortAt) return b.sortAt - a.sortAt;
  return a.id < b.id ? 1 : a.id > b.id ? -1 : 0;
}

/**
 * Merges a page into the loaded rows. The page is authoritative from after `after` to its last row, or to the end of the list
 * if it is the last page: loaded rows in between that it lacks have moved or are gone.
 */
export function mergePage(
  loaded: readonly SessionView[],
  page: readonly SessionView[],
  after: SessionView | null,
  hasMore: boolean,
): readonly SessionView[] {
  const last = page.at(-1);
  const fresh = new Set(page.map(({ id }) => id));
  const isKept = ({ id }: SessionView): boolean => !fresh.has(id);
  const above = after === null ? 0 : indexAfter(loaded, after);
  const below = hasMore && last !== undefined ? indexAfter(loaded, last) : loaded.length;
  return [...loaded.slice(0, above).filter(isKept), ...page, ...loaded.slice(below).filter(isKept)];
}

/** Inserts or moves a row; the list stays ordered. */
export function insertRow(
  rows: readonly SessionView[],
  session: SessionView,
): readonly SessionView[] {
  const rest = rows.filter(({ id }) => id !== session.id);
  return rest.toSpliced(indexAfter(rest, session), 0, session);
}

/** The index at which the rows after this session start. */
function indexAfter(rows: readonly SessionView[], session: SessionView): number {
  return binarySearch(rows.length, (index) => {
    const row = rows[index];
    return row !== undefined && compareSessions(row, session) > 0;
  });
}

/** The first index for which `holds` is true, given that it is true for all later ones. */
export function binarySearch(length: number, holds: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Gets a new or changed row; `null` if one is gone, or if some changes may have been missed. */
export type OnHint = (session: SessionView | null) => void;

/** Follows list hints until the returned function is called. */
function followListHints(client: Client, onHint: OnHint): () => void {
  const leaving = new AbortController();
  void readListHints(client, onHint, leaving.signal);
  return () => leaving.abort();
}

async function readListHints(client: Client, onHint: OnHint, signal: AbortSignal): Promise<void> {
  // Changes from before the connection was open are not sent on it.
  const onConnection = (state: string): void => {
    if (state === "live") onHint(null);
  };
  for await (const item of client.watch(new Map(), { signal, onConnection })) {
    if (signal.aborted || item.kind === "ended") return;
    if (item.kind === "list") onHint(item.hint.session);
  }
}

export type ShelfName = "active" | "archived" | "trash";

export interface ListFilter {
  readonly shelf: ShelfName;
  readonly project: string | null;
  readonly tag: string | null;
}

export interface SessionListView {
  readonly filter: ListFilter;
  /** `null` until the first page is loaded. */
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
  /** Updates a row from another response. */
  readonly put: (session: SessionView) => void;
  /** Refreshes the list, in the other tabs of this browser too. */
  readonly changed: () => void;
  readonly start: () => () => void;
}

/** Hints may get lost, so the list is polled too: rarely with hints, often without. */
const refreshMs = { withHints: 20_000, withoutHints: 3_000 };
const pageSize = 60;
const defaultFilter: ListFilter = { shelf: "active", project: null, tag: null };

/** The list as far as it was scrolled, kept current from the top. */
export function createSessionListStore(client: Client): SessionListStore {
  let view: SessionListView = { filter: defaultFilter, sessions: null, pinned: [], hasMore: false };
  let cursor: string | null = null;
  let isLoading = false;
  const listeners = new Set<() => void>();
  const otherTabs = new BroadcastChannel("holdfast:list");

  function update(patch: Partial<SessionListView>): void {
    view = { ...view, ...patch };
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
    const loaded = view.sessions ?? [];
    const isFirst = view.sessions === null || loaded.length <= pageSize;
    if (isFirst) cursor = nextCursor;
    const next = mergePage(loaded, sessions, null, nextCursor !== null);
    const top = pinned?.ok ? pinned.value.sessions : [];
    if (sameRows(next, view.sessions) && sameRows(top, view.pinned)) return;
    update({ sessions: next, pinned: top, hasMore: cursor !== null });
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
    update({ sessions: next, hasMore: cursor !== null });
  }

  function put(session: SessionView): void {
    const { sessions, pinned, filter } = view;
    if (sessions === null) return;
    const withSession = (list: readonly SessionView[], belongs: boolean): readonly SessionView[] =>
      belongs ? insertRow(list, session) : list.filter(({ id }) => id !== session.id);
    const belongs = belongsInList(session, filter);
    const known = sessions.find(({ id }) => id === session.id);
    // An open conversation calls this for each of its events; few of them change its row.
    if (belongs ? sameSessionRow(session, known) : known === undefined) return;
    update({
      sessions: withSession(sessions, belongs),
      pinned: withSession(pinned, belongs && session.pinned && filter.shelf === "active"),
    });
  }

  function handleHint(session: SessionView | null): void {
    const known = view.sessions?.find(({ id }) => id === session?.id);
    // The open conversation may have put a newer version already.
    if (session !== null && session.head >= (known?.head ?? 0)) put(session);
    else if (session === null) void refresh();
  }

  function notifyOtherTabs(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no target
    otherTabs.postMessage("changed");
  }

  return {
    read: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    choose(filter) {
      cursor = null;
      update({ filter, sessions: null, pinned: [], hasMore: false });
      void refresh();
    },
    refresh,
    loadMore,
    put,
    changed() {
      notifyOtherTabs();
      void refresh();
    },
    start() {
      const refreshIfVisible = (): void => {
        if (document.visibilityState === "visible") void refresh();
      };
      refreshIfVisible();
      // Without locks tabs cannot share a connection, and each has few: then the list is polled instead of followed.
      const canShare = "locks" in navigator;
      const stop = canShare ? followListHints(client, handleHint) : () => {};
      const timer = setInterval(
        refreshIfVisible,
        canShare ? refreshMs.withHints : refreshMs.withoutHints,
      );
      document.addEventListener("visibilitychange", refreshIfVisible);
      otherTabs.addEventListener("message", refreshIfVisible);
      return () => {
        stop();
        clearInterval(timer);
        document.removeEventListener("visibilitychange", refreshIfVisible);
        otherTabs.removeEventListener("message", refreshIfVisible);
      };
    },
  };
}

function belongsInList(session: SessionView, { shelf, project, tag }: ListFilter): boolean {
  const sessionShelf =
    session.trashedAt !== null ? "trash" : session.archived ? "archived" : "active";
  return (
    sessionShelf === shelf &&
    (project === null || session.project === project) &&
    (tag === null || session.tags.includes(tag))
  );
}

/** Whether the rows look the same, so that polling renders the list only when it changed. */
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
