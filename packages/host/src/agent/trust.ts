import { realpath } from "node:fs/promises";
import { join } from "node:path";

import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { readText, replaceFile, underLock } from "../util/atomic-file.ts";

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
type Decided = z.infer<typeof decisions>[number];

export interface Trust {
  /** The newest word on what lies in this folder; `null` when there is none. */
  of(owner: OwnerId, folder: string): Promise<Pick<Decided, "hash" | "decision"> | null>;
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
export function openTrust(home: string, now: () => number = Date.now): Trust {
  const file = join(home, "trust.json");

  async function read(): Promise<readonly Decided[]> {
    const text = await readText(file);
    return text === "" ? [] : decisions.parse(JSON.parse(text));
  }

  return {
    async of(owner, folder) {
      const place = await placeOf(folder);
      return (await read()).find((each) => each.owner === owner && each.folder === place) ?? null;
    },
    async decide(owner, folder, { hash, decision }) {
      const place = await placeOf(folder);
      const done = await underLock(file, async () => {
        const others = (await read()).filter(
          (each) => each.owner !== owner || each.folder !== place,
        );
        const decided: Decided = { owner, folder: place, hash, decision, at: now() };
        await replaceFile(file, `${JSON.stringify([...others, decided], null, 2)}\n`);
      });
      return done === "busy" ? "busy" : "kept";
    },
  };
}

/** The same folder has one name. */
async function placeOf(folder: string): Promise<string> {
  return realpath(folder).catch(() => folder);
}
