import {
  type CallId,
  type IdSource,
  type MessageId,
  type NewEvent,
  newEvent,
  type Part,
  type ToolResultPart,
  type OwnerId,
  type SessionId,
} from "@holdfast/protocol";
import {
  type DocumentEntry,
  type DocumentPart,
  type ParsedDocument,
  type FieldError,
  parseDocument,
} from "./document.ts";
import { ImportedViews } from "./import-versions.ts";
import type { CommitResult, Failed, Log, Refused } from "@holdfast/engine";

type Message = Extract<DocumentEntry, { type: "message" }>;

/**
 * The document's content as events of a new session. Every id is new, so that nothing can name, continue or answer
 * existing records. An unanswered call gets an unknown outcome, so that nobody runs it.
 */
function planImport(document: ParsedDocument, ids: IdSource): NewEvent[] {
  return new ImportPlan(document, ids).events();
}

class ImportPlan {
  readonly #document: ParsedDocument;
  readonly #ids: IdSource;
  readonly #calls = new Map<string, CallId>();
  readonly #unanswered = new Map<CallId, string>();

  constructor(document: ParsedDocument, ids: IdSource) {
    this.#document = document;
    this.#ids = ids;
  }

  events(): NewEvent[] {
    const { entries, versions } = this.#document;
    if (versions === null)
      return [...entries.flatMap((entry) => this.#entry(entry)), ...this.#giveUpCalls()];
    const views = new ImportedViews(versions);
    for (const { numbers, replaces } of versions.segments) {
      const [first = 0] = numbers;
      const versionId = this.#ids.make("message");
      if (replaces !== null)
        views.push(this.#event("history.cut", views.replace(replaces, versionId)));
      for (const number of numbers) {
        const entry = versions.entries[number];
        const events = entry === undefined ? [] : this.#entry(entry, number === first && versionId);
        views.push(...events);
        views.said(number, versionId);
      }
      views.push(...this.#giveUpCalls());
      views.endSegment(numbers);
    }
    for (const view of [...versions.views, versions.inView])
      views.push(this.#event("history.restored", views.show(view)));
    return views.events;
  }

  #entry(entry: DocumentEntry, messageId: MessageId | false = false): NewEvent[] {
    if (entry.type === "notice") {
      const noticeId = this.#ids.make("notice");
      const { kind, text, at } = entry;
      return [this.#event("notice.added", { noticeId, kind, text, originalAt: at })];
    }
    const givenUp = entry.role === "tool" ? [] : this.#giveUpCalls();
    return [...givenUp, this.#message(entry, messageId || this.#ids.make("message"))];
  }

  #message(entry: Message, messageId: MessageId): NewEvent {
    const { role, at, model, partial, superseded } = entry;
    const parts = entry.parts.map((part) => withTaint(this.#part(part)));
    const common = { messageId, parts, originalAt: at };
    switch (role) {
      case "user":
        return this.#event("message.user", common);
      case "tool":
        return this.#event("message.tool", common);
      case "assistant":
        return this.#event("message.assistant", {
          ...common,
          ...(model !== undefined && { model }),
          ...(partial !== undefined && { partial }),
          ...(superseded && { superseded }),
        });
    }
  }

  #part(part: DocumentPart): Part {
    switch (part.type) {
      case "tool_call": {
        const callId = this.#ids.make("call");
        this.#calls.set(part.callId, callId);
        this.#unanswered.set(callId, part.name);
        return { ...part, callId };
      }
      case "tool_result": {
        const callId = this.#calls.get(part.callId) ?? this.#ids.make("call");
        this.#unanswered.delete(callId);
        return { ...part, callId };
      }
      case "file":
      case "image":
        if (this.#document.blobs.has(part.blobId)) return part;
        return {
          type: "notice",
          kind: "attachment_missing",
          text: `${part.name ?? "A picture"} was not part of the document.`,
        };
      default:
        return part;
    }
  }

  #giveUpCalls(): NewEvent[] {
    const parts = [...this.#unanswered].map(([callId, name]): ToolResultPart => ({
      type: "tool_result",
      callId,
      name,
      outcome: "unknown",
      output: "The document does not tell how this ended.",
    }));
    this.#unanswered.clear();
    if (parts.length === 0) return [];
    return [this.#event("message.tool", { messageId: this.#ids.make("message"), parts })];
  }

  #event<T extends Parameters<typeof newEvent>[1]>(
    type: T,
    data: Parameters<typeof newEvent<T>>[2],
  ): NewEvent {
    return newEvent(this.#ids.make("event"), type, data);
  }
}

/** Whoever made the document chose its words, also those of the model. */
function withTaint<P extends Part>(part: P): P {
  return { ...part, taint: [{ kind: "import" }] };
}

export interface ImportDeps {
  readonly log: Log;
  /** Derives ids from a text: the same document is the same session. */
  readonly idsFrom: (text: string) => IdSource;
}

export type ImportResult =
  | {
      readonly status: "imported";
      readonly session: SessionId;
      readonly entries: number;
      /** Whether an earlier import already created it. */
      readonly repeated: boolean;
    }
  /** Imported before and now in the trash: restoring it is up to the person. */
  | { readonly status: "in_trash"; readonly session: SessionId }
  | { readonly status: "invalid"; readonly errors: readonly FieldError[] }
  | Refused
  | Failed;

/** Well below the limit of one commit. */
const eventsPerCommit = 500;
const charactersPerCommit = 2 * 1024 * 1024;
const maxEventCharacters = 900 * 1024;
const maxCopies = 20;

/**
 * Imports a document as a new session, all or nothing: a single commit is atomic, and a longer import is not listed
 * until its last part is committed; sent again, it resumes.
 */
export async function importDocument(
  deps: ImportDeps,
  owner: OwnerId,
  value: unknown,
): Promise<ImportResult> {
  const parsed = parseDocument(value);
  if (parsed.status === "refused") return { status: "invalid", errors: parsed.errors };
  const { document } = parsed;
  for (const [id, { mediaType, bytes }] of document.blobs) {
    const put = await deps.log.store.putBlob(owner, bytes, mediaType);
    if (put.status !== "stored") return put;
    if (put.id !== id) throw new Error("A blob is named by its bytes.");
  }
  for (let copy = 0; ; copy += 1) {
    const result = await importAs(deps, owner, document, copy);
    const isSpent = result.status === "refused" && result.code === "session_exists";
    // A purged session has used up its ids for good.
    if (!isSpent || copy === maxCopies) return result;
  }
}

async function importAs(
  { log, idsFrom }: ImportDeps,
  owner: OwnerId,
  document: ParsedDocument,
  copy: number,
): Promise<ImportResult> {
  const ids = idsFrom(`import ${owner} ${document.hash} ${copy}`);
  const session = ids.make("session");
  const before = await log.store.reads.session(owner, session);
  if (before?.trashedAt != null) return { status: "in_trash", session };
  const events = planImport(document, ids);
  const tooLarge = events.findIndex((event) => sizeOf(event) > maxEventCharacters);
  if (tooLarge !== -1)
    return { status: "invalid", errors: [{ path: `entries.${tooLarge}`, message: "too large" }] };
  const parts = splitIntoCommits(events);
  const isSingle = parts.length <= 1;
  const { title, titleSource, project, tags, pinned = false, archived = false } = document.session;
  const created = newEvent(ids.make("event"), "session.created", {
    ...(title !== null && { title }),
    ...(title !== null && titleSource != null && { titleSource }),
    ...(project !== null && { project }),
    tags,
    ...(pinned && { pinned }),
    ...((archived || !isSingle) && { archived: true }),
    imported: { hash: document.hash, originalAt: document.session.createdAt },
  });
  const [first = [], ...rest] = parts;
  const shown = newEvent(ids.make("event"), "session.changed", { archived });
  const commits = [[created, ...first], ...rest, ...(isSingle ? [] : [[shown]])];
  let repeated = true;
  for (const batch of commits) {
    const result = await log.commit({ owner, session, events: batch, touch: "quiet" });
    if (result.status !== "committed") return discardIfRefused(log, owner, session, result);
    repeated &&= result.repeated === true;
  }
  return { status: "imported", session, entries: document.entries.length, repeated };
}

/** A refused import would be refused again, so nothing of it is kept. A failed one may be sent again and resumes. */
async function discardIfRefused(
  log: Log,
  owner: OwnerId,
  session: SessionId,
  result: Exclude<CommitResult, { status: "committed" }>,
): Promise<Refused | Failed> {
  if (result.status === "refused" && result.code !== "session_exists") {
    const trashed = await log.trashSession(owner, session);
    if (trashed.status === "committed") await log.store.purge(owner, session);
  }
  return result;
}

const sizeOf = (event: NewEvent): number => JSON.stringify(event.data).length;

function splitIntoCommits(events: readonly NewEvent[]): NewEvent[][] {
  const parts: NewEvent[][] = [];
  let length = 0;
  for (const event of events) {
    const size = sizeOf(event);
    const last = parts.at(-1);
    if (
      last === undefined ||
      last.length === eventsPerCommit ||
      length + size > charactersPerCommit
    ) {
      parts.push([event]);
      length = size;
    } else {
      last.push(event);
      length += size;
    }
  }
  return parts;
}
