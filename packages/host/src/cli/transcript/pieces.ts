import type { FileChange, Json, MessageEntry, RunState, ToolOutcome } from "@holdfast/protocol";

/** What is new for whoever reads along. */
export type TranscriptPiece =
  | { readonly kind: "said"; readonly text: string; readonly attachments: readonly string[] }
  /** More of an answer's words. `isUnclaimed`: an answer begins with it. */
  | { readonly kind: "words"; readonly text: string; readonly isNew: boolean }
  | { readonly kind: "wordsEnd"; readonly partial: MessageEntry["partial"] }
  /** What it thought before it went on. */
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "toolBegan"; readonly name: string; readonly input: Json }
  | {
      readonly kind: "toolEnded";
      readonly name: string;
      readonly input: Json;
      readonly outcome: ToolOutcome;
      readonly output: string;
      readonly tookMs: number | null;
      /** Why it was not run, where it was not. */
      readonly refusal?: string | undefined;
      /** What it did to files. */
      readonly changes?: readonly FileChange[] | undefined;
    }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "cut"; readonly entries: number }
  | { readonly kind: "returned"; readonly entries: number }
  | { readonly kind: "runEnded"; readonly state: RunState; readonly cause: string | null };
