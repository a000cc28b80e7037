import { type Register, type RegisterRow, StoreFailure } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import type { z } from "zod";
import { serialQueue } from "./serial-queue.ts";

/** A register row with its value decoded; `null` if it is empty or cannot be read. */
export interface CachedRow<T> {
  /** Without the prefix. */
  readonly name: string;
  readonly value: T | null;
  readonly revision: number;
}

export interface CachedRegisterOptions<T> {
  readonly register: Register;
  readonly owner: OwnerId;
  readonly prefix: string;
  readonly schema: z.ZodType<T>;
  readonly maxRows: number;
  readonly now?: () => number;
  /** Called after each load and each own change. */
  readonly onChange?: (rows: readonly CachedRow<T>[]) => void;
}

/** Rows of the register under one prefix, held in memory and shared with other hosts on the store. */
export interface CachedRegister<T> {
  readonly rows: () => readonly CachedRow<T>[];
  /** Reads again, starting after this call: what another host stored before it is there afterwards. */
  reload(): Promise<void>;
  /** Reads again if the last read is half a second ago. Keeps what is there if the store cannot be read. */
  refresh(): Promise<void>;
  /**
   * Changes what the choice returns, chosen again from the newest rows if somebody else was faster. Resolves when it is
   * stored; rejects with a `StoreFailure`.
   */
  change(choose: (rows: readonly CachedRow<T>[]) => RowChange<T> | null): Promise<boolean>;
}

export interface RowChange<T> {
  readonly name: string;
  /** `null` empties the row: a register has no removal. */
  readonly value: T | null;
}

/** How old a row may be that another host has changed. */
const freshMs = 500;

export function openCachedRegister<T>(options: CachedRegisterOptions<T>): CachedRegister<T> {
  const { register, owner, prefix, schema, maxRows, now = Date.now, onChange } = options;
  let rows: readonly CachedRow<T>[] = [];
  let loading: Promise<void> | undefined;
  let begun = 0;
  let finished = 0;
  let loadedAt = -Infinity;
  /** What this process stored while a read was under way, which may have begun before it. */
  let storedMeanwhile: readonly CachedRow<T>[] = [];
  const serialize = serialQueue();

  function decode({ key, value, revision }: RegisterRow): CachedRow<T> {
    return { name: key.slice(prefix.length), value: parseJson(schema, value), revision };
  }

  function show(next: readonly CachedRow<T>[]): void {
    rows = next;
    onChange?.(rows);
  }

  function load(): Promise<void> {
    loading ??= (async () => {
      begun += 1;
      const [index, startedAt] = [begun, now()];
      storedMeanwhile = [];
      try {
        const found = (await register.list(owner, prefix, maxRows)).map(decode);
        show(storedMeanwhile.reduce<readonly CachedRow<T>[]>(withNewest, found));
        finished = index;
        loadedAt = startedAt;
      } finally {
        loading = undefined;
      }
    })();
    return loading;
  }

  async function reload(): Promise<void> {
    const wanted = begun + 1;
    while (finished < wanted) await load();
  }

  return {
    rows: () => rows,
    reload,
    async refresh() {
      if (now() - loadedAt < freshMs) return;
      await load().catch((error: unknown) => {
        if (!(error instanceof StoreFailure)) throw error;
      });
    },
    // One after the other: changes of this process would only make each other choose again.
    change: (choose) => serialize(() => tryUntilStored(choose)),
  };

  async function tryUntilStored(
    choose: (all: readonly CachedRow<T>[]) => RowChange<T> | null,
  ): Promise<boolean> {
    for (;;) {
      await reload();
      const chosen = choose(rows);
      if (chosen === null) return false;
      const { name } = chosen;
      const expect = rows.find((row) => row.name === name)?.revision ?? 0;
      const value = JSON.stringify(chosen.value);
      const put = await register.put({ owner, key: `${prefix}${name}`, value, expect });
      if (put.status === "failed") throw new StoreFailure(put.code, put.message);
      if (put.status === "moved") continue;
      const stored = decode(put.row);
      storedMeanwhile = [...storedMeanwhile, stored];
      show(withNewest(rows, stored));
      return true;
    }
  }
}

function withNewest<T>(
  rows: readonly CachedRow<T>[],
  stored: CachedRow<T>,
): readonly CachedRow<T>[] {
  const found = rows.find(({ name }) => name === stored.name);
  if (found !== undefined && found.revision >= stored.revision) return rows;
  return [...rows.filter((row) => row !== found), stored];
}

function parseJson<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
