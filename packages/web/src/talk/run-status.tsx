import type { ProcessView } from "@holdfast/protocol";
import { useState } from "react";
import { sentenceOf, useApp } from "../app-context.ts";
import { revealUnseen } from "../ui/markdown/safe-text.ts";
import { words } from "../strings/strings.ts";

/** What goes on behind a conversation, and the way to end it. */
export function Processes({ all }: { all: readonly ProcessView[] }) {
  const { client, toasts } = useApp();
  const [shown, setShown] = useState(all);
  const w = words.command;

  async function stop({ id }: ProcessView): Promise<void> {
    const headers = { "idempotency-key": crypto.randomUUID() };
    const stopped = await client.stopProcess({ params: { id }, headers });
    if (!stopped.ok) return toasts.tell(sentenceOf(stopped.error));
    const { process } = stopped.value;
    setShown((before) => before.map((each) => (each.id === process.id ? process : each)));
  }

  if (shown.length === 0) return <p className="quiet">{w.nothingInBackground}</p>;
  return (
    <ul className="facts-list">
      {shown.map((process) => (
        <li key={process.id}>
          <span className="fact-text">
            <code dir="ltr">{revealUnseen(process.command)}</code>
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
