import { join, resolve, sep } from "node:path";
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import type { OwnerId, SessionId } from "@holdfast/protocol";
import { shortHash } from "@holdfast/engine";
import { builtInPersonaText, describeSurroundings, earlierPersonaText } from "./guidance.ts";
import { promptBlock } from "./prompt-blocks.ts";
import { instructionsFile, type TrustDecision, type WorkspaceTrust } from "./workspace-trust.ts";
import type { Workspaces } from "./workspace/workspaces.ts";

/** A workspace's instructions to agents, and the hash of exactly that text. */
export interface Instructions {
  readonly file: string;
  readonly text: string;
  readonly hash: string;
}

const maxBytes = 32 * 1024;

/**
 * `null` if there are none, or none that count: a link could lead anywhere, and a longer file is no instruction.
 * Reading them does not mean following them: a person decides that.
 */
async function readInstructions(folder: string): Promise<Instructions | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(join(folder, instructionsFile), flags).catch(() => null);
  if (handle === null) return null;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > maxBytes) return null;
    const bytes = await handle.readFile();
    const text = bytes.toString("utf8").trim();
    if (text === "" || bytes.byteLength > maxBytes) return null;
    const hash = createHash("sha256").update(text).digest("hex");
    return { file: instructionsFile, text, hash };
  } finally {
    await handle.close();
  }
}

export interface SystemPromptDeps {
  readonly home: string;
  readonly workspaces: Pick<Workspaces, "locate">;
  readonly trust: WorkspaceTrust;
  /** Who the agent is in this session. */
  readonly persona: (whose: SessionRef) => Promise<string>;
  /** How to work on this host and with these tools, as blocks; none by default. */
  readonly guidance?: Guidance;
  /** How the person wants to be answered. */
  readonly instructions: OwnTexts;
  /** The instructions of the session's project; may be empty. */
  readonly project: (whose: SessionRef) => Promise<string>;
  /** The files of the session's project. */
  readonly files?: ChangingText;
  /** The catalogue of the session's skills. */
  readonly skills?: ChangingText;
  /** The catalogue of the agents that the session can give tasks to. */
  readonly agents?: ChangingText;
  /** What is known about the person. */
  readonly notes: OwnTexts;
}

/** Not part of the signature: what is changed reaches new sessions only. */
export type Guidance = (
  whose: SessionRef,
  tools: ReadonlySet<string>,
) => Promise<readonly string[]>;

/** Read only when a session's prompt is made: reading a PDF takes time. */
export interface ChangingText {
  /** Identifies what the text is made from; empty if there is none. */
  signature(whose: SessionRef): Promise<string>;
  text(whose: SessionRef): Promise<string>;
}

/** What an owner has written for their sessions. */
export interface OwnTexts {
  /** Frozen with the session. */
  text(whose: SessionRef): Promise<string>;
  /** Grows when something that the session may have started with must leave it. */
  withdrawals(whose: SessionRef): Promise<number>;
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
  /** Identifies the prompt's sources one by one, except for what a session keeps from its start. */
  signature(whose: SessionRef): Promise<string>;
  /**
   * The persona, guidance for the agent and its tools, the person's and the project's instructions, the project's files,
   * where the tools work, the workspace's instructions if a person trusts them, the catalogues of skills and agents, and
   * the memory notes.
   */
  text(whose: SessionRef, tools?: ReadonlySet<string>): Promise<string>;
  /** `null` if there is no such session. */
  workspace(whose: SessionRef): Promise<WorkspaceState | null>;
  /** Applies to the text with this hash and no other. */
  decide(
    whose: SessionRef,
    word: { readonly hash: string; readonly decision: TrustDecision },
  ): Promise<"kept" | "changed" | "not_found">;
}

const noText: ChangingText = { signature: async () => "", text: async () => "" };

/** The start of a session's context. The tools follow in the same frame. */
export function createSystemPrompt({
  home,
  workspaces,
  trust,
  persona,
  guidance = async () => [],
  instructions: ownInstructions,
  project,
  files = noText,
  skills = noText,
  agents = noText,
  notes,
}: SystemPromptDeps): SystemPrompt {
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
      const withdrawals = await notes.withdrawals(whose);
      const projectText = await project(whose);
      const fileList = await files.signature(whose);
      const skillList = await skills.signature(whose);
      const agentList = await agents.signature(whose);
      const deletions = await ownInstructions.withdrawals(whose);
      return [
        `persona=${shortHash(signedPersona(await persona(whose)))}`,
        // Uses the decision rather than the file: a session keeps the text it started with until a person decides
        // otherwise.
        `workspace=${shortHash(`${folder} ${trusted}`)}`,
        // A new note reaches new sessions only. A note that is deleted must leave every session.
        ...(withdrawals === 0 ? [] : [`memory=${withdrawals}`]),
        ...(projectText === "" ? [] : [`project=${shortHash(projectText)}`]),
        ...(fileList === "" ? [] : [`files=${shortHash(fileList)}`]),
        ...(skillList === "" ? [] : [`skills=${skillList}`]),
        ...(agentList === "" ? [] : [`agents=${agentList}`]),
        ...(deletions === 0 ? [] : [`instructions=${deletions}`]),
      ].join(" ");
    },
    async text(whose, tools = new Set()) {
      const state = await workspace(whose);
      const parts = [
        await persona(whose),
        ...(await guidance(whose, tools)),
        await ownInstructions.text(whose),
        await project(whose),
        await files.text(whose),
        state === null || tools.size === 0 ? "" : await surroundings(home, state.folder),
        trustedInstructions(state),
        await skills.text(whose),
        tools.has("delegate") ? await agents.text(whose) : "",
        await notes.text(whose),
      ];
      return parts.filter((part) => part !== "").join("\n\n");
    },
    async decide(whose, word) {
      const state = await workspace(whose);
      if (state === null) return "not_found";
      if (state.instructions?.hash !== word.hash) return "changed";
      await trust.decide(whose.owner, state.folder, word);
      return "kept";
    },
  };
}

/** A better built-in text reaches new sessions only. */
function signedPersona(text: string): string {
  return text === builtInPersonaText ? earlierPersonaText : text;
}

async function surroundings(home: string, folder: string): Promise<string> {
  const kept = resolve(home, "workspaces") + sep;
  const git = await lstat(join(folder, ".git")).catch(() => null);
  const text = describeSurroundings({
    folder,
    ownership: folder.startsWith(kept) ? "host" : "person",
    isRepository: git !== null,
    platform: process.platform,
  });
  return promptBlock("environment", text);
}

function trustedInstructions(state: WorkspaceState | null): string {
  if (state?.instructions == null || state.trust !== "trusted") return "";
  return promptBlock("workspace", state.instructions.text);
}
