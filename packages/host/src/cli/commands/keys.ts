import { type ActionCall, failed, misuse, runAction, say } from "../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../command.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";
import { keysStrings as texts } from "../strings/access.ts";
import { programStrings } from "../strings/program.ts";

export const keys: Command = {
  usage: ["keys list", "keys add <name> [--profile <profile>]", "keys revoke <name or id>"],
  about: texts.about,
  flags: {
    profile: { type: "string", value: "profile", about: texts.flags.profile },
    json: { type: "boolean", about: programStrings.flags.json },
  },
  examples: [
    ["holdfast keys add backup-job", texts.examples.add],
    ["holdfast keys", texts.examples.list],
    ["holdfast keys revoke backup-job", texts.examples.revoke],
  ],
  settings: "reach",
  run(given, terminal) {
    const [action = "list", name] = given.words;
    const needsName = Object.hasOwn(actions, action) && action !== "list";
    return needsName && name === undefined
      ? Promise.resolve(misuse({ terminal }, texts.nameMissing(action)))
      : runAction(given, terminal, { command: "keys", usual: "list", actions });
  },
};

const actions = { list, add, revoke };

const nameIn = ({ words: [name = ""] }: ActionCall): string => name;

async function list(call: ActionCall): Promise<number> {
  const { terminal } = call;
  const listed = await call.client.listKeys();
  if (!listed.ok) return failed(call, listed);
  for (const key of listed.value.keys) {
    if (hasFlag(call.given, "json")) {
      terminal.print(cleanJson(key));
      continue;
    }
    const used = key.lastUsedAt === null ? texts.neverUsed : texts.used(timeOf(key.lastUsedAt));
    const state = key.revokedAt === null ? used : texts.revoked(timeOf(key.revokedAt));
    const made = texts.made(timeOf(key.createdAt));
    terminal.print([key.id, cleanLine(key.name), key.profile, made, state].join("  "));
  }
  if (listed.value.keys.length === 0) terminal.printError(texts.none);
  return exit.done;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

async function add(call: ActionCall): Promise<number> {
  const { given, terminal } = call;
  const profile = textFlag(given, "profile");
  const body = { name: nameIn(call), ...(profile !== undefined && { profile }) };
  const created = await call.client.createKey({ body });
  if (!created.ok) return failed(call, created);
  const { secret } = created.value;
  terminal.print(hasFlag(given, "json") ? cleanJson(created.value) : secret);
  if (terminal.output.isTTY === true) terminal.printError(texts.keepSecret);
  return exit.done;
}

async function revoke(call: ActionCall): Promise<number> {
  const wanted = nameIn(call);
  const listed = await call.client.listKeys();
  if (!listed.ok) return failed(call, listed);
  const named = listed.value.keys.find(
    ({ id, name, revokedAt }) => revokedAt === null && (id === wanted || name === wanted),
  );
  if (named === undefined) {
    call.terminal.printError(cleanLine(texts.unknown(wanted)));
    return exit.failed;
  }
  const revoked = await call.client.revokeKey({ params: { id: named.id } });
  if (!revoked.ok) return failed(call, revoked);
  return say(call, texts.isRevoked(named.name));
}
