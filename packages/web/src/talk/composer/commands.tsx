import { type CommandAnswer, executeCommand, type Invocation } from "@holdfast/client";
import { type SessionId } from "@holdfast/protocol";
import { type ReactNode, useState } from "react";
import { useApp } from "../../app-context.ts";
import { saveText } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";
import { AnswerDialog, isShownAnswer, type ShownAnswer } from "./command-answer.tsx";

export interface SlashCommands {
  readonly run: (invocation: Invocation) => Promise<boolean>;
  /** What the last one had to say. */
  readonly answer: ReactNode;
}

/** The slash commands of every surface, carried out here as everywhere: through the client alone. */
export function useSlashCommands(sessionId: SessionId | null): SlashCommands {
  const { client, router, toasts, list } = useApp();
  const [answer, setAnswer] = useState<ShownAnswer | null>(null);

  function show(given: CommandAnswer): boolean {
    if (isShownAnswer(given)) {
      setAnswer(given);
      return true;
    }
    switch (given.kind) {
      case "moved":
        list.changed();
        router.go({ kind: "session", id: given.session.id, at: null });
        return true;
      case "document":
        saveText(given.text, given.name);
        return true;
      case "changed":
        list.changed();
        toasts.show(strings.command.changed[given.what]);
        return true;
      case "compacting":
        toasts.show(strings.history[given.outcome === "started" ? "compacting" : "deferred"]);
        return true;
      case "sent":
      case "stopped":
        return true;
      case "refused":
        toasts.show(given.sentence);
        return false;
    }
  }

  return {
    async run(invocation) {
      const place = { client, sessionId, key: crypto.randomUUID(), now: Date.now };
      return show(await executeCommand(place, invocation));
    },
    answer: answer && <AnswerDialog answer={answer} onClose={() => setAnswer(null)} />,
  };
}
