import { type Client, describeError, type Result } from "@holdfast/client";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  type Terminal,
  textFlag,
} from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

interface KeysCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly name: string | undefined;
}

const actions: Readonly<Record<string, (call: KeysCall) => Promise<number>>> = {
  list,
  add,
  revoke,
};

export const keys: Command = {
  usage: ["keys list", "keys add <name> [--profile <profile>]", "keys revoke <name or id>"],
  about:
    "Keys that programs use for the API instead of the token. A key reaches the sessions that were made with it, and no settings. Its secret is shown once.",
  flags: {
    profile: { type: "string", value: "profile", about: "its rights profile (program)" },
    json: { type: "boolean", about: "a line of JSON for each" },
  },
  examples: [
    ["holdfast keys add backup-job", "shows the key once"],
    ["holdfast keys", "the keys, and when each was last used"],
    ["holdfast keys revoke backup-job", "ends the key and its streams at once"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [action = "list", name] = given.words;
    const act = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (act === undefined || (action !== "list" && name === undefined)) {
      terminal.printError(
        act === undefined
          ? `"keys ${cleanLine(action)}" is not known: ${Object.keys(actions).join(", ")} are.`
          : `Which key? holdfast keys ${action} <name>`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => act({ client, terminal, given, name }));
  },
};

function failed({ terminal }: KeysCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function list(call: KeysCall): Promise<number> {
  const listed = await call.client.listKeys();
  if (!listed.ok) return failed(call, listed);
  for (const key of listed.value.keys) {
    if (hasFlag(call.given, "json")) {
      call.terminal.print(cleanJson(key));
      continue;
    }
    const used = key.lastUsedAt === null ? "never used" : `used ${timeOf(key.lastUsedAt)}`;
    const state = key.revokedAt === null ? used : `revoked ${timeOf(key.revokedAt)}`;
    const facts = [
      key.id,
      cleanLine(key.name),
      key.profile,
      `made ${timeOf(key.createdAt)}`,
      state,
    ];
    call.terminal.print(facts.join("  "));
  }
  return exit.done;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}

async function add(call: KeysCall): Promise<number> {
  const profile = textFlag(call.given, "profile");
  const body = { name: call.name ?? "", ...(profile !== undefined && { profile }) };
  const created = await call.client.createKey({ body });
  if (!created.ok) return failed(call, created);
  const { secret } = created.value;
  call.terminal.print(hasFlag(call.given, "json") ? cleanJson(created.value) : secret);
  return exit.done;
}

async function revoke(call: KeysCall): Promise<number> {
  const listed = await call.client.listKeys();
  if (!listed.ok) return failed(call, listed);
  const named = listed.value.keys.find(
    ({ id, name, revokedAt }) => revokedAt === null && (id === call.name || name === call.name),
  );
  if (named === undefined) {
    call.terminal.printError(
      `There is no key ${cleanLine(call.name ?? "")}: holdfast keys lists them.`,
    );
    return exit.failed;
  }
  const revoked = await call.client.revokeKey({ params: { id: named.id } });
  if (!revoked.ok) return failed(call, revoked);
  call.terminal.print(`${cleanLine(named.name)} is revoked.`);
  return exit.done;
}
