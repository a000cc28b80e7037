import type { OwnerId } from "@holdfast/protocol";

import type { ApiDeps } from "../../server/api/deps.ts";
import { answer, type Call, mountCall, problem } from "../../server/api/endpoint.ts";
import type { Route } from "../../server/http/routing.ts";
import { keepFact } from "./facts.ts";
import { keepNote } from "./notes.ts";
import { openWaitingFacts, type WaitingFact } from "./waiting-facts.ts";

/** Facts that a person has to decide on, because a stranger may have had a say in them. */
export function waitingFactRoutes(deps: ApiDeps): Route[] {
  const { home } = deps;
  const waiting = home === undefined ? null : openWaitingFacts(home);

  function keeper(owner: OwnerId, folder: string) {
    return (fact: WaitingFact) =>
      fact.provider === "facts"
        ? keepFact(folder, owner, fact)
        : keepNote(folder, owner, fact.text);
  }

  async function decide({ owner, params, body }: Call<"decideWaitingFact">) {
    if (waiting === null || home === undefined) return problem("fact_not_found");
    const keep = body.decision === "keep" ? keeper(owner, home) : null;
    const decided = await waiting.decide(owner, params.id, keep);
    if (decided === "not_found") return problem("fact_not_found");
    if (decided === "busy") return problem("memory_busy");
    return answer({ fact: viewFact(decided) });
  }

  return [
    mountCall(deps, "listWaitingFacts", async ({ owner }) => {
      const facts = (await waiting?.list(owner)) ?? [];
      return answer({ facts: facts.map(viewFact) });
    }),
    mountCall(deps, "decideWaitingFact", decide),
  ];
}

function viewFact({ id, text, session, at, after }: WaitingFact) {
  return { id, text, sessionId: session, at, after };
}
