import type { ProcessView } from "@holdfast/protocol";
import { useState } from "react";
import { problemText, useApp } from "../app-context.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";

/** What goes on behind a conversation, and the way to end it. */
export function BackgroundProcesses({ all }: { all: readonly ProcessView[] }) {
  const { client, toasts } = useApp();
  const [shown, setShown] = useState(all);
  const w = strings.command;

  async function stop({ id }: ProcessView): Promise<void> {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const stopped = await client.stopProcess({ params: { id }, headers });
    if (!stopped.ok) return toasts.show(problemText(stopped.error));
    const { process } = stopped.value;
    setShown((before) => before.map((each) => (each.id === process.id ? process : each)));
  }

  if (shown.length === 0) return <p className="quiet">{w.nothingInBackground}</p>;
  return (
    <ul className="facts-list">
      {shown.map((process) => (
        <li key={process.id}>
          <span className="fact-text">
            <code dir="ltr">{revealInvisible(process.command)}</code>
            <span className="quiet">
              {process.end ?? (process.state === "running" ? w.runs : w.isStopped)}
            </span>
          </span>
          {process.state === "running" && (
            <button
              type="button"
              className="button"
              aria-label={w.stopNamed(process.command)}
              onClick={() => void stop(process)}
            >
              {w.stop}
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
