import { cleanLine } from "../screen/text.ts";
import { fitTo, padTo } from "../screen/width.ts";
import { type Key } from "../screen/line-editor.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { describeCall } from "../transcript/describe.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { allowedDecisions, type OpenApproval, questionIn } from "../transcript/open-approval.ts";
import type { ApprovalReply } from "./approval.ts";
import { type SessionView, findCommand, commandUsage } from "@holdfast/protocol";
import { completeInput } from "@holdfast/client";

/** A reply to an approval, or `whole` to see all of it first. */
export interface ApprovalOption {
  readonly key: string;
  readonly label: string;
  readonly reply: ApprovalReply | "whole";
}

function optionsFor(approval: OpenApproval): readonly ApprovalOption[] {
  if (approval.kind === "question") {
    const choices = questionIn(approval)?.choices ?? [];
    return choices.slice(0, 9).map((answer, index) => ({
      key: String(index + 1),
      label: cleanLine(answer),
      reply: { decision: "once", answer },
    }));
  }
  const [rule] = approval.rules ?? [];
  const scope = rule === undefined ? "this very call" : cleanLine(rule);
  const options = {
    once: { key: "o", label: "once" },
    session: { key: "s", label: `for this session: ${scope}` },
    always: { key: "a", label: `always: ${scope}` },
    deny: { key: "d", label: "deny" },
  };
  return [
    ...allowedDecisions(approval).map((decision) => ({
      ...options[decision],
      reply: { decision },
    })),
    { key: "v", label: "view all of it first", reply: "whole" },
  ];
}

/**
 * Chooses one option by arrows or by its letter, and then Enter. Nothing is preselected: a key meant for something
 * else must not become a yes.
 */
export class ApprovalChoice {
  #approvalId = "";
  #index: number | null = null;

  /** The chosen reply, `moved` if another option is marked, or `undefined` if the key is not for it. */
  press(
    typed: string | undefined,
    key: Key,
    approval: OpenApproval,
  ): ApprovalOption["reply"] | "moved" | undefined {
    this.#resetFor(approval);
    const options = optionsFor(approval);
    if (options.length === 0 || key.ctrl === true || key.meta === true) return undefined;
    if (key.name === "up" || key.name === "down") {
      const step = key.name === "down" ? 1 : -1;
      const from = this.#index ?? (step === 1 ? -1 : options.length);
      this.#index = (from + step + options.length) % options.length;
      return "moved";
    }
    if (key.name === "return")
      return this.#index === null ? undefined : options[this.#index]?.reply;
    const index = options.findIndex((option) => option.key === typed?.toLowerCase());
    if (index === -1) return undefined;
    this.#index = index;
    return "moved";
  }

  /** `waiting`: the number of open approvals, including this one. */
  rows(approval: OpenApproval, waiting: number, { width, paint }: RenderStyle): string[] {
    this.#resetFor(approval);
    const options = optionsFor(approval);
    if (options.length === 0) return [];
    const rows = options.map(({ key, label }, index) => {
      const isMarked = index === this.#index;
      const row = fitTo(`${isMarked ? "❯" : " "} ${key}  ${label}`, width);
      return isMarked ? paint("bold", row) : row;
    });
    const call = cleanLine(describeCall(approval.name, approval.input));
    const heading = waiting > 1 ? [paint("bold", fitTo(`1 of ${waiting}: ${call}`, width))] : [];
    const answerHint = approval.kind === "question" ? " · or type an answer" : "";
    return [
      ...heading,
      ...rows,
      paint("dim", fitTo(`  ↑↓ or its key, then Enter${answerHint}`, width)),
    ];
  }

  /** A mark does not carry over to the next approval. */
  #resetFor({ approvalId }: OpenApproval): void {
    if (this.#approvalId === approvalId) return;
    this.#approvalId = approvalId;
    this.#index = null;
  }
}

const maxSessionsShown = 10;

/** Chooses a session by arrows and Enter. */
export class SessionPicker {
  readonly #sessions: readonly SessionView[];
  #index = 0;

  constructor(sessions: readonly SessionView[]) {
    this.#sessions = sessions;
  }

  /** The chosen session, `closed`, `moved`, or `undefined` if the key is not for it. */
  press(key: Key): SessionView | "closed" | "moved" | undefined {
    const last = this.#sessions.length - 1;
    if (key.name === "escape" || (key.ctrl === true && key.name === "c")) return "closed";
    if (key.ctrl === true || key.meta === true) return undefined;
    switch (key.name) {
      case "up":
        return this.#mark(this.#index === 0 ? last : this.#index - 1);
      case "down":
        return this.#mark(this.#index === last ? 0 : this.#index + 1);
      case "pageup":
        return this.#mark(Math.max(0, this.#index - maxSessionsShown));
      case "pagedown":
        return this.#mark(Math.min(last, this.#index + maxSessionsShown));
      case "home":
        return this.#mark(0);
      case "end":
        return this.#mark(last);
      case "return":
        return this.#sessions[this.#index] ?? "closed";
      default:
        return undefined;
    }
  }

  rows({ width, paint }: RenderStyle): string[] {
    const from = Math.max(0, Math.min(this.#index - 4, this.#sessions.length - maxSessionsShown));
    const shown = this.#sessions.slice(from, from + maxSessionsShown).map((session, offset) => {
      const isMarked = from + offset === this.#index;
      return sessionRow(session, { width, paint, mark: isMarked ? "❯" : " " });
    });
    const position = `${this.#index + 1} of ${this.#sessions.length}`;
    return [...shown, paint("dim", `  ↑↓ and Enter go there · Esc stays · ${position}`)];
  }

  #mark(index: number): "moved" {
    this.#index = index;
    return "moved";
  }
}

const maxCommandsShown = 6;

/** The commands that match the line being typed. */
export function commandHintRows(text: string, { width, paint }: RenderStyle): string[] {
  const names = completeInput(text).values.filter((value) => !value.includes(" "));
  const [, typed] = /^\/(\w+)\s/.exec(text) ?? [];
  const matches = (typed === undefined ? names.map((name) => name.slice(1)) : [typed]).flatMap(
    (name) => findCommand(name) ?? [],
  );
  const widest = Math.max(0, ...matches.map((command) => commandUsage(command).length));
  const rows = matches
    .slice(0, maxCommandsShown)
    .map((command) => fitTo(`  ${padTo(commandUsage(command), widest)}  ${command.help}`, width));
  const hidden = matches.length - rows.length;
  return [...rows, ...(hidden > 0 ? [`  … ${hidden} more, Tab completes`] : [])].map((row) =>
    paint("dim", row),
  );
}
