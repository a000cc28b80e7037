import { useState } from "react";
import { describeTaint, type WaitingFactView } from "@holdfast/protocol";
import { problemText, useApp } from "../app-context.ts";
import { formatMoment } from "../ui/format-time.ts";
import { revealInvisible } from "../ui/markdown/safe-text.ts";
import { strings } from "../strings/strings.ts";
import { Facts } from "./facts.tsx";
import { FactList, SettingsGroup, useHostQuery } from "./settings-group.tsx";

/** What is remembered, and what waits to be. */
export function MemorySettings() {
  const { client } = useApp();
  const [backlog] = useHostQuery(() => client.readMemory());
  const [decisions, setDecisions] = useState(0);
  const t = strings.settings.memory;
  return (
    <>
      <WaitingFacts onDecide={() => setDecisions((old) => old + 1)} />
      <Facts key={decisions} />
      <SettingsGroup title={t.title} hint={t.hint} query={backlog}>
        {({ backlog: { turns, sessions, oldestAt, failing } }) =>
          turns === 0 ? (
            <p>{t.nothing}</p>
          ) : (
            <FactList
              facts={[
                [strings.command.turns, turns.toLocaleString()],
                [strings.command.sessions, sessions.toLocaleString()],
                ...(oldestAt === null ? [] : [[t.oldest, formatMoment(oldestAt)] as const]),
                ...(failing === null
                  ? []
                  : [
                      [strings.command.failing, t.failing(failing.message, failing.tries)] as const,
                    ]),
              ]}
            />
          )
        }
      </SettingsGroup>
    </>
  );
}

/** Facts that a person decides on, because a stranger may have had a say in them. */
function WaitingFacts({ onDecide }: { onDecide: () => void }) {
  const { client, toasts } = useApp();
  const [query, refetch] = useHostQuery(() => client.listWaitingFacts());
  const t = strings.settings.memory;
  async function decide({ id }: WaitingFactView, decision: "keep" | "discard"): Promise<void> {
    const result = await client.decideWaitingFact({ params: { id }, body: { decision } });
    const done = decision === "keep" ? t.kept : t.discarded;
    toasts.show(result.ok ? done : problemText(result.error));
    refetch();
    onDecide();
  }
  // Most people never have any.
  if (query.kind === "loading" || (query.kind === "loaded" && query.value.facts.length === 0))
    return null;
  return (
    <SettingsGroup title={t.waiting} hint={t.waitingHint} query={query}>
      {({ facts }) => (
        <ul className="facts-list">
          {facts.map((fact) => (
            <li key={fact.id}>
              <span className="fact-text">
                <span dir="auto">{revealInvisible(fact.text)}</span>
                <span className="quiet">{t.after(revealInvisible(describeTaint(fact.after)))}</span>
              </span>
              <span className="row">
                <button
                  type="button"
                  className="button"
                  aria-label={t.keepNamed(fact.text)}
                  onClick={() => void decide(fact, "keep")}
                >
                  {t.keep}
                </button>
                <button
                  type="button"
                  className="button plain"
                  aria-label={t.discardNamed(fact.text)}
                  onClick={() => void decide(fact, "discard")}
                >
                  {t.discard}
                </button>
              </span>
            </li>
          ))}
        </ul>
      )}
    </SettingsGroup>
  );
}
