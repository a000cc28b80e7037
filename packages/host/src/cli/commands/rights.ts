import { formatDollars, type ProfileView, rightsSubject, routes } from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  fieldSentences,
  misuse,
  printCells,
  runAction,
  say,
} from "../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../command.ts";
import { cleanJson } from "../screen/text.ts";
import { programStrings } from "../strings/program.ts";
import { rightsStrings as texts } from "../strings/rights.ts";

export const rights: Command = {
  usage: [
    "rights list",
    "rights set <profile> [--tools <names>] [--sessions <reach>] [--memory-access <access>] [--approvals <yes|no>]",
    "rights remove <profile>",
    "rights give <who> <profile|default>",
  ],
  about: texts.about,
  flags: {
    tools: { type: "string", value: "names", about: texts.flags.tools },
    sessions: { type: "string", value: "own|project|all", about: texts.flags.sessions },
    "memory-access": { type: "string", value: "none|read|write", about: texts.flags.memoryAccess },
    approvals: { type: "string", value: "yes|no", about: texts.flags.approvals },
    spend: { type: "string", value: "dollars", about: texts.flags.spend },
    json: { type: "boolean", about: programStrings.flags.json },
  },
  examples: [
    ["holdfast rights", texts.examples.list],
    ["holdfast rights set readers --tools read_file,grep --memory-access read", texts.examples.set],
    ["holdfast rights give webhook:ci readers", texts.examples.give],
    ["holdfast rights give groups default", texts.examples.default],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "rights", usual: "list", actions }),
};

const actions = { list, set, remove, give };

async function list(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.readRights();
  if (!result.ok) return failed(call, result);
  const { profiles, assignments } = result.value;
  if (hasFlag(given, "json")) {
    for (const profile of profiles) terminal.print(cleanJson(profile));
    for (const { subject, profile } of assignments) terminal.print(cleanJson({ subject, profile }));
    return exit.done;
  }
  const rows = assignments.map(({ subject, profile }) => [subject, profile]);
  await printCells(terminal, [...profiles.map(cellsOf), ...rows]);
  return exit.done;
}

const microsPerDollar = 1_000_000;

function cellsOf(profile: ProfileView): string[] {
  const { name, builtIn, tools, sessions, memory, approvals, spendMicrosPerDay } = profile;
  const parts = [
    texts.tools(tools),
    texts.sessions(sessions),
    texts.memory(memory),
    approvals ? texts.answersApprovals : texts.answersNoApprovals,
    ...(spendMicrosPerDay === undefined ? [] : [texts.spend(formatDollars(spendMicrosPerDay))]),
    ...(builtIn ? [texts.builtIn] : []),
  ];
  return [name, parts.join("; ")];
}

async function set(call: ActionCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const [name, ...rest] = words;
  if (name === undefined || rest.length > 0) return misuse(call, texts.setNeedsName);
  const approvals = textFlag(given, "approvals") ?? "no";
  if (approvals !== "yes" && approvals !== "no") return misuse(call, texts.badApprovals);
  const spend = textFlag(given, "spend");
  if (spend !== undefined && !(Number(spend) >= 0)) return misuse(call, texts.badSpend);
  const route = routes.putRightsProfile;
  const params = route.params.safeParse({ name });
  const body = route.body.safeParse({
    tools: listOf(textFlag(given, "tools") ?? "*"),
    sessions: textFlag(given, "sessions") ?? "own",
    memory: textFlag(given, "memory-access") ?? "none",
    approvals: approvals === "yes",
    ...(spend !== undefined && { spendMicrosPerDay: Math.round(Number(spend) * microsPerDollar) }),
  });
  for (const parsed of [params, body])
    if (!parsed.success) return misuse(call, fieldSentences(parsed.error));
  if (!params.success || !body.success) return exit.misuse;
  const result = await client.putRightsProfile({ params: params.data, body: body.data });
  if (!result.ok) return failed(call, result);
  await printCells(terminal, [cellsOf(result.value.profile)]);
  return exit.done;
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

async function remove(call: ActionCall): Promise<number> {
  const name = call.words.join(" ");
  const params = routes.removeRightsProfile.params.safeParse({ name });
  if (!params.success) return misuse(call, texts.notAProfile(name));
  const result = await call.client.removeRightsProfile({ params: params.data });
  if (!result.ok) return failed(call, result);
  return say(call, texts.removed(name));
}

async function give(call: ActionCall): Promise<number> {
  const [who = "", profile = "", ...rest] = call.words;
  const subject = rightsSubject.safeParse(who);
  if (!subject.success || profile === "" || rest.length > 0)
    return misuse(call, texts.giveNeedsBoth);
  const result = await call.client.assignRights({
    body: { subject: subject.data, profile: profile === "default" ? null : profile },
  });
  if (!result.ok) return failed(call, result);
  return say(call, texts.given(who, profile === "default" ? texts.theDefault : profile));
}
