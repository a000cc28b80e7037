import { type ActionCall, failed, misuse, runAction, say } from "../../actions.ts";
import { type Command, exit, hasFlag, isPiped, readAll } from "../../command.ts";
import { cleanJson, cleanLine, cleanText } from "../../screen/text.ts";
import { instructionsStrings as texts } from "../../strings/agent.ts";

export const instructions: Command = {
  usage: [
    "instructions [show]",
    "instructions set <text>",
    "instructions delete",
    "instructions history",
  ],
  about: texts.about,
  flags: { json: { type: "boolean", about: texts.flags.json } },
  examples: [
    ['holdfast instructions set "Answer in two sentences."', texts.examples.set],
    ["holdfast instructions set < instructions.md", texts.examples.file],
    ["holdfast instructions", texts.examples.show],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "instructions", usual: "show", actions }),
};

const actions = { show, set, delete: (call: ActionCall) => write(call, ""), history };

async function show(call: ActionCall): Promise<number> {
  const { client, given, terminal } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const { text } = read.value.instructions;
  if (hasFlag(given, "json")) terminal.print(cleanJson(read.value.instructions));
  else if (text === "") terminal.printError(texts.none);
  else terminal.print(cleanText(text));
  return exit.done;
}

async function set(call: ActionCall): Promise<number> {
  const { terminal, words } = call;
  const isFromPipe = words.length === 0 && isPiped(terminal.input);
  const text = isFromPipe ? await readAll(terminal.input) : words.join(" ");
  if (text.trim() !== "") return write(call, text);
  return misuse(call, texts.textMissing);
}

async function write(call: ActionCall, text: string): Promise<number> {
  const { client } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const headers = { "if-match": read.value.instructions.version };
  const changed = await client.changeInstructions({ headers, body: { text } });
  if (!changed.ok) return failed(call, changed);
  return say(call, text === "" ? texts.deleted : texts.saved);
}

async function history(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const { versions, text, changedAt } = read.value.instructions;
  const current = changedAt === null || text === "" ? [] : [{ text, at: changedAt }];
  if (versions.length + current.length === 0) terminal.printError(texts.noHistory);
  for (const version of [...versions, ...current])
    terminal.print(`${new Date(version.at).toISOString()}\t${cleanLine(version.text)}`);
  return exit.done;
}
