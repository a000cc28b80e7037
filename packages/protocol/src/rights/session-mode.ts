import { z } from "zod";

/**
 * What an agent may do in a session without asking, from the narrowest to the widest. `plan`: only read. `ask`: a person
 * is asked first. `edits`: files of the workspace are changed without asking. `full`: commands run without asking too,
 * if a sandbox confines them.
 */
export const sessionMode = z.enum(["plan", "ask", "edits", "full"]);
export type SessionMode = z.infer<typeof sessionMode>;

/** The mode of a session that was never given one. */
export const defaultMode: SessionMode = "ask";

export function modeOf({ mode }: { readonly mode?: SessionMode | null | undefined }): SessionMode {
  return mode ?? defaultMode;
}

export function isWiderMode(one: SessionMode, other: SessionMode): boolean {
  return sessionMode.options.indexOf(one) > sessionMode.options.indexOf(other);
}

export function narrowestMode(first: SessionMode, ...others: readonly SessionMode[]): SessionMode {
  return others.reduce(
    (narrowest, mode) => (isWiderMode(narrowest, mode) ? mode : narrowest),
    first,
  );
}

/** How people are told what a mode means, on every surface. */
export const modeWords: Readonly<
  Record<SessionMode, { readonly label: string; readonly help: string }>
> = {
  plan: { label: "Plan", help: "Only reads, then proposes a plan for you to approve." },
  ask: { label: "Ask", help: "Asks you before it changes files or runs commands." },
  edits: {
    label: "Accept edits",
    help: "Changes files in the workspace without asking. Still asks before it runs commands.",
  },
  full: {
    label: "Full in the sandbox",
    help: "Also runs commands without asking, if the sandbox confines them and they use no network.",
  },
};

/** The modes that a person may choose from when they approve a plan, and how they say so. */
export const planModes = ["ask", "edits"] as const satisfies readonly SessionMode[];
export type PlanMode = (typeof planModes)[number];
export const planMode = z.enum(planModes);

export const planAnswers: Readonly<Record<PlanMode, string>> = {
  ask: "Approve, and ask before changes",
  edits: "Approve, and accept edits",
};

const planAnswerWords: Readonly<Record<string, PlanMode>> = {
  approve: "ask",
  "approve ask": "ask",
  "approve edits": "edits",
  [planAnswers.ask.toLowerCase()]: "ask",
  [planAnswers.edits.toLowerCase()]: "edits",
};

/** The mode that an answer to a plan switches to. `null`: the answer is a comment, and the plan is not approved. */
export function approvedMode(answer: string): PlanMode | null {
  const words = answer.trim().toLowerCase();
  return Object.hasOwn(planAnswerWords, words) ? (planAnswerWords[words] ?? null) : null;
}
