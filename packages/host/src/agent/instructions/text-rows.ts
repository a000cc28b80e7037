import { type Register, type RegisterRow, StoreFailure } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

/** A register's value has 16,000 characters at most. */
const maxValueCharacters = 15_000;
const maxVersions = 20;
const maxRows = 1_000;

const stored = z.looseObject({
  /** Earlier texts, oldest first. */
  versions: z.array(z.looseObject({ text: z.string(), at: z.number() })),
});
export type EarlierText = z.infer<typeof stored>["versions"][number];

/** A text that a person edits, with its earlier ones. */
export interface TextRow<T> {
  readonly id: string;
  /** Counts its changes. */
  readonly version: number;
  readonly changedAt: number;
  readonly value: T;
  readonly versions: readonly EarlierText[];
}

export interface TextRows<T> {
  /** In the order of their ids. What was removed, or cannot be read, is left out. */
  list(owner: OwnerId): Promise<readonly TextRow<T>[]>;
  read(owner: OwnerId, id: string): Promise<TextRow<T> | null>;
  /** `changed`: it has another version than `expect`; 0 is one that does not exist yet. */
  put(owner: OwnerId, ref: RowRef, value: T): Promise<TextRow<T> | "changed">;
  /** Leaves nothing of the value and of its earlier texts. */
  remove(owner: OwnerId, ref: RowRef): Promise<"removed" | "changed">;
  /** Like `put`, without the earlier texts. */
  replace(owner: OwnerId, ref: RowRef, value: T): Promise<TextRow<T> | "changed">;
}

export interface RowRef {
  readonly id: string;
  readonly expect: number;
}

/** Rows of the register under a prefix. */
export function openTextRows<T extends { readonly text: string }>(
  register: Register,
  prefix: string,
  schema: z.ZodType<T>,
): TextRows<T> {
  function decode({ key, value, revision, at }: RegisterRow): TextRow<T> | null {
    const json = parseJson(value);
    const own = schema.safeParse(json).data;
    const versions = stored.safeParse(json).data?.versions ?? [];
    if (own === undefined) return null;
    return { id: key.slice(prefix.length), version: revision, changedAt: at, value: own, versions };
  }

  async function read(owner: OwnerId, id: string): Promise<TextRow<T> | null> {
    const row = await register.read(owner, prefix + id);
    return row && decode(row);
  }

  async function putValue(owner: OwnerId, { id, expect }: RowRef, value: string) {
    const put = await register.put({ owner, key: prefix + id, value, expect });
    if (put.status === "failed") throw new StoreFailure(put.code, put.message);
    return put.status === "moved" ? null : put.row;
  }

  async function putWith(
    owner: OwnerId,
    ref: RowRef,
    value: T,
    versions: readonly EarlierText[],
  ): Promise<TextRow<T> | "changed"> {
    const kept = await putValue(owner, ref, encode(value, versions));
    return (kept && decode(kept)) ?? "changed";
  }

  return {
    read,
    async list(owner) {
      const rows = await register.list(owner, prefix, maxRows);
      return rows.flatMap((row) => decode(row) ?? []);
    },
    async put(owner, ref, value) {
      const before = ref.expect === 0 ? null : await read(owner, ref.id);
      const isOther = before !== null && before.value.text !== value.text;
      const left = isOther ? [{ text: before.value.text, at: before.changedAt }] : [];
      return putWith(owner, ref, value, [...(before?.versions ?? []), ...left]);
    },
    replace: (owner, ref, value) => putWith(owner, ref, value, []),
    async remove(owner, ref) {
      const gone = await putValue(owner, ref, JSON.stringify({ removed: true }));
      return gone === null ? "changed" : "removed";
    },
  };
}

/** With as many earlier texts as fit, and no empty ones. */
function encode(value: object, earlier: readonly EarlierText[]): string {
  const versions = earlier.filter(({ text }) => text !== "").slice(-maxVersions);
  for (;;) {
    const text = JSON.stringify({ ...value, versions });
    if (text.length <= maxValueCharacters || versions.length === 0) return text;
    versions.shift();
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** On one line. */
export function tidyName(name: string): string {
  return tidyText(name).replaceAll(/\s+/gu, " ");
}

/** Without control characters; lines end with a line feed. A stored text is at most twice as long in JSON. */
export function tidyText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/\r\n?/gu, "\n")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
    .trim();
}
