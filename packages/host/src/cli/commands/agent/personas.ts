import { type Client, describeError, matchPersona, type Result } from "@holdfast/client";
import type { PersonaView } from "@holdfast/protocol";
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

interface PersonasCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  /** What follows the action, as one text. */
  readonly name: string;
}

const actions: Readonly<Record<string, (call: PersonasCall) => Promise<number>>> = {
  list,
  show,
  add,
  edit,
  delete: remove,
  default: makeDefault,
};

export const personas: Command = {
  usage: [
    "personas [list]",
    "personas show <name>",
    "personas add <name> --text <text> [--for-model <model>]",
    "personas edit <name> [--text <text>] [--name <name>] [--for-model <model>]",
    "personas delete <name>",
    "personas default <name>",
  ],
  about: [
    "Who the agent is. A session has the persona that was chosen for it (/persona), or the default one. When a persona is",
    "edited, its sessions use the new text from their next answer on. The first persona is also in persona.md in the",
    "host's home; your edits there win.",
  ].join("\n"),
  flags: {
    json: { type: "boolean", about: "a line of JSON for each" },
    text: { type: "string", value: "text", about: "its text" },
    name: { type: "string", value: "name", about: "its new name" },
    "for-model": {
      type: "string",
      value: "model",
      about: "the model for sessions that begin with it; empty for the default model",
    },
  },
  examples: [
    ['holdfast personas add Editor --text "You are a strict editor."', "a new persona"],
    ["holdfast personas default Editor", "for sessions that have chosen none"],
    ["holdfast personas delete Editor", "its sessions get the default one"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [action = "list", ...words] = given.words;
    const run = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (run === undefined) {
      terminal.printError(
        `"personas ${cleanLine(action)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) =>
      run({ client, terminal, given, name: words.join(" ") }),
    );
  },
};

function failed({ terminal }: PersonasCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function list(call: PersonasCall): Promise<number> {
  const { client, given, terminal } = call;
  const listed = await client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  for (const persona of listed.value.personas)
    terminal.print(hasFlag(given, "json") ? cleanJson(persona) : rowOf(persona));
  return exit.done;
}

function rowOf({ name, isDefault, model, text }: PersonaView): string {
  const marks = [...(isDefault ? ["default"] : []), ...(model === null ? [] : [model])];
  return [name, marks.join(", "), text].map(cleanLine).join("\t");
}

async function show(call: PersonasCall): Promise<number> {
  return withPersona(call, async ({ text }) => {
    call.terminal.print(cleanText(text));
    return exit.done;
  });
}

async function add(call: PersonasCall): Promise<number> {
  const { client, given, terminal, name } = call;
  const text = textFlag(given, "text") ?? "";
  const model = textFlag(given, "for-model") ?? "";
  if (name.trim() === "" || text.trim() === "") {
    terminal.printError("Give a name and a text: holdfast personas add <name> --text <text>");
    return exit.misuse;
  }
  const body = { name, text, ...(model !== "" && { model }) };
  const added = await client.addPersona({ body });
  if (!added.ok) return failed(call, added);
  terminal.print(cleanLine(`Added: ${added.value.persona.name}`));
  return exit.done;
}

async function edit(call: PersonasCall): Promise<number> {
  const { client, given, terminal } = call;
  const [text, name, model] = ["text", "name", "for-model"].map((flag) => textFlag(given, flag));
  if (text === undefined && name === undefined && model === undefined) {
    terminal.printError("Name what to change: --text, --name or --for-model.");
    return exit.misuse;
  }
  return withPersona(call, async ({ id, version }) => {
    const body = {
      ...(text !== undefined && { text }),
      ...(name !== undefined && { name }),
      ...(model !== undefined && { model: model === "" ? null : model }),
    };
    const headers = { "if-match": version };
    const changed = await client.changePersona({ params: { id }, headers, body });
    if (!changed.ok) return failed(call, changed);
    terminal.print(cleanLine(`Changed: ${changed.value.persona.name}`));
    return exit.done;
  });
}

async function remove(call: PersonasCall): Promise<number> {
  return withPersona(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removePersona({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    call.terminal.print(cleanLine(`Deleted: ${name}`));
    return exit.done;
  });
}

async function makeDefault(call: PersonasCall): Promise<number> {
  return withPersona(call, async ({ id, name }) => {
    const made = await call.client.setDefaultPersona({ body: { id } });
    if (!made.ok) return failed(call, made);
    call.terminal.print(cleanLine(`Default: ${name}`));
    return exit.done;
  });
}

async function withPersona(
  call: PersonasCall,
  use: (persona: PersonaView) => Promise<number>,
): Promise<number> {
  const { client, terminal, name } = call;
  const listed = await client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  const persona = name === "" ? undefined : matchPersona(listed.value.personas, name);
  if (persona !== undefined) return use(persona);
  terminal.printError(cleanLine(`No persona is called "${name}": holdfast personas lists them.`));
  return exit.misuse;
}
