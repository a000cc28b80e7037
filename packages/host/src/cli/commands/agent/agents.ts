import type { Result } from "@holdfast/client";
import {
  type AgentView,
  formatDollars,
  sessionId,
  type SkippedSkillView,
} from "@holdfast/protocol";
import { type ActionCall, failed, misuse, printList, runAction, say } from "../../actions.ts";
import { type Command, exit, textFlag } from "../../command.ts";
import { cleanLine, cleanText } from "../../screen/text.ts";
import { agentsStrings as texts } from "../../strings/agents.ts";
import { programStrings } from "../../strings/program.ts";

export const agents: Command = {
  usage: [
    "agents [list] [--session <id>]",
    "agents show <name> [--session <id>]",
    "agents on <name>",
    "agents off <name>",
    "agents trust <name> --session <id>",
    "agents refuse <name> --session <id>",
  ],
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    session: { type: "string", value: "id", about: texts.flags.session },
  },
  examples: [
    ["holdfast agents", texts.examples.list],
    ["holdfast agents show reviewer", texts.examples.show],
    ["holdfast agents off reviewer", texts.examples.off],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "agents", usual: "list", actions }),
};

const actions = {
  list,
  show,
  on: (call: ActionCall) => turn(call, "on"),
  off: (call: ActionCall) => turn(call, "off"),
  trust: (call: ActionCall) => decide(call, "trusted"),
  refuse: (call: ActionCall) => decide(call, "refused"),
};

const nameIn = ({ words: [name = ""] }: ActionCall): string => name;

interface Found {
  readonly agents: readonly AgentView[];
  readonly skipped: readonly SkippedSkillView[];
}

/** The session's workspace's if there is one to look at, and the person's own. */
async function find(call: ActionCall): Promise<Result<Found>> {
  const { client, given } = call;
  const own = await client.listAgents();
  const id = sessionId.safeParse(textFlag(given, "session"));
  if (!own.ok || !id.success) return own;
  const session = await client.listSessionAgents({ params: { id: id.data } });
  if (!session.ok) return session;
  const { workspace } = session.value;
  return {
    ok: true,
    value: {
      agents: [...workspace.agents, ...own.value.agents],
      skipped: [...workspace.skipped, ...own.value.skipped],
    },
  };
}

async function list(call: ActionCall): Promise<number> {
  const { terminal } = call;
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  await printList(call, found.value.agents, cellsOf);
  for (const { path, reason } of found.value.skipped)
    terminal.printError(cleanLine(texts.skipped(path, reason)));
  if (found.value.agents.length === 0) terminal.printError(texts.none);
  return exit.done;
}

function cellsOf({ name, state, shadowedBy, description, path }: AgentView): string[] {
  return [name, shadowedBy === null ? state : texts.shadowed(state, shadowedBy), description, path];
}

async function show(call: ActionCall): Promise<number> {
  return withAgent(call, async (agent) => {
    const { terminal } = call;
    terminal.print(cleanLine(texts.heading(agent.path, agent.state)));
    terminal.print(cleanLine(agent.description));
    for (const line of limitsOf(agent)) terminal.print(cleanLine(line));
    terminal.print("");
    terminal.print(cleanText(agent.text));
    for (const warning of agent.warnings) terminal.printError(cleanLine(texts.check(warning)));
    return exit.done;
  });
}

function limitsOf({ tools, rights, mode, model, effort, budget }: AgentView): readonly string[] {
  const { limits } = texts;
  const { steps, tokens, costMicros, timeMs } = budget ?? {};
  return [
    ...(tools === null ? [] : [limits.tools(tools)]),
    ...(rights === null ? [] : [limits.rights(rights)]),
    ...(mode === null ? [] : [limits.mode(mode)]),
    ...(model === null ? [] : [limits.model(model)]),
    ...(effort === null ? [] : [limits.effort(effort)]),
    ...(steps === undefined ? [] : [limits.steps(steps)]),
    ...(tokens === undefined ? [] : [limits.tokens(tokens)]),
    ...(costMicros === undefined ? [] : [limits.cost(formatDollars(costMicros))]),
    ...(timeMs === undefined ? [] : [limits.minutes(timeMs / 60_000)]),
  ];
}

async function turn(call: ActionCall, state: "on" | "off"): Promise<number> {
  const { client } = call;
  const name = nameIn(call);
  return withAgent(call, async () => {
    const switched = await client.switchAgent({ params: { name }, body: { state } });
    if (!switched.ok) return failed(call, switched);
    return say(call, texts.switched[state](name));
  });
}

async function decide(call: ActionCall, decision: "trusted" | "refused"): Promise<number> {
  const { client, given } = call;
  const typed = textFlag(given, "session");
  const id = sessionId.safeParse(typed);
  if (!id.success)
    return misuse(call, typed === undefined ? texts.sessionMissing : texts.badSession(typed));
  const params = { id: id.data };
  const listed = await client.listSessionAgents({ params });
  if (!listed.ok) return failed(call, listed);
  const agent = listed.value.workspace.agents.find(({ name }) => name === nameIn(call));
  if (agent === undefined) return unknown(call);
  const { path, hash } = agent;
  const decided = await client.trustAgent({ params, body: { path, hash, decision } });
  if (!decided.ok) return failed(call, decided);
  return say(call, texts.decided[decision](path));
}

function unknown(call: ActionCall): number {
  const name = nameIn(call);
  return misuse(call, name === "" ? texts.nameMissing : texts.unknown(name));
}

async function withAgent(
  call: ActionCall,
  use: (agent: AgentView) => Promise<number>,
): Promise<number> {
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  const agent = found.value.agents.find(({ name }) => name === nameIn(call));
  return agent === undefined ? unknown(call) : use(agent);
}
