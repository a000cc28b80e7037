import { matchPersona } from "@holdfast/client";
import type { PersonaView } from "@holdfast/protocol";
import { type ActionCall, failed, misuse, printList, runAction, say } from "../../actions.ts";
import { type Command, exit, textFlag } from "../../command.ts";
import { cleanText } from "../../screen/text.ts";
import { personasStrings as texts } from "../../strings/agent.ts";
import { programStrings } from "../../strings/program.ts";

export const personas: Command = {
  usage: [
    "personas [list]",
    "personas show <name>",
    "personas add <name> --text <text> [--for-model <model>]",
    "personas edit <name> [--text <text>] [--name <name>] [--for-model <model>]",
    "personas delete <name>",
    "personas default <name>",
  ],
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    text: { type: "string", value: "text", about: texts.flags.text },
    name: { type: "string", value: "name", about: texts.flags.name },
    "for-model": { type: "string", value: "model", about: texts.flags.forModel },
  },
  examples: [
    ['holdfast personas add Editor --text "You are a strict editor."', texts.examples.add],
    ["holdfast personas default Editor", texts.examples.default],
    ["holdfast personas delete Editor", texts.examples.delete],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "personas", usual: "list", actions }),
};

const actions = { list, show, add, edit, delete: remove, default: makeDefault };

/** What follows the action is one name. */
const nameIn = ({ words }: ActionCall): string => words.join(" ");

async function list(call: ActionCall): Promise<number> {
  const listed = await call.client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  await printList(call, listed.value.personas, cellsOf);
  return exit.done;
}

function cellsOf({ name, isDefault, model, text }: PersonaView): string[] {
  const marks = [...(isDefault ? [texts.default] : []), ...(model === null ? [] : [model])];
  return [name, marks.join(", "), text];
}

async function show(call: ActionCall): Promise<number> {
  return withPersona(call, async ({ text }) => {
    call.terminal.print(cleanText(text));
    return exit.done;
  });
}

async function add(call: ActionCall): Promise<number> {
  const { client, given } = call;
  const name = nameIn(call);
  const text = textFlag(given, "text") ?? "";
  const model = textFlag(given, "for-model") ?? "";
  if (name.trim() === "" || text.trim() === "") return misuse(call, texts.needsNameAndText);
  const body = { name, text, ...(model !== "" && { model }) };
  const added = await client.addPersona({ body });
  if (!added.ok) return failed(call, added);
  return say(call, texts.added(added.value.persona.name));
}

async function edit(call: ActionCall): Promise<number> {
  const { client, given } = call;
  const [text, name, model] = ["text", "name", "for-model"].map((flag) => textFlag(given, flag));
  if (text === undefined && name === undefined && model === undefined)
    return misuse(call, texts.nothingToChange);
  return withPersona(call, async ({ id, version }) => {
    const body = {
      ...(text !== undefined && { text }),
      ...(name !== undefined && { name }),
      ...(model !== undefined && { model: model === "" ? null : model }),
    };
    const headers = { "if-match": version };
    const changed = await client.changePersona({ params: { id }, headers, body });
    if (!changed.ok) return failed(call, changed);
    return say(call, texts.changed(changed.value.persona.name));
  });
}

async function remove(call: ActionCall): Promise<number> {
  return withPersona(call, async ({ id, version, name }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removePersona({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    return say(call, texts.deleted(name));
  });
}

async function makeDefault(call: ActionCall): Promise<number> {
  return withPersona(call, async ({ id, name }) => {
    const made = await call.client.setDefaultPersona({ body: { id } });
    if (!made.ok) return failed(call, made);
    return say(call, texts.madeDefault(name));
  });
}

async function withPersona(
  call: ActionCall,
  use: (persona: PersonaView) => Promise<number>,
): Promise<number> {
  const name = nameIn(call);
  const listed = await call.client.listPersonas();
  if (!listed.ok) return failed(call, listed);
  const persona = name === "" ? undefined : matchPersona(listed.value.personas, name);
  if (persona !== undefined) return use(persona);
  return misuse(call, name === "" ? texts.nameMissing : texts.unknown(name));
}
