import {
  type CommandAnswer,
  describeMode,
  describeProcess,
  describeSchedule,
  givenUpText,
  shortId,
} from "@holdfast/client";
import { type CommandSpec, commandUsage, modeOf, type UsageTotalsView } from "@holdfast/protocol";
import { sessionTitle, formatTime, describeCall, describeRunEnd } from "../transcript/describe.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { cleanLine, cleanText } from "../screen/text.ts";
import { padTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/paint.ts";

const sentTexts = {
  queued: "It waits its turn.",
  steered: "It is told at the next step.",
  retried: "Asked again.",
  edited: "Asked again in other words.",
  continued: "It goes on.",
} as const;
const changeTexts = {
  undone: "Taken out of view. /redo brings it back.",
  redone: "Back in view.",
  titled: "Its title is now",
  model_chosen: "The model of this session is now",
  mode_chosen: "The mode of this session is now",
} as const;

/** A command's result as terminal rows. Documents are left to the caller. */
export function commandRows(answer: CommandAnswer, style: RenderStyle): string[] {
  const { paint } = style;
  const note = (text: string): string[] => [paint("dim", `— ${cleanLine(text)}`)];
  switch (answer.kind) {
    case "help":
      return helpRows(answer.commands, style);
    case "moved":
      return note(
        `${movedTexts[answer.how]} ${sessionTitle(answer.session)} (${shortId(answer.session.id)})`,
      );
    case "sessions":
      return [
        ...(answer.why === "which" ? note("Several fit. Which one? /resume <end of the id>") : []),
        ...answer.sessions.map((session) =>
          sessionRow(session, { ...style, mark: session.id === answer.current ? "›" : " " }),
        ),
        ...(answer.sessions.length === 0 ? note("There are no sessions.") : []),
      ];
    case "changed":
      if (answer.what === "titled")
        return note(`${changeTexts.titled} “${answer.session.title ?? ""}”.`);
      if (answer.what === "model_chosen")
        return note(`${changeTexts.model_chosen} ${answer.session.model ?? "the usual one"}.`);
      if (answer.what === "mode_chosen")
        return note(`${changeTexts.mode_chosen} ${describeMode(modeOf(answer.session))}`);
      // The conversation itself shows what was removed or restored.
      return [];
    case "sent":
      return note(sentTexts[answer.how]);
    case "given_up":
      return note(givenUpText(answer.settled));
    case "compacting":
      return note(
        answer.outcome === "started" ? "A summary is being written." : "It is under way.",
      );
    case "model":
      return [
        ...note(`The model here is ${answer.model ?? `${answer.usual}, the usual one`}.`),
        ...(answer.models.length > 1 ? note(`There are ${answer.models.join(", ")}.`) : []),
      ];
    case "mode":
      return note(`The mode here is ${describeMode(answer.mode)}`);
    case "title":
      return note(answer.title ?? "It has no title yet.");
    case "memory":
      return memoryRows(answer).flatMap(note);
    case "usage":
      return [
        ...(answer.session === null ? [] : [usageRow("here", answer.session)]),
        usageRow("today", answer.today),
        usageRow("ever", answer.all),
      ];
    case "status":
      return statusRows(answer).map((row) => cleanText(row));
    case "schedules":
      if (answer.schedules.length === 0)
        return note("Nothing is scheduled: holdfast schedules add.");
      return answer.schedules.map((schedule) => cleanLine(describeSchedule(schedule)));
    case "processes":
      if (answer.processes.length === 0) return note("Nothing runs in the background.");
      return answer.processes.map((process) => cleanLine(describeProcess(process)));
    case "inbox":
      if (answer.inbox.length === 0) return note("Nothing waits.");
      return answer.inbox.map(({ text, mode }) => `${mode}: ${cleanLine(text)}`);
    case "stopped":
      return note(answer.run === null ? "Nothing is being written." : "Stopping …");
    case "document":
      return [];
    case "hits":
      if (answer.hits.length === 0) return note("Nothing was found.");
      return answer.hits.flatMap((hit) => [
        paint("bold", `${shortId(hit.sessionId)}  ${cleanLine(hit.title ?? "")}`),
        `    ${cleanLine(hit.snippet)}`,
      ]);
    case "refused":
      return [paint("bad", cleanLine(answer.sentence))];
  }
}

const movedTexts = {
  begun: "A new session:",
  resumed: "Now in",
  branched: "On a branch:",
} as const;

function helpRows(commands: readonly CommandSpec[], { paint }: RenderStyle): string[] {
  const [only, ...others] = commands;
  if (only !== undefined && others.length === 0) {
    const names = only.aliases.map((name) => `/${name}`).join(", ");
    return [
      paint("bold", commandUsage(only)),
      only.help,
      ...(names === "" ? [] : [`Also: ${names}`]),
      `Example: ${only.example}`,
    ];
  }
  const widest = Math.max(...commands.map((command) => commandUsage(command).length));
  return [
    ...commands.map(
      (command) => `${paint("bold", padTo(commandUsage(command), widest))}  ${command.help}`,
    ),
    paint("dim", "//text sends /text. Tab completes. /quit or Ctrl-D leaves; what runs goes on."),
  ];
}

function memoryRows(answer: Extract<CommandAnswer, { kind: "memory" }>): string[] {
  const { turns, sessions, oldestAt, failing } = answer;
  if (turns === 0) return ["Everything is remembered."];
  const since = oldestAt === null ? "" : `, the oldest since ${formatTime(oldestAt)}`;
  return [
    `${turns === 1 ? "1 turn" : `${turns} turns`} of ${sessions === 1 ? "1 session" : `${sessions} sessions`} still to be remembered${since}.`,
    ...(failing === null ? [] : [`The last try failed: ${failing.message} (${failing.code})`]),
  ];
}

function usageRow(name: string, { calls, input, output, cacheRead, costMicros }: UsageTotalsView) {
  const cost = costMicros === 0 ? "" : `, $${(costMicros / 1e6).toFixed(4)}`;
  const cached = cacheRead === 0 ? "" : ` (${cacheRead} from the cache)`;
  return `${padTo(name, 6)} ${calls} ${calls === 1 ? "call" : "calls"}, ${input} tokens in${cached}, ${output} out${cost}`;
}

function statusRows({
  session,
  run,
  inbox,
  approvals,
}: Extract<CommandAnswer, { kind: "status" }>) {
  return [
    `${sessionTitle(session)}  ${session.id}`,
    `${session.messageCount} messages, epoch ${session.epoch}, model ${session.model ?? "the usual one"}, mode ${modeOf(session)}`,
    run === null ? "Nothing ran yet." : `Last run: ${describeRunEnd(run)}`,
    ...inbox.map(({ text }) => `Waits: ${cleanLine(text)}`),
    ...approvals.map(({ name, input }) => `Asks for your word: ${describeCall(name, input)}`),
  ];
}
