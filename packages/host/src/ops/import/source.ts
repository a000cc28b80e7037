import type { ImportKind, ToolOutcome } from "@holdfast/protocol";

/** What a source is asked for. */
export interface ReadOptions {
  readonly path: string;
  /** Everything, if it names nothing. */
  readonly only: readonly ImportKind[];
  readonly now: number;
}

/**
 * What an import reads: one person's data of another program. A source knows that program's files and nothing of this
 * host's store; the taker (`take-item.ts`) knows the store and nothing of the files. Both may be stopped at any
 * instant: names are stable, so whatever is yielded again is recognised.
 */
export interface ImportSource {
  /** Part of every derived id: `hermes`. The folder isn't, so a copy of it is the same data. */
  readonly name: string;
  /**
   * In an order in which they can be taken: a project before its sessions, a session before its branches. Never
   * throws for bad data: that is an item of its own.
   */
  items(): AsyncIterable<ImportItem>;
}

export type ImportItem = ImportPlan | TakenItem;

/** Everything that the taker takes. */
export type TakenItem =
  | ImportedSession
  | ImportedProject
  | ImportedPersona
  | ImportedFact
  | ImportedSkill
  | ImportedSchedule
  | ImportedMcpServer
  | ImportedSecret
  | ImportFinding;

/** How many sessions follow, for the progress; a source may yield several, or none. */
export interface ImportPlan {
  readonly kind: "plan";
  readonly sessions: number;
}

/**
 * One conversation. Its log gets an event for each entry, in this order. Ids are derived from `key` and, entry by entry,
 * from all the entries before, so a repeated import finds how far the two agree and goes on from there.
 */
export interface ImportedSession {
  readonly kind: "session";
  /** The conversation's stable name: it stays the same when the conversation goes on under another id. */
  readonly key: string;
  /** What the other program calls it, for the report. */
  readonly ids: readonly string[];
  /** Where it was held there: `cli`, `telegram`, …; for the report. */
  readonly via?: string | undefined;
  readonly title: string | null;
  /** Whether a person chose the title. */
  readonly titleSource: "generated" | "chosen";
  readonly pinned: boolean;
  readonly archived: boolean;
  /** By its name. */
  readonly project: string | null;
  readonly tags: readonly string[];
  /** The first and the last time, in milliseconds. */
  readonly from: number;
  readonly to: number;
  /** It begins with the entries of another session up to this one (its position there), and has only its own. */
  readonly branchOf?: { readonly key: string; readonly upTo: number };
  /** The session whose agent gave it its task. */
  readonly childOf?: { readonly key: string };
  /** Whether another session will branch off it. */
  readonly hasBranches: boolean;
  /** A chat that goes on in this session. */
  readonly chat?: ImportedChat;
  readonly entries: readonly ImportedEntry[];
  /** With versions: the entry that what is in view ends with; otherwise the last one. */
  readonly shown?: number;
  /** What was known, guessed or damaged about it. */
  readonly outcome: "taken" | "merged" | "recovered";
  readonly remarks: readonly Remark[];
}

export interface ImportedChat {
  readonly platform: "telegram";
  /** The bot's number, if it is known. */
  readonly bot: string | null;
  readonly chat: string;
  readonly thread: string | null;
  readonly chatKind: "private" | "group";
}

export type ImportedEntry =
  | ImportedMessage
  | ImportedNotice
  | ImportedUndo
  | ImportedSummary
  | ImportedUsage;

/**
 * What an entry follows, by its position; -1 is the beginning, and absent is the entry before. Messages of a person that
 * follow the same entry are versions of one turn. All entries of a session with versions say what they follow.
 */
export interface PlacedEntry {
  readonly after?: number;
}

export interface ImportedMessage extends PlacedEntry {
  readonly type: "message";
  readonly role: "user" | "assistant" | "tool";
  readonly at: number;
  readonly parts: readonly ImportedPart[];
  readonly model?: string | undefined;
  readonly partial?: "cancelled" | "interrupted" | "failed" | undefined;
  readonly proof: Proof;
}

/** A line that no model is given: a notice of the other program, or its system text. */
export interface ImportedNotice extends PlacedEntry {
  readonly type: "notice";
  readonly noticeKind: string;
  readonly at: number;
  readonly text: string;
  readonly proof: Proof;
}

/** Hides the entries from this position up to here. */
export interface ImportedUndo {
  readonly type: "undo";
  readonly from: number;
  readonly reason: "undo" | "clear";
}

/** Stands for the entries from one position to another, for the model only. */
export interface ImportedSummary extends PlacedEntry {
  readonly type: "summary";
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface ImportedUsage {
  readonly type: "usage";
  /** Which of the session's totals it is: what an earlier import had of it isn't counted again. */
  readonly key: string;
  readonly at: number;
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly costMicros: number;
}

export type ImportedPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "tool_call";
      /** The other program's id of the call. */
      readonly call: string;
      readonly name: string;
      /** The arguments as JSON text. */
      readonly input: string;
    }
  | {
      readonly type: "tool_result";
      readonly call: string;
      readonly name: string;
      readonly outcome: ToolOutcome;
      readonly output: string;
    }
  | {
      readonly type: "file" | "image";
      readonly name: string;
      readonly mediaType: string;
      readonly bytes: Uint8Array;
    }
  | { readonly type: "missing"; readonly name: string };

/** What is compared before and after: the text as the other program has it, and where it was found. */
export interface Proof {
  /** As the report counts it: user, assistant, tool, system or card (a notice of the page). */
  readonly role: string;
  /** Of the text in UTF-8: the text parts joined by newlines. */
  readonly sha256: string;
  /** `db`, `sidecar`, `journal`, … */
  readonly where: readonly string[];
}

export interface ImportedProject {
  readonly kind: "project";
  readonly key: string;
  readonly name: string;
  /** Its instructions. */
  readonly text: string;
  /** The key of its persona. */
  readonly persona: string | null;
  /** Texts that its sessions start with. */
  readonly files?: readonly { readonly name: string; readonly text: string }[];
}

export interface ImportedPersona {
  readonly kind: "persona";
  readonly key: string;
  readonly name: string;
  readonly text: string;
  /** Where it was found. */
  readonly path: string;
}

export interface ImportedFact {
  readonly kind: "fact";
  readonly key: string;
  readonly text: string;
  readonly about: "person" | "rest";
  /** Of a profile: only when it fits. */
  readonly use: "always" | "when_it_fits";
  readonly at: number;
  readonly path: string;
}

/** A folder with a SKILL.md. */
export interface ImportedSkill {
  readonly kind: "skill";
  readonly key: string;
  readonly path: string;
  readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
}

export interface ImportedSchedule {
  readonly kind: "schedule";
  readonly key: string;
  readonly title: string;
  readonly prompt: string;
  readonly times:
    | { readonly cron: string }
    | { readonly everyMinutes: number }
    | { readonly date: string; readonly at: string };
  readonly timeZone: string;
  /** The session that it goes on in. */
  readonly session: string | null;
  /** As the other program has it: kept if it can't be scheduled here. */
  readonly original: string;
  readonly path: string;
}

export interface ImportedMcpServer {
  readonly kind: "mcp_server";
  readonly key: string;
  readonly name: string;
  readonly server:
    | {
        readonly command: string;
        readonly args: readonly string[];
        readonly env: Readonly<Record<string, string>>;
      }
    | { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  readonly path: string;
}

/** Yielded only after a person's explicit yes. */
export interface ImportedSecret {
  readonly kind: "secret";
  readonly key: string;
  /** The name of its variable in the other program. */
  readonly variable: string;
  readonly value: string;
  readonly path: string;
}

/** Something that isn't taken, or not as it was: with its place, why, and its bytes if nobody can read them. */
export interface ImportFinding extends Remark {
  readonly kind: "finding";
}

export interface Remark {
  /** A stable code. */
  readonly code: RemarkCode;
  readonly outcome: "skipped" | "damaged" | "guess" | "deleted" | "note";
  /** Below the source's folder; for a row of a database, the database. */
  readonly path: string;
  /** The session that it is about. */
  readonly session?: string | undefined;
  readonly text: string;
  /** Kept as a blob. */
  readonly bytes?: Uint8Array | undefined;
}

export const remarkCodes = [
  "torn_sidecar",
  "torn_journal_line",
  "torn_turn_journal_line",
  "torn_file",
  "broken_tool_calls",
  "unanswered_tool_call",
  "orphan_journal",
  "index_lacks_session",
  "index_names_missing_session",
  "lost_answer",
  "lost_picture",
  "overheard",
  "missing_attachment",
  "leftover",
  "ghost",
  "deleted",
  "duplicate_id",
  "lost_parent",
  "cycle",
  "broken_text",
  "unknown_row",
  "unreadable",
  "link",
  "too_large",
  "merged_by_text",
  "undone",
  "restamped",
  "stale_fork",
  "draft",
  "folder",
  "chat",
  "secret",
  "allow_list",
  "built_in",
  "not_supported",
  "setting",
  "report_file",
] as const;
export type RemarkCode = (typeof remarkCodes)[number];
