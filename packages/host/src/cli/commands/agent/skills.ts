import type { Result } from "@holdfast/client";
import { sessionId, type SkillView, type SkippedSkillView } from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  misuse,
  printList,
  runAction,
  say,
  sayChange,
} from "../../actions.ts";
import { type Command, exit, textFlag } from "../../command.ts";
import { cleanLine, cleanText } from "../../screen/text.ts";
import { programStrings } from "../../strings/program.ts";
import { skillsStrings as texts } from "../../strings/skills.ts";

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
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    yes: { type: "boolean", about: texts.flags.yes },
    session: { type: "string", value: "id", about: texts.flags.session },
  },
  examples: [
    ["holdfast skills", texts.examples.list],
    ["holdfast skills show deploy", texts.examples.show],
    ["holdfast skills install ./deploy", texts.examples.install],
    ["holdfast skills off deploy", texts.examples.off],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "skills", usual: "list", actions }),
};

const actions = {
  list,
  show,
  install,
  on: (call: ActionCall) => turn(call, "on"),
  off: (call: ActionCall) => turn(call, "off"),
  remove,
  trust: (call: ActionCall) => decide(call, "trusted"),
  refuse: (call: ActionCall) => decide(call, "refused"),
};

const nameIn = ({ words: [name = ""] }: ActionCall): string => name;

/** Loaded only for this: it packs and unpacks archives. */
async function install(call: ActionCall): Promise<number> {
  const { installFrom } = await import("./install-skills.ts");
  return installFrom(call, nameIn(call));
}

interface Found {
  readonly skills: readonly SkillView[];
  readonly skipped: readonly SkippedSkillView[];
}

/** The session's workspace's if there is one to look at, and the person's own. */
async function find(call: ActionCall): Promise<Result<Found>> {
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

async function list(call: ActionCall): Promise<number> {
  const { terminal } = call;
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  await printList(call, found.value.skills, cellsOf);
  for (const { path, reason } of found.value.skipped)
    terminal.printError(cleanLine(texts.skipped(path, reason)));
  if (found.value.skills.length === 0) terminal.printError(texts.none);
  return exit.done;
}

function cellsOf({ name, state, shadowedBy, description, path }: SkillView): string[] {
  return [name, shadowedBy === null ? state : texts.shadowed(state, shadowedBy), description, path];
}

async function show(call: ActionCall): Promise<number> {
  return withSkill(call, async ({ text, path, state, files, warnings, description }) => {
    const { terminal } = call;
    terminal.print(cleanLine(texts.heading(path, state)));
    terminal.print(cleanLine(description));
    terminal.print("");
    terminal.print(cleanText(text));
    terminal.print("");
    for (const file of files) terminal.print(cleanLine(texts.file(file.path, file.size)));
    for (const warning of warnings) terminal.printError(cleanLine(texts.check(warning)));
    return exit.done;
  });
}

async function turn(call: ActionCall, state: "on" | "off"): Promise<number> {
  const { client } = call;
  const name = nameIn(call);
  return withSkill(call, async () => {
    const switched = await client.switchSkill({ params: { name }, body: { state } });
    if (!switched.ok) return failed(call, switched);
    return sayChange(call, texts.switched[state](name));
  });
}

async function remove(call: ActionCall): Promise<number> {
  const { client } = call;
  const name = nameIn(call);
  return withSkill(call, async () => {
    const removed = await client.removeSkill({ params: { name } });
    if (!removed.ok) return failed(call, removed);
    return sayChange(call, texts.removed(name));
  });
}

async function decide(call: ActionCall, decision: "trusted" | "refused"): Promise<number> {
  const { client, given } = call;
  const name = nameIn(call);
  const typed = textFlag(given, "session");
  const id = sessionId.safeParse(typed);
  if (!id.success)
    return misuse(call, typed === undefined ? texts.sessionMissing : texts.badSession(typed));
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
  return say(call, texts.decided[decision](path));
}

function unknown(call: ActionCall): number {
  const name = nameIn(call);
  return misuse(call, name === "" ? texts.nameMissing : texts.unknown(name));
}

async function withSkill(
  call: ActionCall,
  use: (skill: SkillView) => Promise<number>,
): Promise<number> {
  const found = await find(call);
  if (!found.ok) return failed(call, found);
  const skill = found.value.skills.find(({ name }) => name === nameIn(call));
  return skill === undefined ? unknown(call) : use(skill);
}
