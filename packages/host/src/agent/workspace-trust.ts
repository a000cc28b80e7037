import { realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Register } from "@holdfast/engine";
import { type OwnerId, ownerId } from "@holdfast/protocol";
import { z } from "zod";
import { readTextOrEmpty } from "../util/atomic-file.ts";
import { openSkillStore, type SkillDecision } from "./skills/skill-store.ts";

export type TrustDecision = SkillDecision;

/** A decision about the text with this hash. A changed file is another text and needs another decision. */
interface Decided {
  readonly hash: string;
  readonly decision: TrustDecision;
}

/** Which workspaces' instructions a person trusts, on every host on the store. A folder is known by its path. */
export interface WorkspaceTrust {
  /** The newest decision for this folder; `null` if there is none. */
  of(owner: OwnerId, folder: string): Promise<Decided | null>;
  /** Rejects with a `StoreFailure`. */
  decide(owner: OwnerId, folder: string, decided: Decided): Promise<void>;
}

export const instructionsFile = "AGENTS.md";

export function openWorkspaceTrust(register: Register): WorkspaceTrust {
  const store = openSkillStore(register, "agents-md");
  return {
    async of(owner, folder) {
      const decisions = await store.decisions(owner, await canonicalFolder(folder));
      return decisions.find(({ path }) => path === instructionsFile) ?? null;
    },
    async decide(owner, folder, { hash, decision }) {
      const place = await canonicalFolder(folder);
      await store.decide(owner, place, { path: instructionsFile, hash, decision });
    },
  };
}

/** Resolves links, so that a folder has one name. */
async function canonicalFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}

const trustFile = z.array(
  z.object({
    owner: ownerId,
    folder: z.string(),
    hash: z.string(),
    decision: z.enum(["trusted", "refused"]),
  }),
);

/**
 * Moves the decisions that earlier versions kept in a file. The file goes last, so a crash repeats the move; a folder
 * that has been decided about in the store since is left alone.
 */
export async function moveTrustFile(
  home: string,
  register: Register,
  report: (error: Error) => void,
): Promise<void> {
  const path = join(home, "trust.json");
  const text = await readTextOrEmpty(path);
  if (text === "") return;
  const { data } = trustFile.safeParse(parseOrNull(text));
  if (data === undefined) {
    await rename(path, `${path}.not-moved`);
    const message = `The file of trusted instructions ${path} is damaged, and is now ${path}.not-moved. You are asked again whether to trust each AGENTS.md.`;
    report(new Error(message));
    return;
  }
  const store = openSkillStore(register, "agents-md");
  for (const { owner, folder, hash, decision } of data)
    await store.decideFirst(owner, folder, { path: instructionsFile, hash, decision });
  await rm(path, { force: true });
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
