import { createHash } from "node:crypto";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { showControls } from "../../util/text/show-controls.ts";
import type { Fact } from "./fact-rows.ts";

const defaultLimit = 100;

/** What is known about an owner: to read, search, change and delete, and to decide on. */
export function memoryFactRoutes(deps: ApiDeps): Route[] {
  const { facts } = deps;

  async function list({ owner, query: { q = "", limit = defaultLimit } }: Call<"listFacts">) {
    const words = q.toLowerCase().split(/\s+/u);
    const found = (await facts.list(owner)).filter(({ text }) =>
      words.every((word) => text.toLowerCase().includes(word)),
    );
    const newest = found.toReversed().slice(0, limit);
    return answer({ facts: newest.map(viewFact), total: found.length });
  }

  async function add({ owner, body: { text, use = "always" }, ids }: Call<"addFact">) {
    const line = oneLine(text);
    if (line === "") return problem("invalid_request", { detail: "The text is empty." });
    const id = createHash("sha256").update(ids.make("message")).digest("hex").slice(0, 24);
    const source = { kind: "person" } as const;
    const fact = await facts.create(owner, { id, text: line, use, source, at: Date.now() });
    return answer({ fact: viewFact(fact) });
  }

  async function read({ owner, params: { id } }: Call<"readFact">) {
    const fact = (await facts.list(owner)).find((each) => each.id === id);
    return fact === undefined ? problem("fact_not_found") : answer({ fact: viewFact(fact) });
  }

  async function change({ owner, params, headers, body }: Call<"changeFact">) {
    const text = body.text === undefined ? undefined : oneLine(body.text);
    if (text === "") return problem("invalid_request", { detail: "The text is empty." });
    const ref = { id: params.id, version: headers["if-match"] };
    const changed = await facts.change(owner, ref, { text, use: body.use });
    return typeof changed === "string"
      ? problem(problemOf[changed])
      : answer({ fact: viewFact(changed) });
  }

  async function remove({ owner, params, headers }: Call<"removeFact">) {
    const removed = await facts.remove(owner, { id: params.id, version: headers["if-match"] });
    return typeof removed === "string" ? problem(problemOf[removed]) : answer(undefined);
  }

  async function decide({ owner, params, body }: Call<"decideWaitingFact">) {
    const decided = await facts.decide(owner, params.id, body.decision);
    const [fact] = decided === "not_found" ? [] : viewWaiting(decided);
    return fact === undefined ? problem("fact_not_found") : answer({ fact });
  }

  return [
    mountCall(deps, "listFacts", list),
    mountCall(deps, "addFact", add),
    mountCall(deps, "readFact", read),
    mountCall(deps, "changeFact", change),
    mountCall(deps, "removeFact", remove),
    mountCall(deps, "listWaitingFacts", async ({ owner }) => {
      const waiting = (await facts.list(owner)).filter(({ state }) => state === "waiting");
      return answer({ facts: waiting.flatMap(viewWaiting) });
    }),
    mountCall(deps, "decideWaitingFact", decide),
  ];
}

const problemOf = { not_found: "fact_not_found", changed: "fact_changed" } as const;

function viewFact(fact: Fact) {
  const { id, text, use, state, source, at, changedAt, version, versions, after } = fact;
  return { id, text, use, state, source, at, changedAt, version, versions, after };
}

/** Only what was found in a session waits. */
function viewWaiting({ id, text, source: { sessionId }, at, after }: Fact) {
  return sessionId === undefined ? [] : [{ id, text, sessionId, at, after }];
}

/** A fact is one line: it becomes one in a file. */
function oneLine(text: string): string {
  return showControls(text.replace(/\s+/gu, " ").trim());
}
