import { type CommandAnswer, executeCommand, type Invocation } from "@holdfast/client";
import { type SessionId } from "@holdfast/protocol";
import { type ReactNode, useState } from "react";
import { useApp } from "../../app-context.ts";
import { saveText } from "../../ui/copy-and-save.tsx";
import { words } from "../../strings/strings.ts";
import { AnswerDialog, isReadable, type Readable } from "./command-answer.tsx";

export interface Commands {
  readonly run: (invocation: Invocation) => Promise<boolean>;
  /** What the last one had to say. */
  readonly answer: ReactNode;
}

/** The slash commands of every surface, carried out here as everywhere: through the client alone. */
export function useCommands(sessionId: SessionId | null): Commands {
  const { client, router, toasts, list } = useApp();
  const [answer, setAnswer] = useState<Readable | null>(null);

  function show(given: CommandAnswer): boolean {
    if (isReadable(given)) {
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
        toasts.tell(words.command.changed[given.what]);
        return true;
      case "compacting":
        toasts.tell(words.history[given.outcome === "started" ? "compacting" : "deferred"]);
        return true;
      case "sent":
      case "stopped":
        return true;
      case "refused":
        toasts.tell(given.sentence);
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
