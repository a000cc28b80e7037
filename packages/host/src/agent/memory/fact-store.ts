import { join } from "node:path";
import type { Register } from "@holdfast/engine";
import type { FactUse, OwnerId } from "@holdfast/protocol";

import { readTextOrEmpty, writeFileAtomically } from "../../util/atomic-file.ts";
import { serialQueue } from "../../util/serial-queue.ts";
import { type EarlierFacts, readEarlierFacts, removeEarlierFiles } from "./earlier-files.ts";
import {
  type Fact,
  factId,
  type FactRows,
  type NewFact,
  putFactRow,
  putRemovedRow,
  readFactRows,
  type StoredFact,
} from "./fact-rows.ts";
import {
  fitsLine,
  type NoteFile,
  noteFileKinds,
  noteFiles,
  notesIn,
  readSynced,
  type SyncedNotes,
  withNotes,
  writeSynced,
} from "./note-files.ts";
import { ownerFolder } from "./owner-folder.ts";

export interface FactChange {
  readonly text?: string | undefined;
  readonly use?: FactUse | undefined;
}

/**
 * What is known about each owner, as rows in the store. Notes that every session starts with are also in USER.md and
 * MEMORY.md of the home. One rule decides between the two: what was edited in a file since the host last read or wrote
 * it wins, and everything else is as the rows say.
 */
export interface FactStore {
  /** Kept and waiting facts, oldest first. */
  list(owner: OwnerId): Promise<readonly Fact[]>;
  /** Adds those that are new. A removed fact comes back only if somebody said it again afterwards. */
  add(owner: OwnerId, facts: readonly NewFact[]): Promise<void>;
  /** A fact that a person adds; the known one if there is one with this text. */
  create(owner: OwnerId, fact: NewFact & { readonly id: string }): Promise<Fact>;
  /** `changed`: it has another version by now. */
  change(
    owner: OwnerId,
    ref: { readonly id: string; readonly version: number },
    change: FactChange,
  ): Promise<Fact | "not_found" | "changed">;
  remove(
    owner: OwnerId,
    ref: { readonly id: string; readonly version?: number | undefined },
  ): Promise<Fact | "not_found" | "changed">;
  /** A person's word on a fact that waits. */
  decide(owner: OwnerId, id: string, decision: "keep" | "discard"): Promise<Fact | "not_found">;
  /** Grows when a note that sessions may have started with is changed or removed. */
  withdrawals(owner: OwnerId): Promise<number>;
}

export interface FactStoreDeps {
  readonly register: Register;
  /** Without it there are no files. */
  readonly home?: string | undefined;
  readonly now?: () => number;
}

/** The oldest facts that are only recalled make room for new ones. */
const maxFacts = 2_000;

export function openFactStore({ register, home, now = Date.now }: FactStoreDeps): FactStore {
  const queues = new Map<OwnerId, ReturnType<typeof serialQueue>>();

  /** One after the other for each owner, so that files and rows are compared while neither changes here. */
  function inOrder<T>(owner: OwnerId, work: () => Promise<T>): Promise<T> {
    let queue = queues.get(owner);
    if (queue === undefined) queues.set(owner, (queue = serialQueue()));
    return queue(work);
  }

  const read = (owner: OwnerId): Promise<FactRows> => readFactRows(register, owner);

  /** `rows` is what was read before; it is brought up to date. */
  async function addOne(owner: OwnerId, id: string, fact: NewFact, rows: FactRows): Promise<Fact> {
    for (;;) {
      const { facts, removed } = rows;
      const known = facts.find((each) => each.id === id) ?? sameKeptText(facts, fact.text);
      const isPromoted = fact.use === "always" && known?.use === "when_it_fits";
      if (known !== undefined && (!isPromoted || isWaiting(fact) || known.state === "waiting"))
        return known;
      const gone = removed.get(id);
      const put =
        known === undefined
          ? await putFactRow(
              register,
              owner,
              { id, expect: gone?.version ?? 0 },
              toStored(fact, gone?.withdrawn ?? 0),
            )
          : await replace(owner, known, { use: "always", about: aboutOf(fact) });
      if (put !== null) {
        rows.facts = [...facts.filter((each) => each.id !== put.id), put];
        return put;
      }
      // Another process was faster.
      Object.assign(rows, await read(owner));
    }
  }

  async function replace(
    owner: OwnerId,
    { id, version, changedAt, ...fact }: Fact,
    change: Partial<Pick<StoredFact, "text" | "use" | "about" | "state">>,
  ): Promise<Fact | null> {
    const isOtherText = change.text !== undefined && change.text !== fact.text;
    const leaves = isOtherText || (change.use !== undefined && change.use !== fact.use);
    const next: StoredFact = {
      ...fact,
      ...change,
      versions: isOtherText
        ? [...fact.versions, { text: fact.text, at: changedAt }]
        : fact.versions,
      withdrawn: fact.withdrawn + (leaves && isInPrompts(fact) ? 1 : 0),
    };
    return putFactRow(register, owner, { id, expect: version }, next);
  }

  async function removeOne(owner: OwnerId, fact: Fact): Promise<"removed" | "changed"> {
    const withdrawn = fact.withdrawn + (isInPrompts(fact) ? 1 : 0);
    return putRemovedRow(register, owner, { id: fact.id, expect: fact.version }, withdrawn);
  }

  async function addAll(owner: OwnerId, added: readonly NewFact[]): Promise<void> {
    const rows = await read(owner);
    for (const fact of added) {
      const id = idOf(fact);
      const gone = rows.removed.get(id);
      if (gone === undefined || isSaidAgain(fact, gone.removedAt))
        await addOne(owner, id, fact, rows);
    }
    const { facts } = rows;
    const recalled = facts.filter(({ use, state }) => use === "when_it_fits" && state === "kept");
    for (const fact of recalled.slice(0, Math.max(0, facts.length - maxFacts)))
      await removeOne(owner, fact);
  }

  /** Stores what earlier versions kept in files. Repeating it after a crash changes nothing: ids follow from texts. */
  async function readOnce(owner: OwnerId, earlier: EarlierFacts, rows: FactRows): Promise<void> {
    for (const id of earlier.decided) await putRemovedRow(register, owner, { id, expect: 0 }, 0);
    for (const fact of earlier.facts) {
      const id = idOf(fact);
      if (!rows.removed.has(id)) await addOne(owner, id, fact, rows);
    }
  }

  /** Takes over what was edited by hand, then brings the files up to date. */
  async function syncFiles(owner: OwnerId): Promise<FactRows> {
    const rows = await read(owner);
    if (home === undefined) return rows;
    const folder = ownerFolder(home, owner);
    const synced = await readSynced(folder);
    const earlier = synced === null ? await readEarlierFacts(folder) : null;
    if (earlier !== null) await readOnce(owner, earlier, rows);
    const next: { person: readonly string[]; rest: readonly string[] } = { person: [], rest: [] };
    for (const kind of noteFileKinds) {
      const path = join(folder, noteFiles[kind]);
      const file = await readTextOrEmpty(path);
      await takeOver(owner, { kind, file, synced: synced?.[kind] ?? [] }, rows);
      const notes = rows.facts.filter((fact) => isInFile(fact, kind));
      const text = withNotes(file, notes);
      if (text !== file) await writeFileAtomically(path, text);
      next[kind] = notesIn(text);
    }
    const isNothing = next.person.length + next.rest.length + (earlier?.files.length ?? 0) === 0;
    // Last, because whatever comes before is repeated until it is written.
    if (!isSame(synced, next) && !(synced === null && isNothing)) await writeSynced(folder, next);
    if (earlier !== null) await removeEarlierFiles(folder, earlier);
    return rows;
  }

  /** A file that is missing or empty was not edited: it is written again. */
  async function takeOver(
    owner: OwnerId,
    { kind, file, synced }: EditedFile,
    rows: FactRows,
  ): Promise<void> {
    if (file === "") return;
    const notes = new Set(notesIn(file));
    const before = new Set(synced);
    for (const fact of rows.facts) {
      const isCut = isInFile(fact, kind) && before.has(fact.text) && !notes.has(fact.text);
      if (isCut) await removeOne(owner, fact);
      if (isCut) rows.facts = rows.facts.filter(({ id }) => id !== fact.id);
    }
    const readAt = now();
    for (const [line, text] of [...notes].entries()) {
      if (before.has(text)) continue;
      const source = { kind: "file", file: noteFiles[kind] } as const;
      // A millisecond apart, because facts are listed by time and lines have an order.
      const fact: NewFact = { text, source, use: "always", about: kind, at: readAt + line };
      await addOne(owner, idOf(fact), fact, rows);
    }
  }

  function withFiles<T>(owner: OwnerId, work: () => Promise<T>): Promise<T> {
    return inOrder(owner, async () => {
      await syncFiles(owner);
      const result = await work();
      await syncFiles(owner);
      return result;
    });
  }

  const readSyncedRows = (owner: OwnerId): Promise<FactRows> =>
    inOrder(owner, () => syncFiles(owner));

  async function find(owner: OwnerId, id: string): Promise<Fact | undefined> {
    return (await read(owner)).facts.find((fact) => fact.id === id);
  }

  return {
    list: async (owner) => (await readSyncedRows(owner)).facts,
    async add(owner, facts) {
      if (facts.length > 0) await withFiles(owner, () => addAll(owner, facts));
    },
    create: (owner, { id, ...fact }) =>
      withFiles(owner, async () => addOne(owner, id, fact, await read(owner))),
    change: (owner, { id, version }, { text, use }) =>
      withFiles(owner, async () => {
        const fact = await find(owner, id);
        if (fact === undefined) return "not_found";
        const { text: oldText, use: oldUse } = fact;
        // Nothing to change, or a repeated request.
        if ((text ?? oldText) === oldText && (use ?? oldUse) === oldUse) return fact;
        if (fact.version !== version) return "changed";
        const change = { ...(text !== undefined && { text }), ...(use !== undefined && { use }) };
        return (await replace(owner, fact, change)) ?? "changed";
      }),
    remove: (owner, { id, version }) =>
      withFiles(owner, async () => {
        for (;;) {
          const fact = await find(owner, id);
          if (fact === undefined) return "not_found";
          if (version !== undefined && fact.version !== version) return "changed";
          if ((await removeOne(owner, fact)) === "removed") return fact;
        }
      }),
    decide: (owner, id, decision) =>
      withFiles(owner, async () => {
        for (;;) {
          const fact = await find(owner, id);
          if (fact?.state !== "waiting") return "not_found";
          if (decision === "discard") {
            if ((await removeOne(owner, fact)) === "removed") return fact;
          } else {
            const kept = await replace(owner, fact, { state: "kept" });
            if (kept !== null) return kept;
          }
        }
      }),
    async withdrawals(owner) {
      const { facts, removed } = await readSyncedRows(owner);
      return [...facts, ...removed.values()].reduce((sum, { withdrawn }) => sum + withdrawn, 0);
    },
  };
}

interface EditedFile {
  readonly kind: NoteFile;
  readonly file: string;
  /** The notes that it had when the host last read or wrote it. */
  readonly synced: readonly string[];
}

function sameKeptText(facts: readonly Fact[], text: string): Fact | undefined {
  return facts.find((fact) => fact.state === "kept" && fact.text === text);
}

function isWaiting({ after = [] }: Pick<NewFact, "after">): boolean {
  return after.length > 0;
}

function isInPrompts({ use, state }: Pick<StoredFact, "use" | "state">): boolean {
  return use === "always" && state === "kept";
}

function isInFile(fact: StoredFact, kind: StoredFact["about"]): boolean {
  return isInPrompts(fact) && fact.about === kind && fitsLine(fact.text);
}

function idOf({ source, text }: NewFact): string {
  return factId(source.sessionId ?? `file ${source.file ?? ""}`, text);
}

/** A segment that is committed again, or a review of an old conversation, brings nothing back. */
function isSaidAgain({ source, at }: NewFact, removedAt: number): boolean {
  return source.kind !== "review" && at > removedAt;
}

function aboutOf({ about, text }: Pick<NewFact, "about" | "text">): StoredFact["about"] {
  return about ?? (/^(?:i|i'm|i’m|my|call me)\b/iu.test(text) ? "person" : "rest");
}

function toStored(fact: NewFact, withdrawn: number): StoredFact {
  const { text, use, source, at, after = [] } = fact;
  return {
    text,
    use,
    about: aboutOf(fact),
    state: isWaiting(fact) ? "waiting" : "kept",
    source,
    at,
    after: [...after],
    versions: [],
    withdrawn,
  };
}

function isSame(synced: SyncedNotes | null, next: SyncedNotes): boolean {
  return (
    synced !== null &&
    noteFileKinds.every((kind) => synced[kind].join("\n") === next[kind].join("\n"))
  );
}
