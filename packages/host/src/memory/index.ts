import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { MemoryHandle, MemoryOwner, MemoryProviders } from "@holdfast/engine";

import { openFacts } from "./facts.ts";
import { openNotes } from "./notes.ts";
import { readText } from "./write-file.ts";

export { notesSnapshot } from "./notes.ts";

const makers = { facts: openFacts, notes: openNotes } as const;
export type MemoryChoice = keyof typeof makers | "off";

export interface Memories extends MemoryProviders {
  /** A handle to whoever remembers now. */
  readonly handle: MemoryHandle | null;
}

/** The providers that are built in. What was marked for one of them is committed by it also when another is chosen. */
export async function openMemories(home: string, choice: MemoryChoice): Promise<Memories> {
  const configuration = await idOf(home);
  const handles = new Map(
    Object.entries(makers).map(([provider, make]) => [
      provider,
      make(home, { provider, configuration }),
    ]),
  );
  const handle = handles.get(choice) ?? null;
  const reach = ({ provider, configuration: asked }: MemoryOwner) =>
    asked === configuration ? (handles.get(provider) ?? null) : null;
  return { handle, current: () => handle?.owner ?? null, open: async (owner) => reach(owner) };
}

/** What is remembered lies in this home: its id goes with it wherever it is moved. */
async function idOf(home: string): Promise<string> {
  const folder = join(home, "memory");
  const file = join(folder, "id");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const fresh = randomBytes(8).toString("hex");
  // Whoever was first has named it.
  await writeFile(file, fresh, { flag: "wx", mode: 0o600 }).catch(() => undefined);
  return (await readText(file)).trim();
}
