import { cleanLine } from "../screen/text.ts";
import { fitTo } from "../screen/width.ts";
import { type Key } from "../screen/line-editor.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { describeCall } from "../transcript/describe.ts";
import { allowedDecisions, type OpenApproval, questionIn } from "../transcript/open-approval.ts";
import type { ApprovalReply } from "./approval.ts";
import { chatStrings } from "../strings/chat.ts";

const texts = chatStrings.approval;

/** A reply to an approval, `reason` to type why it is denied, or `whole` to see all of it first. */
export interface ApprovalOption {
  readonly key: string;
  readonly label: string;
  readonly reply: ApprovalReply | "reason" | "whole";
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
  const scope = rule === undefined ? texts.thisCall : cleanLine(rule);
  const options = {
    once: { key: "o", label: texts.once },
    session: { key: "s", label: texts.session(scope) },
    always: { key: "a", label: texts.always(scope) },
    deny: { key: "d", label: texts.deny },
  };
  return [
    ...allowedDecisions(approval).map((decision) => ({
      ...options[decision],
      reply: { decision },
    })),
    { key: "r", label: texts.denyBecause, reply: "reason" },
    { key: "v", label: texts.view, reply: "whole" },
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
    const heading = waiting > 1 ? [paint("bold", fitTo(texts.firstOf(waiting, call), width))] : [];
    const answerHint = approval.kind === "question" ? texts.orType : "";
    return [...heading, ...rows, paint("dim", fitTo(texts.keys + answerHint, width))];
  }

  /** A mark does not carry over to the next approval. */
  #resetFor({ approvalId }: OpenApproval): void {
    if (this.#approvalId === approvalId) return;
    this.#approvalId = approvalId;
    this.#index = null;
  }
}
