import { describeFact, matchFacts } from "@holdfast/client";
import { describeTaint, type FactView, type WaitingFactView } from "@holdfast/protocol";
import {
  type ActionCall,
  failed,
  misuse,
  onlyMatch,
  printList,
  runAction,
  say,
} from "../actions.ts";
import { type Command, exit, hasFlag, textFlag } from "../command.ts";
import { cleanLine } from "../screen/text.ts";
import { memoryStrings as texts } from "../strings/memory.ts";
import { programStrings } from "../strings/program.ts";

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
  about: texts.about,
  flags: {
    json: { type: "boolean", about: programStrings.flags.json },
    text: { type: "string", value: "text", about: texts.flags.text },
    recall: { type: "boolean", about: texts.flags.recall },
  },
  examples: [
    ["holdfast memory list tea", texts.examples.list],
    ["holdfast memory forget ferry", texts.examples.forget],
    ["holdfast memory", texts.examples.waiting],
    ["holdfast memory keep ferry", texts.examples.keep],
    ["holdfast memory discard ferry", texts.examples.discard],
  ],
  settings: "reach",
  run: (given, terminal) =>
    runAction(given, terminal, { command: "memory", usual: "waiting", actions }),
};

const actions = {
  list,
  add,
  edit,
  forget,
  history,
  waiting,
  keep: (call: ActionCall) => decide(call, "keep"),
  discard: (call: ActionCall) => decide(call, "discard"),
};

const maxListed = 500;
const shownIdLength = 8;

async function list(call: ActionCall): Promise<number> {
  const { client, terminal, words } = call;
  const result = await client.listFacts({ query: { q: words.join(" "), limit: maxListed } });
  if (!result.ok) return failed(call, result);
  const { facts, total } = result.value;
  await printList(call, facts, (fact) => [
    fact.id.slice(0, shownIdLength),
    fact.use === "always" ? texts.use.always : texts.use.when_it_fits,
    describeFact(fact),
  ]);
  if (total === 0) terminal.printError(words.length === 0 ? texts.noneYet : texts.noFacts);
  if (total > facts.length) terminal.printError(texts.more(total - facts.length));
  return exit.done;
}

async function add(call: ActionCall): Promise<number> {
  const { client, given, words } = call;
  const text = words.join(" ").trim();
  if (text === "") return misuse(call, texts.textMissing);
  const use = hasFlag(given, "recall") ? "when_it_fits" : "always";
  const added = await client.addFact({ body: { text, use } });
  if (!added.ok) return failed(call, added);
  return say(call, texts.added(added.value.fact.text));
}

async function edit(call: ActionCall): Promise<number> {
  const { client, given } = call;
  const text = textFlag(given, "text") ?? "";
  if (text.trim() === "") return misuse(call, texts.newTextMissing);
  return withFact(call, async ({ id, version }) => {
    const headers = { "if-match": version };
    const changed = await client.changeFact({ params: { id }, headers, body: { text } });
    if (!changed.ok) return failed(call, changed);
    return say(call, texts.changed(changed.value.fact.text));
  });
}

async function forget(call: ActionCall): Promise<number> {
  return withFact(call, async ({ id, version, text }) => {
    const headers = { "if-match": version };
    const removed = await call.client.removeFact({ params: { id }, headers });
    if (!removed.ok) return failed(call, removed);
    return say(call, texts.deleted(text));
  });
}

async function history(call: ActionCall): Promise<number> {
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
  call: ActionCall,
  use: (fact: FactView) => Promise<number>,
): Promise<number> {
  const { client, words } = call;
  const listed = await client.listFacts({ query: { limit: maxListed } });
  if (!listed.ok) return failed(call, listed);
  const query = words.join(" ");
  const fact = onlyMatch(call, matchFacts(listed.value.facts, query), {
    none: texts.noMatch(query),
    several: texts.severalMatch(query),
  });
  return fact === undefined ? exit.misuse : use(fact);
}

async function waiting(call: ActionCall): Promise<number> {
  const { client, terminal } = call;
  const result = await client.listWaitingFacts();
  if (!result.ok) return failed(call, result);
  const { facts } = result.value;
  await printList(call, facts, ({ id, text, after }) => [
    id.slice(0, shownIdLength),
    texts.after(text, describeTaint(after)),
  ]);
  if (facts.length === 0) terminal.printError(texts.noneWaiting);
  return exit.done;
}

async function decide(call: ActionCall, decision: "keep" | "discard"): Promise<number> {
  const { client, words } = call;
  const query = words.join(" ").toLowerCase();
  const result = await client.listWaitingFacts();
  if (!result.ok) return failed(call, result);
  const fits = ({ id, text }: WaitingFactView): boolean =>
    id.startsWith(query) || text.toLowerCase().includes(query);
  const fact = onlyMatch(call, query === "" ? [] : result.value.facts.filter(fits), {
    none: texts.noWaitingMatch(query),
    several: texts.severalWaitingMatch(query),
  });
  if (fact === undefined) return exit.misuse;
  const decided = await client.decideWaitingFact({ params: { id: fact.id }, body: { decision } });
  if (!decided.ok) return failed(call, decided);
  return say(call, texts.decided[decision](fact.text));
}
