import { realpath } from "node:fs/promises";
import { join } from "node:path";

import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { readTextOrEmpty, writeFileAtomically, withFileLock } from "../util/atomic-file.ts";

export type TrustDecision = "trusted" | "refused";

const decisions = z.array(
  z.looseObject({
    owner: z.string(),
    folder: z.string(),
    /** Of the text that was shown. */
    hash: z.string(),
    decision: z.enum(["trusted", "refused"]),
    at: z.number(),
  }),
);
type TrustRecord = z.infer<typeof decisions>[number];

export interface TrustFile {
  /** The newest word on what lies in this folder; `null` when there is none. */
  of(owner: OwnerId, folder: string): Promise<Pick<TrustRecord, "hash" | "decision"> | null>;
  /** `busy`: another process is writing it. */
  decide(
    owner: OwnerId,
    folder: string,
    word: { readonly hash: string; readonly decision: TrustDecision },
  ): Promise<"kept" | "busy">;
}

/**
 * Whom a person trusts to speak to their agents: for each folder the one text that they have seen. A file that has changed
 * since, by whomever, is another text, and waits for another word.
 */
export function openTrustFile(home: string, now: () => number = Date.now): TrustFile {
  const file = join(home, "trust.json");

  async function read(): Promise<readonly TrustRecord[]> {
    const text = await readTextOrEmpty(file);
    return text === "" ? [] : decisions.parse(JSON.parse(text));
  }

  return {
    async of(owner, folder) {
      const place = await canonicalFolder(folder);
      return (await read()).find((each) => each.owner === owner && each.folder === place) ?? null;
    },
    async decide(owner, folder, { hash, decision }) {
      const place = await canonicalFolder(folder);
      const done = await withFileLock(file, async () => {
        const others = (await read()).filter(
          (each) => each.owner !== owner || each.folder !== place,
        );
        const decided: TrustRecord = { owner, folder: place, hash, decision, at: now() };
        await writeFileAtomically(file, `${JSON.stringify([...others, decided], null, 2)}\n`);
      });
      return done === "busy" ? "busy" : "kept";
    },
  };
}

/** The same folder has one name. */
async function canonicalFolder(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}
