import { createHash } from "node:crypto";
import { type Register, type RegisterRow, StoreFailure } from "@holdfast/engine";
import {
  type FactSource,
  factSource,
  factUse,
  type FactUse,
  type OwnerId,
  taintSources,
  type TaintSource,
} from "@holdfast/protocol";
import { z } from "zod";

const prefix = "fact/";
/** More than a person keeps; removed facts count too, because a register has no removal. */
const maxRows = 5_000;
/** A register's value has 16,000 characters at most. */
const maxValueCharacters = 15_000;
const maxVersions = 20;

const storedFact = z.looseObject({
  text: z.string(),
  use: factUse,
  about: z.enum(["person", "rest"]),
  state: z.enum(["kept", "waiting"]),
  source: factSource,
  at: z.number(),
  /** What the model had read. */
  after: taintSources,
  /** Earlier texts, oldest first. */
  versions: z.array(z.looseObject({ text: z.string(), at: z.number() })),
  /** How often a text of it that sessions may have started with was changed or removed. */
  withdrawn: z.int(),
});
export type StoredFact = z.infer<typeof storedFact>;

/** What is left of a removed fact: nothing that was said. */
const removedFact = z.looseObject({ removed: z.literal(true), withdrawn: z.int() });

export interface Fact extends StoredFact {
  readonly id: string;
  /** Counts its changes. */
  readonly version: number;
  readonly changedAt: number;
}

export interface RemovedFact {
  readonly id: string;
  readonly version: number;
  readonly removedAt: number;
  readonly withdrawn: number;
}

export interface FactRows {
  /** Oldest first. */
  facts: readonly Fact[];
  readonly removed: ReadonlyMap<string, RemovedFact>;
}

/** A fact that is new, if nobody has it yet. */
export interface NewFact {
  readonly text: string;
  readonly use: FactUse;
  readonly source: FactSource;
  readonly at: number;
  readonly about?: "person" | "rest";
  /** A stranger's text was in the context: it waits for a person's yes. */
  readonly after?: readonly TaintSource[];
}

export async function readFactRows(register: Register, owner: OwnerId): Promise<FactRows> {
  const rows = await listAll(register, owner, prefix);
  const facts: Fact[] = [];
  const removed = new Map<string, RemovedFact>();
  for (const row of rows) {
    const read = decode(row);
    if ("text" in read) facts.push(read);
    else removed.set(read.id, read);
  }
  return { facts: facts.toSorted(byTime), removed };
}

/** Ids are hexadecimal. A row that was left out would look like one that nobody has written yet. */
async function listAll(
  register: Register,
  owner: OwnerId,
  start: string,
): Promise<readonly RegisterRow[]> {
  const rows = await register.list(owner, start, maxRows);
  if (rows.length < maxRows) return rows;
  const parts = Array.from("0123456789abcdef", (digit) =>
    listAll(register, owner, `${start}${digit}`),
  );
  return (await Promise.all(parts)).flat();
}

function byTime(a: Fact, b: Fact): number {
  return a.at - b.at || a.changedAt - b.changedAt || (a.id < b.id ? -1 : 1);
}

/** A row that cannot be read is no fact, and nothing that was said before brings it back. */
function decode({ key, value, revision: version, at }: RegisterRow): Fact | RemovedFact {
  const id = key.slice(prefix.length);
  const json = parseJson(value);
  const fact = storedFact.safeParse(json).data;
  if (fact !== undefined) return { ...fact, id, version, changedAt: at };
  const gone = removedFact.safeParse(json).data;
  return { id, version, removedAt: gone ? at : Infinity, withdrawn: gone?.withdrawn ?? 0 };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `null`: somebody else has changed it since `expect`. */
export async function putFactRow(
  register: Register,
  owner: OwnerId,
  { id, expect }: { readonly id: string; readonly expect: number },
  fact: StoredFact,
): Promise<Fact | null> {
  const row = await putValue(register, owner, { id, expect, value: encode(fact) });
  return row && { ...fact, id, version: row.revision, changedAt: row.at };
}

/** Leaves nothing of what was said. */
export async function putRemovedRow(
  register: Register,
  owner: OwnerId,
  { id, expect }: { readonly id: string; readonly expect: number },
  withdrawn: number,
): Promise<"removed" | "changed"> {
  const value = JSON.stringify({ removed: true, withdrawn });
  return (await putValue(register, owner, { id, expect, value })) === null ? "changed" : "removed";
}

async function putValue(
  register: Register,
  owner: OwnerId,
  { id, expect, value }: { readonly id: string; readonly expect: number; readonly value: string },
): Promise<RegisterRow | null> {
  const put = await register.put({ owner, key: `${prefix}${id}`, value, expect });
  if (put.status === "failed") throw new StoreFailure(put.code, put.message);
  return put.status === "moved" ? null : put.row;
}

/** With as many earlier versions as fit. */
function encode(fact: StoredFact): string {
  const versions = fact.versions.slice(-maxVersions);
  for (;;) {
    const value = JSON.stringify({ ...fact, versions });
    if (value.length <= maxValueCharacters || versions.length === 0) return value;
    versions.shift();
  }
}

/** The same sentence of the same place is one fact, however often it is committed. */
export function factId(place: string, text: string): string {
  return createHash("sha256").update(`${place} ${text}`).digest("hex").slice(0, 24);
}
