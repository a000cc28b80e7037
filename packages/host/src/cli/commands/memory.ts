import {
  type Client,
  describeError,
  describeFact,
  matchFacts,
  type Result,
} from "@holdfast/client";
import { describeTaint, type FactView, type WaitingFactView } from "@holdfast/protocol";
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

interface MemoryCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  readonly words: readonly string[];
}

const actions: Readonly<Record<string, (call: MemoryCall) => Promise<number>>> = {
  list,
  add,
  edit,
  forget,
  history,
  waiting,
  keep: (call) => decide(call, "keep"),
  discard: (call) => decide(call, "discard"),
};

export const memory: Command = {
  usage: [
    "memory list [words]",
    "memory add <text>",
    "memory edit <fact> --text <text>",
    "memory forget <fact>",
    "memory history <fact>",
    "memory waiting",
    "memory keep <fact>",
    "memory discard <fact>",
  ],
  about:
    "What the agent knows about you, and facts that need your approval because the model had read text that a stranger may have written. Name a fact by its id, the beginning of its id, or words from its text.",
  flags: {
    json: { type: "boolean", about: "a line of JSON for each" },
    text: { type: "string", value: "text", about: "the new text of a fact" },
    recall: { type: "boolean", about: "add it for messages that it fits, not for all sessions" },
  },
  examples: [
    ["holdfast memory list tea", "facts with this word"],
    ["holdfast memory forget ferry", "deletes the fact with this word"],
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

async function list(call: MemoryCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const result = await client.listFacts({ query: { q: words.join(" "), limit: maxListed } });
  if (!result.ok) return failed(call, result);
  const { facts, total } = result.value;
  for (const fact of facts)
    terminal.print(hasFlag(given, "json") ? cleanJson(fact) : factRow(fact));
  if (total === 0) terminal.printError("No facts match.");
  if (total > facts.length)
    terminal.printError(`${total - facts.length} more. To find them: holdfast memory list <words>`);
  return exit.done;
}

const maxListed = 500;

function factRow(fact: FactView): string {
  const use = fact.use === "always" ? "all sessions" : "when it fits";
  return [fact.id.slice(0, shownIdLength), use, cleanLine(describeFact(fact))].join("\t");
}

async function add(call: MemoryCall): Promise<number> {
  const { client, given, terminal, words } = call;
  const text = words.join(" ").trim();
  if (text === "") {
    terminal.printError("Give the fact: holdfast memory add <text>");
    return exit.misuse;
  }
  const use = hasFlag(given, "recall") ? "when_it_fits" : "always";
  const added = await client.addFact({ body: { text, use } });
  if (!added.ok) return failed(call, added);
  terminal.print(cleanLine(`Added: ${added.value.fact.text}`));
  return exit.done;
}

async function edit(call: MemoryCall): Promise<number> {
  const { client, given, terminal } = call;
  const text = textFlag(given, "text") ?? "";
  if (text.trim() === "") {
    terminal.printError("Give the new text: holdfast memory edit <fact> --text <text>");
    return exit.misuse;
  }
  return withFact(call, async ({ id, version }) => {
    const headers = { "if-match": version };
    const changed = await client.changeFact({ params: { id }, headers, body: { text } });
    if (!changed.ok) return failed(call, changed);
    terminal.print(cleanLine(`Changed: ${changed.value.fact.text}`));
    return exit.done;
  });
}

async function forget(call: MemoryCall): Promise<number> {
  return withFact(call, async ({ id, version, text }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removeFact({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    call.terminal.print(cleanLine(`Deleted: ${text}`));
    return exit.done;
  });
}

async function history(call: MemoryCall): Promise<number> {
  return withFact(call, async ({ text, source, at, changedAt, versions }) => {
    const { terminal } = call;
    const print = (moment: number, what: string): void =>
      terminal.print(`${new Date(moment).toISOString()}\t${cleanLine(what)}`);
    print(at, `${source.kind} ${source.sessionId ?? source.file ?? ""}`.trim());
    for (const version of versions) print(version.at, version.text);
    print(changedAt, text);
    return exit.done;
  });
}

/** The one fact that the words name. */
async function withFact(
  call: MemoryCall,
  use: (fact: FactView) => Promise<number>,
): Promise<number> {
  const { client, terminal, words } = call;
  const listed = await client.listFacts({ query: { limit: maxListed } });
  if (!listed.ok) return failed(call, listed);
  const query = words.join(" ");
  const [fact, ...others] = matchFacts(listed.value.facts, query);
  if (fact !== undefined && others.length === 0) return use(fact);
  const problem = fact === undefined ? "No fact" : "More than one fact";
  const hint = 'Name one by the beginning of its id; "holdfast memory list" lists them.';
  terminal.printError(cleanLine(`${problem} fits "${query}". ${hint}`));
  return exit.misuse;
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
