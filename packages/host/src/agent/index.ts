import { shortHash } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import type { Workspaces } from "./workspace/workspaces.ts";
import { type Instructions, readInstructions } from "./instructions.ts";
import { readPersona } from "./system-prompt.ts";
import { openTrustFile, type TrustDecision } from "./trust.ts";

export type { TrustDecision } from "./trust.ts";

export interface SystemPromptDeps {
  readonly home: string;
  readonly workspaces: Pick<Workspaces, "locate">;
  /** What memory has noted of this owner, frozen with the session. */
  readonly notes: (owner: OwnerId) => Promise<string>;
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

export interface WorkspaceState {
  readonly folder: string;
  readonly instructions: Instructions | null;
  readonly trust: TrustDecision | "undecided";
}

export interface SystemPrompt {
  /** Names what the prompt is made from, part by part, but for what a session keeps as it was when it began. */
  signature(whose: SessionRef): Promise<string>;
  /** Who the agent is, what the workspace says to it where a person trusts that, and what memory has noted. */
  text(whose: SessionRef): Promise<string>;
  /** `null`: there is no such session. */
  workspace(whose: SessionRef): Promise<WorkspaceState | null>;
  /** About the text with this hash and no other. */
  decide(
    whose: SessionRef,
    word: { readonly hash: string; readonly decision: TrustDecision },
  ): Promise<"kept" | "changed" | "busy" | "not_found">;
}

/** How a session's context begins. The tools stand behind it, in the same frame. */
export function createSystemPrompt({ home, workspaces, notes }: SystemPromptDeps): SystemPrompt {
  const trust = openTrustFile(home);

  async function workspace(whose: SessionRef): Promise<WorkspaceState | null> {
    const folder = await workspaces.locate(whose);
    if (folder === null) return null;
    const instructions = await readInstructions(folder);
    const word = await trust.of(whose.owner, folder);
    const isAboutThis = word !== null && word.hash === instructions?.hash;
    return { folder, instructions, trust: isAboutThis ? word.decision : "undecided" };
  }

  return {
    workspace,
    async signature(whose) {
      const folder = (await workspaces.locate(whose)) ?? home;
      const word = await trust.of(whose.owner, folder);
      const trusted = word?.decision === "trusted" ? word.hash : "";
      return [
        `persona=${shortHash(await readPersona(home))}`,
        // The decision, not the file: a session keeps the text that it began with until a person says otherwise.
        `workspace=${shortHash(`${folder} ${trusted}`)}`,
      ].join(" ");
    },
    async text(whose) {
      const parts = [
        await readPersona(home),
        trustedInstructions(await workspace(whose)),
        await notes(whose.owner),
      ];
      return parts.filter((part) => part !== "").join("\n\n");
    },
    async decide(whose, word) {
      const state = await workspace(whose);
      if (state === null) return "not_found";
      if (state.instructions?.hash !== word.hash) return "changed";
      return trust.decide(whose.owner, state.folder, word);
    },
  };
}

function trustedInstructions(state: WorkspaceState | null): string {
  if (state?.instructions == null || state.trust !== "trusted") return "";
  return `[${state.instructions.file} of the workspace, which the person trusts]\n${state.instructions.text}`;
}
