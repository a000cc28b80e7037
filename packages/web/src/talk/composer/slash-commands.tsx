import { type ReactNode, useState } from "react";
import { findCommand, commandUsage, type SessionId } from "@holdfast/protocol";
import {
  completeInput,
  type CommandAnswer,
  executeCommand,
  type Invocation,
} from "@holdfast/client";
import { useApp } from "../../app-context.ts";
import { saveText } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";
import { AnswerDialog, isShownAnswer, type ShownAnswer } from "./command-answer.tsx";

export interface Suggestion {
  /** The whole text that it would make. */
  readonly text: string;
  readonly usage: string;
  readonly help: string;
}

const maxSuggestions = 8;

/** How what is being typed may go on, while it looks like a command. */
export function suggestionsFor(typed: string): readonly Suggestion[] {
  if (!typed.startsWith("/") || typed.includes("\n")) return [];
  const values = completeInput(typed).values.filter((text) => text !== typed);
  return values.slice(0, maxSuggestions).map((text) => {
    const command = findCommand(text.slice(1).split(/\s/, 1)[0] ?? "");
    const usage = command === undefined ? text : commandUsage(command);
    const takesMore = command !== undefined && command.takes.kind !== "nothing";
    const isWhole = text.includes(" ") || !takesMore;
    return { text: isWhole ? text : `${text} `, usage, help: command?.help ?? "" };
  });
}

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
