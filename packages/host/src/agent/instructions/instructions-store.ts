import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { promptBlock } from "../prompt-blocks.ts";
import type { OwnTexts } from "../system-prompt.ts";
import { type EarlierText, openTextRows, tidyText } from "./text-rows.ts";

const storedInstructions = z.looseObject({
  text: z.string(),
  /** How often they were deleted: sessions that started with them must get a new frame. */
  deletions: z.int(),
});

export interface CustomInstructions {
  /** Empty if there are none. */
  readonly text: string;
  readonly version: number;
  readonly changedAt: number | null;
  readonly versions: readonly EarlierText[];
  readonly deletions: number;
}

/** How each owner wants to be answered, as a row with its earlier texts. */
export interface InstructionsStore {
  read(owner: OwnerId): Promise<CustomInstructions>;
  /** An empty text deletes them with their earlier texts. `changed`: there is another version by now. */
  write(
    owner: OwnerId,
    change: { readonly text: string; readonly version: number },
  ): Promise<CustomInstructions | "changed">;
}

const none = { text: "", version: 0, changedAt: null, versions: [], deletions: 0 };

export function openInstructionsStore(register: Register): InstructionsStore {
  const rows = openTextRows(register, "instructions/", storedInstructions);
  const id = "custom";

  async function read(owner: OwnerId): Promise<CustomInstructions> {
    const row = await rows.read(owner, id);
    return row === null ? none : { ...row.value, ...row };
  }

  return {
    read,
    async write(owner, { text: given, version }) {
      const text = tidyText(given);
      const before = await read(owner);
      // Nothing to change, or a repeated request.
      if (text === before.text) return before;
      const isDeletion = text === "";
      const value = { text, deletions: before.deletions + (isDeletion ? 1 : 0) };
      const ref = { id, expect: version };
      const row = await (isDeletion
        ? rows.replace(owner, ref, value)
        : rows.put(owner, ref, value));
      return row === "changed" ? row : { ...row.value, ...row };
    },
  };
}

/** A change reaches new sessions only. What is deleted must leave every session. */
export function instructionsTexts(store: InstructionsStore): OwnTexts {
  return {
    async text({ owner }) {
      const { text } = await store.read(owner);
      return text === "" ? "" : promptBlock("instructions", text);
    },
    withdrawals: async ({ owner }) => (await store.read(owner)).deletions,
  };
}
