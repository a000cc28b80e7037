import { type Client, describeError, type Result } from "@holdfast/client";
import { describeTaint, type WaitingFactView } from "@holdfast/protocol";
import { type Arguments, type Command, exit, hasFlag, type Terminal } from "../command.ts";
import { withHost } from "../connection/connect.ts";
import { cleanJson, cleanLine } from "../screen/text.ts";

interface MemoryCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: MemoryCall) => Promise<number>>> = {
  waiting,
  keep: (call) => decide(call, "keep"),
  discard: (call) => decide(call, "discard"),
};

export const memory: Command = {
  usage: ["memory waiting", "memory keep <fact>", "memory discard <fact>"],
  about:
    "Facts that memory has not kept yet, because the model had read text that a stranger may have written. Name a fact by its id, the beginning of its id, or words from its text.",
  flags: { json: { type: "boolean", about: "a line of JSON for each" } },
  examples: [
    ["holdfast memory", "facts that need your approval"],
    ["holdfast memory keep ferry", "keeps the fact with this word"],
    ["holdfast memory discard ferry", "discards it"],
  ],
  settings: "reach",
  async run(given, terminal) {
    const [name = "waiting", ...words] = given.words;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined) {
      terminal.printError(`"memory ${name}" is not known: ${Object.keys(actions).join(", ")} are.`);
      return exit.misuse;
    }
    return withHost(given, terminal, ({ client }) => action({ client, terminal, given, words }));
  },
};

function failed({ terminal }: MemoryCall, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

async function waiting(call: MemoryCall): Promise<number> {
  const { client, given, terminal } = call;
  const result = await client.listWaitingFacts();
  if (!result.ok) return failed(call, result);
  const { facts } = result.value;
  for (const fact of facts) terminal.print(hasFlag(given, "json") ? cleanJson(fact) : rowOf(fact));
  if (facts.length === 0) terminal.printError("No facts need your approval.");
  return exit.done;
}

const shownIdLength = 8;

function rowOf({ id, text, after }: WaitingFactView): string {
  const shown = cleanLine(`${text} (after reading ${describeTaint(after)})`);
  return `${id.slice(0, shownIdLength)}\t${shown}`;
}

async function decide(call: MemoryCall, decision: "keep" | "discard"): Promise<number> {
  const { client, terminal, words } = call;
  const query = words.join(" ").toLowerCase();
  const result = await client.listWaitingFacts();
  if (!result.ok) return failed(call, result);
  const fits = ({ id, text }: WaitingFactView): boolean =>
    id.startsWith(query) || text.toLowerCase().includes(query);
  const [fact, ...others] = query === "" ? [] : result.value.facts.filter(fits);
  if (fact === undefined || others.length > 0) {
    const problem = fact === undefined ? "No fact" : "More than one fact";
    const hint = 'Name one by the beginning of its id; "holdfast memory" lists them.';
    terminal.printError(cleanLine(`${problem} fits "${query}". ${hint}`));
    return exit.misuse;
  }
  const decided = await client.decideWaitingFact({ params: { id: fact.id }, body: { decision } });
  if (!decided.ok) return failed(call, decided);
  terminal.print(cleanLine(`${decision === "keep" ? "Kept" : "Discarded"}: ${fact.text}`));
  return exit.done;
}
