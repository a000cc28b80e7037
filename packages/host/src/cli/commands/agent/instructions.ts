import { type Client, describeError, type Result } from "@holdfast/client";
import {
  type Arguments,
  type Command,
  exit,
  hasFlag,
  isPiped,
  readAll,
  type Terminal,
} from "../../command.ts";
import { withHost } from "../../connection/connect.ts";
import { cleanJson, cleanLine, cleanText } from "../../screen/text.ts";

interface InstructionsCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: InstructionsCall) => Promise<number>>> = {
  show,
  set,
  delete: (call) => write(call, ""),
  history,
};

export const instructions: Command = {
  usage: [
    "instructions [show]",
    "instructions set <text>",
    "instructions delete",
    "instructions history",
  ],
  about: [
    "Your custom instructions: how the agent should answer you. New sessions start with them. Sessions that have begun keep",
    "the text they started with; a deleted text is gone from all of them with their next answer.",
  ].join("\n"),
  flags: { json: { type: "boolean", about: "as JSON" } },
  examples: [
    ['holdfast instructions set "Answer in two sentences."', "for new sessions"],
    ["holdfast instructions set < instructions.md", "from a file"],
    ["holdfast instructions", "what they are"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "show", ...words] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(
        `"instructions ${cleanLine(name)}" is not known: ${Object.keys(actions).join(", ")} are.`,
      );
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => action({ client, terminal, given, words }));
  },
};

function failed(
  { terminal }: InstructionsCall,
  { error }: Result<unknown> & { ok: false },
): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function show(call: InstructionsCall): Promise<number> {
  const { client, given, terminal } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const { text } = read.value.instructions;
  if (hasFlag(given, "json")) terminal.print(cleanJson(read.value.instructions));
  else if (text === "")
    terminal.printError("There are none yet. To write them: holdfast instructions set <text>");
  else terminal.print(cleanText(text));
  return exit.done;
}

async function set(call: InstructionsCall): Promise<number> {
  const { terminal, words } = call;
  const isFromPipe = words.length === 0 && isPiped(terminal.input);
  const text = isFromPipe ? await readAll(terminal.input) : words.join(" ");
  if (text.trim() !== "") return write(call, text);
  terminal.printError("Give the text: holdfast instructions set <text>");
  return exit.misuse;
}

async function write(call: InstructionsCall, text: string): Promise<number> {
  const { client, terminal } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const headers = { "if-match": read.value.instructions.version };
  const changed = await client.changeInstructions({ headers, body: { text } });
  if (!changed.ok) return failed(call, changed);
  terminal.print(
    text === "" ? "Deleted. No session gets them from now on." : "Saved for new sessions.",
  );
  return exit.done;
}

async function history(call: InstructionsCall): Promise<number> {
  const { client, terminal } = call;
  const read = await client.readInstructions();
  if (!read.ok) return failed(call, read);
  const { versions, text, changedAt } = read.value.instructions;
  const current = changedAt === null || text === "" ? [] : [{ text, at: changedAt }];
  for (const version of [...versions, ...current])
    terminal.print(`${new Date(version.at).toISOString()}\t${cleanLine(version.text)}`);
  return exit.done;
}
