import { createHash } from "node:crypto";

import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { changeRow } from "../instructions/change-row.ts";

export type SkillDecision = "trusted" | "refused";

/** What a person has decided about one skill of a workspace, as it was then. */
export interface DecidedSkill {
  /** From the workspace. */
  readonly path: string;
  readonly hash: string;
  readonly decision: SkillDecision;
}

/** A person's decisions about skills. The skills themselves are files. */
export interface SkillStore {
  /** Names of the person's own skills that are switched off. */
  readOff(owner: OwnerId): Promise<readonly string[]>;
  switch(owner: OwnerId, name: string, to: "on" | "off"): Promise<void>;
  /** In the order of their paths. */
  decisions(owner: OwnerId, folder: string): Promise<readonly DecidedSkill[]>;
  decide(owner: OwnerId, folder: string, decided: DecidedSkill): Promise<void>;
  /** As `decide`, if nothing has been decided yet about what is at this path. */
  decideFirst(owner: OwnerId, folder: string, decided: DecidedSkill): Promise<void>;
}

const names = z.array(z.string());
const decided = z.object({
  folder: z.string(),
  skills: z.array(
    z.object({ path: z.string(), hash: z.string(), decision: z.enum(["trusted", "refused"]) }),
  ),
});

/** A row has 16,000 characters at most. */
const maxNames = 150;
const maxDecisions = 60;
const maxRowCharacters = 15_500;

/** Agent profiles and AGENTS.md are decided about in the same way, under names of their own. */
export function openSkillStore(
  register: Register,
  kind: "skills" | "agents" | "agents-md" = "skills",
): SkillStore {
  const offKey = `${kind}/off`;
  const keyOf = (folder: string): string =>
    `${kind}/trust/${createHash("sha256").update(folder).digest("hex").slice(0, 32)}`;

  async function decisions(owner: OwnerId, folder: string): Promise<readonly DecidedSkill[]> {
    const row = await register.read(owner, keyOf(folder));
    return row === null ? [] : (decided.safeParse(parseJson(row.value)).data?.skills ?? []);
  }

  function change(
    owner: OwnerId,
    folder: string,
    choose: (known: readonly DecidedSkill[]) => DecidedSkill | null,
  ): Promise<void> {
    return changeRow(register, { owner, key: keyOf(folder) }, (value) => {
      const known = value === null ? [] : (decided.safeParse(parseJson(value)).data?.skills ?? []);
      const word = choose(known);
      if (word === null) return null;
      // The oldest decision goes first: its skill is asked about again, and nothing is trusted by that.
      const skills = [...known.filter(({ path }) => path !== word.path), word].slice(-maxDecisions);
      const encode = () => JSON.stringify({ folder, skills });
      while (encode().length > maxRowCharacters && skills.length > 1) skills.shift();
      return encode();
    });
  }

  return {
    async readOff(owner) {
      const row = await register.read(owner, offKey);
      return row === null ? [] : (names.safeParse(parseJson(row.value)).data ?? []);
    },
    async switch(owner, name, to) {
      await changeRow(register, { owner, key: offKey }, (value) => {
        const off = value === null ? [] : (names.safeParse(parseJson(value)).data ?? []);
        const others = off.filter((each) => each !== name);
        const changed = to === "off" ? [...others, name].slice(-maxNames).toSorted() : others;
        return changed.length === off.length ? null : JSON.stringify(changed);
      });
    },
    decisions,
    decide: (owner, folder, word) => change(owner, folder, () => word),
    decideFirst: (owner, folder, word) =>
      change(owner, folder, (known) =>
        known.some(({ path }) => path === word.path) ? null : word,
      ),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
