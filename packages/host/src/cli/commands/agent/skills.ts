import { type Client, describeError, type Result } from "@holdfast/client";
import { sessionId, type SkillView, type SkippedSkillView } from "@holdfast/protocol";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanJson, cleanLine, cleanText } from "../../screen/text.ts";

export interface SkillsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly name: string;
}

const actions: Readonly<Record<string, (call: SkillsCall) => Promise<number>>> = {
  list,
  show,
  install,
  on: (call) => turn(call, "on"),
  off: (call) => turn(call, "off"),
  remove,
  trust: (call) => decide(call, "trusted"),
  refuse: (call) => decide(call, "refused"),
};

export const skills: Command = {
  usage: [
    "skills [list] [--session <id>]",
    "skills show <name> [--session <id>]",
    "skills install <folder, archive or https address> [--yes]",
    "skills on <name>",
    "skills off <name>",
    "skills remove <name>",
    "skills trust <name> --session <id>",
    "skills refuse <name> --session <id>",
  ],
  about: [
    "Instructions for certain tasks, which the model loads when one fits: folders with a SKILL.md in ~/.holdfast/skills and",
    "~/.agents/skills. With --session, also those in the session's workspace (.holdfast/skills, .agents/skills,",
    ".claude/skills), which the model gets only after you have trusted exactly what they say now. In a conversation, /name",
    "activates a skill.",
  ].join("\n"),
  flags: {
    json: { type: "boolean", about: "a line of JSON for each" },
    yes: { type: "boolean", about: "install without asking; read the preview first" },
    session: { type: "string", value: "id", about: "the skills of this session's workspace" },
  },
  examples: [
    ["holdfast skills", "the skills, and which ones cannot be used and why"],
    [
      "holdfast skills show deploy",
      "its instructions, its files and what to check before you trust it",
    ],
    ["holdfast skills install ./deploy", "shows what is in it, asks, and installs it"],
    ["holdfast skills off deploy", "sessions no longer have it"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [action = "list", name = ""] = given.words;
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (run === undefined) {
      terminal.printError(
        `"skills ${cleanLine(action)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => run({ client, terminal, given, name }));
  },
};

function failed({ terminal }: SkillsCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

function misused({ terminal }: SkillsCall, sentence: string): number {
  terminal.printError(cleanLine(sentence));
  return exit.misuse;
}

/** Loaded only for this: it packs and unpacks archives. */
async function install(call: SkillsCall): Promise<number> {
  const { installFrom } = await import("./install-skills.ts");
  return installFrom(call);
}

interface Found {
  readonly skills: readonly SkillView[];
  readonly skipped: readonly SkippedSkillView[];
}

/** The session's workspace's if there is one to look at, and the person's own. */
async function find(call: SkillsCall): Promise<Result<Found>> {
  const { client, given } = call;
  const own = await client.listSkills();
  const id = sessionId.safeParse(textFlag(given, "session"));
  if (!own.ok || !id.success) return own;
  const session = await client.listSessionSkills({ params: { id: id.data } });
  if (!session.ok) return session;
  const { workspace } = session.value;
  return {
    ok: true,
    value: {
      skills: [...workspace.skills, ...own.value.skills],
      skipped: [...workspace.skipped, ...own.value.skipped],
    },
  };
}

async function list(call: SkillsCall): Promise<number> {
  const { given, terminal } = call;
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  for (const skill of found.value.skills)
    terminal.print(hasFlag(given, "json") ? cleanJson(skill) : rowOf(skill));
  for (const { path, reason } of found.value.skipped)
    terminal.printError(cleanLine(`${path}: ${reason}`));
  return exit.done;
}

function rowOf({ name, state, shadowedBy, description, path }: SkillView): string {
  const shown = shadowedBy === null ? state : `${state}, but the one in ${shadowedBy} is used`;
  return [name, shown, description, path].map(cleanLine).join("\t");
}

async function show(call: SkillsCall): Promise<number> {
  return withSkill(call, async ({ text, path, state, files, warnings, description }) => {
    const { terminal } = call;
    terminal.print(cleanLine(`${path} (${state})`));
    terminal.print(cleanLine(description));
    terminal.print("");
    terminal.print(cleanText(text));
    terminal.print("");
    for (const file of files) terminal.print(cleanLine(`${file.path}\t${file.size} bytes`));
    for (const warning of warnings) terminal.printError(cleanLine(`Check this: ${warning}`));
    return exit.done;
  });
}

async function turn(call: SkillsCall, state: "on" | "off"): Promise<number> {
  const { client, terminal, name } = call;
  return withSkill(call, async () => {
    const switched = await client.switchSkill({ params: { name }, body: { state } });
    if (!switched.ok) return failed(call, switched);
    terminal.print(cleanLine(state === "on" ? `Switched on: ${name}` : `Switched off: ${name}`));
    return exit.done;
  });
}

async function remove(call: SkillsCall): Promise<number> {
  const { client, terminal, name } = call;
  return withSkill(call, async () => {
    const removed = await client.removeSkill({ params: { name } });
    if (!removed.ok) return failed(call, removed);
    terminal.print(cleanLine(`Removed: ${name}`));
    return exit.done;
  });
}

async function decide(call: SkillsCall, decision: "trusted" | "refused"): Promise<number> {
  const { client, given, terminal, name } = call;
  const id = sessionId.safeParse(textFlag(given, "session"));
  if (!id.success)
    return misused(
      call,
      "Name a session that works in the folder: --session <id>. holdfast sessions lists them.",
    );
  const listed = await client.listSessionSkills({ params: { id: id.data } });
  if (!listed.ok) return failed(call, listed);
  const skill = listed.value.workspace.skills.find((each) => each.name === name);
  if (skill === undefined) return unknown(call);
  const { path, hash } = skill;
  const decided = await client.trustSkill({
    params: { id: id.data },
    body: { path, hash, decision },
  });
  if (!decided.ok) return failed(call, decided);
  terminal.print(cleanLine(decision === "trusted" ? `Trusted: ${path}` : `Refused: ${path}`));
  return exit.done;
}

function unknown(call: SkillsCall): number {
  return misused(call, `There is no skill "${call.name}". holdfast skills lists them.`);
}

async function withSkill(
  call: SkillsCall,
  use: (skill: SkillView) => Promise<number>,
): Promise<number> {
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  const skill = found.value.skills.find(({ name }) => name === call.name);
  return skill === undefined ? unknown(call) : use(skill);
}
