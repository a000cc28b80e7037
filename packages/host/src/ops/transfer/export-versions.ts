import {
  rangeContaining,
  readHiddenAlternatives,
  type Reads,
  type SessionRow,
} from "@holdfast/engine";
import {
  type HiddenAlternative,
  roleOf,
  type Seq,
  type SeqRange,
  type SessionId,
  type StoredEvent,
} from "@holdfast/protocol";
import type { DocumentAlternatives, DocumentEntry } from "./document.ts";

export interface ExportedEntry {
  readonly seq: Seq;
  readonly entry: DocumentEntry;
  /** Set for a message that begins one of several versions. */
  readonly version?: { readonly number: number; readonly count: number };
  /** It is in a version that is out of view. */
  readonly isHidden?: true;
}

const pageSize = 200;

/** What was in view when each version was left, those first that were left first. */
async function readViews(reads: Reads, session: SessionRow): Promise<readonly HiddenAlternative[]> {
  const byLeft = new Map(
    (await readHiddenAlternatives(reads, session)).map((hidden) => [hidden.left, hidden]),
  );
  return [...byLeft.values()].toSorted((a, b) => a.left - b.left);
}

/** A page of entries that are out of view, and the view that they are part of. */
interface HiddenPage {
  readonly events: readonly StoredEvent[];
  readonly view: Pick<SessionRow, "owner" | "id" | "ranges">;
}

/** The entries of all versions out of view that can be chosen, each once, page by page. */
export async function* readHiddenEvents(
  reads: Reads,
  session: SessionRow,
): AsyncGenerator<HiddenPage> {
  const { owner, id } = session;
  let seen: readonly SeqRange[] = session.ranges;
  for (const { ranges } of await readViews(reads, session)) {
    const view = { owner, id, ranges };
    for (const range of withoutRanges(ranges, seen, id))
      for await (const events of readEntries(reads, view, range)) yield { events, view };
    seen = [...seen, ...ranges];
  }
}

async function* readEntries(
  reads: Reads,
  { owner, id }: Pick<SessionRow, "owner" | "id">,
  { from, to, log = id }: SeqRange,
): AsyncGenerator<readonly StoredEvent[]> {
  const last = to ?? Infinity;
  for (let after = from - 1; ;) {
    const page = await reads.events(owner, log, { after: after as Seq, limit: pageSize });
    const events = page?.events ?? [];
    const wanted = events.filter((event) => event.seq <= last && roleOf(event) === "entry");
    if (wanted.length > 0) yield wanted;
    const end = events.at(-1);
    if (page?.more !== true || end === undefined || end.seq >= last) return;
    after = end.seq;
  }
}

/** What of the ranges is in none of the others. */
function withoutRanges(
  ranges: readonly SeqRange[],
  others: readonly SeqRange[],
  id: SessionId,
): SeqRange[] {
  let rest = [...ranges];
  for (const other of others)
    rest = rest.flatMap((range) => {
      const isApart =
        (range.log ?? id) !== (other.log ?? id) ||
        other.from > (range.to ?? Infinity) ||
        (other.to ?? Infinity) < range.from;
      if (isApart) return [range];
      const parts: SeqRange[] = [];
      if (other.from > range.from) parts.push({ ...range, to: (other.from - 1) as Seq });
      if (other.to !== null && other.to < (range.to ?? Infinity))
        parts.push({ ...range, from: (other.to + 1) as Seq });
      return parts;
    });
  return rest;
}

/** Numbers the entries of a document as they are written, and says which of them each version shows. */
export class VersionWriter {
  readonly #session: SessionRow;
  readonly #numbers = new Map<Seq, number>();

  constructor(session: SessionRow) {
    this.#session = session;
  }

  /** Call it for each entry in the order of the document. */
  add({ seq }: Pick<ExportedEntry, "seq">): void {
    // Recovered entries may be read twice: next to their notice, and where they are.
    if (this.#session.alternatives.length > 0) this.#numbers.set(seq, this.#numbers.size);
  }

  /** `null`: every message has one version. */
  async write(reads: Reads): Promise<DocumentAlternatives | null> {
    const views = await readViews(reads, this.#session);
    const seqs = [...this.#numbers.keys()].toSorted((a, b) => a - b);
    const reachable = [this.#session, ...views];
    const turns = this.#session.alternatives
      .map((set) =>
        set.flatMap(({ seq }) => {
          const isReachable =
            seq !== undefined &&
            reachable.some(({ ranges }) => rangeContaining(ranges, seq) !== undefined);
          return isReachable ? (this.#numbers.get(seq) ?? []) : [];
        }),
      )
      .filter((turn) => turn.length > 1)
      // The same content is the same document, whichever turn was edited first.
      .toSorted(([a = 0], [b = 0]) => a - b);
    if (turns.length === 0) return null;
    return {
      turns,
      views: views.map(({ ranges }) =>
        asRuns(
          seqs
            .filter((seq) => rangeContaining(ranges, seq) !== undefined)
            .map((seq) => this.#numbers.get(seq) ?? 0),
        ),
      ),
    };
  }
}

/** Consecutive numbers as their first and last one. */
function asRuns(numbers: readonly number[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const number of numbers) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}
