import { cleanLine } from "../../screen/text.ts";
import { fitTo } from "../../screen/width.ts";
import { type Key } from "../../screen/line-editor.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { describeCall } from "../../transcript/describe.ts";
import { type ApprovalReply, type OpenApproval, questionOf } from "../approval.ts";

/** What a person may say to what asks, or `whole` to see all of it first. */
export interface ApprovalOption {
  readonly key: string;
  readonly label: string;
  readonly reply: ApprovalReply | "whole";
}

function optionsFor(approval: OpenApproval): readonly ApprovalOption[] {
  if (approval.kind === "question") {
    const choices = questionOf(approval)?.choices ?? [];
    return choices.slice(0, 9).map((answer, index) => ({
      key: String(index + 1),
      label: cleanLine(answer),
      reply: { decision: "once", answer },
    }));
  }
  const [rule] = approval.rules ?? [];
  const what = rule === undefined ? "this very call" : cleanLine(rule);
  return [
    { key: "o", label: "once", reply: { decision: "once" } },
    { key: "s", label: `for this session: ${what}`, reply: { decision: "session" } },
    { key: "a", label: `always: ${what}`, reply: { decision: "always" } },
    { key: "d", label: "deny", reply: { decision: "deny" } },
    { key: "v", label: "view all of it first", reply: "whole" },
  ];
}

/**
 * One of several, by arrows or by its letter, and then Enter. Nothing is chosen beforehand: a key that was meant for something
 * else must not become a yes.
 */
export class ApprovalChoice {
  #of = "";
  #index: number | null = null;

  /** What was chosen, `moved` when another one is marked, or nothing when the key is not for it. */
  press(
    typed: string | undefined,
    key: Key,
    approval: OpenApproval,
  ): ApprovalOption["reply"] | "moved" | undefined {
    this.#attend(approval);
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
    const named = options.findIndex((option) => option.key === typed?.toLowerCase());
    if (named === -1) return undefined;
    this.#index = named;
    return "moved";
  }

  /** `waiting`: how many ask, this one among them. */
  rows(approval: OpenApproval, waiting: number, { width, paint }: RenderStyle): string[] {
    this.#attend(approval);
    const options = optionsFor(approval);
    if (options.length === 0) return [];
    const rows = options.map(({ key, label }, index) => {
      const isMarked = index === this.#index;
      const row = fitTo(`${isMarked ? "❯" : " "} ${key}  ${label}`, width);
      return isMarked ? paint("bold", row) : row;
    });
    const call = cleanLine(describeCall(approval.name, approval.input));
    const which = waiting > 1 ? [paint("bold", fitTo(`1 of ${waiting}: ${call}`, width))] : [];
    const other = approval.kind === "question" ? " · or type an answer" : "";
    return [...which, ...rows, paint("dim", fitTo(`  ↑↓ or its key, then Enter${other}`, width))];
  }

  /** What was marked for one call is not marked for the next. */
  #attend({ approvalId }: OpenApproval): void {
    if (this.#of === approvalId) return;
    this.#of = approvalId;
    this.#index = null;
  }
}
