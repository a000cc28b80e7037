import type { Client } from "../client/create-client.ts";
import type {
  AlternativeView,
  FilesRestored,
  LaneKey,
  SessionId,
  ApprovalView,
  FactView,
  InboxItem,
  MemoryAccess,
  ModelView,
  PersonaView,
  ProjectView,
  RunView,
  ProcessView,
  ScheduleView,
  SearchHitView,
  SessionMode,
  SessionAgentsView,
  SessionSkillsView,
  SessionView,
  SpendLimitView,
  UsageTotalsView,
  MessageId,
  RunId,
  CommandSpec,
} from "@holdfast/protocol";
import type { RereadCost } from "./reread-cost.ts";
import type { RestoreCause } from "./describe-files.ts";
import type { ApiError } from "../client/call-route.ts";

/** Where a command was typed, and what it can reach from there. */
export interface CommandContext {
  readonly client: Client;
  /** The session the surface is in; `null` before the first. */
  readonly sessionId: SessionId | null;
  readonly lane?: LaneKey;
  /** The folder that a new session works in; by default one that the host keeps for it. */
  readonly workspace?: string;
  /**
   * Identifies this one invocation. Repeating it under the same key runs it once, so a platform that delivers twice
   * cuts once.
   */
  readonly key: string;
  /** Which sessions may be shown and entered from here; by default all of them. */
  readonly mayReach?: (session: SessionId) => Promise<boolean>;
  /** What of memory may be read and changed from here; by default all of it. */
  readonly memory?: MemoryAccess;
  /** Milliseconds since the epoch, by the surface's clock. */
  readonly now: () => number;
}

/** A context with a current session. */
export interface SessionCommandContext extends CommandContext {
  readonly sessionId: SessionId;
}

/** Those of them that may be shown here. */
export async function filterReachable<T>(
  { mayReach }: CommandContext,
  found: readonly T[],
  sessionOf: (item: T) => SessionId,
): Promise<readonly T[]> {
  if (mayReach === undefined) return found;
  const isWithin = await Promise.all(found.map((item) => mayReach(sessionOf(item))));
  return found.filter((_, index) => isWithin[index]);
}

export function idempotencyHeader(context: CommandContext): { readonly "idempotency-key": string } {
  return { "idempotency-key": context.key };
}

/** A command's result, as plain data. Each surface renders it in its own way. */
export type CommandAnswer =
  | { readonly kind: "help"; readonly commands: readonly CommandSpec[] }
  /** The surface is in this session from now on. */
  | {
      readonly kind: "moved";
      readonly how: "begun" | "resumed" | "branched";
      readonly session: SessionView;
    }
  | {
      readonly kind: "sessions";
      readonly sessions: readonly SessionView[];
      readonly current: SessionId | null;
      /** `which`: several match, and one has to be named. */
      readonly why: "listed" | "which";
    }
  | {
      readonly kind: "changed";
      readonly what: SessionChange;
      readonly session: SessionView;
      /** The change leaves nothing cached of a long conversation: what its next message costs. */
      readonly reread?: RereadCost;
    }
  | FilesAnswer
  | {
      readonly kind: "sent";
      readonly how: "queued" | "steered" | "retried" | "edited" | "continued";
      readonly sessionId: SessionId;
      readonly runId: RunId;
      readonly messageId: MessageId | null;
    }
  | { readonly kind: "compacting"; readonly outcome: "started" | "deferred" }
  | {
      readonly kind: "model";
      /** The session's own choice. */
      readonly model: string | null;
      /** The model used if none was chosen. */
      readonly usual: string;
      /** Those that are fully configured. */
      readonly models: readonly string[];
      /** All models, usable or not, with what is known about each. */
      readonly listed: readonly ModelView[];
    }
  | { readonly kind: "mode"; readonly mode: SessionMode }
  | {
      readonly kind: "persona";
      readonly sessionId: SessionId | null;
      readonly personas: readonly PersonaView[];
      /** The id of the one that the session has. */
      readonly current: string;
    }
  | {
      readonly kind: "project";
      readonly sessionId: SessionId;
      readonly projects: readonly ProjectView[];
      /** The name of the one that the session belongs to. */
      readonly current: string | null;
    }
  | {
      readonly kind: "skills";
      readonly skills: SessionSkillsView["available"];
      /** How many of the workspace nobody has decided about. */
      readonly waiting: number;
    }
  | {
      readonly kind: "agents";
      readonly agents: SessionAgentsView["available"];
      /** How many of the workspace nobody has decided about. */
      readonly waiting: number;
    }
  | { readonly kind: "title"; readonly title: string | null }
  | {
      readonly kind: "memory";
      readonly sessions: number;
      readonly turns: number;
      readonly oldestAt: number | null;
      readonly failing: { readonly code: string; readonly message: string } | null;
      /** Newest first. */
      readonly facts: readonly FactView[];
      /** How many facts there are, or how many have the words. */
      readonly total: number;
      /** What was looked for; empty for all. */
      readonly words: string;
    }
  | { readonly kind: "fact"; readonly what: "added" | "deleted"; readonly text: string }
  | {
      readonly kind: "usage";
      readonly session: UsageTotalsView | null;
      readonly today: UsageTotalsView;
      readonly all: UsageTotalsView;
    }
  /** `changed`: one of them was set just now. */
  | {
      readonly kind: "limits";
      readonly limits: readonly SpendLimitView[];
      readonly changed: SpendLimitView["scope"] | null;
    }
  | {
      readonly kind: "status";
      readonly session: SessionView;
      readonly run: RunView | null;
      readonly inbox: readonly InboxItem[];
      readonly approvals: readonly ApprovalView[];
    }
  | { readonly kind: "schedules"; readonly schedules: readonly ScheduleView[] }
  | { readonly kind: "processes"; readonly processes: readonly ProcessView[] }
  | { readonly kind: "inbox"; readonly inbox: readonly InboxItem[] }
  /** Another version is shown, and files are as the one before left them. */
  | { readonly kind: "files_left"; readonly number: number; readonly count: number }
  /** For each turn its versions, oldest first. They are numbered consecutively across turns. */
  | {
      readonly kind: "alternatives";
      readonly turns: readonly { readonly alternatives: readonly AlternativeView[] }[];
    }
  | { readonly kind: "stopped"; readonly run: RunView | null }
  /** How much was waited for. */
  | { readonly kind: "given_up"; readonly settled: number }
  | {
      readonly kind: "document";
      readonly name: string;
      readonly mediaType: string;
      readonly text: string;
    }
  | { readonly kind: "hits"; readonly words: string; readonly hits: readonly SearchHitView[] }
  | CommandRefusal;

/** What an undo, a redo or another version did with the files. */
export interface FilesAnswer {
  readonly kind: "files";
  readonly cause: RestoreCause;
  readonly conversation: "changed" | "kept";
  readonly files: FilesRestored;
  readonly session: SessionView;
}

export type SessionChange =
  | "undone"
  | "redone"
  | "switched"
  | "titled"
  | "model_chosen"
  | "mode_chosen"
  | "persona_chosen"
  | "project_chosen";

/** It was not carried out. `sentence` says why, and what may help. */
export interface CommandRefusal {
  readonly kind: "refused";
  readonly code: string;
  readonly sentence: string;
}

export function refuseCommand(code: string, sentence: string): CommandRefusal {
  return { kind: "refused", code, sentence };
}

export function refusalFrom(error: ApiError): CommandRefusal {
  return refuseCommand(error.code, describeError(error));
}

/** What a person is told when a call failed. */
export function describeError(error: ApiError): string {
  switch (error.kind) {
    case "problem": {
      const { title, detail, next } = error.problem;
      const fields = error.problem.errors?.map(({ path, message }) => `${path}: ${message}.`);
      return [title, detail, ...(fields ?? []), next].filter(Boolean).join(" ");
    }
    case "network":
      return `The host does not answer (${error.message}). Check that it is running, and its address.`;
    case "unexpected":
      return `The host sent an unexpected answer (${error.status}).`;
    case "aborted":
      return "Cancelled.";
  }
}
