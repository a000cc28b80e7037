import {
  type CommandAnswer,
  describeAlternatives,
  describeMode,
  describeFact,
  describeProcess,
  describeReread,
  describeRestored,
  describeSchedule,
  describeSpendLimit,
  givenUpText,
  shortId,
} from "@holdfast/client";
import {
  type CommandSpec,
  commandUsage,
  formatNumber,
  modeOf,
  type UsageTotalsView,
} from "@holdfast/protocol";
import { sessionTitle, formatTime, describeCall, describeRunEnd } from "../transcript/describe.ts";
import { wrapBlock } from "../transcript/rows.ts";
import { sessionRow } from "../transcript/session-row.ts";
import { cleanLine, cleanText } from "../screen/text.ts";
import { padTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { wrapSpans } from "../screen/wrap.ts";
import { chatStrings } from "../strings/chat.ts";

const texts = chatStrings.command;

/** A command's result as terminal rows. Documents are left to the caller. */
export function commandRows(answer: CommandAnswer, style: RenderStyle): string[] {
  const { paint } = style;
  const note = (text: string): string[] => wrapBlock(cleanLine(text), style, "— ", ["dim"]);
  const rereadNote = ({ reread }: Extract<CommandAnswer, { kind: "changed" }>): string[] =>
    reread === undefined ? [] : note(describeReread(reread));
  switch (answer.kind) {
    case "help":
      return helpRows(answer.commands, style);
    case "moved":
      return note(
        `${texts.moved[answer.how]} ${sessionTitle(answer.session)} (${shortId(answer.session.id)})`,
      );
    case "sessions":
      return [
        ...(answer.why === "which" ? note(texts.several) : []),
        ...answer.sessions.map((session) =>
          sessionRow(session, { ...style, mark: session.id === answer.current ? "›" : " " }),
        ),
        ...(answer.sessions.length === 0 ? note(chatStrings.sessions.noneYet) : []),
      ];
    case "changed":
      if (answer.what === "titled") return note(texts.title(answer.session.title ?? ""));
      if (answer.what === "model_chosen")
        return [
          ...note(texts.model(answer.session.model ?? texts.defaultModel)),
          ...rereadNote(answer),
        ];
      if (answer.what === "mode_chosen")
        return note(texts.mode(describeMode(modeOf(answer.session))));
      if (answer.what === "persona_chosen")
        return [...note(texts.personaChosen), ...rereadNote(answer)];
      if (answer.what === "project_chosen")
        return [...note(texts.project(answer.session.project)), ...rereadNote(answer)];
      if (answer.what === "switched") return note(texts.switched);
      // The conversation itself shows what was removed or restored.
      return [];
    case "files": {
      const { cause, files } = answer;
      // A notice in the conversation says what was done.
      const hasNotice = files.count > 0 || files.kept.length > 0;
      return hasNotice ? [] : note(describeRestored(cause, files));
    }
    case "files_left":
      return [...note(texts.switched), ...note(texts.filesLeft(answer.number, answer.count))];
    case "sent":
      return note(texts.sent[answer.how]);
    case "given_up":
      return note(givenUpText(answer.settled));
    case "compacting":
      return note(texts.compacting[answer.outcome]);
    case "model":
      return [
        ...note(texts.model(answer.model ?? texts.usualModel(answer.usual))),
        ...(answer.models.length > 1 ? [...note(texts.models), ...answer.models.map(listed)] : []),
      ];
    case "mode":
      return note(texts.mode(describeMode(answer.mode)));
    case "persona":
      return answer.personas.map(({ id, name }) =>
        listed(id === answer.current ? `${name} (${chatStrings.picker.current})` : name),
      );
    case "project":
      return [
        ...note(texts.project(answer.current)),
        ...answer.projects.map(({ name }) => listed(name)),
      ];
    case "skills":
      return [
        ...(answer.skills.length === 0 ? note(texts.noSkills) : []),
        ...answer.skills.map(({ name, description }) => listed(`/${name}: ${description}`)),
        ...(answer.waiting === 0 ? [] : note(texts.skillsWaiting(answer.waiting))),
      ];
    case "agents":
      return [
        ...(answer.agents.length === 0 ? note(texts.noAgents) : []),
        ...answer.agents.map(({ name, description }) => listed(`${name}: ${description}`)),
        ...(answer.waiting === 0 ? [] : note(texts.agentsWaiting(answer.waiting))),
      ];
    case "title":
      return note(answer.title ?? texts.noTitle);
    case "memory":
      return memoryRows(answer).flatMap(note);
    case "fact":
      return note(texts.memory[answer.what](answer.text));
    case "usage":
      return [
        ...(answer.session === null ? [] : [usageRow(texts.usage.session, answer.session)]),
        usageRow(texts.usage.today, answer.today),
        usageRow(texts.usage.all, answer.all),
      ];
    case "limits":
      return answer.limits.map((limit) => describeSpendLimit(limit));
    case "status":
      return statusRows(answer).map((row) => cleanText(row));
    case "schedules":
      if (answer.schedules.length === 0) return note(texts.noSchedules);
      return answer.schedules.map((schedule) => cleanLine(describeSchedule(schedule)));
    case "processes":
      if (answer.processes.length === 0) return note(texts.noProcesses);
      return answer.processes.flatMap((process) =>
        wrapBlock(cleanLine(describeProcess(process)), style, "", []),
      );
    case "inbox":
      if (answer.inbox.length === 0) return note(texts.noInbox);
      return answer.inbox.map(({ text, mode }) => `${chatStrings.inbox[mode]}: ${cleanLine(text)}`);
    case "alternatives":
      if (answer.turns.length === 0) return note(texts.noAlternatives);
      return describeAlternatives(answer.turns)
        .map((rows) => rows.flatMap((row) => wrapBlock(cleanLine(row), style, "  ", [])))
        .reduce((all, rows) => [...all, "", ...rows]);
    case "stopped":
      return note(answer.run === null ? texts.nothingToStop : texts.stopping);
    case "document":
      return [];
    case "hits":
      if (answer.hits.length === 0) return note(texts.noHits);
      return answer.hits.flatMap((hit) => [
        paint("bold", `${shortId(hit.sessionId)}  ${cleanLine(hit.title ?? "")}`),
        `    ${cleanLine(hit.snippet)}`,
        ...(hit.alternative === undefined ? [] : note(`    ${texts.otherVersion}`)),
      ]);
    case "refused":
      return wrapBlock(cleanLine(answer.sentence), style, "", ["bad"]);
  }
}

function listed(name: string): string {
  return `    ${cleanLine(name)}`;
}

/** Below this width the explanations stand under the commands. */
const minHelpColumns = 24;

function helpRows(commands: readonly CommandSpec[], style: RenderStyle): string[] {
  const { paint, width } = style;
  const [only, ...others] = commands;
  if (only !== undefined && others.length === 0) {
    const names = only.aliases.map((name) => `/${name}`).join(", ");
    return [
      paint("bold", commandUsage(only)),
      ...wrapBlock(only.help, style, "", []),
      ...(names === "" ? [] : [texts.help.aliases(names)]),
      texts.help.example(only.example),
    ];
  }
  const widest = Math.max(...commands.map((command) => commandUsage(command).length));
  const isNarrow = width - widest - 2 < minHelpColumns;
  return [
    ...commands.flatMap((command) => {
      const usage = commandUsage(command);
      const help = [{ text: command.help, styles: [] }];
      if (isNarrow)
        return [
          ...wrapBlock(usage, style, "", ["bold"]),
          ...wrapSpans(help, paint, { width, first: "    " }),
        ];
      const name = paint("bold", padTo(usage, widest));
      const indent = " ".repeat(widest + 2);
      return wrapSpans(help, paint, { width, first: `${name}  `, rest: indent });
    }),
    ...[texts.help.files, texts.help.end].flatMap((line) => wrapBlock(line, style, "", ["dim"])),
  ];
}

function memoryRows(answer: Extract<CommandAnswer, { kind: "memory" }>): string[] {
  const facts = factRows(answer);
  const { turns, sessions, oldestAt, failing } = answer;
  const { memory } = texts;
  if (turns === 0) return facts.length === 0 ? [memory.done] : facts;
  const since = oldestAt === null ? "" : memory.since(formatTime(oldestAt));
  return [
    ...facts,
    memory.pending(memory.turns(turns), memory.sessions(sessions), since),
    ...(failing === null ? [] : [memory.failing(failing.message, failing.code)]),
  ];
}

function factRows({ facts, total, words }: Extract<CommandAnswer, { kind: "memory" }>): string[] {
  if (total === 0) return words === "" ? [] : [texts.memory.notFound(words)];
  const more = total - facts.length;
  return [
    ...facts.map((fact) => `${fact.id.slice(0, 8)}  ${describeFact(fact)}`),
    ...(more > 0 ? [texts.memory.more(more)] : []),
  ];
}

function usageRow(name: string, { calls, input, output, cacheRead, costMicros }: UsageTotalsView) {
  const cost = costMicros === 0 ? "" : `, $${(costMicros / 1e6).toFixed(4)}`;
  const { usage } = texts;
  const cached = cacheRead === 0 ? "" : usage.cached(formatNumber(cacheRead));
  const tokens = usage.tokens(formatNumber(input), cached, formatNumber(output));
  return `${padTo(name, 8)} ${usage.calls(calls)}, ${tokens}${cost}`;
}

function statusRows({
  session,
  run,
  inbox,
  approvals,
}: Extract<CommandAnswer, { kind: "status" }>) {
  return [
    `${sessionTitle(session)}  ${session.id}`,
    texts.status.facts(
      chatStrings.sessions.messages(session.messageCount),
      session.model ?? texts.defaultModel,
      modeOf(session),
    ),
    run === null ? texts.status.noRun : texts.status.lastRun(describeRunEnd(run)),
    ...inbox.map(({ text }) => texts.status.queued(cleanLine(text))),
    ...approvals.map(({ name, input }) => texts.status.approval(describeCall(name, input))),
  ];
}
