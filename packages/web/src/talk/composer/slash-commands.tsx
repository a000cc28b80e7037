import { type ReactNode, useEffect, useState } from "react";
import { findCommand, commandUsage, type SessionId } from "@holdfast/protocol";
import {
  completeInput,
  completeSkill,
  listUsableSkills,
  type CommandAnswer,
  describeReread,
  describeRestored,
  executeCommand,
  type Invocation,
} from "@holdfast/client";
import { useApp } from "../../app-context.ts";
import { saveText } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";
import { revealInvisible } from "../../ui/markdown/safe-text.ts";
import { AnswerDialog, isShownAnswer, type ShownAnswer } from "./command-answer.tsx";

export interface Suggestion {
  /** The text of the field if it is chosen. */
  readonly text: string;
  readonly usage: string;
  readonly help: string;
}

const maxSuggestions = 8;
const maxSkills = 4;

/** Completions of what is being typed, while it looks like a command or the name of a skill. */
export function suggestionsFor(typed: string, skills: UsableSkills = []): readonly Suggestion[] {
  if (!typed.startsWith("/") || typed.includes("\n")) return [];
  const found = completeSkill(typed, skills).map(({ name, description }): Suggestion => {
    const usage = `/${name}`;
    return { text: `${usage} `, usage, help: revealInvisible(description) };
  });
  const values = completeInput(typed).values.filter((text) => text !== typed);
  const commands = values.map((text): Suggestion => {
    const command = findCommand(text.slice(1).split(/\s/, 1)[0] ?? "");
    const usage = command === undefined ? text : commandUsage(command);
    const takesMore = command !== undefined && command.takes.kind !== "nothing";
    const isComplete = text.includes(" ") || !takesMore;
    return { text: isComplete ? text : `${text} `, usage, help: command?.help ?? "" };
  });
  // After a bare slash there are more commands than room.
  return [...found.slice(0, maxSkills), ...commands].slice(0, maxSuggestions);
}

type UsableSkills = Awaited<ReturnType<typeof listUsableSkills>>;

/** The skills that can be asked for here, read when somebody begins to type a command. */
export function useSkillNames(sessionId: SessionId | null, isAsked: boolean): UsableSkills {
  const { client } = useApp();
  const [skills, setSkills] = useState<UsableSkills>([]);
  useEffect(() => {
    if (!isAsked) return;
    let isWanted = true;
    void listUsableSkills({ client, sessionId }).then((listed) => {
      if (isWanted) setSkills(listed);
      return undefined;
    });
    return () => {
      isWanted = false;
    };
  }, [client, sessionId, isAsked]);
  return skills;
}

export interface SlashCommands {
  readonly run: (invocation: Invocation) => Promise<boolean>;
  /** The dialog with the answer of the last command, if it has one. */
  readonly answer: ReactNode;
}

/** Runs slash commands through the client, as every front end does. */
export function useSlashCommands(sessionId: SessionId | null): SlashCommands {
  const { client, router, toasts, list } = useApp();
  const [answer, setAnswer] = useState<ShownAnswer | null>(null);

  function show(received: CommandAnswer): boolean {
    if (isShownAnswer(received)) {
      setAnswer(received);
      return true;
    }
    switch (received.kind) {
      case "moved":
        list.changed();
        router.go({ kind: "session", id: received.session.id, at: null });
        return true;
      case "document":
        saveText(received.text, received.name);
        return true;
      case "changed":
        list.changed();
        toasts.show(
          [
            strings.command.changed[received.what],
            ...(received.reread === undefined ? [] : [describeReread(received.reread)]),
          ].join(" "),
        );
        return true;
      case "files":
        list.changed();
        toasts.show(describeRestored(received.cause, received.files));
        return true;
      case "files_left":
        list.changed();
        toasts.show(strings.files.leftByOther(received.count));
        return true;
      case "compacting":
        toasts.show(strings.history[received.outcome === "started" ? "compacting" : "deferred"]);
        return true;
      case "given_up":
        toasts.show(received.settled > 0 ? strings.waiting.stopped : strings.waiting.nothing);
        return true;
      case "fact":
        toasts.show(
          received.what === "added"
            ? strings.command.factAdded(received.text)
            : strings.command.factDeleted(received.text),
        );
        return true;
      case "sent":
      case "stopped":
        return true;
      case "refused":
        toasts.show(received.sentence);
        return false;
    }
  }

  return {
    async run(invocation) {
      const context = { client, sessionId, key: crypto.randomUUID(), now: Date.now };
      return show(await executeCommand(context, invocation));
    },
    answer: answer && <AnswerDialog answer={answer} onClose={() => setAnswer(null)} />,
  };
}
