import type { Input } from "../command.ts";
import { drawPrompt, type Key, LineEditor } from "../screen/line-editor.ts";
import type { RenderStyle } from "../screen/paint.ts";
import type { LiveRegion } from "../screen/screen.ts";
import { chatStrings } from "../strings/chat.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import {
  type ApprovalReply,
  fullCallRows,
  parseReply,
  questionRows,
  replyText,
} from "../chat/approval.ts";
import { ApprovalChoice } from "../chat/choices.ts";
import { listenToKeys } from "../chat/line-input.ts";
import { promptMark } from "../chat/status-rows.ts";

/** `stop`: the person stops the run. `leave`: they leave it waiting. `answered`: somebody else has answered. */
export type PromptResult = ApprovalReply | "stop" | "leave" | "answered";

export interface PromptDeps {
  readonly input: Input;
  readonly style: () => RenderStyle;
  /** Adds permanent rows above the prompt. */
  readonly print: (rows: readonly string[]) => void;
}

interface Asking {
  readonly approval: OpenApproval;
  readonly waiting: number;
  readonly settle: (result: PromptResult) => void;
}

/** Asks about one call at a time, below what a run has written. */
export class ApprovalPrompt {
  readonly #deps: PromptDeps;
  readonly #choice = new ApprovalChoice();
  #editor = new LineEditor();
  #asking: Asking | null = null;

  constructor(deps: PromptDeps) {
    this.#deps = deps;
  }

  /** `waiting`: the number of open approvals. An aborted signal means that nobody needs to answer any more. */
  async ask(approval: OpenApproval, waiting: number, signal: AbortSignal): Promise<PromptResult> {
    const { promise, resolve } = Promise.withResolvers<PromptResult>();
    this.#editor = new LineEditor();
    this.#asking = { approval, waiting, settle: resolve };
    const { input, print, style } = this.#deps;
    const stopListening = listenToKeys(input, (typed, key) => this.#press(typed, key));
    const onAbort = (): void => resolve("answered");
    const onEnd = (): void => resolve("leave");
    signal.addEventListener("abort", onAbort, { once: true });
    input.on("end", onEnd);
    print(questionRows(approval, style()));
    if (signal.aborted) onAbort();
    try {
      const result = await promise;
      this.#asking = null;
      print(typeof result === "object" ? [style().paint("dim", `— ${replyText(result)}`)] : []);
      return result;
    } finally {
      signal.removeEventListener("abort", onAbort);
      input.off("end", onEnd);
      stopListening();
    }
  }

  /** The choices and the answer being typed; empty if nothing is asked. */
  region(style: RenderStyle): LiveRegion {
    const asking = this.#asking;
    if (asking === null) return { rows: [] };
    const { approval, waiting } = asking;
    const isTyping = this.#editor.text !== "";
    const choices = isTyping ? [] : this.#choice.rows(approval, waiting, style);
    const mark = promptMark(approval.kind === "question" ? approval : undefined);
    const prompt = drawPrompt(mark, this.#editor, style.width);
    return {
      rows: [...choices, ...prompt.rows],
      cursor: { row: choices.length + prompt.row, column: prompt.column },
    };
  }

  #press(typed: string | undefined, key: Key): void {
    const asking = this.#asking;
    if (asking === null) return;
    const result = this.#resultOf(typed, key, asking.approval);
    if (result !== undefined) asking.settle(result);
    this.#deps.print([]);
  }

  #resultOf(typed: string | undefined, key: Key, approval: OpenApproval): PromptResult | undefined {
    if (key.name === "escape") return "stop";
    if (this.#editor.text === "" && !this.#editor.isPasting) {
      const reply = this.#choice.press(typed, key, approval);
      if (reply === "reason") this.#editor.set(chatStrings.approval.reasonStart);
      else if (reply === "whole") this.#deps.print(fullCallRows(approval, this.#deps.style()));
      else if (reply !== undefined && reply !== "moved") return reply;
      if (reply !== undefined) return undefined;
    }
    const action = this.#editor.press(typed, key);
    if (action === "interrupt") return "stop";
    if (action === "leave") return "leave";
    if (action !== "submit" || this.#editor.text.trim() === "") return undefined;
    const reply = parseReply(this.#editor.take(), approval);
    if (reply === undefined)
      this.#deps.print([this.#deps.style().paint("bad", chatStrings.approval.chooseOne)]);
    return reply;
  }
}
