import type { SessionState } from "@holdfast/client";
import { activityText, spinnerMs } from "../chat/activity.ts";
import { runActivity } from "../chat/status-rows.ts";
import type { Terminal } from "../command.ts";
import { createPaint } from "../screen/paint.ts";
import { createScreen } from "../screen/screen.ts";
import { createScreenWriter } from "../transcript/screen-writer.ts";
import { ApprovalPrompt } from "./approval-prompt.ts";
import type { RunView } from "./follow-text.ts";

/** A run on a terminal: its answer, what it is doing and for how long, and its questions. */
export function createRunScreen({ input, output, environment }: Terminal): RunView {
  const screen = createScreen(output);
  const paint = createPaint(output, environment);
  const style = () => ({ width: screen.width, paint });
  const startedAt = performance.now();
  let activity = { text: "", isBusy: true };
  let timer: NodeJS.Timeout | undefined;

  const prompt = new ApprovalPrompt({ input, style, print: (rows) => writer.print(rows) });
  const writer = createScreenWriter(screen, paint, () => {
    const asked = prompt.region(style());
    if (asked.rows.length > 0 || !activity.isBusy || activity.text === "") return asked;
    const text = activityText(activity.text, performance.now() - startedAt);
    return { rows: [paint("dim", text)] };
  });

  function stopSpinner(): void {
    clearInterval(timer);
    timer = undefined;
  }

  const canAsk = input.isTTY === true && environment["TERM"] !== "dumb";
  return {
    ...writer,
    activity(state: SessionState) {
      activity = runActivity(state);
      if (activity.isBusy) timer ??= setInterval(() => writer.print([]), spinnerMs).unref();
      else stopSpinner();
      writer.print([]);
    },
    ...(canAsk && { ask: (...asked) => prompt.ask(...asked) }),
    close() {
      stopSpinner();
      writer.close();
    },
  };
}
