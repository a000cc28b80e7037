import {
  type SessionChange,
  type CommandAnswer,
  describeProcess,
  describeSchedule,
  shortId,
} from "@holdfast/client";
import {
  type CommandSpec,
  type RunState,
  type SessionView,
  commandUsage,
} from "@holdfast/protocol";

const maxReplyLength = 3_500;

/** What a command came to, in a line or a few. `null`: the answer itself will show it. */
export function commandReply(answer: CommandAnswer): string | null {
  const words = fullReply(answer);
  return words === null || words.length <= maxReplyLength
    ? words
    : `${words.slice(0, maxReplyLength)}…`;
}

function fullReply(answer: CommandAnswer): string | null {
  switch (answer.kind) {
    case "help":
      return answer.commands.map(helpLine).join("\n");
    case "moved":
      return answer.how === "resumed"
        ? `This chat is now in **${titleOf(answer.session)}**.`
        : `A new session has begun. The one before stays: /sessions lists them.`;
    case "sessions": {
      if (answer.sessions.length === 0) return "There are no sessions yet.";
      const head = answer.why === "which" ? "Several fit. Name one:" : "Sessions, newest first:";
      const rows = answer.sessions.map((session) => {
        const here = session.id === answer.current ? " (here)" : "";
        return `- ${titleOf(session)} — \`/resume ${shortId(session.id)}\`${here}`;
      });
      return [head, ...rows].join("\n");
    }
    case "changed":
      return changeTexts[answer.what];
    case "sent":
    case "stopped":
      return answer.kind === "stopped" && answer.run === null ? "Nothing is being written." : null;
    case "compacting":
      return answer.outcome === "started"
        ? "The conversation is being summarised for the model. What you see stays."
        : "Somebody is at it already.";
    case "model":
      return `Model: ${answer.model ?? "the host's own"}.`;
    case "title":
      return `Title: ${answer.title ?? "none yet"}.`;
    case "memory":
      return answer.turns === 0
        ? "Everything is remembered."
        : `${pluralise(answer.turns, "turn waits", "turns wait")} to be remembered.${answer.failing === null ? "" : ` ${answer.failing.message}`}`;
    case "usage":
      return `Tokens today: ${answer.today.input + answer.today.output}. In all: ${answer.all.input + answer.all.output}.`;
    case "status": {
      const { session, run, inbox, approvals } = answer;
      const waiting = inbox.length === 0 ? "" : ` ${inbox.length} waiting.`;
      const asks =
        approvals.length === 0
          ? ""
          : ` ${pluralise(approvals.length, "question is", "questions are")} open.`;
      return `**${titleOf(session)}**: ${run === null ? "at rest" : runStateTexts[run.state]}.${waiting}${asks}`;
    }
    case "schedules":
      if (answer.schedules.length === 0) return "Nothing is scheduled.";
      return answer.schedules.map((schedule) => `- ${describeSchedule(schedule)}`).join("\n");
    case "processes":
      if (answer.processes.length === 0) return "Nothing runs in the background.";
      return answer.processes.map((process) => `- ${describeProcess(process)}`).join("\n");
    case "inbox":
      return answer.inbox.length === 0 ? "Nothing is waiting." : `${answer.inbox.length} waiting.`;
    case "document":
      return answer.text;
    case "hits":
      return answer.hits.length === 0
        ? `Nothing has “${answer.words}”.`
        : `${pluralise(answer.hits.length, "place has", "places have")} “${answer.words}”. Look at them in the page.`;
    case "refused":
      return answer.sentence;
  }
}

/** How a conversation stands, by the state of its newest run. */
const runStateTexts: Record<RunState, string> = {
  queued: "a message waits its turn",
  claimed: "an answer is being written",
  running: "an answer is being written",
  waiting: "it waits for your word",
  paused: "an answer was broken off, and /resume goes on with it",
  completed: "at rest",
  cancelled: "the last answer was stopped",
  failed: "the last answer failed",
  interrupted: "the last answer was broken off",
  limit: "the last answer was stopped by a limit",
};

function pluralise(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

const changeTexts: Record<SessionChange, string> = {
  undone: "Taken out of view. /redo brings it back.",
  redone: "It is back.",
  titled: "It has a new title.",
  model_chosen: "Another model answers here from now on.",
};

function helpLine(command: CommandSpec): string {
  return `${commandUsage(command)} — ${command.help}`;
}

function titleOf({ title }: SessionView): string {
  return title ?? "Untitled";
}
