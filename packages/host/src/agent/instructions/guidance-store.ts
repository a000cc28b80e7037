import type { Register } from "@holdfast/engine";
import { type GuidancePart, guidanceParts, ownerId } from "@holdfast/protocol";
import { z } from "zod";

import { builtInGuidance, builtInToolAdvice } from "../guidance.ts";
import { hideHeaders, promptBlock } from "../prompt-blocks.ts";
import type { Guidance } from "../system-prompt.ts";
import { type EarlierText, openTextRows, tidyText } from "./text-rows.ts";

export interface GuidanceText {
  readonly part: GuidancePart;
  /** What the person wrote instead of the built-in text; `null` if the built-in one applies. */
  readonly own: string | null;
  readonly version: number;
  readonly changedAt: number | null;
  readonly versions: readonly EarlierText[];
}

/** What the agent is told about the host and its tools. It belongs to the host, whoever's session it is. */
export interface GuidanceStore {
  list(): Promise<readonly GuidanceText[]>;
  /** An empty text returns to the built-in one. `changed`: there is another version by now. */
  write(
    part: GuidancePart,
    change: { readonly text: string; readonly version: number },
  ): Promise<GuidanceText | "changed">;
}

const owner = ownerId.parse("owner");
const stored = z.looseObject({ text: z.string() });

export function openGuidanceStore(register: Register): GuidanceStore {
  const rows = openTextRows(register, "guidance/", stored);

  async function read(part: GuidancePart): Promise<GuidanceText> {
    const row = await rows.read(owner, part);
    if (row === null) return { part, own: null, version: 0, changedAt: null, versions: [] };
    const { value, version, changedAt, versions } = row;
    return { part, own: value.text === "" ? null : value.text, version, changedAt, versions };
  }

  return {
    list: () => Promise.all(guidanceParts.map(read)),
    async write(part, { text: given, version }) {
      const text = tidyText(given);
      const before = await read(part);
      // Nothing to change, or a repeated request.
      if (text === (before.own ?? "")) return before;
      const row = await rows.put(owner, { id: part, expect: version }, { text });
      return row === "changed" ? row : read(part);
    },
  };
}

/** The blocks of a prompt: the person's text, or the built-in one for the tools that the agent has. */
export function guidanceBlocks(store: GuidanceStore): Guidance {
  return async (_whose, tools) => {
    const texts = await store.list();
    return texts.flatMap(({ part, own }) => {
      if (part === "tools" && tools.size === 0) return [];
      const text = own === null ? builtInTextOf(part, tools) : hideHeaders(own);
      return text === "" ? [] : [promptBlock(part, text)];
    });
  };
}

export function builtInTextOf(part: GuidancePart, tools: ReadonlySet<string>): string {
  return part === "tools" ? builtInToolAdvice(tools) : builtInGuidance;
}
